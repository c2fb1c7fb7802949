"""Metrics that a formula computes from verdicts of others, metrics of files, and definitions as a run stores them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    model_serializer,
    model_validator,
)

from greval.records.case import CLAIM_FIELDS, Case, ClaimField
from greval.records.formula import (
    Formula,
    FormulaError,
    FormulaInput,
    NamesRead,
    NameUse,
    SkippedInputError,
    parse_limit,
    read_formula,
)
from greval.records.metric import ComputeReturn, FunctionMetric, JudgedMetric, Metric, Verdicts, build_metric
from greval.records.record import Name, Text
from greval.records.result import Scored, Skipped
from greval.records.scale import MeasureScale, Scale

FORMULA_FIELDS = ("name", "description", "formula", "metrics", "scale", "pass")


class FormulaMetric(FunctionMetric):
    """A metric that is computed by a formula from the verdicts of other metrics on the same case.

    `formula` has numbers, names, + - * /, comparisons, `and`, `or`, `not`, `A if CONDITION else B`, and the functions
    mean, min, max, all, any and scaled. A name is that of a metric, or a key of `metrics`, whose value is the name of
    one. A metric over items counts as the mean of their numbers. A condition counts as 1 if it is met, else as 0.
    `tone == "Rude"` compares the category of a metric. The value must be on `scale`, 0 to 1 by default. `pass_if`,
    `pass` in files, is what it must meet for the case to pass.

    Raises:
        DefinitionError: If the definition is invalid. The error holds all faults.

    Example:
        >>> metric = FormulaMetric(name="release_quality", description="Right and grounded.",
        ...                        formula="right if faithfulness >= 0.5 else 0", metrics={"right": "correctness"})
        >>> [*metric.dependency_places]
        ['correctness', 'faithfulness']
    """

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    over: None = None
    needs: tuple[()] = ()
    optional: tuple[()] = ()
    scale: MeasureScale = MeasureScale(high=1.0)
    formula: Text
    metrics: dict[str, Name] = Field(default_factory=dict)
    pass_if: Annotated[str, Field(alias="pass")] = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Reject a formula with faults, and names or conditions that do not fit it, with all faults at once."""
        if faults := [*self._find_faults()]:
            raise ValueError("\n".join(faults))
        return self

    @model_serializer(mode="wrap")
    def _dump_without_default(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Dump the form of a metric file."""
        content = dump(self)
        return {key: content[key] for key in FORMULA_FIELDS if content.get(key)}

    @property
    def parsed(self) -> Formula:
        """The formula in parts."""
        return read_formula(self.formula)

    @property
    def dependency_places(self) -> Mapping[str, str]:
        """The names of the metrics in the formula, each with its place: `metrics.NAME`, or `formula`."""
        names = self.parsed.names
        return {self.get_metric_name(name): f"metrics.{name}" if name in self.metrics else "formula" for name in names}

    def get_metric_name(self, name: str) -> str:
        """Return the name of the metric for which a name of the formula stands."""
        return self.metrics.get(name, name)

    def list_metric_uses(self) -> Iterator[tuple[str, NameUse]]:
        """List the metrics that the formula reads, at each place with how it is read."""
        yield from ((self.get_metric_name(use.name), use) for use in self.parsed.uses)

    def find_read_metrics(self, verdicts: Verdicts) -> NamesRead:
        """Find which metrics the formula reads on a case, as far as the verdicts so far decide it."""
        names = self.parsed.names
        outcomes = {name: verdicts[metric] for name in names if (metric := self.get_metric_name(name)) in verdicts}
        read = self.parsed.find_names({name: _build_input(outcome) for name, outcome in outcomes.items()})
        return NamesRead(tuple(dict.fromkeys(map(self.get_metric_name, read.names))), read.decided)

    def call_function(self, case: Case, verdicts: Verdicts) -> ComputeReturn:  # noqa: ARG002 - a formula reads verdicts
        """Compute the formula from the verdicts that it reads; the reason has numbers in the place of the names."""
        formula = self.parsed
        read = {*self.find_read_metrics(verdicts).names} & verdicts.keys()
        places = ((name, self.get_metric_name(name)) for name in formula.names)
        inputs = {name: _build_input(verdicts[metric]) for name, metric in places if metric in read}
        try:
            value = formula.compute(inputs)
        except SkippedInputError as error:
            return Skipped(reason=str(error))
        except FormulaError as error:
            raise FormulaError(f"{formula.fill(inputs)}: {error}") from error
        readings = ", ".join(f"{name} = {_format_found(formula_input)}" for name, formula_input in inputs.items())
        return value, f"{formula.fill(inputs)} = {value:.4g}, with {readings}"

    def _find_faults(self) -> Iterator[str]:
        """Find all faults as `place: fault`."""
        formula = self.parsed
        yield from (f"formula: {fault}" for fault in formula.faults)
        if not formula.faults and not formula.names:
            yield "formula: names no metric; write one such as mean(correctness, faithfulness)"
        for name in self.metrics:
            if name not in formula.names and not formula.faults:
                yield f"metrics.{name}: is not in the formula; use it there, or take it out"
        if self.name in map(self.get_metric_name, formula.names):
            yield "formula: reads the metric itself; name others"
        if self.pass_if:
            try:
                parse_limit(self.pass_if)
            except ValueError as error:
                yield f"pass: {error}, got {self.pass_if!r}"

    # The accepted arguments, for type checkers and editors.
    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            name: str,
            description: str,
            formula: str,
            metrics: Mapping[str, str] = ...,
            scale: MeasureScale | Mapping[str, object] = ...,
            pass_if: str = ...,
        ) -> None: ...


FileMetric = JudgedMetric | FormulaMetric
"""A metric that a metric file can define."""


def build_file_metric(content: Mapping[str, object]) -> FileMetric:
    """Build a metric from the content of a metric file: by `formula`, or one of the four classes of judged metrics."""
    return FormulaMetric.model_validate(content) if "formula" in content else build_metric(content)


def _build_input(outcome: Scored | Skipped) -> FormulaInput:
    """Return what a formula reads of an outcome."""
    if isinstance(outcome, Skipped):
        return FormulaInput(reason=outcome.reason, skipped=True)
    values = [judgement.value for judgement in outcome.judgements]
    label = values[0] if len(values) == 1 and isinstance(values[0], str) else None
    numbers = [judgement.number for judgement in outcome.judgements if judgement.number is not None]
    if len(numbers) < len(values):
        unscored = next(judgement.value for judgement in outcome.judgements if judgement.number is None)
        return FormulaInput(label=label, reason=f"a category without a score was given: {unscored}")
    reason = f"mean of {len(numbers)} items" if len(numbers) > 1 else ""
    return FormulaInput(fsum(numbers) / len(numbers), label, reason)


def _format_found(formula_input: FormulaInput) -> str:
    """Format what a metric found for a reason."""
    if formula_input.skipped:
        return "skipped"
    number = "no number" if formula_input.number is None else f"{formula_input.number:.4g}"
    text = f"{number} ({formula_input.label})" if formula_input.label else number
    return f"{text} ({formula_input.reason})" if formula_input.number is not None and formula_input.reason else text


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
