"""The answers of a scripted judge that drafts a metric if it is asked for one, and judges otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from greval.judging.drafting.whole import SYSTEM_PROMPT

DRAFT = {
    "needs": ["answer"],
    "steps": ["Read the answer."],
    "instructions": "",
    "categories": [
        {"name": "Polite", "means": "It is kind.", "score": 1},
        {"name": "Rude", "means": "It is not.", "score": 0},
    ],
}


def draft_or_judge(reason: str) -> Callable[[Sequence[BaseMessage]], dict[str, Any]]:
    """Give a function that answers with `DRAFT` if a metric is to be written, else with the value 1 for a reason."""
    return lambda messages: DRAFT if asks_for_draft(messages) else {"reason": reason, "value": 1}


def asks_for_draft(messages: Sequence[BaseMessage]) -> bool:
    return str(messages[0].content).startswith(SYSTEM_PROMPT.partition(".")[0])
