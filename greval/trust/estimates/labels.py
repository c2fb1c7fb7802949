"""Labels: one for each annotated item, combined from its annotators, and how the labelled items were sampled."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from greval._util.joins import IdJoin
from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.scale import Value, ValueScale
from greval.runs.run_reader import ItemKey
from greval.runs.score_columns import JudgedColumns
from greval.stats.prediction_powered import EstimateTerm, estimate_from_labels
from greval.stats.random_draw import find_unlike_column
from greval.stats.sampling import WeightedSample, build_weighted_sample
from greval.trust.annotations.adjudication import find_majority
from greval.trust.annotations.matching import find_off_scale_remark, format_item_key, join_items, place_annotations
from greval.trust.estimates.records import DrawnBy, UnusedAnnotations
from greval.trust.estimates.warnings import find_inconsistent_draws, find_sample_warnings, find_unlabelled_items

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


class ItemLabel(NamedTuple):
    """The combined value of the annotators of one judged item; `place` is its index in `JudgedColumns`."""

    place: int
    value: float
    weight: float
    stratum: str | None


class ItemLabels(NamedTuple):
    """The labels, the counts of unused annotations, and warnings.

    `enriched` is true if weights differ, and `unweighted` if items from several strata all have the weight 1. `drawn`
    is the number of sampled items, labelled or not, and `join` says how the annotated items met those of the run.
    """

    found: tuple[ItemLabel, ...]
    drawn: int
    enriched: bool
    unweighted: bool
    not_used: UnusedAnnotations
    warnings: tuple[str, ...]
    join: IdJoin


ItemDraw = tuple[float, str | None]
"""The sampling weight and the stratum of an item."""


def build_labels(
    annotations: Iterable[Annotation],
    judged: JudgedColumns,
    hashes: Mapping[ItemKey, str],
    cases: Iterable[ItemKey] = (),
) -> ItemLabels:
    """Build one label for each item, weighted by how it was sampled.

    Several annotators are combined: categories and values of a two-level scale by majority, other numbers by the
    mean. If an annotator answered twice, the later answer counts. The weight of sampled items without a label is
    distributed over the labelled items of their stratum.

    `cases` are the keys of the cases of the run, if an annotated item is of none of them. `hashes` are of what the
    judge was shown of each item, if known. A label made for another version of the text is
    ignored, so that its item counts as sampled but not labelled.
    """
    lacking: Counter[str] = Counter()
    annotator_values: dict[ItemKey, dict[str, Value]] = {}
    draws: dict[ItemKey, ItemDraw] = {}
    inconsistent: set[ItemKey] = set()
    off_scale: list[str] = []
    annotated: dict[ItemKey, None] = {}
    for key, annotation, reason, fault in place_annotations(annotations, judged.places, hashes, judged.scale):
        annotated.setdefault(key)
        if reason == "off_scale":
            off_scale.append(f"{format_item_key(key)}, {annotation.annotator}: {fault}")
        draw = annotation.weight, annotation.stratum
        if reason != "not_judged" and draws.setdefault(key, draw) != draw:
            inconsistent.add(key)
        if reason:
            lacking[reason] += 1
        elif annotation.value is not None:
            annotator_values.setdefault(key, {})[annotation.annotator] = annotation.value
    combined = {key: _combine_values([*by.values()], judged) for key, by in annotator_values.items()}
    values = {key: value for key, value in combined.items() if value is not None}
    lacking["tied"] = len(combined) - len(values)
    strata = {key: stratum for key, (_, stratum) in draws.items()}
    join = _join_with_judged(annotated, judged, cases)
    remark = join.find_remark("annotations are matched by sample, method and item") or (join.near and str(join.near))
    warnings = (
        *find_off_scale_remark(off_scale, len(off_scale) + sum(map(len, annotator_values.values()))),
        *filter(None, [remark]),
        *find_inconsistent_draws(inconsistent),
        *find_unlabelled_items(strata, values),
    )
    weights = _compute_weights(draws, values)
    labels = tuple(ItemLabel(judged.places[key], value, weights[key], strata[key]) for key, value in values.items())
    plain = {draws[key][0] for key in values}
    # Weights that were written with other digits are the same.
    enriched = bool(plain) and max(plain) > min(plain) * (1 + 1e-9)
    unweighted = plain == {1.0} and len({*strata.values()}) > 1
    return ItemLabels(labels, len(draws), enriched, unweighted, UnusedAnnotations(**lacking), warnings, join)


def _join_with_judged(annotated: Collection[ItemKey], judged: JudgedColumns, cases: Iterable[ItemKey]) -> IdJoin:
    """Join the annotated items with the judged ones: items of cases of the run by item, and the others by case."""
    met = {key for key in annotated if key in judged.places}
    judged_cases = {key[:2] for key in judged.places}
    unmet = [key if key[:2] in judged_cases else (*key[:2], None) for key in annotated if key not in met]
    return join_items(unmet, met, (*judged.places, *(case for case in cases if case[:2] not in judged_cases)))


def _combine_values(values: Sequence[Value], judged: JudgedColumns) -> float | None:
    """Combine the values of several annotators; None if categories, or the values of a two-level scale, are tied."""
    scale = judged.scale
    of_two = isinstance(scale, ValueScale) and scale.size == 2  # noqa: PLR2004 - two levels are a choice
    if not of_two and not isinstance(values[0], str):
        return fsum(float(value) for value in values) / len(values)
    most = find_majority(values)
    return None if most is None else judged.convert_value(most)


def _compute_weights(draws: Mapping[ItemKey, ItemDraw], labelled: Collection[ItemKey]) -> dict[ItemKey, float]:
    """Return the weight of each labelled item, increased for the items of its stratum without a label."""
    drawn: defaultdict[str | None, float] = defaultdict(float)
    labelled_weight: defaultdict[str | None, float] = defaultdict(float)
    for key, (weight, stratum) in draws.items():
        drawn[stratum] += weight
        labelled_weight[stratum] += weight if key in labelled else 0.0
    return {
        key: weight * drawn[stratum] / labelled_weight[stratum]
        for key, (weight, stratum) in draws.items()
        if key in labelled
    }


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
