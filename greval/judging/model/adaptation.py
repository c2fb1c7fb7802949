"""Adaptation to a judge that refuses a part of each request: which part a refusal names, and requests without it.

A judge is adapted only before its first answer. Afterwards a refusal is a failure, so that a run is never judged by
two settings. What was set explicitly is never left out; its refusal names the option instead.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from greval.judging.model.failures import list_models
from greval.judging.model.provider_errors import iterate_causes, list_error_texts, read_error_fields, read_status
from greval.records.record import Record
from greval.records.result import FailureKind, Tier

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from greval.judging.model.judge import Judge

RequestPart = Literal["format", "temperature", "system", "streaming", "max_tokens", "seed", "logprobs", "options"]
"""A part of a request that a judge may refuse. `options` are those of the model that the user named."""
Change = Literal[
    "tools", "text", "temperature", "system", "streaming", "max_tokens", "max_completion_tokens", "logprobs"
]
"""What is changed in requests: a tier that is asked for instead, or the part that is left out or put otherwise."""


class ChangeText(NamedTuple):
    """How a change is described: what the judge refuses, what greval does, and what to type for it from the start."""

    refused: str
    done: str
    option: str


CHANGE_TEXTS: Mapping[Change, ChangeText] = {
    "tools": ChangeText("a JSON schema", "asked by tool calls", "--structured tools"),
    "text": ChangeText("structured answers", "asked for JSON in plain text", "--structured text"),
    "temperature": ChangeText("the temperature", "asked without a temperature", "--temperature none"),
    "system": ChangeText("a system message", "instructed in the user's message", ""),
    "streaming": ChangeText(
        "calls that are not streamed", "asked for streamed answers", "--judge-option streaming=true"
    ),
    "max_tokens": ChangeText("max_completion_tokens", "sent the limit as max_tokens", ""),
    "max_completion_tokens": ChangeText("max_tokens", "sent the limit as max_completion_tokens", ""),
    "logprobs": ChangeText("token probabilities", "asked for no confidence", "--no-confidence"),
}
PART_OPTIONS: Mapping[RequestPart, str] = {
    "format": "--structured tools or --structured text",
    "temperature": "--temperature none",
    "streaming": "--judge-option streaming=true",
    "max_tokens": "leave out --max-tokens",
    "seed": "leave out --seed",
    "options": "leave out --judge-option",
}
"""What to type if a part is refused that was set explicitly."""

_FORMAT_NAMES = (
    r"response[_ .]?(?:mime[_ ]?type|format|schema|json)|json[_ ]?schema|json[_ ]mode|guided[_ ](?:json|decoding)"
    r"|grammar|structured[_ ]?(?:output|generation|decoding)|output[_ .]?(?:config|format|schema)|text\.format"
    r"|\btools?\b|\btool[_ -]?(?:choice|config|us|call)|toolConfig|function[_ -]?(?:call|declaration)|\bfunctions\b"
    r"|additionalProperties|\bschema\b|requested parameters"
)
_SYSTEM_NAMES = (
    r"system[_ -]?(?:role|messages?|prompts?|instructions?)\b|systemInstruction|messages\W*\d+\W*role"
    r"|developer[_ -]?(?:role|message|instruction)|['\"`](?:system|developer)['\"`]|roles? must alternate"
    r"|only user and (?:assistant|model) roles|role\W+(?:system|developer)\b|(?:system|developer) is not"
)
_STREAMING_NAMES = (
    r"non[- ]?stream|(?:only|must|requires?|enable|set|needs?|without) (?:\S+ ){0,4}\W?stream|^stream$"
    r"|stream(?:ing)?\W+(?:must|should|mode|parameter|is required)|stream\W{1,3}true"
    r"|streaming is (?:\w+ )?(?:recommended|required)"
)
_NAMES: Mapping[RequestPart, str] = {
    "format": _FORMAT_NAMES,
    "temperature": r"temperature",
    "system": _SYSTEM_NAMES,
    "streaming": _STREAMING_NAMES,
    "max_tokens": r"max_(?:completion_|output_|new_)?tokens|maxTokens|maxOutputTokens",
    "seed": r"\b(?:random_)?seed\b",
    "logprobs": r"(?:top_)?log[_ ]?prob|response_logprobs",
}
PART_NAMES = {part: re.compile(names, re.IGNORECASE | re.MULTILINE) for part, names in _NAMES.items()}
"""The names of the parts of a request in the errors of providers."""
REFUSAL_WORDS = re.compile(
    r"unsupported|(?:not|n't|never|no longer) (?:\w+ ){0,2}(?:support|allow|accept|permit|compatib|enabl|implement"
    r"|avail|recogni|work|be (?:used|specified|set))|unavailable|unrecogni[sz]ed|unknown|unexpected|forbidden"
    r"|not permitted|deprecated|cannot|only|must|requires?|incompatible|disabled|no endpoints|deserialize"
    r"|invalid|strictly|may not|support(?:s|ed)? (?:for|with)|doesn't|does not|extra|exclude|remove|set to"
    r"|instead|please enable|should be|recommended",
    re.IGNORECASE,
)
NO_SUCH_MODEL = re.compile(
    r"model_not_found|(?:does not|doesn't) exist|(?:is|was) not found|no such model", re.IGNORECASE
)
"""Words for a model that is not known. Its name may be that of a part of requests."""
NAME_REFUSED = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|not permitted|forbidden|unknown|unexpected|extra|instead|not allowed"
    r"|cannot find field|deprecated",
    re.IGNORECASE,
)
"""Words for a parameter that is refused by its name, not because of its value."""
REFUSING_KINDS: frozenset[FailureKind] = frozenset({"request", "server", "error"})
"""The kinds of failures that may name a refused part. Servers report a prompt template's errors with status 500."""
REFUSING_STATUSES = frozenset({400, 404, 405, 415, 422, 500, 501})
PARAMETER_STATUSES = frozenset({400, 422})
"""The statuses that say by themselves that a request is refused."""
TEMPLATE_PARTS: frozenset[RequestPart] = frozenset({"format", "system"})
"""The parts that an error with status 500 may name: a prompt template or a grammar cannot use them."""
PLACE_FIELDS = ("param", "loc", "field", "parameter")
"""Fields of an error body that hold the place of what is refused."""

