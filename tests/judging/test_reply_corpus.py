"""Replies as models write them, in `replies.jsonl`: thoughts, forms, tiers and items, each with its right reading.

`reads` is the value, or the value of each item, that must be stored; null is a failure after a second call.
"""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from langchain_core.output_parsers.openai_tools import make_invalid_tool_call, parse_tool_call

from greval.judging.metric_judge import MetricJudge
from greval.judging.model.call_context import NO_RUN
from greval.judging.model.client import JudgeClient
from greval.records.case import Case, Chunk
from greval.records.metric import ManyCategoricalMetric, ValueMetric
from greval.testing import ScriptedJudge

BASE = {"description": "d", "steps": ["Read."]}
HARBOUR = ValueMetric(name="harbour", needs=["answer"], range=(0, 1), levels={0: "no", 1: "yes"}, **BASE)
CHUNKS = ManyCategoricalMetric(
    name="chunks", over="chunks", needs=["question", "chunks"], categories={"Yes": "y", "No": "n"}, **BASE
)
CASE = Case(id="q", question="Which?", answer="The harbour.", chunks=[Chunk(id=f"c{n}", text="A.") for n in (1, 2, 3)])
ROWS = [json.loads(line) for line in (Path(__file__).with_name("replies.jsonl")).read_text("utf-8").splitlines()]
GROUPS = {
    name: [*rows]
    for name, rows in groupby(
        sorted(ROWS, key=itemgetter("group", "tier")), lambda row: f"{row['group']}, {row['tier']}"
    )
}


def build_message(row):
    """Build the message that a model of LangChain returns for a row, with its tool calls parsed or not."""
    message = AIMessage(row["reply"])
    for n, arguments in enumerate(row.get("tool_calls", ())):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "verdict", "arguments": arguments}}
        try:
            message.tool_calls.append(parse_tool_call(call, return_id=True))
        except Exception as error:  # noqa: BLE001 - as LangChain does
            message.invalid_tool_calls.append(make_invalid_tool_call(call, str(error)))
    return message


async def read_row(row):
    """Judge with the reply of a row, and return what was stored, the reasons and the number of calls."""
    judge = ScriptedJudge([build_message(row), "They agree."], tier=row["tier"])
    metric = CHUNKS if row["items"] else HARBOUR
    outcome, usage, _ = await MetricJudge(metric, JudgeClient(judge))(CASE, NO_RUN)
    judgements = getattr(outcome, "judgements", ())
    read = {judgement.item: judgement.value for judgement in judgements}
    stored = {str(n): read.get(f"c{n}") for n in (1, 2, 3)} if row["items"] else read.get(None)
    return stored, [judgement.reason for judgement in judgements], usage.calls


@pytest.mark.parametrize("group", GROUPS)
async def test_each_reply_has_its_right_reading(group):
    """What is certain is stored after one call, with the reason as written; anything else is asked again and fails."""
    for row in GROUPS[group]:
        stored, reasons, calls = await read_row(row)
        nothing = dict.fromkeys("123") if row["items"] else None
        reads = nothing if row["reads"] is None else row["reads"]
        is_whole = None not in reads.values() if row["items"] else reads is not None
        assert (row["name"], stored, calls) == (row["name"], reads, 1 if is_whole else 2)
        if "reason" in row:
            assert (row["name"], reasons) == (row["name"], [row["reason"]])


def test_the_corpus_is_wide():
    """Each tier, items and no items, certain and doubtful replies are all in it."""
    assert len(ROWS) >= 150
    kinds = {(row["tier"], bool(row["items"]), row["reads"] is None) for row in ROWS}
    assert len(kinds) >= 10
