"""Labels: one for each annotated item, combined from its annotators, with its sampling weight."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from greval._util.joins import IdJoin
from greval.records.annotation import Annotation
from greval.records.scale import Value, ValueScale
from greval.runs.run_reader import ItemKey
from greval.runs.score_columns import JudgedColumns
from greval.trust.annotations.adjudication import find_majority
from greval.trust.annotations.joining import find_off_scale_remark, format_item_key, join_items
from greval.trust.annotations.matching import place_annotations
from greval.trust.estimates.records import UnusedAnnotations
from greval.trust.estimates.warnings import find_inconsistent_draws, find_unlabelled_items


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
