"""The checks of a probe: the metrics each applies to, its mutants, and the relation that must hold.

A relation is between the verdicts on a case and on its mutant, by the position of a value on its scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Literal, NamedTuple

from greval.records.case import Case, Over
from greval.records.metric import JudgedMetric
from greval.records.metric_input import list_items
from greval.records.scale import CategoricalScale, JudgedScale, Value, ValueScale
from greval.trust.probing.mutations import (
    DENIALS,
    INJECTIONS,
    PADDINGS,
    SOURCES,
    blank_target,
    change_texts,
    find_target,
    is_grounded,
    plant_text,
    reorder_items,
)

ReferenceName = Literal["unchanged", "other"]
"""What a mutant is made from: the unchanged case, or the case with content of another question."""

REPEATS = "repeats"
NO_TARGET = "it judges neither an answer nor items nor a context"
NO_ORDER = "its categories have no order: no verdict is better than another"
NO_CLAIM = "the answer states nothing from its sources, so no context has to support it"
FEW_ITEMS = "fewer than two items: there is no order"
OTHER_FIRST: tuple[ReferenceName, ...] = ("other", "unchanged")
"""The reference with another question's content comes first: its verdict is low, so a rise is most likely visible."""
MIDDLE = 0.5


class VerdictRelation(StrEnum):
    """The relation that a mutant's verdict must satisfy. The text is printed with the figures."""

    same = "the verdict stays"
    not_better = "the verdict gets no better"
    bad = "the verdict falls into the worse half of the scale"
    worst = "the verdict falls to the worst of the scale"


def compute_position(scale: JudgedScale, value: Value) -> float | None:
    """Return the position of a value on its scale, from 0 (worst) to 1 (best).

    Categories without an order are placed by their scores, if all have one. Otherwise the position is undefined (None).
    """
    match scale:
        case ValueScale(range=(low, high), better=better):
            share = (float(value) - low) / (high - low)
            return share if better == "higher" else 1 - share
        case CategoricalScale(ordered=True, names=names):
            return 1 - names.index(str(value)) / (len(names) - 1)
        case CategoricalScale(categories=categories):
            scores = {category.name: category.score for category in categories if category.score is not None}
            least, most = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
            is_ordered = len(scores) == len(categories) and least < most
            return (scores[str(value)] - least) / (most - least) if is_ordered else None


def find_best_value(scale: JudgedScale) -> Value | None:
    """Return the best value of a scale, or None if it has no order."""
    values: tuple[Value, ...] = scale.names if isinstance(scale, CategoricalScale) else scale.range
    places = {value: position for value in values if (position := compute_position(scale, value)) is not None}
    return max(places, key=lambda value: places[value], default=None)


def explain_unusable(relation: VerdictRelation, scale: JudgedScale, reference_value: Value) -> str | None:
    """Return why the verdict on the reference cannot show a failure of the relation, or None if it can."""
    position = compute_position(scale, reference_value)
    match relation:
        case VerdictRelation.same:
            return None
        case VerdictRelation.not_better:
            return "already the best verdict: none is better" if position is None or position >= 1 else None
        case VerdictRelation.bad | VerdictRelation.worst:
            return "not judged good before: no fall can be seen" if position is None or position <= MIDDLE else None


def is_satisfied(relation: VerdictRelation, scale: JudgedScale, reference_value: Value, mutant_value: Value) -> bool:
    """Return whether a relation holds between the verdicts on a reference and its mutant."""
    if relation is VerdictRelation.same:
        return reference_value == mutant_value
    old, new = (compute_position(scale, value) for value in (reference_value, mutant_value))
    if old is None or new is None:
        return False
    match relation:
        case VerdictRelation.not_better:
            return new <= old
        case VerdictRelation.bad:
            return new < MIDDLE
        case VerdictRelation.worst:
            return new <= 0


class CheckContext(NamedTuple):
    """The input of a check's applicability test.

    `one_by_one` is true if each item is judged in its own call. `named` holds the checks that the user named.
    """

    metric: JudgedMetric
    one_by_one: bool = False
    named: frozenset[str] = frozenset()


class MutationVariant(NamedTuple):
    """One mutation of a case. `make` returns the mutant, or the reason if this case cannot be mutated."""

    name: str
    make: Callable[[Case], Case | str]


@dataclass(frozen=True)
class ProbeCheck:
    """A check of a judge that needs no labels (a metamorphic relation).

    `unfit` returns the reason if the check does not apply to a metric. Mutants are made `on` the first of
    these references whose verdict leaves room for the relation to fail. `relation` must hold for each mutant.
    If `twin` is true for a metric, the case with another question's content is also a mutant of the unchanged
    one. `reworded` returns the metric by which the unchanged cases are judged a second time.
    """

    name: str
    relation: VerdictRelation
    unfit: Callable[[CheckContext], str | None]
    variants: Callable[[JudgedMetric], Iterator[MutationVariant]] = lambda _: iter(())
    on: tuple[ReferenceName, ...] = ("unchanged",)
    twin: Callable[[JudgedMetric], bool] = lambda _: False
    reworded: Callable[[JudgedMetric], JudgedMetric] | None = None


