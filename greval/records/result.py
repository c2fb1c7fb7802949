"""Results of judging cases. An outcome is scored, skipped or failed; an error is never encoded as a number."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import fsum
from operator import not_
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple, Self, TypeVar

from pydantic import Field, JsonValue, WithJsonSchema
from pydantic_core import to_json

from greval.errors import OutcomeError
from greval.records.case import CLAIM_PREFIXES, ClaimField, Count, Tags
from greval.records.record import Record, StorableText
from greval.records.scale import Value

TEXTS_FIELD = "texts"
"""The field of a JSON line with the texts of the case."""
FailureKind = Literal[
    "refusal",
    "content_filter",
    "length",
    "timeout",
    "malformed",
    "off_scale",
    "missing_item",
    "no_majority",
    "dependency",
    "data",
    "context_window",
    "rate_limit",
    "quota",
    "authentication",
    "connection",
    "server",
    "request",
    "method",
    "error",
]
"""Why a judgement failed; docs/failures.md describes each kind with what to do."""

Tier = Literal["schema", "tools", "text", "computed", "imported"]
"""How the answer was requested: native JSON schema, tool call, JSON in plain text, or not at all if computed.

An imported verdict was given elsewhere, and greval knows nothing of the request.
"""

IMPORTED: Final = "imported"
"""The tier of imported results, and the beginning of their judge's name: `imported:NAME`."""

INJECTION_NOTE: Final = "speaks_to_judge"
"""The name of a note of judgements: the phrase with which the judged text speaks to the judge."""

CALIBRATION_NOTE: Final = "uncalibrated"
"""The name of a note of judgements of the embedded model: the value that it would have chosen without calibration."""

ShownIds = dict[str, tuple[str, ...]]
"""For each kind (`chunk`, `triple`, `item`), the ids of the items in the prompt in the order of their numbers."""
Number = TypeVar("Number", int, float)
NESTED_RESULTS_SCHEMA: dict[str, JsonValue] = {
    "type": "array",
    "items": {"type": "object"},
    "description": "results of this form",
}
"""The schema of results nested in a result. A reference to itself would leave the schema without its own fields."""


def add_reported(first: Number | None, second: Number | None) -> Number | None:
    """Add two numbers, of which one that is not known counts as nothing."""
    return second if first is None else first if second is None else first + second


class Usage(Record):
    """Model calls and tokens of a judgement; token counts are None if the model did not report them.

    `hits` counts replies that were reused from the cache or from another judgement, at no cost. `cost` is what the
    provider itself states to have charged, in US dollars; JSON omits it if the provider states none.

    Example:
        >>> Usage(calls=1, input_tokens=10) + Usage(calls=1, input_tokens=5)
        Usage(calls=2, input_tokens=15, output_tokens=None, cached_tokens=None, hits=0, cost=None)
    """

    calls: Count = 0
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cached_tokens: Count | None = None
    hits: Count = 0
    cost: Annotated[float | None, Field(ge=0, allow_inf_nan=False, exclude_if=not_)] = None

    def __add__(self, other: Usage) -> Usage:
        """Add two usages; a count that was not reported adds nothing. Tokens without a cost make the cost unknown."""
        # The cost of one part would be taken for that of both.
        is_partial = _lacks_cost(self) or _lacks_cost(other)
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=add_reported(self.input_tokens, other.input_tokens),
            output_tokens=add_reported(self.output_tokens, other.output_tokens),
            cached_tokens=add_reported(self.cached_tokens, other.cached_tokens),
            hits=self.hits + other.hits,
            cost=None if is_partial else add_reported(self.cost, other.cost),
        )


def _lacks_cost(usage: Usage) -> bool:
    return usage.cost is None and usage.output_tokens is not None


class OrderVerdict(Record):
    """The verdict on a pair as it is recorded, from the judge who was shown the responses in one order.

    Equal values of both orders mean that the order made no difference.
    """

    shown_first: Literal["A", "B"]
    value: Value
    reason: str


