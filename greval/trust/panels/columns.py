"""The verdicts of a panel as columns of numbers, and what several of them combine to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple, Self

from greval.records.scale import Value
from greval.runs.run_reader import ItemKey
from greval.stats.bootstrap import encode_names
from greval.trust.agreement.value_pairs import index_categories
from greval.trust.annotations.adjudication import find_majority
from greval.trust.panels.records import CombineJudges
from greval.trust.panels.runs import PanelItems

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers


class PanelColumns(NamedTuple):
    """The verdicts of the judges, a row for each item and a column for each judge, and what belongs to the items.

    A category is given by its index on the scale of `size` categories; for numbers `size` is 0. `questions` has the
    number of each item's question, and `people` the people's combined value, NaN if they gave no value or are tied.
    """

    judges: tuple[str, ...]
    verdicts: Floats
    questions: Integers
    people: Floats
    size: int

    def select(self, places: Integers) -> Self:
        """Return the columns of some of the items."""
        return self._replace(
            verdicts=self.verdicts[places], questions=self.questions[places], people=self.people[places]
        )


def build_columns(items: PanelItems, people: Mapping[ItemKey, Value]) -> PanelColumns:
    """Build the columns of the items of a panel; `people` has the people's value for each item on which they agree."""
    import numpy as np

    place = index_categories(items.scale)
    used = set(np.unique(items.verdicts).tolist())
    numbers = [
        float(place[value] if place else value) if number in used else np.nan
        for number, value in enumerate(items.values)
    ]
    said = (people.get(key) for key in items.keys) if people else ()
    return PanelColumns(
        judges=tuple(items.runs),
        verdicts=np.array(numbers)[items.verdicts],
        questions=encode_names([key[0] for key in items.keys]),
        people=np.array([np.nan if value is None else float(place[value] if place else value) for value in said])
        if people
        else np.full(len(items.keys), np.nan),
        size=len(place),
    )


def combine_verdicts(values: Sequence[Value], how: CombineJudges | str) -> Value | None:
    """Combine several verdicts into one; None if several values have the most votes.

    Example:
        >>> combine_verdicts(["Yes", "Yes", "No"], "majority"), combine_verdicts(["Yes", "No"], "majority")
        ('Yes', None)
        >>> combine_verdicts([1, 2, 5], "median")
        2
    """
    if how == "majority":
        return find_majority(values)
    numbers = [float(value) for value in values]
    found = median(numbers) if how == "median" else fmean(numbers)
    return int(found) if found.is_integer() and all(isinstance(value, int) for value in values) else found


def combine_columns(verdicts: Floats, how: CombineJudges, size: int) -> Floats:
    """Combine the verdicts in each row into one number, as `combine_verdicts` does; NaN for a tie.

    Args:
        verdicts: The verdicts, shape (items, judges).
        how: How they are combined.
        size: The number of categories if verdicts are their indices, else 0.

    Example:
        >>> import numpy as np
        >>> combine_columns(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 1.0]]), "majority", 3).tolist()
        [0.0, nan]
    """
    import numpy as np

    if how != "majority":
        middle = np.median(verdicts, axis=1) if how == "median" else [fmean(row) for row in verdicts.tolist()]
        return np.asarray(middle, dtype=float)
    cells = verdicts.astype(np.int64) + size * np.arange(len(verdicts))[:, None]
    votes = np.bincount(cells.ravel(), minlength=size * len(verdicts)).reshape(-1, size)
    most = votes.max(axis=1, keepdims=True)
    return np.where((votes == most).sum(axis=1) == 1, votes.argmax(axis=1).astype(float), np.nan)
