"""The model as a writer of definitions: one call at a time, with the usage of all calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from greval.errors import JudgeError, JudgeUnavailableError
from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.call_context import NO_RUN, CallContext
from greval.judging.model.client import JudgeClient
from greval.judging.model.failures import SETUP_FAILURES, format_failure_hint
from greval.records.result import Usage

MAX_TRIES = 3
"""The most calls for one text that can be used."""
MAX_ROUNDS = 2
"""How often a writer is asked to mend what the remarks on its draft point at."""


class DraftWriter:
    """Asks a model for texts, and counts what they cost."""

    def __init__(self, client: JudgeClient, context: CallContext = NO_RUN) -> None:
        """Store the client and the context of its calls. No call was made yet."""
        self.client = client
        self._context = context
        self.usage = Usage()

    async def ask(
        self, name: str, schema: Mapping[str, Any], messages: Sequence[BaseMessage], *, max_tokens: int | None = None
    ) -> tuple[str, str]:
        """Ask once, and return the text of the reply and, if the call failed, the reason.

        Raises:
            JudgeUnavailableError: If the model cannot be reached, or the key or the model's name is rejected.
        """
        question = AnswerFormat(name, schema, self.client.tier, max_tokens=max_tokens)
        # A server that is down is reported at the first call; later calls are retried.
        reply = await self.client.ask(question, [*messages], self._context, patient=self.usage.calls > 0)
        self.usage += reply.usage
        if reply.failure is None:
            return reply.text, ""
        fault = reply.failure.message
        if reply.failure.kind in SETUP_FAILURES:
            hint = format_failure_hint(reply.failure.kind, self.client.label)
            raise JudgeUnavailableError(f"{self.client.label} cannot be asked: {fault}; {hint}")
        return reply.text, fault

    def build_error(self, fault: str) -> JudgeError:
        """Build the error for a model that wrote nothing usable in `MAX_TRIES` tries."""
        return JudgeError(
            f"{self.client.label} gave no valid definition in {MAX_TRIES} tries: {fault}; try again or another model"
        )
