"""Cells: the means and differences that are estimated, each over its judged and its labelled items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from greval.records.case import sort_methods
from greval.runs.score_columns import JudgedColumns
from greval.stats.prediction_powered import EstimateTerm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Integers = NDArray[np.int64]


class EstimateCell(NamedTuple):
    """One mean, or the difference of two, and the number of its group (None for all questions)."""

    group: str
    method: str
    baseline: str | None
    number: int | None


@dataclass(frozen=True)
class CellItems:
    """The judged items of one method in one cell: their indices and their shares in the mean."""

    which: Integers
    shares: Floats

    def build_side(self, verdicts: Floats, places: Integers, sign: float) -> EstimateTerm:
        """Build this mean as an input of the estimate; `places` are the indices of the labelled items in `verdicts`.

        `sign` is -1 for the mean that is subtracted, else 1.
        """
        import numpy as np

        all_shares = np.zeros(len(verdicts))
        all_shares[self.which] = self.shares
        return EstimateTerm(all_shares[places], float(self.shares @ verdicts[self.which] / self.shares.sum()), sign)


def iterate_cells(judged: JudgedColumns, baseline: str | None, *, grouped: bool) -> Iterator[EstimateCell]:
    """Yield every mean that is estimated, and after those of each group the differences from the baseline."""
    methods = sort_methods(judged.methods, baseline)
    groups: list[tuple[str, int | None]] = [("", None), *(sorted(judged.groups.items()) if grouped else ())]
    for group, number in groups:
        for method in methods:
            yield EstimateCell(group, method, None, number)
        for method in methods:
            if baseline is not None and method != baseline:
                yield EstimateCell(group, method, baseline, number)


def select_items(judged: JudgedColumns, cell: EstimateCell) -> tuple[CellItems, ...]:
    """Return the items of a cell: those of its method, and for a difference those of its baseline.

    In a mean each item has the same weight. In a difference each question that both methods have has the same weight,
    which is divided among the items of the question.
    """
    import numpy as np

    question, method = judged.get_numbers("question"), judged.get_numbers("method")
    within = np.ones(len(question), dtype=bool) if cell.number is None else judged.get_numbers("group") == cell.number
    names = [cell.method, *([] if cell.baseline is None else [cell.baseline])]
    of = [np.flatnonzero(within & (method == judged.methods[name])) for name in names]
    if cell.baseline is None:
        return (CellItems(of[0], np.ones(len(of[0]))),)
    counts = [np.bincount(question[which], minlength=int(question.max()) + 1) for which in of]
    both = (counts[0] > 0) & (counts[1] > 0)
    shared_items = [which[both[question[which]]] for which in of]
    return tuple(
        CellItems(which, 1 / count[question[which]]) for which, count in zip(shared_items, counts, strict=True)
    )


def sum_by_question(judged: JudgedColumns, sides: Sequence[CellItems], verdicts: Floats) -> tuple[Floats, Integers]:
    """Return the judge's figures of a cell by question: sums and numbers of items, or paired differences."""
    import numpy as np

    question = judged.get_numbers("question")
    added, counted = np.zeros(int(question.max()) + 1), np.zeros(int(question.max()) + 1, dtype=np.int64)
    for sign, side in zip((1.0, -1.0), sides, strict=False):
        np.add.at(added, question[side.which], sign * side.shares * verdicts[side.which])
        np.add.at(counted, question[side.which], 1)
    has_items = counted > 0
    return added[has_items], counted[has_items] if len(sides) == 1 else np.ones(int(has_items.sum()), dtype=np.int64)
