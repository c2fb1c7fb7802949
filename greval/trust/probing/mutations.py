"""The checks of a probe: the metrics each applies to, its mutations, and the relation that must hold."""

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
"""What a mutant is made from: the unchanged case, or the case with content of another question."""

REPEATS = "repeats"
NO_TARGET = "it judges neither an answer nor items nor a context"
NO_ORDER = "its categories have no order: no verdict is better than another"
NO_CLAIM = "the answer states nothing of its sources: nothing has to bear it out"
FEW_ITEMS = "fewer than two items: there is no order"


class Setting(NamedTuple):
    """The input of a check's applicability test.

    `one_by_one` is true if each item is judged in its own call. `named` holds the checks that the user named.
    """

    metric: JudgedMetric
    one_by_one: bool = False
    named: frozenset[str] = frozenset()


class Variant(NamedTuple):
    """One mutation of a case. `make` returns the mutant, or the reason if this case cannot be mutated."""

    name: str
    make: Callable[[Case], Case | str]


@dataclass(frozen=True)
class Check:
    """A check of a judge that needs no labels (a metamorphic relation).

    `unfit` returns the reason if the check does not apply to a metric. Mutants are made `on` the first of
    these references whose verdict leaves room for the relation to fail. `relation` must hold for each mutant.
    If `twin` is true for a metric, the case with another question's content is also a mutant of the unchanged
    one. `reworded` returns the metric by which the unchanged cases are judged a second time.
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
    """Return the reason if no verdict can improve."""
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
    """Return the inputs besides the question against which an answer is judged."""
    return frozenset({*metric.needs} & {"expected_answer", *SOURCES})


def _borne_by_context(metric: JudgedMetric) -> bool:
    """Return whether the answer is judged against the context alone, so that nothing supports it without context."""
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
    """Return the metric with its categories listed in reverse order. Their meanings are unchanged."""
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
"""The reference with another question's content comes first: its verdict is low, so a rise is most likely visible."""

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
"""The checks in the order of the report."""

__all__ = ["CHECKS", "NAMES", "REPEATS", "Check", "Reference", "Setting", "Target", "Variant"]
