"""Annotations of a metric, read from any source and joined with the verdicts of a run, as pairs of values.

A value scale of two levels, such as 1 and 0, is a choice between right and wrong and is compared as categories.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from greval._util.joins import show_id
from greval.errors import DataError
from greval.records.scale import MAX_ENUM_LEVELS, CategoricalScale, MeasureScale, Scale, Value, ValueScale
from greval.runs.run_reader import read_metric
from greval.runs.store import Store
from greval.stats.bootstrap import encode_names
from greval.stats.confusion import Choices
from greval.stats.correlation import NumberPairs
from greval.trust.agreement.records import CombineAnnotators, TreatAs
from greval.trust.annotations.adjudication import find_majority
from greval.trust.annotations.files import MAX_LISTED, AnnotationSource, LoadedAnnotations, load_annotations
from greval.trust.annotations.matching import AnnotatedItem, MatchedAnnotations, match_annotations

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers

BINARY_SIZE = 2
"""The number of levels at which a value scale is compared as categories by default."""


class ValuePair(NamedTuple):
    """A value from people and the judge's value for one item.

    With `combine="each"` an item has one pair for each annotation.
    """

    thing: AnnotatedItem
    number: int
    people: Value
    judge: Value


def pair_values(things: Sequence[AnnotatedItem], combine: CombineAnnotators) -> tuple[ValuePair, ...]:
    """Return the pairs of the people's value and the judge's; items on which people are tied are left out."""
    return tuple(
        ValuePair(thing, number, value, thing.judge)
        for number, thing in enumerate(things)
        for value in _combine_people(thing, combine)
    )


def _combine_people(thing: AnnotatedItem, combine: CombineAnnotators) -> Iterator[Value]:
    """Yield the value or values that represent the people on an item."""
    match combine:
        case "each":
            yield from thing.values.values()
        case "mean":
            yield fmean(float(value) for value in thing.values.values())
        case "majority":
            value = find_majority(thing.values.values())
            if value is not None:
                yield value


def build_choices(pairs: Sequence[ValuePair], scale: CategoricalScale, *, weighted: bool = False) -> Choices:
    """Build the columns of categories, each as its index on the scale."""
    import numpy as np

    index = index_categories(scale)
    things, questions, weights = _build_columns(pairs, weighted=weighted)
    return Choices(
        truth=np.array([index[pair.people] for pair in pairs], dtype=np.int64),
        given=np.array([index[pair.judge] for pair in pairs], dtype=np.int64),
        weights=weights,
        things=things,
        questions=questions,
        size=len(index),
        ordered=scale.ordered,
    )


def build_numbers(pairs: Sequence[ValuePair], *, weighted: bool = False) -> NumberPairs:
    """Build the columns of numbers."""
    import numpy as np

    things, questions, weights = _build_columns(pairs, weighted=weighted)
    people = np.array([float(pair.people) for pair in pairs])
    return NumberPairs(people, np.array([float(pair.judge) for pair in pairs]), weights, things, questions)


def index_categories(scale: Scale) -> Mapping[Value, int]:
    """Return the index of each category on its scale, or an empty mapping for other scales."""
    return {name: index for index, name in enumerate(scale.names)} if isinstance(scale, CategoricalScale) else {}


def read_category_numbers(scale: CategoricalScale) -> Mapping[str, float]:
    """Return the numbers of categories, of two without scores 1 for the first; empty if they have none."""
    scores = {category.name: category.score for category in scale.categories if category.score is not None}
    if len(scores) == len(scale.names):
        return scores
    return dict(zip(scale.names, (1.0, 0.0), strict=True)) if len(scale.names) == BINARY_SIZE else {}


def name_first_f1(scale: CategoricalScale) -> str:
    """Return the name of the F1 of the first category as a figure."""
    return f"f1 of {scale.names[0]}"


def _build_columns(pairs: Sequence[ValuePair], *, weighted: bool) -> tuple[Integers, Integers, Floats]:
    """Build the columns of item numbers, question numbers and weights."""
    import numpy as np

    things = np.array([pair.number for pair in pairs], dtype=np.int64)
    weights = np.array([pair.thing.weight if weighted else 1.0 for pair in pairs])
    return things, encode_names([pair.thing.sample_id for pair in pairs]), weights


def convert_items(
    metric: str, scale: Scale, items: Iterable[AnnotatedItem], treat_as: TreatAs | None
) -> tuple[Scale, tuple[AnnotatedItem, ...]]:
    """Return the scale and the items in the form in which they are compared.

    A value scale of two levels is compared as categories by default. A judge's value between two levels, such as the
    mean of repeats, is not a category; such items are left out. Raise `DataError` if the scale cannot be compared in
    the requested way.
    """
    compared = _convert_scale(metric, scale, treat_as)
    if not isinstance(scale, ValueScale) or not isinstance(compared, CategoricalScale):
        return compared, tuple(items)

    # A million values have few different levels, so each level is looked up once.
    @lru_cache
    def name_level(value: Value) -> str | None:
        number = float(value)
        level = scale.find_nearest(number)
        return str(level) if level == number else None

    converted = []
    for item in items:
        judge = name_level(item.judge)
        values = {who: name for who, value in item.values.items() if (name := name_level(value)) is not None}
        if judge is not None:
            converted.append(item._replace(values=values, judge=judge))
    return compared, tuple(converted)


def _convert_scale(metric: str, scale: Scale, treat_as: TreatAs | None) -> Scale:
    """Return the scale on which values are compared; see `convert_items`."""
    match scale:
        case CategoricalScale():
            if treat_as == "numbers":
                raise DataError(f"{metric}: its values are categories; they cannot be compared as numbers")
            if treat_as == "unordered":
                return scale.model_copy(update={"ordered": False})
        case ValueScale(size=size):
            if (treat_as or ("categories" if size == BINARY_SIZE else "numbers")) != "numbers":
                levels = _convert_levels(metric, scale)
                return levels.model_copy(update={"ordered": treat_as != "unordered"})
        case MeasureScale():
            if treat_as in {"categories", "unordered"}:
                raise DataError(f"{metric}: is measured; its numbers cannot be compared as categories")
    return scale


def _convert_levels(metric: str, scale: ValueScale) -> CategoricalScale:
    """Return a categorical scale whose categories are the levels, best first."""
    if scale.size > MAX_ENUM_LEVELS:
        raise DataError(f"{metric}: has {scale.size} levels, too many for categories; compare them as numbers")
    levels = scale.values
    best_first = levels[::-1] if scale.better == "higher" else levels
    return CategoricalScale.model_validate({"categories": {str(level): "" for level in best_first}})


class MatchedItems(NamedTuple):
    """The annotated items of a metric in the form in which they are compared.

    `between` counts the items that are left out because the judge's value is between two levels. `loaded` says how the
    annotations were read, and `unread` has the rows that could not be read with the values that are not on the scale.
    """

    matched: MatchedAnnotations
    scale: Scale
    combine: CombineAnnotators
    between: int
    unread: tuple[str, ...]
    loaded: LoadedAnnotations


def match_items(  # noqa: PLR0913 - the options of an agreement
    store: Store,
    metric: str,
    annotations: AnnotationSource,
    *,
    scale: Scale | None = None,
    treat_as: TreatAs | None = None,
    combine: CombineAnnotators | None = None,
    label_columns: str | Sequence[str] = (),
) -> MatchedItems:
    """Match annotations with the verdicts of a metric; there may be none that match."""
    stored_scale = scale or read_metric(store, metric).scale
    scales = {metric: stored_scale}
    loaded = load_annotations(store.folder, annotations, scales, metric=metric, label_columns=label_columns)
    matched = match_annotations(store, metric, loaded.annotations, stored_scale)
    # Many annotations take more memory than all that follows.
    loaded = loaded._replace(annotations=())
    scale, things = convert_items(metric, stored_scale, matched.things, treat_as)
    between = len(matched.things) - len(things)
    is_categorical = isinstance(scale, CategoricalScale)
    combine = combine or ("majority" if is_categorical else "mean")
    if combine == "mean" and is_categorical:
        raise DataError(f"{metric}: categories have no mean; choose the majority, or each")
    unread = (*loaded.unread, *matched.faults)
    return MatchedItems(matched._replace(things=things), scale, combine, between, unread, loaded)


def build_no_match_error(items: MatchedItems, folder: Path, metric: str) -> DataError:
    """Build the error for annotations of which none can be compared, with a count of what they are."""
    matched = items.matched
    counts = [f"{count} {status}" for status, count in matched.statuses.items()]
    for count, what, examples in (
        (matched.others, "of other metrics", ()),
        (len(matched.strange), "items that are not in the run", matched.strange),
        (len(matched.unjudged), "items without a verdict", ()),
        (matched.outdated, "of another text", matched.changed),
    ):
        if count:
            counts.append(f"{count} {what}" + (f", such as {show_id(examples[0])}" if examples else ""))
    counts += [f"not on the scale: {fault}" for fault in matched.faults[:1]]
    counts += [str(matched.join.near)] if matched.join and matched.join.near else []
    reason = (
        f"{folder}: no submitted annotation of {metric} matches a verdict; "
        f"the annotations: {', '.join(counts) or 'none'} (they are matched by sample_id, method, metric and item, "
        "and by the content that people were shown if it is known)"
    )
    return DataError("\n".join([reason, *items.loaded.unread[:MAX_LISTED]]))
