"""The embedded judge through the same path as any other: a real small model judges a real case."""

from __future__ import annotations

import json
import logging
import re

import httpx
import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import HumanMessage
from typer.testing import CliRunner
from waiting import SECONDS

from greval import (
    Case,
    Judge,
    ManyCategoricalMetric,
    ValueMetric,
    compile_metric,
    evaluate,
    load_metric,
)
from greval.cli.app import app
from greval.judging.answer_schema import build_object_schema
from greval.judging.model import judge
from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.client import JudgeClient

pytestmark = pytest.mark.local_model

JUDGE = Judge("local:smollm2-135m", max_tokens=120)


def test_a_real_model_gives_a_value_with_its_reason(smollm, tmp_path, caplog):
    """A verdict on the scale comes back with a reason and its cost, and first use says what the model is."""
    case = Case(id="q", question="Who wrote it?", expected_answer="Ada", answer="Ada Lovelace wrote it.")
    judge._DESCRIBED.clear()  # another test may have used the model before
    with caplog.at_level(logging.WARNING, logger="greval"):
        run = evaluate([case], [load_metric("correctness")], JUDGE, out=tmp_path)
    (row,) = run.results()
    assert row.outcome.status == "scored"
    assert row.judgements[0].value in {0, 1}
    assert row.judgements[0].reason
    assert (row.tier, row.usage.calls) == ("schema", 1)
    assert row.usage.input_tokens
    assert "trying things out" in caplog.text or "for trying" in caplog.text


def test_a_dry_run_says_how_long_the_run_takes(smollm, tmp_path):
    """One call is measured; for a judge on a server no time is told."""
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "q", "question": "Who?", "expected_answer": "Ada.", "answer": "Ada."}')
    command = ["evaluate", str(path), "-m", "correctness", "--dry-run", "--judge"]
    assert re.search(r"time: about (\d+ min )?\d+ s", CliRunner().invoke(app, [*command, JUDGE.model]).output)
    assert "time:" not in CliRunner().invoke(app, [*command, "openai:m"], env={"OPENAI_API_KEY": "k"}).output


def test_chunks_are_judged_one_at_a_time(smollm):
    """A small model drops items of a list: each chunk has a call of its own and a verdict with its id."""
    metric = ManyCategoricalMetric(
        name="use",
        description="Whether the chunk helps to answer the question.",
        over="chunks",
        needs=["question", "chunks"],
        categories={"Relevant": "It helps.", "Irrelevant": "It does not."},
        steps=["Read the chunk."],
    )
    case = {"question": "Who wrote it?", "chunks": ["Ada wrote it.", "Tea is a drink."]}
    result = compile_metric(metric, JUDGE).invoke(case)
    assert [judgement.item for judgement in result.judgements] == ["c1", "c2"]
    assert result.usage.calls == 2


def test_a_value_before_its_reason_has_a_number_weighted_by_probability(smollm):
    """The value is a level, its number the mean of the levels; both orders have fingerprints of their own."""
    metric = ValueMetric(
        name="clarity",
        description="How clear the answer is.",
        needs=["answer"],
        range=(0, 3),
        levels={0: "The answer is unclear.", 3: "The answer is clear."},
        steps=["Read the answer."],
    )
    case = {"question": "Who wrote it?", "answer": "Ada wrote it."}
    weighing = compile_metric(metric, JUDGE)
    (judgement,) = weighing.invoke(case).judgements
    assert judgement.value in {0, 1, 2, 3}
    assert 0 < judgement.number < 3
    assert not float(judgement.number).is_integer()
    plain = compile_metric(metric, JUDGE.model_copy(update={"reason": "before"}))
    (judgement,) = plain.invoke(case).judgements
    assert judgement.number == judgement.value
    assert plain.fingerprint != weighing.fingerprint


@pytest.mark.parametrize("written", ["Relevant", "Irrelevant"])
async def test_a_shift_of_a_token_decides_what_a_real_model_writes(written, smollm, server):
    """A category is written if the token that begins it is made likely enough."""
    schema = build_object_schema({"value": {"type": "string", "enum": ["Relevant", "Irrelevant"]}})
    headers = {"Authorization": f"Bearer {server.api_key}"}
    url = f"{server.base_url.removesuffix('/v1')}/tokenize"
    async with httpx.AsyncClient(timeout=SECONDS) as client:
        answer = await client.post(url, json={"content": written}, headers=headers)
    form = AnswerFormat("relevance", schema, "schema", logit_bias={answer.json()["tokens"][0]: 50.0})
    reply = await JudgeClient(JUDGE).ask(form, [HumanMessage("Is a passage on tea relevant to ships?")])
    assert json.loads(reply.text) == {"value": written}


class CountStarts(AsyncCallbackHandler):
    """Count the calls of the model that LangChain reports."""

    def __init__(self):
        self.prompts = []

    async def on_chat_model_start(self, serialized, messages, **_):
        self.prompts.append(messages[0][-1].text)


def test_the_value_is_requested_before_its_reason(smollm):
    """The second request continues the answer with the value; with callbacks and without, the verdict is the same."""
    case = {"question": "Who wrote it?", "expected_answer": "Ada", "answer": "Ada Lovelace wrote it."}
    judging = compile_metric(load_metric("correctness"), JUDGE)
    counted = CountStarts()
    (judgement,) = judging.invoke(case, {"callbacks": [counted]}).judgements
    assert counted.prompts == ['{\n  "value": ', f'{{\n  "value": {judgement.value},\n  "reason": "']
    (silent,) = judging.invoke(case).judgements
    assert silent.value == judgement.value
    assert silent.number == pytest.approx(judgement.number, abs=0.05)
    assert judgement.reason.endswith((".", "!", "?", "…"))
