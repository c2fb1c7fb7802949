"""Results as OpenTelemetry events; nothing is sent unless the user asks for it.

Event and attribute names follow the OpenTelemetry semantic conventions for generative AI (event
`gen_ai.evaluation.result`, in development there). Attributes that have no name there begin with `greval.`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from greval.errors import MissingExtraError
from greval.judging.model.failures import redact_secrets
from greval.records.result import Failure, Judgement, Result

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider

DEFAULT_ENDPOINT = "http://localhost:4318"
"""The address of a collector on this machine, which OpenTelemetry sends to if no variable names another."""
EVENT = "gen_ai.evaluation.result"
RESPONSE_ID = "gen_ai.response.id"
"""The tag of a case, and the event attribute, that holds the id of the judged model response."""

Attributes = dict[str, str | float]


class OpenTelemetryEvents:
    """A callable that emits the OpenTelemetry events of a result.

    An event belongs to the span that is active when it is emitted.

    Args:
        provider: The logger provider. None selects the provider that was set for the whole process.

    Raises:
        MissingExtraError: If OpenTelemetry is not installed.
    """

    def __init__(self, provider: LoggerProvider | None = None) -> None:
        try:
            from opentelemetry._logs import get_logger_provider
        except ImportError as error:
            raise MissingExtraError("otel", "opentelemetry") from error
        self._logger = (provider or get_logger_provider()).get_logger("greval")

    @property
    def silent(self) -> bool:
        """True if nothing is emitted, because the process has no provider or OpenTelemetry is disabled."""
        # The loggers of the API do nothing; loggers that emit come from an SDK.
        return type(self._logger).__module__.startswith("opentelemetry._logs")

    def __call__(self, result: Result) -> None:
        """Emit one event for each judgement and each failure of a result, after those of the results it builds on.

        A skipped result has no events.
        """
        from opentelemetry._logs import LogRecord, SeverityNumber

        for attributes in (event for row in (*result.built_on, result) for event in list_attributes(row)):
            failed = "error.type" in attributes
            record = LogRecord(
                event_name=EVENT,
                severity_number=SeverityNumber.WARN if failed else SeverityNumber.INFO,
                attributes=attributes,
            )
            self._logger.emit(record)


def create_otlp_provider() -> LoggerProvider:
    """Create a logger provider that sends events by OTLP over HTTP, in the background and at the end of the process.

    The address, headers and resource are those of OpenTelemetry's own variables, such as
    `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_SERVICE_NAME`.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs import LoggerProvider as ExportingProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    except ImportError as error:
        raise MissingExtraError("otel", "opentelemetry-exporter-otlp-proto-http") from error
    # It shuts down, and so sends the last events, when the process ends.
    provider = ExportingProvider()
    provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    return provider


def get_otlp_endpoint() -> str:
    """Return the address that `create_otlp_provider` sends to, as its variables name it."""
    base = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", DEFAULT_ENDPOINT)
    # By the specification, the address for logs is used as it is, and the general one gets a path.
    return os.environ.get("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT") or f"{base.rstrip('/')}/v1/logs"


def list_attributes(result: Result) -> Iterator[Attributes]:
    """Yield the attributes of each event of a result: first its judgements, then its failures.

    The raw reply of the judge (`raw`) is left out, and text that looks like an API key is redacted.
    """
    provider, _, model = result.judge.partition(":")
    common = {
        "gen_ai.evaluation.name": result.metric,
        "gen_ai.request.model": model or provider or None,
        RESPONSE_ID: result.tags.get(RESPONSE_ID),
        "greval.sample_id": result.sample_id or None,
        "greval.method": result.method or None,
        "greval.fingerprint": result.fingerprint,
    }
    parts: tuple[Judgement | Failure, ...] = (*result.judgements, *result.failures)
    for part in parts:
        if isinstance(part, Judgement):
            label = part.value if isinstance(part.value, str) else None
            score = part.value if part.number is None and label is None else part.number
            part_attributes = {
                "gen_ai.evaluation.explanation": part.reason,
                "gen_ai.evaluation.score.value": None if score is None else float(score),
                "gen_ai.evaluation.score.label": label,
            }
        else:
            # An explanation belongs to a score.
            part_attributes = {"error.type": part.kind, "greval.failure": part.message}
        attributes = {**common, **part_attributes, "greval.item": part.item}
        yield {
            name: redact_secrets(value) if isinstance(value, str) else value
            for name, value in attributes.items()
            if value is not None
        }
