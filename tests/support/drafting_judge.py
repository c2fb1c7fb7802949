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
    """Give a function that answers with `DRAFT` if a metric is to be written, else with 1, of a pair with A."""

    def answer(messages: Sequence[BaseMessage]) -> dict[str, Any]:
        value = "A" if "<answer_b>" in str(messages[-1].content) else 1
        return DRAFT if asks_for_draft(messages) else {"reason": reason, "value": value}

    return answer


def asks_for_draft(messages: Sequence[BaseMessage]) -> bool:
    return str(messages[0].content).startswith(SYSTEM_PROMPT.partition(".")[0])
