"""What one call of a judge gave: the text or the failure, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from greval.records.result import Failure, Usage


@dataclass(frozen=True)
class Reply:
    """What a call gave: the text (JSON, if all went well) or the failure, and what it cost.

    `tokens` are the log-probabilities that the model told, `pause` the seconds that it asked to wait.
    `key` names what was asked, where replies are remembered, and `known` tells that this one was.
    """

    text: str
    usage: Usage
    failure: Failure | None = None
    tokens: Sequence[Mapping[str, Any]] = ()
    pause: float | None = None
    key: str = ""
    known: bool = False

    def dumped(self) -> str:
        """Give what is remembered of it, as JSON; a token may be half of a surrogate pair, which only escapes hold."""
        usage = self.usage.model_dump(exclude_defaults=True)
        return json.dumps({"text": self.text, "tokens": [*self.tokens], "usage": usage})

    @staticmethod
    def remembered(dumped: str, key: str, *, paid: bool) -> Reply:
        """Give a reply that was remembered.

        Args:
            dumped: What `dumped` gave.
            key: What it is the reply to.
            paid: Whether it was paid for in this run and is in no result yet, or else is a hit that costs nothing.
        """
        told = json.loads(dumped)
        usage = Usage(**told["usage"]) if paid else Usage(hits=1)
        return Reply(told["text"], usage, tokens=told["tokens"], key=key, known=True)
