"""The answers of a scripted judge that drafts a metric and examples of it if it is asked for them, or else judges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from greval.judging.drafting import planted
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
EXAMPLES = {
    "question": "When does it open?",
    "best_answer": "At nine, with pleasure.",
    "worst_answer": "At nine, you fool.",
}


def draft_or_judge(reason: str) -> Callable[[Sequence[BaseMessage]], dict[str, Any]]:
    """Give a function that writes a metric or a pair if it is asked for one, else judges with 1, of a pair with A."""

    def answer(messages: Sequence[BaseMessage]) -> dict[str, Any]:
        if asks_for_draft(messages):
            return DRAFT
        if asks_for_example(messages):
            return EXAMPLES
        text = str(messages[-1].content)
        values = {EXAMPLES["best_answer"]: "Polite", EXAMPLES["worst_answer"]: "Rude", "<answer_b>": "A"}
        return {"reason": reason, "value": next((value for example, value in values.items() if example in text), 1)}

    return answer


def asks_for_draft(messages: Sequence[BaseMessage]) -> bool:
    return str(messages[0].content).startswith(SYSTEM_PROMPT.partition(".")[0])


def asks_for_example(messages: Sequence[BaseMessage]) -> bool:
    return str(messages[0].content).startswith(planted.SYSTEM_PROMPT.partition("{")[0])
