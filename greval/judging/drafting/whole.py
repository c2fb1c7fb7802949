"""Writing a whole definition in one call, for models that can: faults and remarks are sent back to the writer."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import ConfigDict, ValidationError

from greval.errors import MalformedVerdictError
from greval.judging.answer_schema import build_object_schema
from greval.judging.drafting.brief import (
    MAX_ROUNDS,
    MAX_TEXT_WORDS,
    MAX_TRIES,
    DraftBrief,
    DraftWriter,
    find_draft_remarks,
    select_writer_remarks,
)
from greval.judging.prompt import neutralise_control_tokens, neutralise_fences
from greval.judging.reply_json import parse_reply_object
from greval.records.case import PROMPT_FIELDS, Need
from greval.records.metric import JudgedMetric, build_metric, list_metric_faults
from greval.records.record import Record, Text
from greval.records.scale import Category

SYSTEM_PROMPT = """\
You write definitions of evaluation metrics for retrieval-augmented generation. A definition lets a careful
person judge any case in the same way as any other careful person.

Rules:
- needs: only the fields of a case that the metric must read. question: what was asked. expected_answer: a
  reference answer. answer: what the system answered. context: the retrieved passages and graph triples.
  chunks: the passages only. triples: the graph triples only. traversal: the walk through the graph.
- steps: 3 to 6 imperative sentences in the order of thinking, each saying what to look at and what to conclude.
  Name each field that a step reads: the question, the answer, the expected answer. Read no field that the metric
  does not need.
- {scale}
- Each description is a whole sentence that begins with "The {thing}" and says what the {thing} is like that
  belongs there, and what tells it from its neighbour. One question only, no mixing of several qualities.
- instructions: one or two sentences on borderline cases, or an empty text.
- No text has more than {words} words.
Answer with JSON only."""
CATEGORIES_RULE = (
    "categories: 2 to 5 named categories, best first, each with a description and a score from 1 (best) to 0."
)
GIVEN_CATEGORIES_RULE = (
    "categories: exactly {names}, best first, each with a description and a score from 1 (best) to 0."
)
LEVELS_RULE = "levels: a description for each of the integers {levels}; {high} is best."


async def write_whole(brief: DraftBrief, writer: DraftWriter) -> JudgedMetric:
    """Ask for a definition, then for a better one as long as there are remarks, at most `MAX_ROUNDS` times."""
    fault = ""
    messages = _build_messages(brief)
    for _ in range(MAX_TRIES):
        text, fault = await writer.ask("metric", _build_schema(brief), messages)
        if fault:
            continue
        try:
            metric = _read_metric(brief, text)
        except MalformedVerdictError as error:
            fault = str(error)
            messages = _build_messages(brief, text, f"That cannot be used: {fault}\nMend it.")
        else:
            return await _mend(brief, writer, metric, text)
    raise writer.build_error(fault)


async def _mend(brief: DraftBrief, writer: DraftWriter, metric: JudgedMetric, text: str) -> JudgedMetric:
    """Send the remarks on a definition back to its writer, and return the definition with the fewest."""
    remarks = select_writer_remarks(find_draft_remarks(brief, metric))
    for _ in range(MAX_ROUNDS):
        if not remarks:
            break
        objection = (
            "That is valid, with these remarks:\n- {}\nWrite the whole definition again without what they point at."
        )
        answered, fault = await writer.ask(
            "metric", _build_schema(brief), _build_messages(brief, text, objection.format("\n- ".join(remarks)))
        )
        if fault or answered == text:
            break
        try:
            revised = _read_metric(brief, answered)
        except MalformedVerdictError:
            continue
        remaining = select_writer_remarks(find_draft_remarks(brief, revised))
        if len(remaining) < len(remarks):
            metric, remarks, text = revised, remaining, answered
    return metric


def _build_messages(brief: DraftBrief, answered: str = "", objection: str = "") -> list[BaseMessage]:
    request = f"name: {brief.name}\nwhat it judges: {brief.description}\njudged: {brief.over or 'the whole case'}"
    start: list[BaseMessage] = [SystemMessage(_format_system_text(brief)), HumanMessage(neutralise_fences(request))]
    return [*start, AIMessage(neutralise_control_tokens(answered)), HumanMessage(objection)] if objection else start


def _format_system_text(brief: DraftBrief) -> str:
    if brief.bounds:
        scale = LEVELS_RULE.format(levels=", ".join(map(str, brief.levels)), high=brief.bounds[1])
    else:
        scale = GIVEN_CATEGORIES_RULE.format(names=", ".join(brief.names)) if brief.names else CATEGORIES_RULE
    return SYSTEM_PROMPT.format(scale=scale, thing=brief.thing, words=MAX_TEXT_WORDS)


def _build_schema(brief: DraftBrief) -> dict[str, Any]:
    """Build the JSON schema of a definition."""
    text: dict[str, Any] = {"type": "string"}
    parts: dict[str, Any] = {
        "needs": {"type": "array", "items": {"type": "string", "enum": [*PROMPT_FIELDS]}},
        "steps": {"type": "array", "items": text},
        "instructions": text,
    }
    # The scale comes last, so that it is written after the steps.
    if brief.bounds:
        level = {"type": "integer", "enum": [*brief.levels]}
        parts["levels"] = {"type": "array", "items": build_object_schema({"level": level, "means": text})}
    else:
        label = {"type": "string", "enum": [*brief.names]} if brief.names else text
        category = build_object_schema({"name": label, "means": text, "score": {"type": "number"}})
        parts["categories"] = {"type": "array", "items": category}
    return build_object_schema(parts)


class _WrittenLevel(Record):
    level: int
    means: Text


class _WrittenDefinition(Record):
    """The writer's part of a definition."""

    model_config = ConfigDict(extra="ignore")

    needs: tuple[Need, ...]
    steps: tuple[str, ...]
    instructions: str | None = None
    levels: tuple[_WrittenLevel, ...] = ()
    categories: tuple[Category, ...] = ()


def _read_metric(brief: DraftBrief, text: str) -> JudgedMetric:
    """Read a metric from the caller's part, which is kept unchanged, and the model's part."""
    content: dict[str, Any] = parse_reply_object(text, _build_schema(brief))
    try:
        written = _WrittenDefinition.model_validate(content)
        texts = [*written.steps, written.instructions or ""]
        needs = brief.select_needs(texts, written.needs)
        content = {**brief.given, "needs": needs, "scale": _build_scale(brief, written), "steps": written.steps}
        return build_metric({**content, "instructions": texts[-1]})
    except ValidationError as error:
        raise MalformedVerdictError("malformed", "; ".join(list_metric_faults(error, content))) from error


def _build_scale(brief: DraftBrief, written: _WrittenDefinition) -> dict[str, Any]:
    """Build the scale: categories in the caller's order, else the best first if all have scores."""
    if brief.bounds:
        levels = {entry.level: entry.means for entry in written.levels}
        return {"range": brief.bounds, "better": "higher", "levels": levels}
    # Scores that rise in the caller's order are a fault of the draft.
    order = {name: position for position, name in enumerate(brief.names)}
    if order and sorted(order) != sorted(category.name for category in written.categories):
        raise MalformedVerdictError("off_scale", f"categories: must be exactly {', '.join(brief.names)}")
    scores = {category.name: category.score for category in written.categories}
    if not order and None not in scores.values():
        order = {name: rank for rank, name in enumerate(sorted(scores, key=lambda name: -(scores[name] or 0)))}
    return {"categories": sorted(written.categories, key=lambda category: order.get(category.name, 0))}
