"""Few-shot examples from labelled items, each with a reason for the value that people gave."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import JsonValue, ValidationError

from greval.errors import MalformedVerdictError
from greval.judging.answer_schema import build_answer_schema, parse_verdict
from greval.judging.metric_judge import gather_all
from greval.judging.model.judge import LOCAL_REASON_LENGTH
from greval.judging.prompt import format_system_text
from greval.records.case import TAG, Case
from greval.records.metric import Example, JudgedMetric, build_metric
from greval.records.note import ShareNote
from greval.records.result import Judgement
from greval.records.scale import CategoricalScale, Value, ValueScale
from greval.records.scale_values import parse_on_scale
from greval.trust.alignment.labelled_items import LabelledItem, format_item, keep_item
from greval.trust.alignment.model_calls import DefinitionWriter, Verdicts

MIN_EXAMPLES, MAX_EXAMPLES = 4, 6
MAX_EXAMPLE_LENGTH = 4_000
"""The maximum length of an example in characters. Every prompt of the metric contains all examples."""

REASON_REQUEST = (
    "People who know the matter agreed on the value {value} for this case. Answer in the form asked for, with this "
    "value, and with the reason that decides for it."
)
CONTEXT_FIELDS = ("chunks", "triples", "aggregates")


async def add_examples(
    metric: JudgedMetric, items: Sequence[LabelledItem], verdicts: Verdicts, writer: DefinitionWriter, *, seed: str
) -> tuple[JudgedMetric, list[LabelledItem]] | str:
    """Add few-shot examples from labelled items to a metric, after its existing examples.

    The writer gives the reasons for items on which the judge's `verdicts` were wrong. Returns the new metric and the
    items that became examples, or the reason if there is no new metric.
    """
    chosen = [*choose_items(metric, items, verdicts, seed=seed)]
    if all(verdicts.get(item.number) == item.people for item in chosen):
        return "the judge agrees with people on all that could be shown"
    built = await gather_all(_build_example(metric, item, verdicts, writer) for item in chosen)
    good = [(item, example) for item, example in zip(chosen, built, strict=True) if isinstance(example, Example)]
    if not good:
        return str(built[0])
    all_examples = (*metric.examples, *(example for _, example in good))
    examples = [example.model_dump(mode="json") for example in all_examples]
    try:
        return build_metric({**metric.model_dump(mode="json"), "examples": examples}), [item for item, _ in good]
    except ValidationError as error:
        return f"the examples do not fit the metric: {error.errors()[0]['msg']}"


def choose_items(
    metric: JudgedMetric, items: Sequence[LabelledItem], verdicts: Verdicts, *, seed: str
) -> Iterator[LabelledItem]:
    """Yield items of different questions, round-robin over the values that people gave, disagreements first."""
    pools: dict[Value, list[LabelledItem]] = defaultdict(list)
    for item in sort_by_distance(items, verdicts, seed=seed):
        if len(format_item(metric, item)) <= MAX_EXAMPLE_LENGTH:
            pools[_find_level(metric, item)].append(item)
    # The ends of a scale define it best, and not every value may get an example.
    values = _order_from_ends(metric, pools)
    questions: set[int] = set()
    count = min(max(MIN_EXAMPLES, len(values)), MAX_EXAMPLES)
    while values and len(questions) < count:
        for value in values:
            chosen = next((item for item in pools[value] if item.question not in questions), None)
            if chosen is None:
                values = [candidate for candidate in values if candidate != value]
            elif len(questions) < count:
                questions.add(chosen.question)
                yield chosen


def sort_by_distance(items: Sequence[LabelledItem], verdicts: Verdicts, *, seed: str) -> list[LabelledItem]:
    """Return the items with the largest disagreements first; ties are in random order."""
    order = random.Random(seed).sample([*items], len(items))  # noqa: S311 - no secret
    return sorted(order, key=lambda item: -compute_distance(verdicts.get(item.number), item.people))


def compute_distance(verdict: Value | None, people: Value) -> float:
    """Return the distance between a verdict and the value from people, infinite if there is no verdict."""
    if verdict is None:
        return inf
    if isinstance(verdict, str) or isinstance(people, str):
        return float(verdict != people)
    return abs(verdict - people)


def _order_from_ends(metric: JudgedMetric, pools: dict[Value, list[LabelledItem]]) -> list[Value]:
    """Order values from the ends of the scale inwards."""
    scale = metric.scale
    rising = sorted(pools, key=scale.names.index if isinstance(scale, CategoricalScale) else float)
    return [rising[at // 2] if at % 2 == 0 else rising[-1 - at // 2] for at in range(len(rising))]


def _find_level(metric: JudgedMetric, item: LabelledItem) -> Value:
    """Return the value for an example of this item: the nearest level to the mean of several annotators."""
    if isinstance(metric.scale, ValueScale):
        return metric.scale.find_nearest(float(item.people))
    return parse_on_scale(metric.scale, item.people)


async def _build_example(
    metric: JudgedMetric, item: LabelledItem, verdicts: Verdicts, writer: DefinitionWriter
) -> Example | str:
    """Build an example, with the judge's own reason if it was right and a newly written reason otherwise."""
    value = _find_level(metric, item)
    verdict: Judgement | str = item.judgement
    if verdicts.get(item.number) != item.people or item.judgement.value not in {value, item.people}:
        verdict = await _ask_reason(metric, item, value, writer)
    if isinstance(verdict, str):
        return verdict
    requested = [name for name, note in metric.notes.items() if not isinstance(note, ShareNote)]
    notes: dict[str, JsonValue] = {name: verdict.notes[name] for name in requested if name in verdict.notes}
    # An example is published with the metric: fields that it does not show must not leak into it.
    case = _keep_shown_fields(metric, keep_item(metric, item.case, item.item_id))
    try:
        return Example(case=case, findings=verdict.findings, reason=verdict.reason, value=value, notes=notes)
    except ValidationError as error:
        return f"no example can be made: {error.errors()[0]['msg']}"


async def _ask_reason(
    metric: JudgedMetric, item: LabelledItem, value: Value, writer: DefinitionWriter
) -> Judgement | str:
    """Ask the writer for the reason of a given value, in the form of a verdict."""
    schema: dict[str, Any] = build_answer_schema(
        metric, many=False, reason_length=LOCAL_REASON_LENGTH if writer.is_bounded else None
    )
    # The value is given and only the reason is asked for, in the same form as a verdict.
    properties = {**schema["properties"], "value": {**metric.scale.answer_schema(), "enum": [value]}}
    messages = [
        SystemMessage(format_system_text(metric, many=False, example=writer.client.tier == "text")),
        HumanMessage(f"{format_item(metric, item)}\n\n{REASON_REQUEST.format(value=value)}"),
    ]

    def read(answer: dict[str, Any]) -> Judgement:
        verdict = parse_verdict(metric, answer)
        if verdict.value != value:
            raise MalformedVerdictError("off_scale", f"value: must be {value}")
        return verdict

    return await writer.write("reason", {**schema, "properties": properties}, messages, read)


def _keep_shown_fields(metric: JudgedMetric, case: Case) -> Case:
    """Return a case with only the fields that the metric shows."""
    fields = {field for need in metric.needs for field in (CONTEXT_FIELDS if need == "context" else (need,))}
    tags = {need.removeprefix(TAG) for need in fields if need.startswith(TAG)}
    contents = {field: getattr(case, field) for field in fields if not field.startswith(TAG)}
    return Case(**{"question": "", **contents}, tags={name: case.tags[name] for name in tags})
