"""Usage of a LangChain chain: the number of model calls, and the tokens if every model reports them."""

from __future__ import annotations

import threading
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import LLMResult

from greval.records.case import Effort


class CallCounter(BaseCallbackHandler):
    """A callback that counts the model calls and tokens of one call of a chain.

    Tokens are returned only if every finished call reported its own, because a partial sum would be misleading.

    Example:
        >>> CallCounter().effort is None
        True
    """

    run_inline = True
    raise_error = False

    def __init__(self) -> None:
        """Start with no calls."""
        self._lock = threading.Lock()
        self._calls = 0
        self._token_counts: list[tuple[int, int] | None] = []

    @property
    def effort(self) -> Effort | None:
        """The usage so far; None if no model call was seen, because then the usage is unknown."""
        if not self._calls:
            return None
        told = [one for one in self._token_counts if one is not None]
        if not told or len(told) < len(self._token_counts):
            return Effort(llm_calls=self._calls)
        return Effort(
            llm_calls=self._calls, prompt_tokens=sum(one[0] for one in told), output_tokens=sum(one[1] for one in told)
        )

    def on_chat_model_start(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - LangChain's signature
        """Count a call of a chat model."""
        self._count_call()

    def on_llm_start(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - LangChain's signature
        """Count a call of a completion model."""
        self._count_call()

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:  # noqa: ANN401 - LangChain's signature
        """Record the tokens of a call."""
        with self._lock:
            self._token_counts.append(_read_tokens(response))

    def _count_call(self) -> None:
        with self._lock:
            self._calls += 1


def _read_tokens(response: LLMResult) -> tuple[int, int] | None:
    """Return prompt and output tokens of a call from its message or the provider's field, None if neither has them."""
    for generations in response.generations:
        for generation in generations:
            usage = getattr(getattr(generation, "message", None), "usage_metadata", None)
            if usage:
                return int(usage["input_tokens"]), int(usage["output_tokens"])
    told = (response.llm_output or {}).get("token_usage") or {}
    if isinstance(told, dict) and "prompt_tokens" in told and "completion_tokens" in told:
        return int(told["prompt_tokens"]), int(told["completion_tokens"])
    return None
