"""What both ways to draft a metric share: what is asked for, the model that writes, and remarks on what it wrote."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import BaseMessage
from pydantic import ValidationError

from greval.errors import DefinitionError, JudgeUnavailableError, MalformedVerdictError
from greval.judging.answer_schema import build_object_schema
from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.call_context import NO_RUN, CallContext
from greval.judging.model.client import JudgeClient
from greval.judging.model.failures import SETUP_FAILURES, format_failure_hint
from greval.judging.reply_json import parse_reply_object
from greval.metrics.lint import find_cited_inputs, lint_metric, list_descriptions
from greval.records.case import CLAIM_FIELDS, PROMPT_FIELDS, Over
from greval.records.metric import JudgedMetric, build_metric, list_metric_faults
from greval.records.result import Usage

ScaleKind = Literal["categorical", "value"]
DraftScale = ScaleKind | tuple[int, int] | Sequence[str]
MAX_DESCRIBED_LEVELS = 6
"""The most levels of a range that are all described."""
MAX_SUBJECT_PLACE = 15
"""A question that is cited only later in a description is not what is judged: "How well it replies to the question"."""

MAX_TRIES = 3
"""The most calls for one text that can be used."""
MAX_ROUNDS = 2
"""How often a writer is asked to mend what the remarks on its draft point at."""
MAX_TEXT_CHARS = 300
MAX_TEXT_WORDS = 40
"""The most characters of a text of a draft, and the most words that a writer is asked for, which are fewer."""

_ANSWER = re.compile(r"\b(?:the|an|each|every|this|its) (?:system's )?answers?\b", re.IGNORECASE)
_WORDS: dict[str, str] = {
    "chunks": "chunk",
    "triples": "triple",
    "traversal": "walk",
    "context": "context",
    "answer": "answer",
    **dict.fromkeys(CLAIM_FIELDS, "claim"),
}
"""The word for each field that can be judged, besides the question."""
_MENTIONS = {
    "answer": r"answers?|repl(?:y|ies)|responses?",
    "chunk": r"chunks?|passages?|texts?",
    "triple": r"triples?|facts?|statements?",
    "claim": r"claims?|statements?",
    "walk": r"walks?|traversals?|paths?",
    "context": r"context|chunks?|passages?|triples?|sources?",
    "question": r"questions?",
}
"""The words, besides `it`, by which a description can mention the judged thing."""
_RELATIVE = re.compile(
    r"\b(?:relevan\w+|helpful\w*|useful\w*|complete(?:ly|ness)?|sufficien\w+|o(?:n|ff) topic|to the point|problem)\b",
    re.IGNORECASE,
)
"""Words for what only the question shows, if a description cites nothing else to compare with."""
_METRIC = re.compile(r"\b(?:metrics?|criteri(?:on|a))\b", re.IGNORECASE)


@dataclass(frozen=True)
class DraftBrief:
    """The caller's part of a definition: `bounds` of a range, or `names` of categories, or neither."""

    name: str
    description: str
    over: Over | None
    bounds: tuple[int, int] | None
    names: tuple[str, ...]

    @classmethod
    def parse(cls, name: str, description: str, scale: DraftScale, over: Over | None) -> DraftBrief:
        """Parse the requested scale, and check everything before a paid call is made."""
        match scale:
            case "value":
                brief = cls(name, description, over, (1, 5), ())
            case "categorical":
                brief = cls(name, description, over, None, ())
            case (int() as low, int() as high):
                brief = cls(name, description, over, (low, high), ())
            case _:
                brief = cls(name, description, over, None, tuple(str(label) for label in scale))
        brief._check()
        return brief

    @property
    def given(self) -> dict[str, Any]:
        """The fields of the definition that the caller gave, which no writer changes."""
        return {"name": self.name, "description": self.description, "over": self.over}

    @property
    def levels(self) -> Sequence[int]:
        """The levels of the range to describe: all of a short one, the ends and the middle of a long one."""
        low, high = self.bounds or (0, 0)
        return (*range(low, high + 1),) if high - low < MAX_DESCRIBED_LEVELS else (low, (low + high) // 2, high)

    @property
    def judged_field(self) -> str | None:
        """The field that is judged: the items, else the one that the description cites first; None if it cites none."""
        if self.over:
            return self.over
        places = dict(_find_places(self.description))
        is_subject = places.pop("question", MAX_SUBJECT_PLACE) < MAX_SUBJECT_PLACE
        judged = {need: position for need, position in places.items() if need in _WORDS}
        first = min(judged, key=lambda need: judged[need], default="question" if is_subject else None)
        return "context" if first in {"chunks", "triples"} else first

    @property
    def thing(self) -> str:
        """The word for what is judged, such as `chunk`; `answer` if nothing is cited."""
        field = self.judged_field or "answer"
        return _WORDS.get(field, field)

    @property
    def needs(self) -> tuple[str, ...]:
        """The fields that the description alone calls for, in the order of the prompt."""
        return self.select_needs(())

    def select_needs(self, texts: Iterable[str], listed: Iterable[str] = ()) -> tuple[str, ...]:
        """Select the needed fields: the judged one and all that the description and the texts of a draft cite.

        The fields that the writer lists count if no text cites any, as in other languages.
        """
        cited = set(_find_places(self.description))
        text_needs = {need for text in texts for need in _find_places(text)}
        # Steps on items cite the answer or the context in general, which are needed only if the description cites
        # them.
        cited |= {need for need in text_needs if not self.over or need == "question"}
        # In other languages, no text cites a field.
        if not cited:
            cited = {*listed} or ({"answer"} if not self.over else set())
        chosen = cited | ({self.judged_field} if self.judged_field else set())
        if len(chosen) == 1 and _RELATIVE.search(self.description):
            chosen |= {"question"}
        if not self.over and ("context" in chosen or {"chunks", "triples"} <= chosen):
            chosen = (chosen | {"context"}) - {"chunks", "triples"}
        return tuple(need for need in (*PROMPT_FIELDS, *CLAIM_FIELDS) if need in chosen)

    def _check(self) -> None:
        """Raise `DefinitionError` with every error in the caller's part of a definition."""
        scale: dict[str, Any]
        if self.bounds:
            low, high = self.bounds
            levels = self.levels if low < high else self.bounds
            scale = {"range": self.bounds, "better": "higher", "levels": dict.fromkeys(levels, "?")}
        else:
            scale = {"categories": [{"name": name, "means": "?"} for name in self.names or ("a", "b")]}
        # All but the caller's part is filled in, so that every fault is one of that part.
        needs = ["question", *filter(None, [self.over])]
        definition = {**self.given, "needs": needs, "scale": scale, "steps": ["?"]}
        try:
            build_metric(definition)
        except ValidationError as error:
            raise DefinitionError(*list_metric_faults(error, definition)) from error


def _find_places(text: str) -> Mapping[str, int]:
    """Find the fields of a case that a text cites, each with the place of its first mention."""
    places = {need: match.start() for need, _, match in find_cited_inputs(text)}
    if match := _ANSWER.search(text):
        places["answer"] = match.start()
    return places


class DraftWriter:
    """Asks a model for texts, and counts what they cost."""

    def __init__(self, client: JudgeClient, context: CallContext = NO_RUN) -> None:
        """Store the client and the context of its calls. No call was made yet."""
        self.client = client
        self._context = context
        self.usage = Usage()

    async def ask(
        self, name: str, schema: Mapping[str, Any], messages: Sequence[BaseMessage], *, max_tokens: int | None = None
    ) -> tuple[str, str]:
        """Ask once, and return the text of the reply and, if the call failed, the reason."""
        question = AnswerFormat(name, schema, self.client.tier, max_tokens=max_tokens)
        # A server that is down is reported at the first call; later calls are retried.
        reply = await self.client.ask(question, [*messages], self._context, patient=self.usage.calls > 0)
        self.usage += reply.usage
        if reply.failure is None:
            return reply.text, ""
        fault = reply.failure.message
        if reply.failure.kind in SETUP_FAILURES:
            hint = format_failure_hint(reply.failure.kind, self.client.label)
            raise JudgeUnavailableError(f"{self.client.label} cannot be asked: {fault}; {hint}")
        return reply.text, fault

    async def ask_texts(
        self,
        name: str,
        forms: Mapping[str, str | Sequence[str]],
        messages: Sequence[BaseMessage],
        *,
        max_tokens: int,
        grammar: bool,
    ) -> dict[str, str]:
        """Ask for texts, each of a regular expression or one of several, and again if the reply cannot be used.

        Without `grammar` the schema has no expressions, of which not every server knows all parts.

        Raises:
            MalformedVerdictError: If the model wrote nothing usable in `MAX_TRIES` tries.
        """
        schema = build_object_schema({key: _build_text_schema(form, grammar=grammar) for key, form in forms.items()})
        fault = ""
        for _ in range(MAX_TRIES):
            text, fault = await self.ask(name, schema, messages, max_tokens=max_tokens)
            if fault:
                continue
            try:
                return _read_texts(text, schema, forms)
            except MalformedVerdictError as error:
                fault = str(error)
        raise self.build_error(fault, "definition" if name == "part" else name)

    def build_error(self, fault: str, subject: str = "definition") -> MalformedVerdictError:
        """Build the error for a model that wrote nothing usable in `MAX_TRIES` tries."""
        return MalformedVerdictError(
            "malformed",
            f"{self.client.label} gave no valid {subject} in {MAX_TRIES} tries: {fault}; try again or another model",
        )


def _build_text_schema(form: str | Sequence[str], *, grammar: bool) -> dict[str, Any]:
    if isinstance(form, str):
        return {"type": "string", **({"pattern": form} if grammar else {})}
    return {"type": "string", "enum": [*form]}


def _read_texts(text: str, schema: Mapping[str, Any], forms: Mapping[str, str | Sequence[str]]) -> dict[str, str]:
    """Read the texts of a reply; models without a grammar may write other ones."""
    written = parse_reply_object(text, schema)
    for key, form in forms.items():
        content = written.get(key)
        if not isinstance(content, str) or not (re.search(form, content) if isinstance(form, str) else content in form):
            wanted = f"a sentence of the form {form}" if isinstance(form, str) else f"one of {', '.join(form)}"
            raise MalformedVerdictError("malformed", f"{key}: {content!r} is not {wanted}")
    return {key: str(written[key]) for key in forms}


def find_draft_remarks(brief: DraftBrief, metric: JudgedMetric) -> list[str]:
    """Find what is doubtful in a draft: remarks of `lint_metric`, cut or long texts, descriptions of other things."""
    return [*lint_metric(metric), *_find_unfinished_texts(metric), *_find_strange_descriptions(brief, metric)]


def select_writer_remarks(remarks: list[str]) -> list[str]:
    """Select the remarks that a writer can act on: those on the name and the description are the caller's."""
    return [remark for remark in remarks if not remark.startswith(("name:", "description:"))]


def _find_unfinished_texts(metric: JudgedMetric) -> Iterator[str]:
    """Find the texts that stop in the middle of a sentence, or are so long that they may have been cut."""
    steps = [(f"steps.{number}", step) for number, step in enumerate(metric.steps, 1)]
    for path, text in (*list_descriptions(metric), *steps, ("instructions", metric.instructions)):
        if len(text) > MAX_TEXT_CHARS:
            yield f"{path}: has {len(text)} characters; say it in at most {MAX_TEXT_WORDS} words"
        elif text.strip() and not _ends_sentence(text.strip()):
            yield f"{path}: does not end as a sentence; write whole sentences"


def _ends_sentence(text: str) -> bool:
    """Return whether a text ends with a punctuation mark of any script, a bracket or a quotation mark."""
    return unicodedata.category(text[-1]) in {"Po", "Pe", "Pf"} and not text.endswith((",", ";", ":"))


def _find_strange_descriptions(brief: DraftBrief, metric: JudgedMetric) -> Iterator[str]:
    """Find the descriptions of levels that do not mention the judged thing, if the metric's description cites it."""
    if brief.judged_field is None:
        return
    is_about_metrics = _METRIC.search(brief.description)
    mention = re.compile(rf"\b(?:it|its|{_MENTIONS[brief.thing]})\b", re.IGNORECASE)
    for path, text in list_descriptions(metric):
        if _METRIC.search(text) and not is_about_metrics:
            yield f"{path}: speaks of the metric; say what the {brief.thing} is like, which a judge can see"
        elif text.strip() and not mention.search(text):
            yield f"{path}: does not say what the {brief.thing} is like; begin with 'The {brief.thing}'"