class Judgement(Record):
    """One verdict: a value of the scale with its reason.

    `item` is the id of the judged chunk or triple. `number` is the value as a number, None if its category has no
    score. `confidence` is the probability that the judge assigned to this value. `votes` counts the values of the
    repeats, and `flip_rate` is the share of repeats that differ from the majority. `findings` holds the finding of
    each step in order, if the reason goes step by step. `shown_ids` holds the items that were numbered in the prompt:
    for each kind (`chunk`, `triple`, `item`) the ids in the order of their numbers. `orders` holds the verdicts of a
    preference in both orders of the two responses; JSON omits it for other metrics.
    """

    value: Value
    reason: StorableText
    number: float | None = None
    item: str | None = None
    notes: dict[str, JsonValue] = Field(default_factory=dict)
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    votes: dict[str, Count] | None = None
    flip_rate: Annotated[float, Field(ge=0, le=1)] | None = None
    findings: tuple[StorableText, ...] = ()
    shown_ids: ShownIds = Field(default_factory=dict)
    orders: Annotated[tuple[OrderVerdict, ...], Field(exclude_if=not_)] = ()

    @property
    def uncertainty(self) -> float | None:
        """The judge's uncertainty from 0 to 1, from its confidence and flip rate; None if neither is known."""
        estimates = self.flip_rate, None if self.confidence is None else 1 - self.confidence
        return max((estimate for estimate in estimates if estimate is not None), default=None)


class Failure(Record):
    """Why a case or an item could not be judged; `raw` is the judge's reply, verbatim."""

    kind: FailureKind
    message: StorableText
    raw: StorableText | None = None
    item: str | None = None


class SkippedItem(Record):
    """An item that a metric does not judge, such as a chunk without a text, and why."""

    item: str
    reason: StorableText


class Scored(Record):
    """The outcome with at least one judgement; `failures` holds the items that failed individually.

    `skipped_items` holds those that the metric is not defined for; JSON omits it if it is empty.
    """

    status: Literal["scored"] = "scored"
    judgements: Annotated[tuple[Judgement, ...], Field(min_length=1)]
    failures: tuple[Failure, ...] = ()
    skipped_items: Annotated[tuple[SkippedItem, ...], Field(exclude_if=not_)] = ()


class Skipped(Record):
    """The outcome if the metric is not defined for the case; the judge was not called."""

    status: Literal["skipped"] = "skipped"
    reason: StorableText


class Failed(Record):
    """The outcome if the metric is defined for the case but gave no judgement."""

    status: Literal["failed"] = "failed"
    error: Failure
    failures: tuple[Failure, ...] = ()


Outcome = Annotated[Scored | Skipped | Failed, Field(discriminator="status")]


def build_outcome(judgements: Sequence[Judgement], failures: Sequence[Failure]) -> Scored | Failed:
    """Build the outcome from judgements and failures, at least one; it is failed only without any judgement."""
    if judgements:
        return Scored(judgements=tuple(judgements), failures=tuple(failures))
    return Failed(error=failures[0], failures=tuple(failures) if failures[0].item else ())


class Result(Record):
    """One row: a metric's outcome for a sample and a method; `latency` in seconds.

    `built_on` holds the results of the metrics that this one builds on, for the same case and in order, if the result
    comes from a runnable. In a run these are separate rows and it is empty. JSON omits it if it is empty.
    `replayed_from` is the fingerprint by which the judge was asked, if the result was read again from stored replies by
    another definition; JSON omits it if it is empty.
    `served_by` are the models that the replies name, each with its fingerprint if the reply has one; JSON omits it if
    it is empty.
    `value` and `reason` are those of the single judgement; both raise if there is not exactly one.

    Example:
        >>> scored = Scored(judgements=(Judgement(value=1, number=1.0, reason="Same person."),))
        >>> row = Result(metric="correctness", fingerprint="f", judge="local", tier="schema", outcome=scored)
        >>> row.value, row.reason
        (1, 'Same person.')
    """

    sample_id: str = ""
    method: str = ""
    metric: str
    fingerprint: str
    judge: str
    tier: Tier
    outcome: Outcome
    usage: Usage = Usage()
    latency: Annotated[float, Field(ge=0)] = 0.0
    repeat: Count = 0
    tags: Tags = Field(default_factory=dict)
    served_by: Annotated[tuple[StorableText, ...], Field(exclude_if=not_)] = ()
    replayed_from: Annotated[str, Field(exclude_if=not_)] = ""
    built_on: Annotated[tuple[Result, ...], Field(exclude_if=not_), WithJsonSchema(NESTED_RESULTS_SCHEMA)] = ()

    @property
    def value(self) -> Value:
        """The value of the single judgement; raise `OutcomeError` if it failed, was skipped, or holds several."""
        return self._get_single_judgement().value

    @property
    def reason(self) -> str:
        """The reason of the single judgement; raise `OutcomeError` if it failed, was skipped, or holds several."""
        return self._get_single_judgement().reason

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """The judgements; empty if the case was skipped or failed."""
        return self.outcome.judgements if isinstance(self.outcome, Scored) else ()

    def _get_single_judgement(self) -> Judgement:
        """Return the single judgement of the outcome; raise `OutcomeError` if it is anything else."""
        match self.outcome:
            case Scored(judgements=(judgement,), failures=()):
                return judgement
            case Scored(judgements=judgements, failures=failures):
                counts = f"judgements: {len(judgements)}, failures: {len(failures)}"
                raise OutcomeError(
                    f"{self.metric}: holds several ({counts}); read .judgements and .failures", "several"
                )
            case Skipped(reason=reason):
                raise OutcomeError(f"{self.metric}: skipped: {reason}", "skipped")
            case Failed(error=error):
                raise OutcomeError(f"{self.metric}: {error.kind}: {error.message}", error.kind)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """All failures, of the case or of single items."""
        match self.outcome:
            case Scored(failures=failures):
                return failures
            case Failed(error=error, failures=failures):
                return failures or (error,)
            case _:
                return ()

    @property
    def finished(self) -> bool:
        """True if the case is fully scored or skipped, so that no further call is needed."""
        return not self.failures

    def replace(self, **changes: Any) -> Self:  # noqa: ANN401 - the values of any fields
        """Return a copy with changed fields, without validation."""
        return self.model_copy(update=changes)


