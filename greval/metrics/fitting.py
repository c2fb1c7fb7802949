"""Which metrics fit the fields that cases have, and which would fit with one more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ruamel.yaml import YAML

from greval.errors import DefinitionError
from greval.metrics.computed import find_computed_metric, ranking
from greval.metrics.computed.outcomes import compute_outcome
from greval.metrics.library import find_dependencies, predefined
from greval.records.case import TAG, Case
from greval.records.metric import ComputedMetric, Metric, needs_judge
from greval.records.metric_input import explain_missing_needs
from greval.records.record import Record
from greval.records.recorded_fields import CHUNK_PARTS, PARTED, list_recorded_fields
from greval.records.result import CLAIM_LISTS, CLAIM_SOURCES, Skipped

if TYPE_CHECKING:
    from pydantic import JsonValue

DOCUMENTS = "chunks.doc_id"
"""The field by which rankings name documents. Without it a ranking is computed, but none of its documents is known."""
_RANKING_FAMILIES = frozenset(family.name for family in ranking.FAMILIES)
SPECIMEN_FILE = Path(__file__).with_name("specimen.yaml")


class NearlyFittingMetric(Record):
    """A metric that would fit with one more field; any one of `missing` is enough."""

    metric: str
    missing: tuple[str, ...]


class FittingMetrics(Record):
    """The names of the metrics that fit some fields: those that a model judges, those that are computed.

    `derived` are those that are computed from the verdicts of judged metrics, and `nearly` those that would fit with
    one more field.
    """

    judged: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    nearly: tuple[NearlyFittingMetric, ...] = ()


def find_fitting_metrics(fields: Collection[str], metrics: Iterable[Metric] | None = None) -> FittingMetrics:
    """Find the metrics for which all input is there.

    Args:
        fields: The fields that the cases have, as `list_recorded_fields` names them.
        metrics: The metrics to choose from, the predefined ones by default. Of a computed metric that is not predefined
            only the `needs` are known.

    Example:
        >>> found = find_fitting_metrics(["question", "answer", "usage.latency"])
        >>> found.judged, found.computed
        (('answer_claims', 'answer_quality', 'completeness'), ('latency',))
        >>> next(one for one in found.nearly if one.metric == "faithfulness").missing
        ('chunks', 'triples', 'aggregates')
    """
    available = frozenset(fields)
    chosen = tuple(predefined().values() if metrics is None else metrics)
    fitting = [metric for metric in chosen if _fits(metric, available, chosen)]
    missing_by_name = {
        metric.name: _list_missing(metric, available, chosen) for metric in chosen if metric not in fitting
    }
    computed = [metric for metric in fitting if metric.kind == "computed"]
    derived = [
        metric for metric in computed if metric.dependency_places and needs_judge(find_dependencies(metric, chosen))
    ]
    return FittingMetrics(
        judged=tuple(metric.name for metric in fitting if metric.kind == "judged"),
        computed=tuple(metric.name for metric in computed if metric not in derived),
        derived=tuple(metric.name for metric in derived),
        nearly=tuple(
            NearlyFittingMetric(metric=name, missing=missing) for name, missing in missing_by_name.items() if missing
        ),
    )


def _fits(metric: Metric, fields: frozenset[str], chosen: Iterable[Metric]) -> bool:
    if metric.kind == "computed" and metric.dependency_places:
        return _fits_below(metric, fields, chosen)
    # A judge reads the texts of chunks, which parts alone do not have.
    if metric.kind == "judged":
        fields = frozenset(name for name in fields if not name.startswith("chunks."))
    case = _select_fields(fields)
    listed = [field for field in metric.claim_fields if getattr(case, CLAIM_SOURCES[field]) is not None]
    if explain_missing_needs(metric, case, besides=listed):
        return False
    if not isinstance(metric, ComputedMetric) or find_computed_metric(metric.name) is None:
        return True
    if metric.name.partition("@")[0] in _RANKING_FAMILIES and DOCUMENTS not in fields:
        return False
    # Only the function itself knows which of its optional fields are enough.
    return not isinstance(compute_outcome(metric, case), Skipped)


def _fits_below(metric: Metric, fields: frozenset[str], chosen: Iterable[Metric]) -> bool:
    """Return whether all metrics fit whose verdicts a metric reads; chosen ones go before predefined ones."""
    try:
        *below, _ = find_dependencies(metric, chosen)
    except DefinitionError:
        # A metric below is missing, which is reported when the metric is used.
        return False
    case = _select_fields(fields)
    recorded = {lister for claims, lister in CLAIM_LISTS.items() if getattr(case, claims) is not None}
    needed = not explain_missing_needs(metric, case)
    return needed and all(_fits(dependency, fields, chosen) for dependency in below if dependency.name not in recorded)


def _list_missing(metric: Metric, fields: frozenset[str], chosen: Iterable[Metric]) -> tuple[str, ...]:
    """List the fields of which any one would make a metric fit; empty if it lacks more than one."""
    tags = [need for need in metric.inputs if need.startswith(TAG)]
    candidates = [name for name in (*_list_specimen_fields(), *tags) if name not in fields]
    sufficient = [name for name in candidates if _fits(metric, fields | {name}, chosen)]
    return tuple(name for name in sufficient if name.partition(".")[0] not in sufficient or "." not in name)


@cache
def _read_specimen() -> dict[str, JsonValue]:
    """Read a case with every field."""
    specimen: dict[str, JsonValue] = YAML(typ="safe", pure=True).load(SPECIMEN_FILE)
    return specimen


def _list_specimen_fields() -> tuple[str, ...]:
    return list_recorded_fields(Case.model_validate({**_read_specimen(), "id": ""}))


def _select_fields(fields: Collection[str]) -> Case:
    """Return the specimen with only some of its fields; a part of the chunks includes the chunks."""
    tags = {name.removeprefix(TAG): "any" for name in fields if name.startswith(TAG)}
    values = {
        field: part
        for field, specimen_value in _read_specimen().items()
        if (part := _select_parts(field, specimen_value, fields)) is not None
    }
    return Case.model_validate({"question": "", **values, "tags": tags})


def _select_parts(field: str, specimen_value: JsonValue, fields: Collection[str]) -> JsonValue:
    """Return a field of the specimen with only those parts that are among the fields, None if none of them is."""
    parts = {name.removeprefix(f"{field}.") for name in fields if name.startswith(f"{field}.")}
    if field in PARTED and isinstance(specimen_value, Mapping):
        return {name: value for name, value in specimen_value.items() if name in parts} or None
    if field not in fields and not (field == "chunks" and parts):
        return None
    if field == "chunks" and isinstance(specimen_value, list):
        return [*_drop_chunk_parts(specimen_value, parts)]
    return specimen_value


def _drop_chunk_parts(chunks: Iterable[JsonValue], parts: Collection[str]) -> Iterator[JsonValue]:
    for chunk in chunks:
        if isinstance(chunk, Mapping):
            yield {name: value for name, value in chunk.items() if name in parts or name not in CHUNK_PARTS}