TRIAL_SECONDS = 2.0
"""The seconds for which further calls wait for the first reply of a judge: parameters are checked before it thinks."""
SCHEMA_RULE = "Answer with one JSON object only, without any other text. It conforms to this JSON schema: "


class Adaptation(Record):
    """The changes that requests to a judge need, in the order in which they were learnt."""

    changes: tuple[Change, ...] = ()

    def add(self, *changes: Change) -> Adaptation:
        """Return the adaptation with further changes."""
        return Adaptation(changes=tuple(dict.fromkeys((*self.changes, *changes))))

    def select_tier(self, tier: Tier) -> Tier:
        """Return the tier that is asked for in place of another one."""
        if "text" in self.changes:
            return "text"
        return "tools" if "tools" in self.changes and tier == "schema" else tier

    def describe(self, label: str) -> tuple[str, ...]:
        """Describe each change of a judge in one line, with what to type for it."""
        return tuple(f"{label} is {_join_changes([change])}" for change in self.changes)


def describe_refusal(label: str, changes: Sequence[Change]) -> str:
    """Describe in one line what a judge refuses, which the first change is for, and how it is asked from now on."""
    return f"{label} refuses {CHANGE_TEXTS[changes[0]].refused}: it is {_join_changes(changes)}"


def _join_changes(changes: Iterable[Change]) -> str:
    texts = [CHANGE_TEXTS[change] for change in changes]
    options = " ".join(text.option for text in texts if text.option)
    return f"{', '.join(text.done for text in texts)}{f' ({options})' if options else ''}"


NO_ADAPTATION = Adaptation()


