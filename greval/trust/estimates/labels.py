"""Labels: one for each annotated thing, with how it was drawn, from what several people said of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from greval.records.annotation import Annotation
from greval.records.scale import OffScaleError, Value, ValueScale
from greval.trust.annotations.adjudication import majority
from greval.trust.annotations.matching import Key, method_of, of_another_text
from greval.trust.annotations.values import on_scale
from greval.trust.estimates.judged import Judged, Thing
from greval.trust.estimates.records import NotUsed


class Label(NamedTuple):
    """What people say of one judged thing; `place` is its entry in the columns of `Judged`."""

    place: int
    value: float
    weight: float
    stratum: str | None


class Labels(NamedTuple):
    """The labels, which annotations are none, and what to beware of.

    `enriched` tells that weights differ, `unweighted` that things from several strata all have the
    weight 1; `drawn` is how many things were drawn, labelled or not.
    """

    found: tuple[Label, ...]
    drawn: int
    enriched: bool
    unweighted: bool
    not_used: NotUsed
    warnings: tuple[str, ...]


class Drawing(NamedTuple):
    """With which weight, and from which stratum, a thing was drawn for annotation."""

    weight: float
    stratum: str | None


def labelled(annotations: Iterable[Annotation], judged: Judged, now: Mapping[Key, str] | None = None) -> Labels:
    """Give one label for each thing, and weigh it by how it was drawn.

    Several people: the category, or the one of two values, that most of them name; the mean of other
    numbers. An annotator who answered twice counts with the later answer. What was drawn but not
    labelled is made up for by the labelled things of its stratum.

    Args:
        annotations: Those of one metric, of any status.
        judged: The judged things of that metric.
        now: The hash of what the judge was shown of each thing, as far as it is known; a label of another text is
            none of this one, so that its thing was drawn and has no label.
    """
    lacking: Counter[str] = Counter()
    said: dict[Thing, dict[str, Value]] = {}
    drawings: dict[Thing, Drawing] = {}
    odd: set[Thing] = set()
    for one in annotations:
        thing = _thing(one, judged)
        if thing not in judged.places:
            lacking["not_judged"] += 1
            continue
        drawing = Drawing(one.weight, one.stratum)
        if drawings.setdefault(thing, drawing) != drawing:
            odd.add(thing)
        if one.status != "submitted" or one.value is None:
            lacking["unfinished"] += 1
            continue
        if of_another_text(one.content, (now or {}).get(thing)):
            lacking["another_text"] += 1
            continue
        try:
            said.setdefault(thing, {})[one.annotator] = on_scale(judged.scale, one.value)
        except OffScaleError:
            lacking["off_scale"] += 1
    values = {thing: value for thing, by in said.items() if by and (value := _one([*by.values()], judged)) is not None}
    lacking["tied"] = sum(map(bool, said.values())) - len(values)
    warnings = (*_odd(odd), *_without_label(drawings, values))
    weights = _made_up(drawings, values)
    labels = tuple(
        Label(judged.places[thing], value, weights[thing], drawings[thing].stratum) for thing, value in values.items()
    )
    plain = {drawings[thing].weight for thing in values}
    enriched = bool(plain) and max(plain) > min(plain) * (1 + 1e-9)
    unweighted = plain == {1.0} and len({drawing.stratum for drawing in drawings.values()}) > 1
    return Labels(labels, len(drawings), enriched, unweighted, NotUsed(**lacking), warnings)


def _thing(one: Annotation, judged: Judged) -> Thing:
    """Give what an annotation is of."""
    return Thing(one.sample_id, method_of(one, judged.methods), one.item)


def _one(given: Sequence[Value], judged: Judged) -> float | None:
    """Give the one value of several people: None where categories, or two values, are tied."""
    scale = judged.scale
    of_two = isinstance(scale, ValueScale) and scale.size == 2  # noqa: PLR2004 - a choice
    if not of_two and not isinstance(given[0], str):
        return fsum(float(value) for value in given) / len(given)
    most = majority(given)
    return None if most is None else judged.number(most)


def _made_up(drawings: dict[Thing, Drawing], values: dict[Thing, float]) -> dict[Thing, float]:
    """Give each labelled thing its weight and a share of those of its stratum that have no label."""
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


def _odd(odd: set[Thing]) -> Iterator[str]:
    if odd:
        yield f"{len(odd)} things have annotations with different weights or strata: the first of each counts"


def _without_label(drawings: dict[Thing, Drawing], values: dict[Thing, float]) -> Iterator[str]:
    """Tell of things that were drawn and have no label."""
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
