"""Comparison of an answer with the expected ones, without a model."""

from __future__ import annotations

from greval.metrics.computed.graph_walk import plain
from greval.metrics.computed.metric_names import parse
from greval.metrics.computed.outcomes import compute_outcome
from greval.metrics.computed.text import expected
from greval.records.case import Case
from greval.records.result import Scored, Skipped

EXACT = "exact_match"
CONTAINED = "fuzzy_containment@0.80"
SHORT = 4
"""Shorter expected answers, such as "no", occur by chance in answers with another meaning."""
CLAUSE_ENDS = frozenset(",.;:!")


def given_rightly(case: Case) -> str | None:
    """Describe how the answer contains an expected one, or return None if it does not.

    An expected answer that occurs in the question, or that is very short, must be the whole answer or its beginning:
    an answer that merely repeats it is not correct for that reason.

    Example:
        >>> case = Case(question="Who wrote it?", expected_answer="Ada Lovelace", answer="It was Ada Lovelace.")
        >>> describe_correct_answer(case)
        "the answer contains the expected 'Ada Lovelace'"
        >>> case = Case(question="Is it open?", expected_answer="no", answer="There is no such place.")
        >>> describe_correct_answer(case) is None
        True
    """
    for wanted in _expected(case) if case.answer else ():
        if _holds(EXACT, wanted, case.answer):
            return f"the answer is the expected {wanted!r}"
        if _begins(case.answer or "", wanted):
            return f"the answer begins with the expected {wanted!r}"
        if _telling(wanted, case.question) and _holds(CONTAINED, wanted, case.answer):
            return f"the answer contains the expected {wanted!r}"
    return None


def chunk_with_answer(case: Case) -> tuple[str, str] | None:
    """Return the id of a chunk whose text contains an expected answer, with that answer, or None."""
    for wanted in _expected(case):
        for chunk in (case.chunks or ()) if _telling(wanted, case.question) else ():
            if _holds(CONTAINED, wanted, chunk.text):
                return chunk.id, wanted
    return None


def _expected(case: Case) -> tuple[str, ...]:
    """Return the expected answers of a case."""
    found = expected(case)
    return () if isinstance(found, Skipped) else found


def _holds(name: str, wanted: str, text: str | None) -> bool:
    """Return whether a computed metric scores a text as correct."""
    metric = parse(name)
    found = metric and compute_outcome(metric, Case(question="", expected_answer=wanted, answer=text))
    return isinstance(found, Scored) and any(judgement.number == 1 for judgement in found.judgements)


def _telling(wanted: str, question: str) -> bool:
    """Return whether an expected answer is specific enough that a text which contains it is correct."""
    long = len(wanted) >= SHORT or any(letter.isdigit() for letter in wanted) or not wanted.isascii()
    return long and not _holds(CONTAINED, wanted, question)


def _begins(answer: str, wanted: str) -> bool:
    """Return whether an answer begins with a text as a clause of its own, such as "No, it is not"."""
    own, start = plain(answer), plain(wanted)
    return own.startswith(start) and own[len(start) : len(start) + 1] in CLAUSE_ENDS
