"""The sampling design of the labelled items: by item or by question, and whether the labels are consistent with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from greval.errors import DataError
from greval.stats.prediction_powered import Side, labels_only
from greval.stats.random_draw import find_unlike_column
from greval.stats.sampling import Drawn, drawn
from greval.trust.estimates.judged import Judged
from greval.trust.estimates.labels import Labels
from greval.trust.estimates.records import DrawnBy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

CHANCE = 0.0001
"""The significance level: a random sample is rejected at most once in ten thousand times."""
UNWEIGHTED = (
    "things were drawn from several strata, and all have the weight 1, which is that of things that were all labelled. "
    "Give each annotation the weight it was drawn with, 1 by its probability"
)
ONE_QUESTION = (
    "all labels are of one question, whose things were labelled together: an estimate needs labels of two questions "
    "at least. Label another question, or say that things were drawn one by one (--drawn-by items)"
)
FEW = 30
"""With fewer single items intervals are rough. `figures.MIN_QUESTIONS` has the limits for whole questions."""


class Drawing(NamedTuple):
    """The sample, its sampling unit, the reason why it is not consistent with a random sample, and warnings."""

    drawn: Drawn
    by: DrawnBy
    unlike: str | None
    warnings: tuple[str, ...]


def drawing(judged: Judged, labels: Labels, wish: DrawnBy | None) -> Drawing:
    """Infer how the labelled items were sampled from the judged items of the methods that have labels.

    Args:
        judged: The judged items.
        labels: The labels, with weights and strata.
        wish: The sampling unit; None infers it from the labels.

    Raises:
        DataError: If all labels are of one question that was sampled as a whole: the variance is not defined for one
            unit.
    """
    import numpy as np

    places = np.array([label.place for label in labels.found])
    question, method = judged.numbers("question"), judged.numbers("method")
    frame = np.isin(method, np.unique(method[places]))
    others = _others(question, places, frame)
    share = (len(places) - 1) / max(1, int(frame.sum()) - 1)
    by = wish or ("questions" if others is not None and others > (1 + share) / 2 else "items")
    names = {label.stratum: n for n, label in enumerate(labels.found)}
    found = drawn(
        np.array([label.weight for label in labels.found]),
        np.array([names[label.stratum] for label in labels.found]),
        question[places] if by == "questions" else None,
        whole=int(frame.sum()),
        complete=by == "items" or others == 1,
    )
    if found.units < 2:  # noqa: PLR2004 - a spread needs two
        raise DataError(ONE_QUESTION)
    warnings = (*_joined(found), *_few(found))
    if labels.enriched:
        return Drawing(found, by, None, (*warnings, *_may_be_unlike(_unlike_by_weights(judged, places, frame, found))))
    if labels.unweighted and labels.drawn < frame.sum():
        return Drawing(found, by, UNWEIGHTED, warnings)
    return Drawing(found, by, _unlike(judged, places, frame, by), warnings)


def _others(question: Integers, places: Integers, frame: Flags) -> float | None:
    """Return the labelled share of the other items of labelled questions; None if there are no others."""
    import numpy as np

    there = np.bincount(question[frame], minlength=int(question.max()) + 1)
    got = np.bincount(question[places], minlength=int(question.max()) + 1)
    pairs = float((got * (there - 1)).sum())
    return float((got * (got - 1)).sum()) / pairs if pairs else None


def _unlike(judged: Judged, places: Integers, frame: Flags, by: DrawnBy) -> str | None:
    """Describe how the judge's verdicts on the labelled items differ from those of a random sample.

    Questions that are labelled in part are tested twice, each time at half the significance level: which questions
    were sampled, and which of their items were labelled.
    """
    import numpy as np

    columns = np.stack(_columns(judged), axis=1)[frame]
    labelled = np.isin(np.flatnonzero(frame), places)
    if by == "items":
        unlike = find_unlike_column(columns, labelled, level=CHANCE)
    else:
        _, question = np.unique(judged.numbers("question")[frame], return_inverse=True)
        chosen = np.bincount(question, labelled) > 0
        off = columns - columns.mean(axis=0)
        sums: Floats = np.stack([np.bincount(question, column) for column in off.T], axis=1).astype(np.float64)
        of_chosen = chosen[question]
        partly = not labelled[of_chosen].all()
        level = CHANCE / 2 if partly else CHANCE
        unlike = find_unlike_column(sums, chosen, level=level)
        if unlike is None and partly:
            unlike = find_unlike_column(columns[of_chosen], labelled[of_chosen], question[of_chosen], level=level)
    return None if unlike is None else _not_random(columns[labelled, unlike].mean(), columns[:, unlike].mean())


def _unlike_by_weights(judged: Judged, places: Integers, frame: Flags, found: Drawn) -> str | None:
    """Describe how the judge's weighted verdicts on the labelled items differ significantly from those on all items."""
    import numpy as np

    for column in _columns(judged):
        side = Side(np.ones(len(places)), float(column[frame].mean()))
        seen = labels_only(found, [side], column[places], width=float(np.ptp(column)))
        if abs(seen.value - side.judged) > seen.spread.half(1 - CHANCE) > 0:
            return _not_random(seen.value, side.judged)
    return None


def _columns(judged: Judged) -> list[Floats]:
    """Return the judge's figures, or for each category an indicator of the verdict."""
    values = judged.verdicts()
    return [(values == number).astype(float) for number in range(len(judged.categories))] or [values]


def _not_random(labelled: float, whole: float) -> str:
    """Format the message that the labelled items are not a random sample."""
    return (
        f"the judge's mean is {labelled:.3g} on the labelled things and {whole:.3g} on all: they are "
        "no random sample. Give each annotation the weight it was drawn with, 1 by its probability"
    )


def _joined(found: Drawn) -> Iterator[str]:
    """Yield a warning about strata with a single label."""
    if found.joined:
        yield f"strata with a single label: {found.joined}; each counts with the stratum whose weights are nearest"


def _few(found: Drawn) -> Iterator[str]:
    """Yield a warning if few items were sampled."""
    if found.units < FEW and not found.clustered:
        yield f"only {found.units} labelled things were drawn: with fewer than {FEW} intervals are rough"


def _may_be_unlike(unlike: str | None) -> Iterator[str]:
    """Yield a warning if the weights may be wrong."""
    if unlike:
        yield f"the weights may be wrong: weighted by them, {unlike}"
