"""The reply of a judge to one call: the text or the failure, and the usage."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from greval.records.result import Failure, Usage


@dataclass(frozen=True)
class Reply:
    """The reply to a call: the text (JSON, if the call succeeded) or the failure, and the usage.

    `tokens` holds the log-probabilities that the model returned, and `pause` the seconds that the provider asked to
    wait. `key` is the cache key of the request if replies are cached, and `known` is true for a cached reply.
    """

    text: str
    usage: Usage
    failure: Failure | None = None
    tokens: Sequence[Mapping[str, Any]] = ()
    pause: float | None = None
    key: str = ""
    known: bool = False

    def to_json(self) -> str:
        """Return the cached part of the reply as ASCII JSON, because a token may be a lone surrogate."""
        usage = self.usage.model_dump(exclude_defaults=True)
        return json.dumps({"text": self.text, "tokens": [*self.tokens], "usage": usage})

    @staticmethod
    def from_json(dumped: str, key: str, *, paid: bool) -> Reply:
        """Build a reply from its cached JSON.

        Args:
            dumped: The output of `to_json`.
            key: The key of the request.
            paid: Whether the reply was paid for in this run and is in no result yet. Otherwise it is a cache hit that
                costs nothing.
        """
        told = json.loads(dumped)
        usage = Usage(**told["usage"]) if paid else Usage(hits=1)
        return Reply(told["text"], usage, tokens=told["tokens"], key=key, known=True)
