"""A model that words or checks questions: one call at a time, each with a checked reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.messages import BaseMessage

from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.call_context import NO_RUN, CallContext
from greval.judging.model.client import JudgeClient
from greval.records.result import Failure
from greval.reference.model_call import ObjectReply, ask_for_object
from greval.reference.questions.prompts import RequestName, build_schema


class QuestionModel:
    """Asks a model for JSON objects, and counts the replies of earlier commands that were reused.

    Args:
        client: The client of the model.
        context: The context of all calls: their guard and their meter.
        on_reply: Called after each call, when its reply is stored, also if it failed.
    """

    def __init__(
        self, client: JudgeClient, context: CallContext = NO_RUN, on_reply: Callable[[], None] = lambda: None
    ) -> None:
        self.client = client
        self.context = context
        self.reused = 0
        self._on_reply = on_reply

    async def ask(self, request: RequestName, messages: Sequence[BaseMessage]) -> ObjectReply:
        """Ask once, and return the reply. Its `fields` are None if it cannot be read.

        Raises:
            MethodError: If the call fails.
            StoppedError: If no further call may be made.
        """
        schema = build_schema(request, bounded=self.client.judge.local)
        form = AnswerFormat(request, schema, self.client.tier)
        try:
            reply = await ask_for_object(self.client, form, messages, self.context)
        finally:
            # What a failed call cost is recorded too.
            self._on_reply()
        self.reused += reply.usage.hits
        failure = None if reply.fields is not None else Failure(kind="malformed", message=reply.fault, raw=reply.text)
        self.context.guard.record_answer(request, failure)
        return reply
