"""The definition of a metric as a run stores it, which is the form of a metric file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import JsonValue, TypeAdapter

from greval.records.case import CLAIM_FIELDS, ClaimField
from greval.records.formula_metric import FileMetric, FormulaMetric
from greval.records.metric import JudgedMetric, Metric, build_metric
from greval.records.scale import Scale

_SCALE: TypeAdapter[Scale] = TypeAdapter(Scale)
_JUDGE_FIELDS = JudgedMetric.model_fields.keys() - Metric.model_fields.keys()


@dataclass(frozen=True)
class StoredMetric:
    """A stored definition. Only what is asked for is parsed, so that readers of scales accept any definition."""

    definition: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The metric's name."""
        return str(self.definition["name"])

    @property
    def over(self) -> str | None:
        """The field of items that are judged, such as `chunks`; None if the metric judges the case."""
        return self.definition.get("over")

    @property
    def claim_fields(self) -> tuple[ClaimField, ...]:
        """The fields of claims that another metric listed for a case that had none, see `Metric.claim_fields`."""
        return tuple(field for field in CLAIM_FIELDS if self.is_judged and field in self.definition["needs"])

    @property
    def is_judged(self) -> bool:
        """Return whether a model judges by the metric; otherwise it is computed, and its function is not stored."""
        return not self.definition.keys().isdisjoint(_JUDGE_FIELDS)

    @property
    def is_preference(self) -> bool:
        """Return whether the metric judges pairs of responses."""
        return self.definition.get("preference") is True

    @cached_property
    def built_on(self) -> tuple[str, ...]:
        """The names of the metrics from whose verdicts the metric is computed; empty if it is judged."""
        if "formula" in self.definition and self.file_metric:
            return tuple(self.file_metric.dependency_places)
        return tuple(self.definition.get("built_on") or ())

    @property
    def pass_if(self) -> str:
        """The condition that the number of a case must meet to pass, empty if it has none."""
        return str(self.definition.get("pass") or "")

    @cached_property
    def scale(self) -> Scale:
        """The scale; a pydantic `ValidationError` is raised if it is invalid."""
        return _SCALE.validate_python(self.definition["scale"])

    @cached_property
    def judged(self) -> JudgedMetric | None:
        """The definition of a judged metric, None for a computed one; it is validated like `scale`."""
        return build_metric(self.definition) if self.is_judged else None

    @cached_property
    def file_metric(self) -> FileMetric | None:
        """The definition if a metric file can hold it, judged or with a formula, None otherwise."""
        return FormulaMetric.model_validate(self.definition) if "formula" in self.definition else self.judged

    def describe(self) -> Metric:
        """Return the validated fields that judged and computed metrics share."""
        shared = {name: self.definition[name] for name in Metric.model_fields if name in self.definition}
        return Metric.model_validate({**shared, "needs": shared.get("needs") or self.definition.get("optional") or ()})


def parse_stored_metrics(fact: JsonValue) -> dict[str, StoredMetric]:
    """Return the metrics of a run's manifest entry "metrics" by name, in order; what is no definition is left out."""
    listed = fact if isinstance(fact, list) else []
    metrics = (
        StoredMetric(entry) for entry in listed if isinstance(entry, dict) and isinstance(entry.get("scale"), dict)
    )
    return {metric.name: metric for metric in metrics}
