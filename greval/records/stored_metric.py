"""The definition of a metric as a run stores it, which is the form of a metric file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import JsonValue, TypeAdapter

from greval.records.metric import JudgedMetric, Metric, build_metric
from greval.records.scale import Scale

_SCALE: TypeAdapter[Scale] = TypeAdapter(Scale)
_JUDGE_FIELDS = JudgedMetric.model_fields.keys() - Metric.model_fields.keys()


@dataclass(frozen=True)
class StoredMetric:
    """A stored definition. Only what is asked for is parsed, so that readers of scales accept any definition.

    Example:
        >>> stored = StoredMetric({"name": "latency", "scale": {"unit": "s", "better": "lower"}})
        >>> stored.name, stored.is_judged, stored.scale.better
        ('latency', False, 'lower')
    """

    definition: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The metric's name."""
        return str(self.definition["name"])

    @property
    def over(self) -> str | None:
        """The items that are judged, `chunks` or `triples`; None if the metric judges the case."""
        return self.definition.get("over")

    @property
    def is_judged(self) -> bool:
        """Return whether a model judges by the metric; otherwise it is computed, and its function is not stored."""
        return not self.definition.keys().isdisjoint(_JUDGE_FIELDS)

    @property
    def is_preference(self) -> bool:
        """Return whether the metric judges pairs of responses."""
        return self.definition.get("preference") is True

    @cached_property
    def scale(self) -> Scale:
        """The scale; a pydantic `ValidationError` is raised if it is invalid."""
        return _SCALE.validate_python(self.definition["scale"])

    @cached_property
    def judged(self) -> JudgedMetric | None:
        """The definition of a judged metric, None for a computed one; it is validated like `scale`."""
        return build_metric(self.definition) if self.is_judged else None

    def describe(self) -> Metric:
        """Return the validated fields that judged and computed metrics share."""
        shared = {name: self.definition[name] for name in Metric.model_fields if name in self.definition}
        return Metric.model_validate({**shared, "needs": shared.get("needs") or self.definition.get("optional")})


def parse_stored_metrics(fact: JsonValue) -> dict[str, StoredMetric]:
    """Return the metrics of a run's manifest entry "metrics" by name, in order; what is no definition is left out."""
    listed = fact if isinstance(fact, list) else []
    found = (StoredMetric(one) for one in listed if isinstance(one, dict) and isinstance(one.get("scale"), dict))
    return {one.name: one for one in found}
