"""Metric drafts written by a model: a complete definition, to be reviewed by a person and stored as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import ValidationError

from greval._util.concurrency import run_sync
from greval.errors import DefinitionError, JudgeError, JudgeUnavailableError, MalformedVerdictError
from greval.judging.answer_schema import build_object_schema
from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.client import JudgeClient
from greval.judging.model.failures import SETUP_FAILURES, format_failure_hint
from greval.judging.model.judge import Judge
from greval.judging.prompt import neutralise_fences
from greval.judging.reply_json import parse_last_object
from greval.records.case import PROMPT_FIELDS, Over
from greval.records.metric import JudgedMetric, build_metric

ScaleKind = Literal["categorical", "value"]
DraftScale = ScaleKind | tuple[int, int] | Sequence[str]
MAX_TRIES = 3
MAX_BRIEF_CHARS = 200
"""The most characters of a text written by the embedded model."""
SYSTEM_PROMPT = """\
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
CATEGORIES_RULE = (
    "categories: 2 to 5 named categories, best first, each with a description and a score from 1 (best) to 0."
)
GIVEN_CATEGORIES_RULE = (
    "categories: exactly {names}, best first, each with a description and a score from 1 (best) to 0."
)
LEVELS_RULE = "levels: a description for each of the integers {levels}; {high} is best."


def draft(
    name: str,
    description: str,
    *,
    scale: DraftScale = "categorical",
    over: Over | None = None,
    judge: Judge | BaseChatModel,
) -> JudgedMetric:
    """Draft a metric with a model, from a name and a one-sentence description.

    Args:
        name: The metric's name.
        description: What the metric judges.
        scale: `categorical`, `value` (1 to 5), a range such as (0, 10), or the names of the categories.
        over: `chunks` or `triples`, if each item is judged separately.
        judge: The model that writes the definition.

    Returns:
        A complete, validated definition. Write it to a file with `greval.write_metric` and review it.

    Raises:
        DefinitionError: If the name, the description or the scale is not valid for a metric. No call is made then.
        JudgeUnavailableError: If the model cannot be reached, or the key or the model's name is rejected.
        JudgeError: If the model returns no valid definition in three tries.

    Example:
        >>> from greval.testing import ScriptedJudge
        >>> written = {"needs": ["answer"], "steps": ["Read the answer.", "Weigh its tone."], "instructions": "",
        ...            "categories": [{"name": "Polite", "means": "Courteous.", "score": 1},
        ...                           {"name": "Rude", "means": "Insults.", "score": 0}]}
        >>> draft("tone", "Whether the answer is polite.", judge=ScriptedJudge([written])).scale.names
        ('Polite', 'Rude')
    """
    return run_sync(draft_async(name, description, scale, over, JudgeClient(judge)))


async def draft_async(
    name: str, description: str, scale: DraftScale, over: Over | None, client: JudgeClient
) -> JudgedMetric:
    """Ask a model for a definition, and retry with the errors of an invalid one; see `draft`.

    Raises:
        DefinitionError: If the name, the description or the scale is not valid for a metric.
        JudgeError: If the model cannot be reached, or returns no valid definition in three tries.
    """
    bounds, names = _parse_scale(scale)
    question = AnswerFormat("metric", _build_schema(bounds, names, brief=client.judge.local), client.tier)
    fenced = neutralise_fences(f"name: {name}\nwhat it judges: {description}\njudged: {over or 'the whole case'}")
    messages: list[BaseMessage] = [SystemMessage(_format_system_text(bounds, names)), HumanMessage(fenced)]
    given = {"name": name, "description": description, "over": over}
    _check_definition(given, bounds, names)
    fault = ""
    for number in range(MAX_TRIES):
        reply = await client.ask(question, messages, {}, patient=number > 0)  # at first, report a dead server at once
        if reply.failure:
            fault = reply.failure.message
            if reply.failure.kind in SETUP_FAILURES:
                raise JudgeUnavailableError(
                    f"{client.label} cannot be asked: {fault}; {format_failure_hint(reply.failure.kind, client.label)}"
                )
            continue
        try:
            return _build_metric(given, bounds, names, parse_last_object(reply.text))
        except (MalformedVerdictError, ValidationError) as error:
            fault = "; ".join(_list_errors(error)) if isinstance(error, ValidationError) else str(error)
            messages = [*messages[:2], AIMessage(reply.text), HumanMessage(f"That cannot be used: {fault}\nMend it.")]
    raise JudgeError(
        f"{client.label} gave no valid definition in {MAX_TRIES} tries: {fault}; try again or another model"
    )


def _check_definition(given: Mapping[str, Any], bounds: tuple[int, int] | None, names: tuple[str, ...]) -> None:
    """Raise `DefinitionError` with every error in the caller's part of a definition, before a paid call is made."""
    scale: dict[str, Any]
    if bounds:
        scale = {"range": bounds, "better": "higher", "levels": dict.fromkeys(_select_levels(bounds), "?")}
    else:
        scale = {"categories": [{"name": name, "means": "?"} for name in names or ("a", "b")]}
    try:
        build_metric({**given, "needs": ["question", *filter(None, [given["over"]])], "scale": scale, "steps": ["?"]})
    except ValidationError as error:
        raise DefinitionError(*_list_errors(error)) from error


