"""Ranking measures over arrays: the same formulas as the metrics of single cases, for all questions at once.

`docs/measures.md` defines each measure and says when it is skipped. The functions here compute them from the
judged documents that were retrieved and from their ranks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from greval.errors import DefinitionError
from greval.metrics.columns.chunked_array import Flags, Ints
from greval.metrics.columns.qrels import Qrels
from greval.metrics.columns.rankings import Hits

Floats = npt.NDArray[np.float64]
_NAME = re.compile(r"(?P<base>[a-z_]+)(?:@(?P<cut>[1-9][0-9]{0,8}))?(?P<exponential>-exponential)?")


@dataclass(frozen=True)
class Found:
    """The input of a measure: the judged documents that were retrieved, and the cut-off.

    Args:
        qrels: The judged documents.
        hits: The judged documents that were retrieved, with their ranks.
        cut: The cut-off k, the number of top documents that count; None for all.
        exponential: Whether the gain of a document is `2**grade - 1` instead of its grade.
    """

    qrels: Qrels
    hits: Hits
    cut: int | None
    exponential: bool

    @property
    def size(self) -> int:
        """The number of questions."""
        return len(self.qrels.grouped.names)

    @property
    def first(self) -> Flags:
        """Boolean mask of the hits within the cut-off."""
        return np.ones(len(self.hits.ranks), np.bool_) if self.cut is None else self.hits.ranks <= self.cut

    def graded(self, lowest: int) -> Flags:
        """Return a mask of the hits within the cut-off that have at least the grade `lowest`."""
        marked: Flags = self.first & (self.qrels.grades[self.hits.gold] >= lowest)
        return marked

    def count(self, lowest: int) -> Ints:
        """Count the hits of at least the grade `lowest` per question, within the cut-off."""
        return np.bincount(self.hits.questions[self.graded(lowest)], minlength=self.size)

    def add(self, marked: Flags, terms: Floats) -> Floats:
        """Sum the terms of the marked hits per question."""
        added: Floats = np.bincount(self.hits.questions[marked], terms, self.size).astype(np.float64)
        return added

    def due(self, lowest: int) -> Ints:
        """Count the judged documents of at least the grade `lowest` per question."""
        return self.qrels.due(lowest)

    def gains(self, grades: npt.NDArray[np.integer[Any]]) -> Floats:
        """Return the gains of grades; a negative grade has the gain 0."""
        positive = np.maximum(grades, 0).astype(np.float64)
        gains: Floats = np.exp2(positive) - 1 if self.exponential else positive
        return gains


def _ndcg(found: Found) -> tuple[Floats, Flags]:
    first, hits, grades = found.first, found.hits, found.qrels.grades
    gains = found.gains(grades[hits.gold[first]])
    return _shares(found.add(first, gains / np.log2(hits.ranks[first] + 1)), _ideal(found))


def _ideal(found: Found) -> Floats:
    """Compute the ideal DCG of each question, which ranks its documents by falling grade."""
    qrels = found.qrels
    longest = int(qrels.grouped.lengths.max(initial=0))
    cut = longest if found.cut is None else min(found.cut, longest)
    discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(cut) + 2))])
    best, ranks = np.zeros(found.size), np.zeros(found.size, np.intp)
    for grade in qrels.levels:
        filled = np.minimum(qrels.due(int(grade)), cut)
        best += found.gains(grade) * (discounts[filled] - discounts[ranks])
        ranks = filled
    return best


def _recall(found: Found) -> tuple[Floats, Flags]:
    return _shares(found.count(found.qrels.relevant), found.due(found.qrels.relevant))


def _essential_recall(found: Found) -> tuple[Floats, Flags]:
    return _shares(found.count(found.qrels.essential), found.due(found.qrels.essential))


def _precision(found: Found) -> tuple[Floats, Flags]:
    relevant = found.count(found.qrels.relevant)
    size = np.maximum(found.hits.depths, 1) if found.cut is None else np.full(len(relevant), found.cut)
    return relevant / size, found.due(found.qrels.relevant) > 0


def _hit_rate(found: Found) -> tuple[Floats, Flags]:
    relevant = found.count(found.qrels.relevant)
    return (relevant > 0).astype(np.float64), found.due(found.qrels.relevant) > 0


def _perfect_recall(found: Found) -> tuple[Floats, Flags]:
    due = found.due(found.qrels.essential)
    return (found.count(found.qrels.essential) == due).astype(np.float64), due > 0


def _mrr(found: Found) -> tuple[Floats, Flags]:
    marked = found.graded(found.qrels.essential)
    questions, ranks = found.hits.questions[marked], found.hits.ranks[marked]
    best = np.diff(questions, prepend=-1) > 0
    values = np.zeros(found.size)
    values[questions[best]] = 1 / ranks[best]
    return values, found.due(found.qrels.essential) > 0


def _map(found: Found) -> tuple[Floats, Flags]:
    marked = found.graded(found.qrels.relevant)
    questions, ranks = found.hits.questions[marked], found.hits.ranks[marked]
    sofar = np.arange(1, len(ranks) + 1) - np.searchsorted(questions, questions)
    return _shares(found.add(marked, sofar / ranks), found.due(found.qrels.relevant))


def _shares(part: npt.NDArray[np.generic], whole: npt.NDArray[np.generic]) -> tuple[Floats, Flags]:
    """Divide element by element; return the quotients, and a mask of those whose divisor is above 0."""
    defined: Flags = np.asarray(whole, np.float64) > 0
    return np.divide(part, whole, out=np.zeros(len(defined)), where=defined), defined


FORMULAS: dict[str, Callable[[Found], tuple[Floats, Flags]]] = {
    "ndcg": _ndcg,
    "recall": _recall,
    "essential_recall": _essential_recall,
    "precision": _precision,
    "hit_rate": _hit_rate,
    "perfect_recall": _perfect_recall,
    "mrr": _mrr,
    "map": _map,
}
"""Formulas by measure name without cut-off. Each returns a value per question and a mask of the defined values."""


def values_of(name: str, qrels: Qrels, hits: Hits) -> tuple[Floats, Flags]:
    """Compute a measure for every question of the qrels.

    Args:
        name: The name of the measure, such as `ndcg@10`, `ndcg@10-exponential` or `mrr`.
        qrels: The judged documents.
        hits: The judged documents that were retrieved.

    Returns:
        The values, shape (questions,), and a boolean mask of the questions for which the measure is defined.

    Raises:
        DefinitionError: If no measure has this name.
    """
    read = _NAME.fullmatch(name)
    if not read or read["base"] not in FORMULAS or (read["exponential"] and read["base"] != "ndcg"):
        raise DefinitionError(_unknown(name))
    cut = int(read["cut"]) if read["cut"] else None
    return FORMULAS[read["base"]](Found(qrels, hits, cut, bool(read["exponential"])))


def _unknown(name: str) -> str:
    base, mark, rest = name.partition("@")
    near = get_close_matches(base.split("-")[0], FORMULAS, 1)
    hint = (
        f"; is it {near[0]}{mark and '@'}{re.sub('[^0-9]', '', rest).lstrip('0') or (mark and '10')}?" if near else ""
    )
    return f"no ranking measure is called {name!r}{hint} (measures: {', '.join(FORMULAS)}; with @k the first k count)"
