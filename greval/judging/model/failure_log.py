"""A log of failed calls: the request and the reply verbatim, for debugging."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from langchain_core.messages import BaseMessage

from greval.judging.model.failures import redact_secrets
from greval.judging.model.reply_cache import Reply
from greval.records.result import Failure

FAILURE_LOG_FILE = "debug.jsonl"


class FailureLog:
    """Appends failed calls of a run to a JSON Lines file, with `asked`, `answered` and `failures`, without keys."""

    def __init__(self, folder: Path) -> None:
        """Store the path. The file is created with the first failure."""
        self.path = folder / FAILURE_LOG_FILE

    def __call__(self, messages: list[BaseMessage], reply: Reply, failures: Sequence[Failure]) -> None:
        """Append a failed call to the file."""
        told = {
            "asked": [{"role": message.type, "text": message.text} for message in messages],
            "answered": reply.text or None,
            "failures": [failure.model_dump(mode="json") for failure in failures],
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(redact_secrets(json.dumps(told, ensure_ascii=False)) + "\n")
