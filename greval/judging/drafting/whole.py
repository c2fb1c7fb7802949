"""Writing a whole definition in one call, for models that can: faults and remarks are sent back to the writer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import ValidationError

from greval.errors import MalformedVerdictError
from greval.judging.answer_schema import build_object_schema
from greval.judging.drafting.brief import DraftBrief, list_definition_errors
from greval.judging.drafting.remarks import MAX_TEXT_WORDS, find_draft_remarks, select_writer_remarks
from greval.judging.drafting.writer import MAX_ROUNDS, MAX_TRIES, DraftWriter
from greval.judging.prompt import neutralise_fences
from greval.judging.reply_json import parse_reply_object
from greval.records.case import PROMPT_FIELDS
from greval.records.metric import JudgedMetric, build_metric

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
        except (MalformedVerdictError, ValidationError) as error:
            fault = _explain(error)
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
        except (MalformedVerdictError, ValidationError):
            continue
        remaining = select_writer_remarks(find_draft_remarks(brief, revised))
        if len(remaining) < len(remarks):
            metric, remarks, text = revised, remaining, answered
    return metric


def _build_messages(brief: DraftBrief, answered: str = "", objection: str = "") -> list[BaseMessage]:
    """Build the request, followed by the last reply and what is wrong with it."""
    request = f"name: {brief.name}\nwhat it judges: {brief.description}\njudged: {brief.over or 'the whole case'}"
    start: list[BaseMessage] = [SystemMessage(_format_system_text(brief)), HumanMessage(neutralise_fences(request))]
    return [*start, AIMessage(answered), HumanMessage(objection)] if objection else start


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


def _read_metric(brief: DraftBrief, text: str) -> JudgedMetric:
    """Read a metric from the caller's part, which is kept unchanged, and the model's part, which may be invalid."""
    written = parse_reply_object(text, _build_schema(brief))
    listed = _read_entries(written, "needs", str)
    if unknown := [need for need in listed if need not in PROMPT_FIELDS]:
        raise MalformedVerdictError(
            "malformed", f"needs: {', '.join(unknown)} is no field; known: {', '.join(PROMPT_FIELDS)}"
        )
    scale = _read_levels(brief, written) if brief.bounds else _read_categories(brief, written)
    steps, instructions = _read_entries(written, "steps", str), str(written.get("instructions") or "")
    needs = brief.select_needs([*steps, instructions], listed)
    return build_metric({**brief.given, "needs": needs, "scale": scale, "steps": steps, "instructions": instructions})


def _read_levels(brief: DraftBrief, written: Mapping[str, Any]) -> dict[str, Any]:
    listed = _read_entries(written, "levels", Mapping)
    if not all(isinstance(level.get("level"), int) and "means" in level for level in listed):
        raise MalformedVerdictError("malformed", "levels: each must have level (an integer) and means")
    levels = {entry["level"]: entry["means"] for entry in listed}
    return {"range": brief.bounds, "better": "higher", "levels": levels}


def _read_categories(brief: DraftBrief, written: Mapping[str, Any]) -> dict[str, Any]:
    """Read the categories in the caller's order, else the best first. Scores that rise then are a fault."""
    categories = _sort_best_first([dict(entry) for entry in _read_entries(written, "categories", Mapping)])
    names = [str(entry.get("name")) for entry in categories]
    if brief.names and sorted(names) != sorted(brief.names):
        raise MalformedVerdictError("off_scale", f"categories: must be exactly {', '.join(brief.names)}")
    order = {name: position for position, name in enumerate(brief.names)}
    return {"categories": sorted(categories, key=lambda entry: order.get(str(entry.get("name")), 0))}


def _read_entries(written: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    """Return a list from the model's output after checking the type of its entries."""
    entries = written.get(name)
    if not isinstance(entries, list) or not all(isinstance(entry, kind) for entry in entries):
        raise MalformedVerdictError("malformed", f"{name}: must be a list of {_KINDS[kind]}")
    return entries


_KINDS: Mapping[type, str] = {str: "texts", Mapping: "objects"}


def _sort_best_first(categories: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort categories by descending score if all have one, else keep the model's order."""
    scores = [entry.get("score") for entry in categories]
    if not all(isinstance(score, int | float) for score in scores):
        return categories
    return sorted(categories, key=lambda entry: -float(entry["score"]))


def _explain(error: MalformedVerdictError | ValidationError) -> str:
    """Return what is wrong with a definition as one line."""
    return "; ".join(list_definition_errors(error)) if isinstance(error, ValidationError) else str(error)
