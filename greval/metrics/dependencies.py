"""Dependencies between metrics, and their topological order: each metric comes after those that it builds on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, assert_never

from greval._util.wording import did_you_mean
from greval.errors import DefinitionError
from greval.records.formula import NameUse
from greval.records.formula_metric import FormulaMetric
from greval.records.metric import JudgedMetric, Metric, Use
from greval.records.note import ListNote
from greval.records.result import CLAIM_LISTS, CLAIM_PART, CLAIMS_NOTE
from greval.records.scale import CategoricalScale, MeasureScale, Value, ValueScale


class MetricSource(NamedTuple):
    """A metric with the place that it comes from, and the places beside it for metrics that it builds on.

    `beside` holds the metrics of the same Python module by name.
    """

    metric: Metric
    place: str
    folder: Path | None = None
    beside: Mapping[str, Metric] = MappingProxyType({})


def list_dependency_names(metric: Metric) -> tuple[str, ...]:
    """List the names of the metrics that a metric builds on, each once.

    A judged metric that needs claims builds on the one that lists them.
    """
    return tuple(metric.dependency_places)


def list_missing_dependencies(metrics: Iterable[Metric]) -> tuple[str, ...]:
    """List the names of the direct dependencies of metrics that are not among them."""
    listed = tuple(metrics)
    present = {metric.name for metric in listed}
    needed = (name for metric in listed for name in list_dependency_names(metric))
    return tuple(dict.fromkeys(name for name in needed if name not in present))


def order_metrics(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """Return metrics in topological order, each once and after its dependencies; equal input gives an equal order."""
    listed = tuple(metrics)
    by_name: dict[str, Metric] = {}
    # setdefault() returns the first metric of a name; an equal one after it is no fault.
    faults = [
        f"{metric.name}: two different metrics have this name; rename one"
        for metric in listed
        if by_name.setdefault(metric.name, metric) != metric
    ]
    for metric in by_name.values():
        faults.extend((*_find_use_faults(metric, by_name), *_find_claim_faults(metric, by_name)))
    if faults:
        raise DefinitionError(*dict.fromkeys(faults))
    try:
        names = [
            *TopologicalSorter({name: list_dependency_names(metric) for name, metric in by_name.items()}).static_order()
        ]
    except CycleError as error:
        # graphlib lists each metric before the one that builds on it.
        cycle = " -> ".join(reversed(error.args[1]))
        raise DefinitionError(f"uses: {cycle}: metrics build on each other in a circle; take one use out") from error
    return tuple(by_name[name] for name in names)


def _find_use_faults(metric: Metric, metrics: Mapping[str, Metric]) -> Iterator[str]:
    """Find the metrics that are missing, and the faults in each use of another metric."""
    for name, location in metric.dependency_places.items():
        if name not in metrics:
            yield f"{metric.name}: {location}: {name!r} is not among the metrics{did_you_mean(name, metrics)}"
    for field, use in metric.dependencies.items():
        location = f"{metric.name}: uses.{field}"
        source = metrics.get(use.judged_by)
        if source is None:
            continue
        if source.over != field:
            judges = f"each of the {source.over}" if source.over else "the whole case"
            yield f"{location}.judged_by: {source.name} judges {judges}; name a metric that is over {field}"
        else:
            yield from (f"{location}.as: {fault}" for fault in _find_unknown_values(use, source))
    if isinstance(metric, FormulaMetric):
        for name, read in metric.list_metric_uses():
            if name in metrics and (fault := _find_formula_fault(metrics[name], read)):
                yield f"{metric.name}: formula: column {read.column}: {fault}"


def _find_formula_fault(source: Metric, use: NameUse) -> str | None:
    """Return why a metric cannot be read as a formula does at one place, None if it can."""
    scale = source.scale
    if use.label is None:
        if not isinstance(scale, CategoricalScale) or any(category.score is not None for category in scale.categories):
            return None
        return f"{source.name} has no numbers; compare its category, as in {use.name} == {scale.names[0]!r}"
    if source.over:
        return f"{source.name} judges each of the {source.over}, so that it has no one category"
    if not isinstance(scale, CategoricalScale):
        return f"{source.name} gives numbers, not categories; compare it with one"
    if use.label not in scale.names:
        return f"{use.label!r} is no category of {source.name}{did_you_mean(use.label, scale.names)}"
    return None


def _find_claim_faults(metric: Metric, metrics: Mapping[str, Metric]) -> Iterator[str]:
    """Find the faults in the metrics that list the claims which a metric reads."""
    for field in metric.claim_fields:
        source = metrics.get(CLAIM_LISTS[field])
        if source is not None and not _lists_claims(source):
            yield (
                f"{metric.name}: {field}: {source.name} must list them; give it the list note {CLAIMS_NOTE!r} with the "
                f"part {CLAIM_PART!r}, and counts: {CLAIMS_NOTE}"
            )


def _lists_claims(metric: Metric) -> bool:
    """Return whether a metric lists claims in the form in which they are read from its result."""
    if not isinstance(metric, JudgedMetric) or metric.counts != CLAIMS_NOTE or metric.over:
        return False
    note = metric.notes[CLAIMS_NOTE]
    return isinstance(note, ListNote) and CLAIM_PART in note.each


def _find_unknown_values(use: Use, source: Metric) -> Iterator[str]:
    """Find the values in a use that its metric cannot give."""
    match source.scale:
        case CategoricalScale(names=names):
            allowed = names
        case ValueScale() as scale:
            levels = [*scale.range, *(level for value in use.as_ if (level := _parse_level(scale, value)) is not None)]
            allowed = tuple(dict.fromkeys(map(str, levels)))
        case MeasureScale():
            yield f"{source.name} gives numbers of any size; name a metric with categories or levels"
            return
        case _:
            assert_never(source.scale)
    for value in use.as_:
        if value not in allowed:
            yield f"{value!r} is no value of {source.name}{did_you_mean(value, allowed)}"


def _parse_level(scale: ValueScale, text: str) -> Value | None:
    """Parse a level of the scale from text, None if it is not one."""
    try:
        return scale.read(float(text))
    except ValueError:
        # Not a number, or off the scale.
        return None
