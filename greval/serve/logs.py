"""Logs of the server: one JSON object per line on stderr, without any content that clients send."""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

from greval.judging.model.failures import redact_secrets

ACCESS = logging.getLogger("greval.access")
ERRORS = logging.getLogger("greval.server")


class JsonLines(logging.Formatter):
    """Formats a record as a JSON object: time, level, process, message, and the fields passed as `extra["fields"]`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": record.process,
            "logger": record.name,
            "message": redact_secrets(record.getMessage()),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["trace"] = redact_secrets(self.formatException(record.exc_info))
        return json.dumps(line, default=str)

    def formatException(self, ei: Any) -> str:  # noqa: ANN401, N802 - logging's type and name
        """Return the stack trace and the type of an exception, not its message: that may quote what a client sent."""
        kind, _, frames = ei
        return "".join([*traceback.format_tb(frames), kind.__name__])


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "greval.serve.logs.JsonLines"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}},
    "loggers": {
        name: {"handlers": ["stderr"], "level": level, "propagate": False}
        for name, level in {"greval": "INFO", "uvicorn": "INFO", "py.warnings": "WARNING"}.items()
    },
}
"""For `logging.config.dictConfig`; each process of the server applies it."""
