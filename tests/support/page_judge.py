"""A judge for the page's tests: it answers every metric, always the same for the same case, and fails on demand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from drafting_judge import DRAFT, EXAMPLES, asks_for_draft, asks_for_example
from langchain_core.messages import BaseMessage

from greval.testing import ScriptedJudge

FAULTY = "cannot be judged"
"""A case that holds these words gets an answer that is no verdict."""

_VALUES = re.compile(r"^- value: one of (.*)$", re.MULTILINE)
_BEFORE_VALUE = re.compile(r"^- (\w+):", re.MULTILINE)
_ITEM = re.compile(r'<item n="(\d+)">(.*?)</item>', re.DOTALL)


def page_judge(delay: float = 0.0) -> ScriptedJudge:
    return ScriptedJudge(answer_page, delay=delay)


def answer_page(messages: Sequence[BaseMessage]) -> dict[str, Any] | str:
    """Answer a request to judge, or to write a metric or examples of it."""
    if asks_for_draft(messages):
        return DRAFT
    if asks_for_example(messages):
        return EXAMPLES
    system, case = str(messages[0].content), str(messages[1].content)
    if FAULTY in case:
        return "I had rather not say."
    allowed = [_read(word) for word in _VALUES.findall(system)[-1].split(", ")]
    form = system[system.index("Answer with JSON only") :]
    if items := _ITEM.findall(case):
        return {"judgements": [{"item": int(n), **_verdict(text, allowed, form)} for n, text in items]}
    return _verdict(case, allowed, form)


def _verdict(text: str, allowed: Sequence[Any], form: str) -> dict[str, Any]:
    chosen = allowed[int(sha256(text.encode()).hexdigest(), 16) % len(allowed)]
    notes = [name for name in _BEFORE_VALUE.findall(form) if name not in {"reason", "value"}]
    return {
        **{name: _note(name) for name in notes},
        "reason": f"It reads as {chosen}: {' '.join(text.split())[:60]}",
        "value": chosen,
    }


def _note(name: str) -> object:
    if name == "question_elements":
        return [{"element": "the crew session", "kind": "entity", "state": "identified", "answered": "yes"}]
    if name == "source_elements":
        return [{"element": "it lasts 12 hours", "source": "chunk 1", "role": "direct", "in_answer": "yes"}]
    return "Say which service the session belongs to."


def _read(word: str) -> object:
    return int(word) if word.lstrip("-").isdecimal() else word.strip('"')