def _reject_without_items(context: CheckContext) -> str | None:
    if context.metric.over is None:
        return "it judges no items"
    return "each item is judged in its own call, so there is no order" if context.one_by_one else None


def _reject_without_categories(context: CheckContext) -> str | None:
    return None if isinstance(context.metric.scale, CategoricalScale) else "its scale lists numbers in their order"


def _reject_without_order(context: CheckContext) -> str | None:
    """Return the reason if no verdict can improve."""
    if find_target(context.metric) is None:
        return NO_TARGET
    return NO_ORDER if find_best_value(context.metric.scale) is None else None


def _reject_without_prose(context: CheckContext) -> str | None:
    return "triples are no prose" if context.metric.over == "triples" else _reject_without_order(context)


def _reject_contradiction(context: CheckContext) -> str | None:
    metric = context.metric
    if find_target(metric) != "answer":
        return "it judges no answer"
    if not _list_evidence(metric) and "question" not in metric.needs:
        return "it needs nothing that an answer could contradict"
    clear = bool(_list_evidence(metric)) or "contradicted" in context.named
    unclear = None if clear else _format_unclear("contradicted", "another question's answer")
    return _reject_without_order(context) or unclear


def _reject_emptiness(context: CheckContext) -> str | None:
    metric = context.metric
    clear = bool(_list_evidence(metric)) if find_target(metric) == "answer" else "question" in metric.needs
    unclear = None if clear or "empty" in context.named else _format_unclear("empty", "nothing at all")
    return _reject_without_order(context) or unclear


def _format_unclear(name: str, content: str) -> str:
    return f"its needs do not show whether {content} is bad; name the check if it is (--checks {name})"


def _list_evidence(metric: JudgedMetric) -> frozenset[str]:
    """Return the inputs besides the question against which an answer is judged."""
    return frozenset({*metric.needs} & {"expected_answer", *SOURCES})


def _is_context_only(metric: JudgedMetric) -> bool:
    """Return whether the answer is judged against the context alone, so that nothing supports it without context."""
    return (
        find_target(metric) == "answer"
        and not {"question", "expected_answer"} & {*metric.needs}
        and bool(SOURCES & {*metric.needs})
    )


def _list_orders(metric: JudgedMetric) -> Iterator[MutationVariant]:
    if metric.over:
        yield MutationVariant("reversed", partial(_reorder_items, target=metric.over, shift=None))
        yield MutationVariant("rotated", partial(_reorder_items, target=metric.over, shift=1))


def _reorder_items(case: Case, *, target: Over, shift: int | None) -> Case | str:
    ids = {item.id for item in list_items(target, case)}
    return reorder_items(case, target, shift) if len(ids) > 1 else FEW_ITEMS


def _list_paddings(metric: JudgedMetric) -> Iterator[MutationVariant]:
    return _plant_texts(metric, PADDINGS)


def _list_denials(metric: JudgedMetric) -> Iterator[MutationVariant]:
    return _plant_texts(metric, DENIALS if _list_evidence(metric) else {})


def _list_injections(metric: JudgedMetric) -> Iterator[MutationVariant]:
    value = find_best_value(metric.scale)
    return _plant_texts(metric, {} if value is None else INJECTIONS, value)


def _plant_texts(
    metric: JudgedMetric, templates: Mapping[str, str], value: Value | None = None
) -> Iterator[MutationVariant]:
    if target := find_target(metric):
        for name, template in templates.items():
            change = partial(plant_text, template=template, value=value)
            yield MutationVariant(name, partial(change_texts, target=target, change=change))


def _list_blanks(metric: JudgedMetric) -> Iterator[MutationVariant]:
    target = find_target(metric)
    if _is_context_only(metric):
        yield MutationVariant("no context", _remove_context)
    elif target:
        yield MutationVariant("nothing", partial(blank_target, target=target))


def _remove_context(case: Case) -> Case | str:
    return blank_target(case, "context") if is_grounded(case, "answer") else NO_CLAIM


def _reverse_categories(metric: JudgedMetric) -> JudgedMetric:
    """Return the metric with its categories listed in reverse order. Their meanings are unchanged."""
    scale = metric.scale
    if not isinstance(scale, CategoricalScale):
        return metric
    return metric.model_copy(update={"scale": CategoricalScale(categories=scale.categories[::-1], ordered=False)})


CHECKS: Mapping[str, ProbeCheck] = {
    check.name: check
    for check in (
        ProbeCheck("item_order", VerdictRelation.same, _reject_without_items, _list_orders),
        ProbeCheck("category_order", VerdictRelation.same, _reject_without_categories, reworded=_reverse_categories),
        ProbeCheck("padded", VerdictRelation.not_better, _reject_without_prose, _list_paddings, on=OTHER_FIRST),
        ProbeCheck("contradicted", VerdictRelation.bad, _reject_contradiction, _list_denials, twin=lambda _: True),
        ProbeCheck(
            "empty",
            VerdictRelation.worst,
            _reject_emptiness,
            _list_blanks,
            twin=lambda metric: find_target(metric) != "answer",
        ),
        ProbeCheck("injected", VerdictRelation.not_better, _reject_without_order, _list_injections, on=OTHER_FIRST),
    )
}
PROBE_CHECKS = (REPEATS, *CHECKS)
"""The checks in the order of the report."""
