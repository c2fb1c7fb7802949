"""A model that writes parts of a definition, with a reply cache so that no call is repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import ValidationError

from greval._util.files import CloseOnExit
from greval.errors import MalformedVerdictError
from greval.judging.metric_judge import MAX_OBJECTION_CHARS
from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.judging.model.reply_cache import ReplyCache
from greval.judging.prompt import neutralise_fences
from greval.judging.reply_json import parse_last_object
from greval.records.result import Failure
from greval.trust.alignment.model_calls import AlignBudget

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

T = TypeVar("T")
REPLIES_FILE = "written.sqlite"


class DefinitionWriter(CloseOnExit):
    """A model that writes parts of definitions, with a reply cache in a file."""

    def __init__(self, model: Judge | BaseChatModel, work: Path, budget: AlignBudget, *, width: int) -> None:
        """Open the reply cache."""
        self._replies = ReplyCache(work / REPLIES_FILE)
        self.client = JudgeClient(model, gate=asyncio.Semaphore(width), cache=self._replies)
        self._spent = budget

    @property
    def is_bounded(self) -> bool:
        """Return whether texts need a length limit.

        A small local model may write without end under an unbounded grammar.
        """
        return self.client.judge.local

    async def write(
        self,
        name: str,
        schema: Mapping[str, Any],
        messages: Sequence[BaseMessage],
        read: Callable[[dict[str, Any]], T],
        *,
        tries: int = 1,
    ) -> T | str:
        """Ask the model, and return its answer as parsed by `read`, or a message if it cannot be used.

        Args:
            name: The name of what is written, in one word.
            schema: The JSON schema of the answer.
            messages: The prompt.
            read: Parses an answer. Raises `MalformedVerdictError` or `ValidationError` if it is not usable.
            tries: The maximum number of calls. Each retry includes the error of the previous answer.

        Raises:
            StoppedError: If a cap is reached.
        """
        question = AnswerFormat(name, schema, self.client.tier)
        asked, fault = [*messages], "it was not asked"
        for number in range(tries):
            with self._spent.reserve_call():
                reply = await self.client.ask(question, asked, {}, repeat=number)
            self._spent.add_writer_usage(reply.usage, self.client.label)
            if reply.failure:
                return _describe_failure(reply.failure)
            try:
                found = read(parse_last_object(reply.text))
            except (MalformedVerdictError, ValidationError) as error:
                fault = str(error)
                mend = f"That cannot be used: {neutralise_fences(fault)[:MAX_OBJECTION_CHARS]}\nMend it."
                asked = [*messages, AIMessage(reply.text), HumanMessage(mend)]
                continue
            self.client.remember(reply)
            return found
        return f"what the model wrote cannot be used: {fault.splitlines()[0]}"

    def close(self) -> None:
        """Close the reply cache."""
        self._replies.close()


def _describe_failure(failure: Failure) -> str:
    return f"the model did not write: {failure.message}"
