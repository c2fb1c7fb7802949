"""Comparison of an answer with the expected ones, without a model."""

from __future__ import annotations

from greval.metrics.computed.graph_walk import normalise_name
from greval.metrics.computed.metric_names import find_computed_metric
from greval.metrics.computed.outcomes import compute_outcome
from greval.metrics.computed.text import list_expected_answers
from greval.records.case import Case
from greval.records.result import Scored, Skipped

EXACT = "exact_match"
CONTAINED = "fuzzy_containment@0.80"
MIN_DISTINCTIVE_LENGTH = 4
"""Shorter expected answers, such as "no", occur by chance in answers with another meaning."""
CLAUSE_ENDS = frozenset(",.;:!")


def describe_correct_answer(case: Case) -> str | None:
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
    for wanted in _list_expected(case) if case.answer else ():
        if _is_scored_correct(EXACT, wanted, case.answer):
            return f"the answer is the expected {wanted!r}"
        if _is_opening_clause(case.answer or "", wanted):
            return f"the answer begins with the expected {wanted!r}"
        if _is_distinctive(wanted, case.question) and _is_scored_correct(CONTAINED, wanted, case.answer):
            return f"the answer contains the expected {wanted!r}"
    return None


def find_chunk_with_answer(case: Case) -> tuple[str, str] | None:
    """Return the id of a chunk whose text contains an expected answer, with that answer, or None."""
    for wanted in _list_expected(case):
        for chunk in (case.chunks or ()) if _is_distinctive(wanted, case.question) else ():
            if _is_scored_correct(CONTAINED, wanted, chunk.text):
                return chunk.id, wanted
    return None


def _list_expected(case: Case) -> tuple[str, ...]:
    """Return the expected answers of a case."""
    found = list_expected_answers(case)
    return () if isinstance(found, Skipped) else found


def _is_scored_correct(name: str, wanted: str, text: str | None) -> bool:
    """Return whether a computed metric scores a text as correct."""
    metric = find_computed_metric(name)
    found = metric and compute_outcome(metric, Case(question="", expected_answer=wanted, answer=text))
    return isinstance(found, Scored) and any(judgement.number == 1 for judgement in found.judgements)


def _is_distinctive(wanted: str, question: str) -> bool:
    """Return whether an expected answer is specific enough that a text which contains it is correct."""
    long = len(wanted) >= MIN_DISTINCTIVE_LENGTH or any(letter.isdigit() for letter in wanted) or not wanted.isascii()
    return long and not _is_scored_correct(CONTAINED, wanted, question)


def _is_opening_clause(answer: str, wanted: str) -> bool:
    """Return whether an answer begins with a text as a clause of its own, such as "No, it is not"."""
    own, start = normalise_name(answer), normalise_name(wanted)
    return own.startswith(start) and own[len(start) : len(start) + 1] in CLAUSE_ENDS
