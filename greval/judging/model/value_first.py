"""An answer whose value is requested before its reason, for servers of llama.cpp, such as the embedded model.

The fixed text of the answer's JSON is sent as the start of an answer that the model continues, because tokens that are
sent together take less time than tokens that are generated one by one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata

from greval.judging.model.reported_usage import read_message_usage
from greval.records.scale import Value

Token = Mapping[str, Any]
"""A token with its log-probability, as OpenAI-compatible servers return it."""
Send = Callable[[list[BaseMessage], Mapping[str, Any]], Awaitable[AIMessage]]
"""A function that sends messages with the arguments of a call, and returns the model's message."""

VALUE_START = '{\n  "value": '
REASON_START = ',\n  "reason": "'
"""The text of an answer as the shipped models write it if they are free to. With other spaces the probabilities of
values change, and reasons become longer."""
LEAST_SHARE = 0.05
"""If a token begins several values, the token after it is requested from this probability on."""
SENTENCE_ENDS = (".", "!", "?", "…")
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

        The answer is one JSON object, with the log-probabilities of the value; fixed text has 0. The input tokens are
        those of the last request, and the cached ones those of them that were not evaluated. If the model did not write
        one of the values, the answer is the text so far.
        """
        return await _ValueRequests(self, send, messages, probabilities, body).ask()


class _ValueRequests:
    """The requests for one answer, and the replies to them."""

    def __init__(
        self,
        form: ValueFirst,
        send: Send,
        messages: Sequence[BaseMessage],
        probabilities: Mapping[str, Any],
        body: Mapping[str, Any],
    ) -> None:
        self.send, self.messages, self.probabilities, self.body = send, messages, probabilities, body
        self.reason_length = form.reason_length
        self.replies: list[AIMessage] = []
        quote = '"' if isinstance(form.values[0], str) else ""
        self.start = VALUE_START + quote
        self.fixed = _list_fixed_tokens(VALUE_START, quote)
        self.texts = [json.dumps(value, ensure_ascii=False)[len(quote) :] + REASON_START for value in form.values]
        """The text of each value, up to the reason."""

    async def ask(self) -> AIMessage:
        """Ask for the value and for the reason, and build the answer."""
        written, tokens, candidates = "", list[Token](), self.texts
        while len(candidates) > 1:
            reply = await self.ask_token(written)
            # The server repeats the start of the answer.
            text = reply.text.removeprefix(self.start + written)
            for token in _list_tokens(reply):
                alternatives = token.get("top_logprobs") or ()
                parts = [
                    [alternative] if alternative["token"] == text else await self.split(written, alternative)
                    for alternative in alternatives
                ]
                tokens.append({**token, "top_logprobs": [*chain.from_iterable(parts)]})
            written += text
            candidates = [candidate for candidate in candidates if text and candidate.startswith(written)]
        if not candidates:
            return _build_message(self.start + written, self.replies, [*self.fixed, *tokens], "stop")
        begun = self.start + candidates[0]
        reply = await self.continue_answer(begun, REASON_GRAMMAR % self.reason_length, stop=['"'])
        ending = f'{_end_sentence(reply.text.removeprefix(begun), self.reason_length)}"}}'
        tokens = [*self.fixed, *tokens, *_list_fixed_tokens(candidates[0][len(written) :] + ending)]
        return _build_message(begun + ending, self.replies, tokens, reply.response_metadata.get("finish_reason"))

    async def split(self, written: str, token: Token) -> list[Token]:
        """Replace a likely token that begins several values by those that it makes with the tokens after it.

        Models that write numbers digit by digit begin 1 and 10 with the same token. The chosen token needs no split,
        because the token after it is requested next.
        """
        begun = sum(text.startswith(written + token["token"]) for text in self.texts)
        if begun <= 1 or math.exp(token["logprob"]) < LEAST_SHARE:
            return [token]
        reply = await self.ask_token(written + token["token"])
        longer = [
            {"token": token["token"] + next_token["token"], "logprob": token["logprob"] + next_token["logprob"]}
            for following in _list_tokens(reply)
            for next_token in following["top_logprobs"]
        ]
        return [*chain.from_iterable([await self.split(written, candidate) for candidate in longer])]

    async def ask_token(self, written: str) -> AIMessage:
        """Ask for the next token of a value of which a part is written."""
        ends = (text[len(written) :] for text in self.texts if text.startswith(written))
        grammar = f"root ::= {' | '.join(json.dumps(end, ensure_ascii=False) for end in ends)}"
        return await self.continue_answer(self.start + written, grammar, max_completion_tokens=1, **self.probabilities)

    async def continue_answer(self, text: str, grammar: str, **arguments: Any) -> AIMessage:  # noqa: ANN401
        """Send the start of an answer that the model continues."""
        arguments["extra_body"] = {**self.body, "grammar": grammar}
        reply = await self.send([*self.messages, AIMessage(text)], arguments)
        self.replies.append(reply)
        return reply


def _end_sentence(reason: str, most: int) -> str:
    """End a reason with a full stop, or with an ellipsis after a whole word if it has the greatest length."""
    text = reason.strip()
    if len(reason) >= most and not text.endswith(SENTENCE_ENDS):
        return f"{text.rpartition(' ')[0] or text}…"
    return text if not text or text.endswith(SENTENCE_ENDS) else f"{text}."


def _list_tokens(reply: AIMessage) -> Sequence[Token]:
    """List the tokens of a message with their log-probabilities; empty if it has none."""
    return (reply.response_metadata.get("logprobs") or {}).get("content") or ()


def _list_fixed_tokens(*texts: str) -> list[Token]:
    """List texts that the model did not choose as tokens without alternatives."""
    alone = [{"token": text, "logprob": 0.0} for text in texts if text]
    return [{**token, "top_logprobs": [token]} for token in alone]


def _build_message(
    content: str, replies: Sequence[AIMessage], tokens: Sequence[Token], finish_reason: str | None
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
    usages = [read_message_usage(reply).usage for reply in replies]
    counts = [(usage.input_tokens, usage.output_tokens, usage.cached_tokens or 0) for usage in usages]
    reported = [(read, written, cached) for read, written, cached in counts if read and written]
    if len(reported) < len(counts):
        return None
    read = reported[-1][0]
    written = sum(written for _, written, _ in reported)
    evaluated = sum(read - cached for read, _, cached in reported)
    return UsageMetadata(
        input_tokens=read,
        output_tokens=written,
        total_tokens=read + written,
        input_token_details={"cache_read": max(read - evaluated, 0)},
    )