class Outline(NamedTuple):
    """A result without its reasons.

    `total` is the sum of `numbers`, `items_failed` counts failures of single items, `skip` is why it was skipped.
    """

    status: str
    values: tuple[str, ...]
    numbers: tuple[float, ...]
    total: float
    kinds: tuple[str, ...]
    items_failed: int
    skip: str | None


def format_outline(result: Result) -> str:
    """Return the outline of a result as JSON, to store with the result; `read_outline` parses it."""
    outcome = result.outcome
    judgements = [[str(judgement.value), judgement.number] for judgement in result.judgements]
    failures = [[failure.kind, failure.item is not None] for failure in result.failures]
    skip = outcome.reason if outcome.status == "skipped" else None
    return to_json([outcome.status, judgements, failures, skip]).decode()


# Most results of a run have one of a few outlines.
@lru_cache(maxsize=4096)
def read_outline(text: str) -> Outline:
    """Parse an outline that `format_outline` wrote.

    Example:
        >>> read_outline('["scored",[["Yes",1.0]],[],null]').numbers
        (1.0,)
    """
    status, judgements, failures, skip = json.loads(text)
    numbers = tuple(number for _, number in judgements if number is not None)
    return Outline(
        status=status,
        values=tuple(value for value, _ in judgements),
        numbers=numbers,
        total=fsum(numbers),
        kinds=tuple(kind for kind, _ in failures),
        items_failed=sum(of_item for _, of_item in failures),
        skip=skip,
    )


CLAIM_LISTS: Mapping[ClaimField, str] = MappingProxyType(
    {"claims": "answer_claims", "expected_claims": "expected_answer_claims"}
)
"""The name of the metric that lists the claims of each field if a case has none."""
_LISTED_FIELDS: Mapping[str, ClaimField] = {lister: field for field, lister in CLAIM_LISTS.items()}
CLAIM_SOURCES: Mapping[ClaimField, str] = MappingProxyType({"claims": "answer", "expected_claims": "expected_answer"})
"""The field of the text that makes the claims of each field."""
CLAIMS_NOTE, CLAIM_PART = "claims", "claim"
"""The list note in which a metric lists claims, and the part of its entries that holds the text."""


def find_listed_field(name: str) -> ClaimField | None:
    """Return the field of claims that the metric of a name lists, None for any other metric."""
    return _LISTED_FIELDS.get(name)


def map_values(results: Iterable[Result]) -> dict[str, dict[str, object]]:
    """Return the values of scored results by metric and item; those of a metric that lists claims are their texts."""
    return {result.metric: _map_result(result) for result in results if isinstance(result.outcome, Scored)}


def _map_result(result: Result) -> dict[str, object]:
    field = find_listed_field(result.metric)
    if field is None:
        return {judgement.item or "": judgement.value for judgement in result.judgements}
    return {
        f"{CLAIM_PREFIXES[field]}{number}": text
        for judgement in result.judgements
        for number, text in enumerate(_list_texts(judgement), 1)
    }


def _list_texts(judgement: Judgement) -> list[str]:
    listed = judgement.notes.get(CLAIMS_NOTE)
    entries = listed if isinstance(listed, list) else []
    return [str(entry[CLAIM_PART]) for entry in entries if isinstance(entry, dict) and CLAIM_PART in entry]
