"""The rows of a run for the terminal, a table or one block for each row if it has texts, and the calls of its judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rich.console import Console

from greval.records.judge_call import JudgeCall
from greval.records.result import CALIBRATION_NOTE, INJECTION_NOTE
from greval.report.tables import Column, build_fields, build_table, print_line, shorten_name

NOTE_TEXTS = {
    INJECTION_NOTE: "the text speaks to the judge",
    CALIBRATION_NOTE: "calibrated: the model alone would choose another value",
}
"""What is printed after a reason for each note that greval itself adds."""
FIELDS = {"question": "question", "answer": "answer", "expected_answer": "expected", "item_text": "judged"}
"""The columns of texts, and their names in a block."""


def print_rows(rows: Iterable[Mapping[str, object]], console: Console, *, texts: bool) -> None:
    """Print the rows of a run's table. With texts, each row is printed as it is read."""
    if not texts:
        columns = ("case", "metric", "value", "reason")
        cells = ((_format_case(row), str(row["metric"]), _format_value(row), _format_reason(row)) for row in rows)
        console.print(build_table([Column(name, left=True) for name in columns], cells))
        return
    for row in rows:
        print_line(console, f"{_format_case(row)}  {row['metric']}", "bold")
        console.print(build_fields(_list_fields(row)))


def _list_fields(row: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    yield from ((name, str(row[column])) for column, name in FIELDS.items() if row.get(column) is not None)
    yield "value", _format_value(row)
    yield "reason", _format_reason(row)


def _format_case(row: Mapping[str, object]) -> str:
    return " ".join(shorten_name(str(part)) for part in (row["sample_id"], row["method"], row["item"]) if part)


def _format_value(row: Mapping[str, object]) -> str:
    if row["status"] == "scored":
        return str(row["value"])
    return f"failed: {row['failure']}" if row["status"] == "failed" else str(row["status"])


def _format_reason(row: Mapping[str, object]) -> str:
    reason = str(row.get("reason") or row.get("message") or "")
    remarks = [text for name, text in NOTE_TEXTS.items() if f'"{name}"' in str(row.get("notes"))]
    return f"{reason} [{'; '.join(remarks)}]" if remarks else reason


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
    cached = ("reused",) if call.usage.hits and not call.usage.calls else ()
    repeat = (f"repeat {call.repeat + 1}",) if call.repeat else ()
    facts = ", ".join((*repeat, call.judge, *tokens, *cached))
    return f"{' '.join(shorten_name(name) for name in names if name)}  {call.metric}  ({facts})"


def _list_tokens(call: JudgeCall) -> Iterator[tuple[int | None, str]]:
    yield call.usage.input_tokens, "input"
    yield call.usage.output_tokens, "output"


def _list_texts(call: JudgeCall) -> Iterator[tuple[str, str]]:
    yield from ((message.role, message.text) for message in call.messages)
    yield "reply", call.reply
    if call.failure:
        yield "failure", f"{call.failure.kind}: {call.failure.message}"
