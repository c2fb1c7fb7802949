"""Results as OpenTelemetry events, for those who watch their systems with it; nothing is sent unless asked.

The names are those of OpenTelemetry's conventions for generative AI (event `gen_ai.evaluation.result`,
in development there); what these have no name for begins with `greval.`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from greval.errors import MissingExtraError
from greval.judging.model.failures import redacted
from greval.records.result import Failure, Judgement, Result

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider

EVENT = "gen_ai.evaluation.result"
RESPONSE_ID = "gen_ai.response.id"
"""A case that has a tag of this name is tied by it to the answer that the tag's value names."""

Attributes = dict[str, str | float]


class Events:
    """Emits the events of results; call it with each result.

    An event belongs to the span that is open where it is emitted.

    Args:
        provider: Where events go; None is the provider that was set for the whole process.

    Raises:
        MissingExtraError: Where OpenTelemetry is not installed.
    """

    def __init__(self, provider: LoggerProvider | None = None) -> None:
        """Take a logger of the provider."""
        try:
            from opentelemetry._logs import get_logger_provider
        except ImportError as error:
            raise MissingExtraError("otel", "opentelemetry") from error
        self._logger = (provider or get_logger_provider()).get_logger("greval")

    @property
    def silent(self) -> bool:
        """Whether nothing is emitted, as no provider was set for the process or OpenTelemetry is switched off.

        The loggers of OpenTelemetry's API do nothing; those that emit come from an SDK.
        """
        return type(self._logger).__module__.startswith("opentelemetry._logs")

    def __call__(self, result: Result) -> None:
        """Emit one event for each judgement and each failure of a result, and before them for those it is built on.

        A skipped one has none.
        """
        from opentelemetry._logs import LogRecord, SeverityNumber

        for attributes in (told for row in (*result.built_on, result) for told in attributes_of(row)):
            failed = "error.type" in attributes
            record = LogRecord(
                event_name=EVENT,
                severity_number=SeverityNumber.WARN if failed else SeverityNumber.INFO,
                attributes=attributes,
            )
            self._logger.emit(record)


def emit(result: Result, provider: LoggerProvider | None = None) -> None:
    """Emit the events of one result; for many, keep one `Events`.

    Args:
        result: What a metric gave for a case.
        provider: Where events go; None is the provider that was set for the whole process.

    Raises:
        MissingExtraError: Where OpenTelemetry is not installed.
    """
    Events(provider)(result)


def attributes_of(result: Result) -> Iterator[Attributes]:
    """Give what the events of a result tell: first its judgements, then its failures.

    What the judge said word for word (`raw`) is left out, and what looks like a key is blotted out.

    Example:
        >>> from greval.records.result import Scored
        >>> scored = Scored(judgements=(Judgement(value="Good", number=1.0, reason="Clear."),))
        >>> row = Result(metric="tone", fingerprint="f", judge="openai:gpt-4.1-mini", tier="schema", outcome=scored)
        >>> [event] = attributes_of(row)
        >>> event["gen_ai.evaluation.name"], event["gen_ai.evaluation.score.label"]
        ('tone', 'Good')
    """
    common = _common(result)
    for judgement in result.judgements:
        yield {**common, **_judged(judgement)}
    for failure in result.failures:
        yield {**common, **_failed(failure)}


def _common(result: Result) -> Attributes:
    provider, _, model = result.judge.partition(":")
    told = {
        "gen_ai.evaluation.name": result.metric,
        "gen_ai.request.model": model or provider,
        RESPONSE_ID: result.tags.get(RESPONSE_ID, ""),
        "greval.sample_id": result.sample_id,
        "greval.method": result.method,
        "greval.fingerprint": result.fingerprint,
    }
    return {name: redacted(value) for name, value in told.items() if value}


def _judged(judgement: Judgement) -> Attributes:
    """Give the score as a number, a category as a label, and the reason."""
    told: Attributes = {"gen_ai.evaluation.explanation": redacted(judgement.reason)}
    if judgement.number is not None:
        told["gen_ai.evaluation.score.value"] = float(judgement.number)
    if isinstance(judgement.value, str):
        told["gen_ai.evaluation.score.label"] = redacted(judgement.value)
    elif judgement.number is None:
        told["gen_ai.evaluation.score.value"] = float(judgement.value)
    return told | _item(judgement.item)


def _failed(failure: Failure) -> Attributes:
    """Give the kind of a failure with its message; an explanation belongs to a score, and there is none."""
    told: Attributes = {"error.type": failure.kind, "greval.failure": redacted(failure.message)}
    return told | _item(failure.item)


def _item(item: str | None) -> Attributes:
    return {} if item is None else {"greval.item": redacted(item)}
