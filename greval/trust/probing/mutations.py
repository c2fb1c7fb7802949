"""The checks: which metrics each is defined for, how it changes a case, and what must hold then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from greval.records.case import Case
from greval.records.metric import JudgedMetric
from greval.records.metric_input import listed
from greval.records.scale import CategoricalScale
from greval.trust.probing import planted_texts as wordings
from greval.trust.probing.expected_order import Relation, best
from greval.trust.probing.targets import SOURCES, Target, altered, blanked, grounded, reordered, target

Reference = Literal["unchanged", "other"]
"""What a mutant is made from: the case as it is, or the case with what another question has in its place."""

REPEATS = "repeats"
NO_TARGET = "it judges neither an answer nor items nor a context"
NO_ORDER = "its categories have no order: no verdict is better than another"
NO_CLAIM = "the answer states nothing of its sources: nothing has to bear it out"
FEW_ITEMS = "fewer than two items: there is no order"


class Setting(NamedTuple):
    """What a check is asked about: the metric, whether its items are judged in calls of their own, what was named."""

    metric: JudgedMetric
    one_by_one: bool = False
    named: frozenset[str] = frozenset()


class Variant(NamedTuple):
    """One way to change a case; `make` gives the changed case, or the reason why this one cannot be changed so."""

    name: str
    make: Callable[[Case], Case | str]


@dataclass(frozen=True)
class Check:
    """A check of a judge that needs no label.

    `unfit` gives the reason why it says nothing of a metric. Mutants are made `on` the first of these
    references whose verdict leaves something to see; `relation` must hold of each. Where `twin` is
    true of a metric, the case with another question's content is a mutant of the unchanged one.
    `reworded` gives the metric that the unchanged cases are judged by again.
    """

    name: str
    relation: Relation
    unfit: Callable[[Setting], str | None]
    variants: Callable[[JudgedMetric], Iterator[Variant]] = lambda _: iter(())
    on: tuple[Reference, ...] = ("unchanged",)
    twin: Callable[[JudgedMetric], bool] = lambda _: False
    reworded: Callable[[JudgedMetric], JudgedMetric] | None = None


def _no_items(setting: Setting) -> str | None:
    if setting.metric.over is None:
        return "it judges no items"
    return "each item is judged in a call of its own, where no order is seen" if setting.one_by_one else None


def _no_categories(setting: Setting) -> str | None:
    return None if isinstance(setting.metric.scale, CategoricalScale) else "its scale lists numbers in their order"


def _no_rise(setting: Setting) -> str | None:
    """Say why no verdict can get better."""
    if target(setting.metric) is None:
        return NO_TARGET
    return NO_ORDER if best(setting.metric.scale) is None else None


def _no_prose(setting: Setting) -> str | None:
    return "triples are no prose" if setting.metric.over == "triples" else _no_rise(setting)


def _no_contradiction(setting: Setting) -> str | None:
    metric = setting.metric
    if target(metric) != "answer":
        return "it judges no answer"
    if not _held_against(metric) and "question" not in metric.needs:
        return "it sees nothing that an answer could contradict"
    sure = bool(_held_against(metric)) or "contradicted" in setting.named
    return _no_rise(setting) or (None if sure else _unsure("contradicted", "another question's answer"))


def _no_emptiness(setting: Setting) -> str | None:
    metric = setting.metric
    if reason := _no_rise(setting):
        return reason
    sure = bool(_held_against(metric)) if target(metric) == "answer" else "question" in metric.needs
    return None if sure or "empty" in setting.named else _unsure("empty", "nothing at all")


def _unsure(name: str, what: str) -> str:
    return f"whether {what} is bad cannot be told from what it needs; name it where it is (--checks {name})"


def _held_against(metric: JudgedMetric) -> frozenset[str]:
    """Give what an answer is held against besides the question."""
    return frozenset({*metric.needs} & {"expected_answer", *SOURCES})


def _borne_by_context(metric: JudgedMetric) -> bool:
    """Say whether the answer is held against the context alone: without it nothing bears the answer out."""
    return (
        target(metric) == "answer"
        and not {"question", "expected_answer"} & {*metric.needs}
        and bool(SOURCES & {*metric.needs})
    )


def _orders(metric: JudgedMetric) -> Iterator[Variant]:
    if metric.over:
        yield Variant("reversed", partial(_reordered, what=metric.over, shift=None))
        yield Variant("rotated", partial(_reordered, what=metric.over, shift=1))


def _reordered(case: Case, *, what: Literal["chunks", "triples"], shift: int | None) -> Case | str:
    found = listed(what, case)
    return reordered(case, what, shift) if len({one.id for one in found}) > 1 else FEW_ITEMS


def _paddings(metric: JudgedMetric) -> Iterator[Variant]:
    if what := target(metric):
        yield Variant("after", partial(altered, what=what, change=wordings.after))
        yield Variant("before", partial(altered, what=what, change=wordings.before))


def _denials(metric: JudgedMetric) -> Iterator[Variant]:
    if _held_against(metric):
        yield Variant("denied", partial(altered, what="answer", change=wordings.denied))


def _blanks(metric: JudgedMetric) -> Iterator[Variant]:
    what = target(metric)
    if _borne_by_context(metric):
        yield Variant("no context", _without_context)
    elif what:
        yield Variant("nothing", partial(blanked, what=what))


def _without_context(case: Case) -> Case | str:
    return blanked(case, "context") if grounded(case, "answer") else NO_CLAIM


def _injections(metric: JudgedMetric) -> Iterator[Variant]:
    what, value = target(metric), best(metric.scale)
    if what and value is not None:
        for name, plant in INJECTIONS.items():
            yield Variant(name, partial(altered, what=what, change=partial(plant, value=value)))


def _reversed(metric: JudgedMetric) -> JudgedMetric:
    """Give the metric with its categories listed the other way round; what each means stays."""
    scale = metric.scale
    if not isinstance(scale, CategoricalScale):
        return metric
    turned = CategoricalScale(categories=scale.categories[::-1], ordered=False)
    return metric.model_copy(update={"scale": turned})


INJECTIONS = {
    "order": wordings.ordered,
    "verdict": wordings.answered,
    "fences": wordings.fenced,
    "system": wordings.announced,
}
LOW: tuple[Reference, ...] = ("other", "unchanged")
"""Another question's content is judged badly: a rise shows there first."""

CHECKS: Mapping[str, Check] = {
    one.name: one
    for one in (
        Check("item_order", Relation.same, _no_items, _orders),
        Check("category_order", Relation.same, _no_categories, reworded=_reversed),
        Check("padded", Relation.not_better, _no_prose, _paddings, on=LOW),
        Check("contradicted", Relation.bad, _no_contradiction, _denials, twin=lambda _: True),
        Check("empty", Relation.worst, _no_emptiness, _blanks, twin=lambda metric: target(metric) != "answer"),
        Check("injected", Relation.not_better, _no_rise, _injections, on=LOW),
    )
}
NAMES = (REPEATS, *CHECKS)
"""The checks in the order in which they are told."""

__all__ = ["CHECKS", "NAMES", "REPEATS", "Check", "Reference", "Setting", "Target", "Variant"]
