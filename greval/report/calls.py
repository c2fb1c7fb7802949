"""The calls of a judge for the terminal: the messages, and the reply as the model wrote it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from greval.records.judge_call import JudgeCall
from greval.report.tables import print_line, shorten


def print_call(call: JudgeCall, console: Console) -> None:
    """Print a call: a line that says what it is for, then each message and the reply below its role."""
    print_line(console, _format_head(call), "bold")
    for role, text in _list_texts(call):
        print_line(console, f"--- {role}", "dim")
        print_line(console, text)
    console.print()


def _format_head(call: JudgeCall) -> str:
    names = (call.sample_id, call.method, *call.items)
    tokens = (f"{count:,} {kind} tokens" for count, kind in _list_tokens(call) if count is not None)
    cached = ("from a cache",) if call.usage.hits and not call.usage.calls else ()
    repeat = (f"repeat {call.repeat + 1}",) if call.repeat else ()
    facts = ", ".join((*repeat, call.judge, *tokens, *cached))
    return f"{' '.join(shorten(name) for name in names if name)}  {call.metric}  ({facts})"


def _list_tokens(call: JudgeCall) -> Iterator[tuple[int | None, str]]:
    yield call.usage.input_tokens, "input"
    yield call.usage.output_tokens, "output"


def _list_texts(call: JudgeCall) -> Iterator[tuple[str, str]]:
    yield from ((message.role, message.text) for message in call.messages)
    yield "reply", call.reply
    if call.failure:
        yield "failure", f"{call.failure.kind}: {call.failure.message}"
