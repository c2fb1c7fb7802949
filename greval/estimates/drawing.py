"""How the labelled things were drawn: by item or by question, and whether they look like what they are said to be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from greval.errors import DataError
from greval.estimates.judged import Judged
from greval.estimates.labels import Labels
from greval.estimates.records import DrawnBy
from greval.stats.prediction_powered import Side, labels_only
from greval.stats.sampling import Drawn, drawn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

SURE = 0.9999
"""A random sample is taken for another kind about once in ten thousand times."""
UNWEIGHTED = (
    "things were drawn from several strata, and all have the weight 1, which is that of things that were all labelled. "
    "Give each annotation the weight it was drawn with, 1 by its probability"
)
ONE_QUESTION = (
    "all labels are of one question, whose things were labelled together: an estimate needs labels of two questions "
    "at least. Label another question, or say that things were drawn one by one (--drawn-by items)"
)
FEW = 30
"""With fewer labels intervals rest on little."""


class Drawing(NamedTuple):
    """How things were drawn, what was drawn in one go, why the sample is not as it is said to be, and warnings."""

    drawn: Drawn
    by: DrawnBy
    unlike: str | None
    warnings: tuple[str, ...]


def drawing(judged: Judged, labels: Labels, wish: DrawnBy | None) -> Drawing:
    """Lay out how the labelled things were drawn from the judged things of the methods that have labels.

    Args:
        judged: The judged things.
        labels: The labels, with weights and strata.
        wish: What was drawn in one go; None to tell it from the labels.

    Raises:
        DataError: Where all labels are of one question, drawn whole: one draw tells nothing of a spread.
    """
    import numpy as np  # noqa: PLC0415 - a tenth of a second

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
    unlike = UNWEIGHTED if labels.unweighted and labels.drawn < frame.sum() else _unlike(judged, places, frame, found)
    warnings = (*_joined(found), *_few(found), *(_may_be_unlike(unlike) if labels.enriched else ()))
    return Drawing(found, by, None if labels.enriched else unlike, warnings)


def _others(question: Integers, places: Integers, frame: Flags) -> float | None:
    """Give the share of the other things of labelled questions that are labelled too; None where there are none."""
    import numpy as np  # noqa: PLC0415 - a tenth of a second

    there = np.bincount(question[frame], minlength=int(question.max()) + 1)
    got = np.bincount(question[places], minlength=int(question.max()) + 1)
    pairs = float((got * (there - 1)).sum())
    return float((got * (got - 1)).sum()) / pairs if pairs else None


def _unlike(judged: Judged, places: Integers, frame: Flags, found: Drawn) -> str | None:
    """Say where the judge's verdicts of the labelled things are not those of all, as the weights would have it."""
    import numpy as np  # noqa: PLC0415 - a tenth of a second

    values = judged.verdicts()
    width = float(values.max() - values.min())
    columns = [values == number for number in range(len(judged.categories))] or [values]
    for column in columns:
        verdicts = column.astype(float)
        side = Side(np.ones(len(places)), float(verdicts[frame].mean()))
        seen = labels_only(found, [side], verdicts[places], width=1.0 if judged.categories else width)
        if abs(seen.value - side.judged) > seen.spread.half(SURE) > 0:
            return (
                f"the judge's mean is {seen.value:.3g} on the labelled things and {side.judged:.3g} on all: they are "
                "no random sample. Give each annotation the weight it was drawn with, 1 by its probability"
            )
    return None


def _joined(found: Drawn) -> Iterator[str]:
    if found.joined:
        yield f"strata with a single label: {found.joined}; each counts with the stratum whose weights are nearest"


def _few(found: Drawn) -> Iterator[str]:
    if found.units < FEW:
        yield f"only {found.units} labelled things were drawn: with fewer than {FEW} intervals are rough"


def _may_be_unlike(unlike: str | None) -> Iterator[str]:
    if unlike:
        yield f"the weights may be wrong: weighted by them, {unlike}"