@dataclass
class JudgeState:
    """What a client has learnt of its judge: the adaptation, and whether the judge has answered with it.

    It is `fixed` by stored results that were judged with it. With `has_trial`, the first call is made alone.
    """

    adaptation: Adaptation = field(default_factory=Adaptation)
    proven: bool = False
    fixed: bool = False
    has_trial: bool = True
    _is_tried: bool = False
    _reply_came: asyncio.Event = field(default_factory=asyncio.Event)
    _trial_end: float | None = None

    def adapt(self, changes: Iterable[Change]) -> None:
        """Change further requests, and begin another trial."""
        self.adaptation = self.adaptation.add(*changes)
        self._trial_end = None

    @asynccontextmanager
    async def wait_for_trial(self) -> AsyncIterator[None]:
        """Make only one call until the judge has answered or is late, because others would be refused alike."""
        clock = asyncio.get_running_loop().time
        while self._is_tried and not self.proven and (seconds_left := self._count_down(clock())) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds_left):
                    await self._reply_came.wait()
        is_first = not (self._is_tried or self.proven) and self._count_down(clock()) > 0
        if is_first:
            self._is_tried = True
            self._reply_came.clear()
        try:
            yield
        finally:
            if is_first:
                self._is_tried = False
                self._reply_came.set()

    def _count_down(self, now: float) -> float:
        """Return the seconds until the end of the trial, which begins with the first call."""
        if self._trial_end is None:
            self._trial_end = now + TRIAL_SECONDS
        return self._trial_end - now


def find_refused_part(error: BaseException, kind: FailureKind, sent: Mapping[RequestPart, str]) -> RequestPart | None:
    """Find the part of a request that an error names as refused; None if it names none that was sent.

    `sent` has a regular expression of further names under which each part was sent, or an empty text.
    """
    if kind not in REFUSING_KINDS:
        return None
    for cause in iterate_causes(error):
        status = read_status(cause)
        if status is not None and status not in REFUSING_STATUSES:
            continue
        texts = "\n".join(list_error_texts(cause))
        if NO_SUCH_MODEL.search(texts):
            continue
        refusable = {part: names for part, names in sent.items() if status != 500 or part in TEMPLATE_PARTS}  # noqa: PLR2004
        places = "\n".join(read_error_fields(cause, *PLACE_FIELDS))
        part = _find_first_part(places, refusable) or _find_first_part(texts, refusable)
        words = NAME_REFUSED if part == "max_tokens" else REFUSAL_WORDS
        is_refused = part != "max_tokens" and status in PARAMETER_STATUSES
        if part and (is_refused or words.search(texts)):
            return part
    return None


def _find_first_part(text: str, sent: Mapping[RequestPart, str]) -> RequestPart | None:
    """Return the part that a text names first."""
    matches: list[tuple[int, RequestPart]] = []
    for part, names in sent.items():
        patterns = [*([PART_NAMES[part]] if part in PART_NAMES else []), *([re.compile(names)] if names else [])]
        matches += [(match.start(), part) for pattern in patterns if (match := pattern.search(text))]
    return min(matches)[1] if matches else None


def list_sent_parts(
    model: object, messages: Sequence[BaseMessage], tier: Tier, *, logprobs: bool, options: Iterable[str] = ()
) -> dict[RequestPart, str]:
    """List the parts of a request that a judge may refuse, for `find_refused_part`."""
    names = "|".join(rf"\b{re.escape(name)}\b" for name in options)
    model = list_models(model)[0]
    checks: Mapping[RequestPart, bool] = {
        "format": tier != "text",
        "temperature": getattr(model, "temperature", None) is not None,
        "system": any(isinstance(message, SystemMessage) for message in messages),
        "streaming": not getattr(model, "streaming", False),
        "max_tokens": read_max_tokens(model) is not None,
        "seed": getattr(model, "seed", None) is not None,
        "logprobs": logprobs,
    }
    sent: dict[RequestPart, str] = dict.fromkeys((part for part, is_sent in checks.items() if is_sent), "")
    return {**sent, "options": names} if names else sent


