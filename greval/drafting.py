"""Drafting a metric with a model: a complete definition that a person reviews and keeps as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import ValidationError

from greval.case import Over
from greval.client import JudgeClient, Question
from greval.compile import run_sync
from greval.errors import JudgeError, MalformedVerdictError
from greval.judge import Judge
from greval.lint import lint
from greval.metric import PROMPT_FIELDS, JudgedMetric, define
from greval.prompt import neutral
from greval.verdict import parse

ScaleKind = Literal["categorical", "value"]
DraftScale = ScaleKind | tuple[int, int] | Sequence[str]
TRIES = 3
SYSTEM = """\
You write definitions of evaluation metrics for retrieval-augmented generation. A definition lets a careful
person judge any case in the same way as any other careful person.

Rules:
- needs: only the fields of a case that the metric must read. question: what was asked. expected_answer: a
  reference answer. answer: what the system answered. context: the retrieved passages and graph triples.
- steps: 3 to 6 imperative sentences in the order of thinking, each saying what to look at and what to conclude.
  No step names a field that is not in needs.
- {scale}
- Each description says what belongs there and what tells it from its neighbour. One question only, no mixing of
  several qualities.
- instructions: one or two sentences on borderline cases, or an empty text.
Answer with JSON only."""
CATEGORIES = "categories: 2 to 5 named categories, best first, each with a description and a score from 1 (best) to 0."
GIVEN = "categories: exactly {names}, best first, each with a description and a score from 1 (best) to 0."
LEVELS = "levels: a description for each of the integers {levels}; {high} is best."


def draft(
    name: str,
    description: str,
    *,
    scale: DraftScale = "categorical",
    over: Over | None = None,
    judge: Judge | BaseChatModel,
) -> JudgedMetric:
    """Draft a metric from its name and a sentence on what it is for.

    Args:
        name: The metric's name.
        description: What it judges.
        scale: `categorical`, `value` (1 to 5), a range such as (0, 10), or the names of the categories.
        over: `chunks` or `triples`, where each is judged by itself.
        judge: The model that writes.

    Returns:
        A complete definition that was checked; write it with `greval.metric_file.write_metric` and review it.

    Raises:
        JudgeError: Where the model gives no valid definition in three tries.

    Example:
        >>> from greval.testing import ScriptedJudge
        >>> written = {"needs": ["answer"], "steps": ["Read the answer.", "Weigh its tone."], "instructions": "",
        ...            "categories": [{"name": "Polite", "means": "Courteous.", "score": 1},
        ...                           {"name": "Rude", "means": "Insults.", "score": 0}]}
        >>> draft("tone", "Whether the answer is polite.", judge=ScriptedJudge([written])).scale.names
        ('Polite', 'Rude')
    """
    return run_sync(_draft(name, description, scale, over, JudgeClient(judge)))


async def _draft(
    name: str, description: str, scale: DraftScale, over: Over | None, client: JudgeClient
) -> JudgedMetric:
    """Ask for a definition, and again with what is wrong with it."""
    bounds, names = _wanted(scale)
    question = Question("metric", _schema(bounds, names), client.tier)
    fenced = neutral(f"name: {name}\nwhat it judges: {description}\njudged: {over or 'the whole case'}")
    messages: list[BaseMessage] = [SystemMessage(_system(bounds, names)), HumanMessage(fenced)]
    fault = ""
    for _ in range(TRIES):
        reply = await client.ask(question, messages, {})
        if reply.failure:
            fault = reply.failure.message
            continue
        try:
            return _metric(name, description, over, bounds, parse(reply.text))
        except (MalformedVerdictError, ValidationError) as error:
            fault = str(error)
            messages = [*messages[:2], AIMessage(reply.text), HumanMessage(f"That cannot be used: {fault}\nMend it.")]
    message = f"{client.label} gave no valid definition in {TRIES} tries: {fault}"
    raise JudgeError(message)


def _wanted(scale: DraftScale) -> tuple[tuple[int, int] | None, tuple[str, ...]]:
    """Give the range that is wanted, or None and the names of the categories where they are given."""
    match scale:
        case "value":
            return (1, 5), ()
        case "categorical":
            return None, ()
        case (int() as low, int() as high):
            return (low, high), ()
        case _:
            return None, tuple(str(label) for label in scale)


def _system(bounds: tuple[int, int] | None, names: tuple[str, ...]) -> str:
    if bounds:
        levels = ", ".join(map(str, _levels(bounds)))
        return SYSTEM.format(scale=LEVELS.format(levels=levels, high=bounds[1]))
    return SYSTEM.format(scale=GIVEN.format(names=", ".join(names)) if names else CATEGORIES)


def _levels(bounds: tuple[int, int]) -> Sequence[int]:
    """Give the levels to describe: all of a short range, the ends and the middle of a long one."""
    low, high = bounds
    return [*range(low, high + 1)] if high - low < 6 else [low, (low + high) // 2, high]  # noqa: PLR2004


def _schema(bounds: tuple[int, int] | None, names: tuple[str, ...]) -> dict[str, Any]:
    """Give the schema of a definition's parts; the scale stands last, when the steps are known."""
    text = {"type": "string"}
    parts: dict[str, Any] = {
        "needs": {"type": "array", "items": {"type": "string", "enum": [*PROMPT_FIELDS]}},
        "steps": {"type": "array", "items": text},
        "instructions": text,
    }
    if bounds:
        parts["levels"] = _list({"level": {"type": "integer", "enum": [*_levels(bounds)]}, "means": text})
    else:
        label = {"type": "string", "enum": [*names]} if names else text
        parts["categories"] = _list({"name": label, "means": text, "score": {"type": "number"}})
    return _object(parts)


def _list(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _object(fields)}


def _object(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}


def _metric(
    name: str, description: str, over: Over | None, bounds: tuple[int, int] | None, written: Mapping[str, Any]
) -> JudgedMetric:
    """Put the written parts together; what the caller gave stays as it was given."""
    needs = [*written.get("needs", ()), *([over] if over else ())]
    scale: dict[str, Any]
    if bounds:
        levels = {level["level"]: level["means"] for level in written.get("levels", ())}
        scale = {"range": bounds, "better": "higher", "levels": levels}
    else:
        categories = [entry for entry in written.get("categories", ()) if isinstance(entry, Mapping)]
        best_first = sorted(categories, key=lambda entry: -float(entry.get("score", 0)))
        scale = {"categories": [dict(entry) for entry in best_first]}
    content = {"name": name, "description": description, "over": over, "needs": needs, "scale": scale}
    return define({**content, "steps": written.get("steps"), "instructions": written.get("instructions", "")})


def remarks(metric: JudgedMetric) -> list[str]:
    """Give what a person should look at in a draft."""
    return lint(metric)
