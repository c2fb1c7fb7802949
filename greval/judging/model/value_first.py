"""An answer whose value is requested before its reason, for servers of llama.cpp, such as the embedded model.

The fixed text of the answer's JSON is sent as the start of an answer that the model continues, because tokens that are
sent together take less time than tokens that are generated one by one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata

from greval.records.scale import Value

Send = Callable[[list[BaseMessage], Mapping[str, Any]], Awaitable[AIMessage]]
"""A function that sends messages with the arguments of a call, and returns the model's message."""

VALUE_START = '{\n  "value": '
REASON_START = ',\n  "reason": "'
"""The text of an answer as the shipped models write it if they are free to. With other spaces the probabilities of
values change, and reasons become longer."""
SENTENCE_ENDS = (".", "!", "?", "…")
_LOCKS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
REASON_GRAMMAR = r'root ::= [^"\\\x00-\x1f]{1,%d} "\"\n}"'
"""The grammar of a reason and of the end of the answer. One token may hold a full stop and all of the end.

If the grammar did not allow this token, reasons would go on.
"""


@dataclass(frozen=True)
class ValueFirst:
    """The parts of an answer: one of `values`, then a reason of at most `reason_length` characters."""

    values: tuple[Value, ...]
    reason_length: int

    async def ask(
        self,
        send: Send,
        messages: Sequence[BaseMessage],
        *,
        probabilities: Mapping[str, Any],
        body: Mapping[str, Any],
    ) -> AIMessage:
        """Ask for the value, token by token until it is the only one that fits, and then for the reason.

        The server keeps only one prompt at a time, so that the answers of an event loop are requested one by one.

        Args:
            send: Sends the requests.
            messages: The messages of the prompt.
            probabilities: The arguments that request and change the log-probabilities of the value's tokens.
            body: Further fields of the body of each request.

        Returns:
            The answer as one JSON object. Its log-probabilities are those of the value; fixed text has 0. The input
            tokens are those of the last request, and the cached ones those of them that were not evaluated. If the
            model did not write one of the values, the answer is the text so far.
        """
        async with _LOCKS.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            return await self._ask_parts(send, messages, probabilities, body)

    async def _ask_parts(
        self, send: Send, messages: Sequence[BaseMessage], probabilities: Mapping[str, Any], body: Mapping[str, Any]
    ) -> AIMessage:
        quote = '"' if isinstance(self.values[0], str) else ""
        start, written = VALUE_START + quote, ""
        left = [json.dumps(value, ensure_ascii=False)[len(quote) :] + REASON_START for value in self.values]
        replies: list[AIMessage] = []

        async def continue_answer(text: str, grammar: str, **arguments: Any) -> str:  # noqa: ANN401
            reply = await send([*messages, AIMessage(text)], {"extra_body": {**body, "grammar": grammar}, **arguments})
            replies.append(reply)
            return reply.text.removeprefix(text)  # the server repeats the start of the answer

        while len(left) > 1:
            grammar = f"root ::= {' | '.join(json.dumps(text[len(written) :], ensure_ascii=False) for text in left)}"
            token = await continue_answer(start + written, grammar, max_completion_tokens=1, **probabilities)
            written += token
            left = [text for text in left if token and text.startswith(written)]
        chosen = [token for reply in replies for token in _list_tokens(reply)]
        if not left:
            return _build_message(start + written, replies, [*_list_fixed_tokens(VALUE_START, quote), *chosen], "stop")
        begun = start + left[0]
        reason = await continue_answer(begun, REASON_GRAMMAR % self.reason_length, stop=['"'])
        ending = f'{_end_sentence(reason, self.reason_length)}"}}'
        tokens = [
            *_list_fixed_tokens(VALUE_START, quote),
            *chosen,
            *_list_fixed_tokens(left[0][len(written) :] + ending),
        ]
        return _build_message(begun + ending, replies, tokens, replies[-1].response_metadata.get("finish_reason"))


def _end_sentence(reason: str, most: int) -> str:
    """End a reason with a full stop, or with an ellipsis after a whole word if it has the greatest length.

    Example:
        >>> _end_sentence("It names another ye", 19), _end_sentence("It fits", 160)
        ('It names another…', 'It fits.')
    """
    text = reason.strip()
    if len(reason) >= most and not text.endswith(SENTENCE_ENDS):
        return f"{text.rpartition(' ')[0] or text}…"
    return text if not text or text.endswith(SENTENCE_ENDS) else f"{text}."


def _list_tokens(reply: AIMessage) -> Sequence[Mapping[str, Any]]:
    """List the tokens of a message with their log-probabilities; empty if it has none."""
    return (reply.response_metadata.get("logprobs") or {}).get("content") or ()


def _list_fixed_tokens(*texts: str) -> list[dict[str, Any]]:
    """List texts that the model did not choose as tokens without alternatives."""
    alone = [{"token": text, "logprob": 0.0} for text in texts if text]
    return [{**token, "top_logprobs": [token]} for token in alone]


def _build_message(
    content: str, replies: Sequence[AIMessage], tokens: Sequence[Mapping[str, Any]], finish_reason: str | None
) -> AIMessage:
    """Build the message of the whole answer from those of its parts."""
    has_probabilities = any(_list_tokens(reply) for reply in replies)
    return AIMessage(
        content=content,
        response_metadata={
            "finish_reason": finish_reason,
            "logprobs": {"content": [*tokens]} if has_probabilities else None,
        },
        usage_metadata=_sum_usage(replies),
    )


def _sum_usage(replies: Sequence[AIMessage]) -> UsageMetadata | None:
    """Sum what was generated and evaluated; None if the server did not report it."""
    found = [reply.usage_metadata for reply in replies]
    usages = [usage for usage in found if usage]
    if len(usages) < len(found):
        return None
    read = usages[-1]["input_tokens"]
    written = sum(usage["output_tokens"] for usage in usages)
    details = [usage.get("input_token_details") or {} for usage in usages]
    evaluated = sum(
        usage["input_tokens"] - detail.get("cache_read", 0) for usage, detail in zip(usages, details, strict=True)
    )
    return UsageMetadata(
        input_tokens=read,
        output_tokens=written,
        total_tokens=read + written,
        input_token_details={"cache_read": max(read - evaluated, 0)},
    )
