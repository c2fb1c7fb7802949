"""The sampling design of the labelled items: by item or by question, and whether the labels are consistent with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from greval.errors import DataError
from greval.runs.score_columns import JudgedColumns
from greval.stats.prediction_powered import EstimateTerm, estimate_from_labels
from greval.stats.random_draw import find_unlike_column
from greval.stats.sampling import WeightedSample, build_weighted_sample
from greval.trust.estimates.labels import ItemLabels
from greval.trust.estimates.records import DrawnBy
from greval.trust.estimates.warnings import find_sample_warnings

if TYPE_CHECKING:
    from greval.stats.bootstrap import Flags, Floats, Integers

REJECTION_LEVEL = 0.0001
"""The significance level: a random sample is rejected at most once in ten thousand times."""
UNWEIGHTED = (
    "items were sampled from several strata, and all have the weight 1, which is that of items that were all labelled; "
    "give each annotation its sampling weight, 1 / probability"
)
ONE_QUESTION = (
    "all labels are of one question, whose items were labelled together: an estimate needs labels of at least two "
    "questions; label another question, or state that single items were sampled (--drawn-by items)"
)


def infer_design(
    judged: JudgedColumns, labels: ItemLabels, sampling_unit: DrawnBy | None
) -> tuple[WeightedSample, DrawnBy, str | None, Sequence[str]]:
    """Infer how the labelled items were sampled from the judged items of the methods that have labels.

    The sampling unit is inferred too if it is None. Returns the sample, its unit, the reason why it is not consistent
    with a random sample, and warnings. Raise `DataError` if all labels are of one question that was sampled as a whole,
    because the variance is not defined for one unit.
    """
    import numpy as np

    places = np.array([label.place for label in labels.found])
    question, method = judged.get_numbers("question"), judged.get_numbers("method")
    frame = np.isin(method, np.unique(method[places]))
    other_share = _compute_labelled_share(question, places, frame)
    share = (len(places) - 1) / max(1, int(frame.sum()) - 1)
    # The limit is halfway between sampled items, whose questions have no more labels than others, and whole questions.
    by = sampling_unit or ("questions" if other_share is not None and other_share > (1 + share) / 2 else "items")
    names = {label.stratum: n for n, label in enumerate(labels.found)}
    sample = build_weighted_sample(
        np.array([label.weight for label in labels.found]),
        np.array([names[label.stratum] for label in labels.found]),
        question[places] if by == "questions" else None,
        population=int(frame.sum()),
        complete=by == "items" or other_share == 1,
    )
    if sample.unit_count < 2:  # noqa: PLR2004 - a spread needs two
        raise DataError(ONE_QUESTION)
    warnings = tuple(find_sample_warnings(sample))
    if labels.enriched:
        if unlike := _describe_unlike_weighted(judged, places, frame, sample):
            warnings = (*warnings, f"the weights may be wrong: weighted by them, {unlike}")
        return sample, by, None, warnings
    if labels.unweighted and labels.drawn < frame.sum():
        return sample, by, UNWEIGHTED, warnings
    return sample, by, _describe_unlike(judged, places, frame, by), warnings


def _compute_labelled_share(question: Integers, places: Integers, frame: Flags) -> float | None:
    """Return the labelled share of the other items of labelled questions; None if there are no others."""
    import numpy as np

    sizes = np.bincount(question[frame], minlength=int(question.max()) + 1)
    labelled_sizes = np.bincount(question[places], minlength=int(question.max()) + 1)
    pairs = float((labelled_sizes * (sizes - 1)).sum())
    return float((labelled_sizes * (labelled_sizes - 1)).sum()) / pairs if pairs else None


def _describe_unlike(judged: JudgedColumns, places: Integers, frame: Flags, by: DrawnBy) -> str | None:
    """Describe how the judge's verdicts on the labelled items differ from those of a random sample.

    Questions that are labelled in part are tested twice: which questions were sampled, and which of their items were
    labelled.
    """
    import numpy as np

    columns = np.stack(_build_columns(judged), axis=1)[frame]
    labelled = np.isin(np.flatnonzero(frame), places)
    if by == "items":
        unlike = find_unlike_column(columns, labelled, level=REJECTION_LEVEL)
    else:
        _, question = np.unique(judged.get_numbers("question")[frame], return_inverse=True)
        chosen = np.bincount(question, labelled) > 0
        # Deviations, because sums of the figures themselves differ with the sizes of the questions.
        off = columns - columns.mean(axis=0)
        sums: Floats = np.stack([np.bincount(question, column) for column in off.T], axis=1).astype(np.float64)
        of_chosen = chosen[question]
        partly = not labelled[of_chosen].all()
        # Two tests share the significance level.
        level = REJECTION_LEVEL / 2 if partly else REJECTION_LEVEL
        unlike = find_unlike_column(sums, chosen, level=level)
        if unlike is None and partly:
            unlike = find_unlike_column(columns[of_chosen], labelled[of_chosen], question[of_chosen], level=level)
    return None if unlike is None else _format_not_random(columns[labelled, unlike].mean(), columns[:, unlike].mean())


def _describe_unlike_weighted(
    judged: JudgedColumns, places: Integers, frame: Flags, sample: WeightedSample
) -> str | None:
    """Describe how the judge's weighted verdicts on the labelled items differ significantly from those on all items."""
    import numpy as np

    for column in _build_columns(judged):
        side = EstimateTerm(np.ones(len(places)), float(column[frame].mean()))
        estimate = estimate_from_labels(sample, [side], column[places], width=float(np.ptp(column)))
        if abs(estimate.value - side.judged) > estimate.spread.compute_half_width(1 - REJECTION_LEVEL) > 0:
            return _format_not_random(estimate.value, side.judged)
    return None


def _build_columns(judged: JudgedColumns) -> list[Floats]:
    """Return the judge's figures, or for each category an indicator of the verdict."""
    values = judged.get_verdicts()
    return [(values == number).astype(float) for number in range(len(judged.categories))] or [values]


def _format_not_random(labelled: float, overall: float) -> str:
    """Format the message that the labelled items are not a random sample."""
    return (
        f"the judge's mean is {labelled:.3g} on the labelled items and {overall:.3g} on all: they are "
        "no random sample; give each annotation its sampling weight, 1 / probability"
    )