def choose_changes(
    part: RequestPart, adaptation: Adaptation, tier: Tier, sent: Iterable[RequestPart], limit: Change
) -> tuple[Change, ...]:
    """Choose the changes after the refusal of a part; `limit` is the other name of the limit of the answer's length."""
    changes: dict[RequestPart, Change] = {
        "format": "tools" if tier == "schema" and not adaptation.changes else "text",
        "temperature": "temperature",
        "system": "system",
        "streaming": "streaming",
        "max_tokens": limit,
        "logprobs": "logprobs",
    }
    first = changes[part]
    if not adaptation.changes:
        return (first,)
    # A second refusal makes the request plain, so that a judge loses two calls at most.
    changes["format"] = "text"
    refusable: tuple[RequestPart, ...] = ("system", "logprobs", "format", "temperature")
    return tuple(dict.fromkeys((first, *(changes[name] for name in refusable if name in {*sent}))))


def adapt_messages(
    messages: Sequence[BaseMessage], adaptation: Adaptation, schema: Mapping[str, Any] | None
) -> list[BaseMessage]:
    """Return messages with the schema if the tier is plain text instead, and without a system message if refused."""
    adapted = [*messages]
    if schema is not None:
        adapted[0] = type(adapted[0])(f"{adapted[0].text}\n\n{SCHEMA_RULE}{json.dumps(schema, ensure_ascii=False)}")
    if "system" not in adaptation.changes:
        return adapted
    joined: list[BaseMessage] = []
    for message in adapted:
        turn = HumanMessage(message.text) if isinstance(message, SystemMessage) else message
        # Prompt templates without a system role expect the roles to alternate.
        if joined and type(joined[-1]) is type(turn):
            joined[-1] = type(turn)(f"{joined[-1].text}\n\n{turn.text}")
        else:
            joined.append(turn)
    return joined


def adapt_judge(judge: Judge, adaptation: Adaptation) -> Judge:
    """Return the settings that the model of an adapted judge is built from."""
    changed: dict[str, Any] = {}
    options = dict(judge.options)
    if "temperature" in adaptation.changes:
        changed["temperature"] = None
    if "streaming" in adaptation.changes:
        options["streaming"] = True
    if limit := _find_limit_name(adaptation):
        body = options.get("extra_body")
        # The client has one name of its own for the limit; the body takes any.
        options["extra_body"] = {**(body if isinstance(body, dict) else {}), limit: judge.max_tokens}
        changed["max_tokens"] = None
    return judge.model_copy(update={**changed, "options": options}) if adaptation.changes else judge


def adapt_model(model: BaseChatModel, adaptation: Adaptation) -> BaseChatModel:
    """Return a copy of a chat model with the settings of an adapted judge."""
    from greval.judging.model.wrapped_model import WrappedModel

    if isinstance(model, WrappedModel):
        return model.change_models(lambda inner: adapt_model(inner, adaptation)) if adaptation.changes else model
    changed: dict[str, Any] = {}
    if "temperature" in adaptation.changes and hasattr(model, "temperature"):
        changed["temperature"] = None
    if "streaming" in adaptation.changes and hasattr(model, "streaming"):
        changed["streaming"] = True
    limit = _find_limit_name(adaptation)
    if limit and hasattr(model, "extra_body"):
        changed["extra_body"] = {**(model.extra_body or {}), limit: read_max_tokens(model)}
        changed["max_tokens"] = None
    return model.model_copy(update=changed) if changed else model


def read_max_tokens(model: object) -> int | None:
    """Return the limit of the answer's length that a model sends, or None."""
    limit = getattr(model, "max_tokens", None)
    return limit if isinstance(limit, int) else None


def _find_limit_name(adaptation: Adaptation) -> Change | None:
    return next((change for change in adaptation.changes if change in {"max_tokens", "max_completion_tokens"}), None)
