"""Few-shot examples from labelled items, each with a reason for the value that people gave."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Coroutine, Iterator, Sequence
from math import inf
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import JsonValue, ValidationError

from greval.errors import MalformedVerdictError
from greval.judging.answer_schema import answer_schema, read_verdict
from greval.judging.model.judge import LOCAL_REASON_LENGTH
from greval.judging.prompt import system_text
from greval.records.case import Case
from greval.records.example import Example
from greval.records.metric import JudgedMetric, define
from greval.records.needs import TAG
from greval.records.note import ShareNote
from greval.records.result import Judgement
from greval.records.scale import CategoricalScale, Value, ValueScale
from greval.trust.alignment.definition_runs import Verdicts
from greval.trust.alignment.labelled_items import Point, one_item, shown_text
from greval.trust.alignment.writer import Writer
from greval.trust.annotations.values import on_scale

FEWEST, MOST = 4, 6
MOST_LETTERS = 4_000
"""The maximum length of an example in characters. Every prompt of the metric contains all examples."""

TOLD = (
    "People who know the matter agreed on the value {value} for this case. Answer in the form asked for, with this "
    "value, and with the reason that decides for it."
)
CONTEXT = ("chunks", "triples", "aggregates")


async def shown(
    metric: JudgedMetric, points: Sequence[Point], before: Verdicts, writer: Writer, *, seed: str
) -> tuple[JudgedMetric, list[Point]] | str:
    """Add few-shot examples from labelled items to a metric.

    Args:
        metric: The definition. Its existing examples are kept.
        points: The items to choose from.
        before: The judge's verdicts on them.
        writer: The model that writes the reasons for items on which the judge was wrong.
        seed: The random seed that breaks ties between equally good items.

    Returns:
        The new metric and the items that became examples, or the reason if there is no new metric.
    """
    chosen = [*chosen_from(metric, points, before, seed=seed)]
    if all(before.get(point.number) == point.people for point in chosen):
        return "the judge agrees with people on all that could be shown"
    told = await _all([_example(metric, point, before, writer) for point in chosen])
    good = [(point, one) for point, one in zip(chosen, told, strict=True) if isinstance(one, Example)]
    if not good:
        return str(told[0])
    examples = [one.model_dump(mode="json") for one in (*metric.examples, *(one for _, one in good))]
    try:
        return define({**metric.model_dump(mode="json"), "examples": examples}), [point for point, _ in good]
    except ValidationError as error:
        return f"the examples do not fit the metric: {error.errors()[0]['msg']}"


async def _all(making: Sequence[Coroutine[Any, Any, Example | str]]) -> list[Example | str]:
    """Build examples concurrently. If one fails, let the others finish first, because their calls are paid for."""
    found = await asyncio.gather(*making, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return [one for one in found if not isinstance(one, BaseException)]


def chosen_from(metric: JudgedMetric, points: Sequence[Point], before: Verdicts, *, seed: str) -> Iterator[Point]:
    """Yield items of different questions, round-robin over the values that people gave, disagreements first."""
    pools: dict[Value, list[Point]] = defaultdict(list)
    order = random.Random(seed).sample([*points], len(points))  # noqa: S311 - no secret
    for point in sorted(order, key=lambda point: -apart(before.get(point.number), point.people)):
        if len(text_of(metric, point)) <= MOST_LETTERS:
            pools[_level(metric, point)].append(point)
    values = _from_both_ends(metric, pools)
    taken: set[int] = set()
    wanted = min(max(FEWEST, len(values)), MOST)
    while values and len(taken) < wanted:
        for value in values:
            found = next((point for point in pools[value] if point.question not in taken), None)
            if found is None:
                values = [other for other in values if other != value]
            elif len(taken) < wanted:
                taken.add(found.question)
                yield found


def apart(verdict: Value | None, people: Value) -> float:
    """Return the distance between a verdict and the value from people, infinite if there is no verdict.

    Example:
        >>> compute_distance("Yes", "No"), compute_distance(3, 4.5), compute_distance("No", "No")
        (1.0, 1.5, 0.0)
    """
    if verdict is None:
        return inf
    if isinstance(verdict, str) or isinstance(people, str):
        return float(verdict != people)
    return abs(verdict - people)


def _from_both_ends(metric: JudgedMetric, pools: dict[Value, list[Point]]) -> list[Value]:
    """Order values from the ends of the scale inwards, because the ends define the scale best."""
    scale = metric.scale
    place = scale.names.index if isinstance(scale, CategoricalScale) else float
    rising = sorted(pools, key=place)
    return [rising[at // 2] if at % 2 == 0 else rising[-1 - at // 2] for at in range(len(rising))]


def _level(metric: JudgedMetric, point: Point) -> Value:
    """Return the value for an example of this item: the nearest level to the mean of several annotators."""
    if isinstance(metric.scale, ValueScale):
        return metric.scale.find_nearest(float(point.people))
    return on_scale(metric.scale, point.people)


def text_of(metric: JudgedMetric, point: Point) -> str:
    """Format what a judge is shown of a labelled item."""
    return shown_text(metric, one_item(metric, point.case, point.item))


async def _example(metric: JudgedMetric, point: Point, before: Verdicts, writer: Writer) -> Example | str:
    """Build an example, with the judge's own reason if it was right and a newly written reason otherwise."""
    value = _level(metric, point)
    said: Judgement | str = point.said
    if before.get(point.number) != point.people or point.said.value not in {value, point.people}:
        said = await _reasoned(metric, point, value, writer)
    if isinstance(said, str):
        return said
    asked = [name for name, note in metric.notes.items() if not isinstance(note, ShareNote)]
    notes: dict[str, JsonValue] = {name: said.notes[name] for name in asked if name in said.notes}
    case = _fields(metric, one_item(metric, point.case, point.item))
    try:
        return Example(case=case, findings=said.findings, reason=said.reason, value=value, notes=notes)
    except ValidationError as error:
        return f"no example can be made: {error.errors()[0]['msg']}"


async def _reasoned(metric: JudgedMetric, point: Point, value: Value, writer: Writer) -> Judgement | str:
    """Ask the writer for the reason of a given value, in the form of a verdict."""
    schema: dict[str, Any] = answer_schema(
        metric, many=False, reason_length=LOCAL_REASON_LENGTH if writer.brief else None
    )
    properties = {**schema["properties"], "value": {**metric.scale.answer_schema(), "enum": [value]}}
    text = f"{text_of(metric, point)}\n\n{TOLD.format(value=value)}"
    asked = [SystemMessage(system_text(metric, many=False, example=writer.client.tier == "text")), HumanMessage(text)]

    def read(answer: dict[str, Any]) -> Judgement:
        found = read_verdict(metric, answer)
        if found.value != value:
            raise MalformedVerdictError("off_scale", f"value: must be {value}")
        return found

    return await writer.write("reason", {**schema, "properties": properties}, asked, read)


def _fields(metric: JudgedMetric, case: Case) -> Case:
    """Return a case with only the fields that the metric shows. Other fields must not leak into a published example."""
    wanted = {field for need in metric.needs for field in (CONTEXT if need == "context" else (need,))}
    tags = {need.removeprefix(TAG) for need in wanted if need.startswith(TAG)}
    kept = {field: getattr(case, field) for field in wanted if not field.startswith(TAG)}
    return Case(**{"question": "", **kept}, tags={name: case.tags[name] for name in tags})