def _list_errors(error: ValidationError) -> list[str]:
    """List the errors of a definition, each with its place."""
    return [
        f"{'.'.join(map(str, fault['loc'])) or 'metric'}: {fault['msg'].removeprefix('Value error, ')}"
        for fault in error.errors()
    ]


def _parse_scale(scale: DraftScale) -> tuple[tuple[int, int] | None, tuple[str, ...]]:
    """Parse the requested scale into its range, or None, and the names of the categories, if any."""
    match scale:
        case "value":
            return (1, 5), ()
        case "categorical":
            return None, ()
        case (int() as low, int() as high):
            return (low, high), ()
        case _:
            return None, tuple(str(label) for label in scale)


def _format_system_text(bounds: tuple[int, int] | None, names: tuple[str, ...]) -> str:
    if bounds:
        levels = ", ".join(map(str, _select_levels(bounds)))
        return SYSTEM_PROMPT.format(scale=LEVELS_RULE.format(levels=levels, high=bounds[1]))
    return SYSTEM_PROMPT.format(
        scale=GIVEN_CATEGORIES_RULE.format(names=", ".join(names)) if names else CATEGORIES_RULE
    )


def _select_levels(bounds: tuple[int, int]) -> Sequence[int]:
    """Select the levels to describe: all of a short range, the ends and the middle of a long one."""
    low, high = bounds
    return [*range(low, high + 1)] if high - low < 6 else [low, (low + high) // 2, high]  # noqa: PLR2004


def _build_schema(bounds: tuple[int, int] | None, names: tuple[str, ...], *, brief: bool) -> dict[str, Any]:
    """Build the JSON schema of a definition. The scale comes last, so that it is written after the steps.

    `brief` limits the length of texts and lists, because a small model under an unbounded grammar may never stop.
    """
    text: dict[str, Any] = {"type": "string", "maxLength": MAX_BRIEF_CHARS} if brief else {"type": "string"}

    def build_array_schema(items: dict[str, Any], least: int, most: int) -> dict[str, Any]:
        ends = {"minItems": least, "maxItems": most} if brief else {}
        return {"type": "array", "items": items, **ends}

    parts: dict[str, Any] = {
        "needs": build_array_schema({"type": "string", "enum": [*PROMPT_FIELDS]}, 1, 3),
        "steps": build_array_schema(text, 3, 5),
        "instructions": text,
    }
    if bounds:
        count = len(_select_levels(bounds))
        level = {"type": "integer", "enum": [*_select_levels(bounds)]}
        parts["levels"] = build_array_schema(build_object_schema({"level": level, "means": text}), count, count)
    else:
        label = {"type": "string", "enum": [*names]} if names else {**text, **({"maxLength": 40} if brief else {})}
        category = build_object_schema({"name": label, "means": text, "score": {"type": "number"}})
        parts["categories"] = build_array_schema(category, len(names) or 2, len(names) or 4)
    return build_object_schema(parts)


def _build_metric(
    given: Mapping[str, Any],
    bounds: tuple[int, int] | None,
    names: tuple[str, ...],
    written: Mapping[str, Any],
) -> JudgedMetric:
    """Build the metric from the caller's part, which is kept unchanged, and the model's part, which may be invalid."""
    over = given["over"]
    needs = [need for need in _read_entries(written, "needs", str) if need != over] + ([over] if over else [])
    scale: dict[str, Any]
    if bounds:
        listed = _read_entries(written, "levels", Mapping)
        if not all(isinstance(level.get("level"), int) and "means" in level for level in listed):
            raise MalformedVerdictError("malformed", "levels: each must have level (an integer) and means")
        scale = {"range": bounds, "better": "higher", "levels": {one["level"]: one["means"] for one in listed}}
    else:
        scale = {
            "categories": _sort_best_first([dict(entry) for entry in _read_entries(written, "categories", Mapping)])
        }
        found = [entry.get("name") for entry in scale["categories"]]
        if names and not (len(found) == len(names) and all(name in found for name in names)):
            raise MalformedVerdictError("off_scale", f"categories: must be exactly {', '.join(names)}")
    steps, instructions = written.get("steps"), written.get("instructions", "")
    return build_metric({**given, "needs": needs, "scale": scale, "steps": steps, "instructions": instructions})


def _read_entries(written: Mapping[str, Any], name: str, kind: type) -> list[Any]:
    """Return a list from the model's output after checking the type of its entries."""
    found = written.get(name)
    if not isinstance(found, list) or not all(isinstance(entry, kind) for entry in found):
        raise MalformedVerdictError("malformed", f"{name}: must be a list of {_KINDS[kind]}")
    return found


_KINDS: Mapping[type, str] = {str: "texts", Mapping: "objects"}


def _sort_best_first(categories: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort categories by descending score if all have one, else keep the model's order."""
    scores = [entry.get("score") for entry in categories]
    if not all(isinstance(score, int | float) for score in scores):
        return categories
    return sorted(categories, key=lambda entry: -float(entry["score"]))
