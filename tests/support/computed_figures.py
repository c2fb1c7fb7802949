"""What computed metrics give for a case: why it is skipped, or the number and the reason of its judgement."""

from __future__ import annotations

from greval import Case, Skipped, load_metric


def compute(name: str, case: Case) -> Skipped | tuple[float | None, str]:
    outcome = load_metric(name).compute(case)
    return outcome if isinstance(outcome, Skipped) else (outcome[0].number, outcome[0].reason)


def compute_answer(name: str, answer: str | None, expected: str | None = None, **gold: list[str]) -> object:
    return compute(name, Case(question="?", answer=answer, expected_answer=expected, gold=gold or None))
