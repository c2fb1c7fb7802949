"""The questions that a comparison names as won or lost, with the cases of both sides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from greval.analysis.case_results import CaseResults, read_case_results
from greval.analysis.comparison.records import Comparison
from greval.runs.run_reader import CaseKey
from greval.runs.store import Store
from greval.stats.summary import NO_VALUE


class ChangedQuestion(NamedTuple):
    """A question with the cases of a method and of its baseline; None if the run does not hold it any more."""

    sample_id: str
    method: str
    baseline: str
    method_case: CaseResults | None
    baseline_case: CaseResults | None


def read_changed_questions(comparison: Comparison) -> Iterator[ChangedQuestion]:
    """Read the cases of each question that a comparison names as won or lost over all questions.

    Args:
        comparison: The comparison, cut to the questions that are wanted by `Comparison.name_first`.

    Yields:
        Each question of each pair of methods once, in the order of the contrasts.
    """
    named = dict.fromkeys(
        (question, one.method, one.baseline)
        for one in comparison.contrasts
        if not one.group
        for question in (*one.lost_questions, *one.won_questions)
    )
    before = comparison.against or comparison.folder
    now = _read_cases(comparison.folder, [(question, _find_method(method)) for question, method, _ in named])
    then = _read_cases(
        before, [(question, _find_method(baseline, comparison.against)) for question, _, baseline in named]
    )
    for question, method, baseline in named:
        yield ChangedQuestion(
            sample_id=question,
            method=method,
            baseline=baseline,
            method_case=now.get((question, _find_method(method))),
            baseline_case=then.get((question, _find_method(baseline, comparison.against))),
        )


def _find_method(side: str, against: str | None = None) -> str:
    """Return the method of a side of a comparison by its printed name."""
    name = side.removesuffix(f" in {against}") if against else side
    return "" if name == NO_VALUE else name


def _read_cases(folder: str, keys: list[CaseKey]) -> dict[CaseKey, CaseResults]:
    with Store.open(Path(folder)) as store, store.snapshot():
        return {(found.sample_id, found.method): found for found in read_case_results(store, dict.fromkeys(keys))}
