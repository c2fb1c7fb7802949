"""The questions that a comparison names as won or lost, with the cases of both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from greval.analysis.case_results import CaseResults, read_case_results
from greval.analysis.comparison.plan import NAMELESS
from greval.analysis.comparison.records import Comparison
from greval.runs.run_reader import CaseKey
from greval.runs.store import Store
from greval.stats.summary import NO_VALUE


class ChangedKey(NamedTuple):
    """A question that a method won or lost against a baseline; both are named as in the comparison."""

    sample_id: str
    method: str
    baseline: str


class ChangedQuestion(NamedTuple):
    """A question with the cases of a method and of its baseline; None if the run does not hold it any more."""

    key: ChangedKey
    method_case: CaseResults | None
    baseline_case: CaseResults | None


def list_changed_questions(comparison: Comparison) -> list[ChangedKey]:
    """List the questions that a comparison names as won or lost over all questions, in the order of the contrasts."""
    keys = dict.fromkeys(
        ChangedKey(question, contrast.method, contrast.baseline)
        for contrast in comparison.contrasts
        if not contrast.group
        for question in (*contrast.lost_questions, *contrast.won_questions)
    )
    return [*keys]


def read_changed_questions(comparison: Comparison, keys: Sequence[ChangedKey]) -> Iterator[ChangedQuestion]:
    """Yield the cases of both sides of questions, one question at a time in memory."""
    against = comparison.against
    now = [(key.sample_id, _find_method(key.method)) for key in keys]
    then = [(key.sample_id, _find_method(strip_folder(key.baseline, against))) for key in keys]
    sides = zip(keys, _read_cases(comparison.folder, now), _read_cases(against or comparison.folder, then), strict=True)
    for key, method_case, baseline_case in sides:
        yield ChangedQuestion(key, method_case, baseline_case)


def strip_folder(side: str, against: str | None) -> str:
    """Return the printed name of a side of a comparison without the folder of the earlier run.

    Example:
        >>> strip_folder("walk in runs/old", "runs/old"), strip_folder("walk", None)
        ('walk', 'walk')
    """
    return side.removesuffix(f" in {against}") if against else side


def _find_method(name: str) -> str:
    """Return the method of a printed name."""
    return "" if name in {NO_VALUE, *NAMELESS} else name


def _read_cases(folder: str, keys: Sequence[CaseKey]) -> Iterator[CaseResults | None]:
    """Yield the case of each key, None if the run does not hold it any more."""
    with Store.open(Path(folder)) as store, store.snapshot():
        cases = read_case_results(store, keys)
        at = next(cases, None)
        for key in keys:
            # Cases come in the order of the keys, but those that the run no longer holds are missing among them.
            if at and (at.sample_id, at.method) == key:
                yield at
                at = next(cases, None)
            else:
                yield None
