"""Labels: one for each annotated item, combined from its annotators, with its sampling weight."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from greval.records.annotation import Annotation
from greval.records.scale import OffScaleError, Value, ValueScale
from greval.runs.run_reader import ItemKey
from greval.trust.annotations.adjudication import find_majority
from greval.trust.annotations.matching import is_of_other_text, resolve_method
from greval.trust.annotations.values import parse_on_scale
from greval.trust.estimates.judged import JudgedColumns, JudgedItemKey
from greval.trust.estimates.records import UnusedAnnotations


class ItemLabel(NamedTuple):
    """The combined value of the annotators of one judged item; `place` is its index in `JudgedColumns`."""

    place: int
    value: float
    weight: float
    stratum: str | None


class ItemLabels(NamedTuple):
    """The labels, the counts of unused annotations, and warnings.

    `enriched` is true if weights differ, and `unweighted` if items from several strata all have the weight 1. `drawn`
    is the number of sampled items, labelled or not.
    """

    found: tuple[ItemLabel, ...]
    drawn: int
    enriched: bool
    unweighted: bool
    not_used: UnusedAnnotations
    warnings: tuple[str, ...]


class ItemDraw(NamedTuple):
    """The sampling weight and the stratum of an item."""

    weight: float
    stratum: str | None


def build_labels(
    annotations: Iterable[Annotation], judged: JudgedColumns, now: Mapping[ItemKey, str] | None = None
) -> ItemLabels:
    """Build one label for each item, weighted by how it was sampled.

    Several annotators are combined: categories and values of a two-level scale by majority, other numbers by the
    mean. If an annotator answered twice, the later answer counts. The weight of sampled items without a label is
    distributed over the labelled items of their stratum.

    Args:
        annotations: The annotations of one metric, of any status.
        judged: The judged items of that metric.
        now: The hash of what the judge was shown of each item, if known. A label made for another version of the text
            is ignored, so that its item counts as sampled but not labelled.
    """
    lacking: Counter[str] = Counter()
    said: dict[JudgedItemKey, dict[str, Value]] = {}
    drawings: dict[JudgedItemKey, ItemDraw] = {}
    odd: set[JudgedItemKey] = set()
    for one in annotations:
        thing = _build_item_key(one, judged)
        if thing not in judged.places:
            lacking["not_judged"] += 1
            continue
        drawing = ItemDraw(one.weight, one.stratum)
        if drawings.setdefault(thing, drawing) != drawing:
            odd.add(thing)
        if one.status != "submitted" or one.value is None:
            lacking["unfinished"] += 1
            continue
        if is_of_other_text(one.content, (now or {}).get(thing)):
            lacking["another_text"] += 1
            continue
        try:
            said.setdefault(thing, {})[one.annotator] = parse_on_scale(judged.scale, one.value)
        except OffScaleError:
            lacking["off_scale"] += 1
    values = {
        thing: value
        for thing, by in said.items()
        if by and (value := _combine_values([*by.values()], judged)) is not None
    }
    lacking["tied"] = sum(map(bool, said.values())) - len(values)
    warnings = (*_find_inconsistent_draws(odd), *_find_unlabelled_items(drawings, values))
    weights = _compute_weights(drawings, values)
    labels = tuple(
        ItemLabel(judged.places[thing], value, weights[thing], drawings[thing].stratum)
        for thing, value in values.items()
    )
    plain = {drawings[thing].weight for thing in values}
    enriched = bool(plain) and max(plain) > min(plain) * (1 + 1e-9)
    unweighted = plain == {1.0} and len({drawing.stratum for drawing in drawings.values()}) > 1
    return ItemLabels(labels, len(drawings), enriched, unweighted, UnusedAnnotations(**lacking), warnings)


def _build_item_key(one: Annotation, judged: JudgedColumns) -> JudgedItemKey:
    """Return the key of the annotated item."""
    return JudgedItemKey(one.sample_id, resolve_method(one, judged.methods), one.item)


def _combine_values(given: Sequence[Value], judged: JudgedColumns) -> float | None:
    """Combine the values of several annotators; None if categories, or the values of a two-level scale, are tied."""
    scale = judged.scale
    of_two = isinstance(scale, ValueScale) and scale.size == 2  # noqa: PLR2004 - two levels are a choice
    if not of_two and not isinstance(given[0], str):
        return fsum(float(value) for value in given) / len(given)
    most = find_majority(given)
    return None if most is None else judged.convert_value(most)


def _compute_weights(
    drawings: dict[JudgedItemKey, ItemDraw], values: dict[JudgedItemKey, float]
) -> dict[JudgedItemKey, float]:
    """Return the weight of each labelled item, increased for the items of its stratum without a label."""
    wanted: defaultdict[str | None, float] = defaultdict(float)
    there: defaultdict[str | None, float] = defaultdict(float)
    for thing, (weight, stratum) in drawings.items():
        wanted[stratum] += weight
        if thing in values:
            there[stratum] += weight
    return {
        thing: weight * wanted[stratum] / there[stratum]
        for thing, (weight, stratum) in drawings.items()
        if thing in values
    }


def _find_inconsistent_draws(odd: set[JudgedItemKey]) -> Iterator[str]:
    """Yield a warning about items whose annotations have different weights or strata."""
    if odd:
        yield f"{len(odd)} things have annotations with different weights or strata: the first of each counts"


def _find_unlabelled_items(
    drawings: dict[JudgedItemKey, ItemDraw], values: dict[JudgedItemKey, float]
) -> Iterator[str]:
    """Yield warnings about items that were sampled but have no label."""
    without = len(drawings) - len(values)
    if without and values:
        yield (
            f"{without} of {len(drawings)} things that were drawn have no label; the labelled ones of their stratum "
            "stand for them, which is right only where it is chance that these were left"
        )
    there = {drawings[thing].stratum for thing in values}
    empty = Counter(str(drawing.stratum) for drawing in drawings.values() if drawing.stratum not in there)
    for stratum, count in empty.items() if values else ():
        yield f"stratum {stratum}: none of its {count} drawn things has a label; those of other strata stand for them"
