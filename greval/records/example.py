"""Few-shot examples: judged cases that the prompt shows before the case to judge."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from pydantic import Field, JsonValue, StrictFloat, StrictInt, StrictStr, field_serializer

from greval.records.case import Case, Over
from greval.records.needs import PROMPT_FIELDS, TAG, read_need
from greval.records.record import Label, Record, Text
from greval.records.scale import CategoricalScale, OffScaleError, ValueScale


class Example(Record):
    """A few-shot example: a judged case that the prompt shows before the case to judge.

    If the metric is over items, the case holds one item. `notes` are the requested notes, `findings` the
    finding of each step in order, for a metric whose reason goes step by step.
    """

    case: Case
    findings: tuple[Text, ...] = ()
    reason: Text
    value: StrictInt | StrictFloat | StrictStr
    notes: dict[Label, JsonValue] = Field(default_factory=dict)

    @field_serializer("case")
    def _dump_case(self, case: Case) -> dict[str, Any]:
        """Serialise only the fields that the author set."""
        return case.model_dump(mode="json", exclude_defaults=True)


def find_example_faults(  # noqa: PLR0913 - the parts of a definition that an example must fit
    example: Example,
    *,
    scale: ValueScale | CategoricalScale,
    needs: Collection[str],
    over: Over | None,
    asked: Collection[str],
    steps: int,
    by_step: bool,
) -> Iterator[str]:
    """Find the parts of an example that do not match its metric.

    The case must have the `needs` of the metric and one item of `over`. The requested notes (`asked`) must be
    present, and a finding for each of the `steps` if the reason goes step by step.
    """
    try:
        scale.read(example.value)
    except OffScaleError as error:
        yield f"value: {error}"
    for need in needs:
        shown = need in PROMPT_FIELDS or need.startswith(TAG)
        if shown and read_need(example.case, need) is None:
            yield f"case: {need} is missing"
    if over and len(getattr(example.case, over) or ()) != 1:
        yield f"case: give one of the {over}, the one that is judged"
    if set(asked) != set(example.notes):
        yield f"notes: give those that are asked for: {', '.join(sorted(asked)) or 'none'}"
    if len(example.findings) != steps and (by_step or example.findings):
        yield f"findings: give one for each of the {steps} steps, got {len(example.findings)}"
