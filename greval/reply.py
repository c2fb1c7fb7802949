"""What one call of a judge gave: the text or the failure, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from greval.result import Failure, Usage


@dataclass(frozen=True)
class Reply:
    """What a call gave: the text (JSON, if all went well) or the failure, and what it cost.

    `tokens` are the log-probabilities that the model told, `pause` the seconds that it asked to wait.
    `key` names what was asked, where replies are remembered.
    """

    text: str
    usage: Usage
    failure: Failure | None = None
    tokens: Sequence[Mapping[str, Any]] = ()
    pause: float | None = None
    key: str = ""

    def dumped(self) -> str:
        """Give what is remembered of it, as JSON."""
        return json.dumps({"text": self.text, "tokens": [*self.tokens]}, ensure_ascii=False)

    @staticmethod
    def remembered(dumped: str) -> Reply:
        """Give a reply that was remembered: it costs nothing and counts as a hit."""
        return Reply(**json.loads(dumped), usage=Usage(hits=1))
