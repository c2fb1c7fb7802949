"""Runs through a batch endpoint: what is asked goes out as a file, and what comes back is judged as ever."""

from __future__ import annotations

import json

import pytest
from batch_server import BatchServer
from fault_server import sample
from tone_metrics import BUILT, PASSAGES, TONE

from greval.analysis.duel.api import summarise_duel
from greval.analysis.duel.judging import duel_async
from greval.errors import JudgeError
from greval.judging.model.judge import Judge
from greval.records.case import Case
from greval.records.metric import PreferenceMetric
from greval.runs.batch import collect, read_status, submit
from greval.runs.duels import list_pairs
from greval.runs.manifest import read_spending
from greval.runs.store import Store
from greval.testing import ScriptedJudge

METHODS = ("flat", "local", "walk")
CLEAR = PreferenceMetric(name="clarity", description="d", needs=["question", "answer"], steps=["s"])


def fitting(body):
    """Answer as the schema of a request wants it."""
    return json.dumps(sample(body["response_format"]["json_schema"]["schema"], body))


@pytest.fixture
async def server():
    """Give a running batch server whose answers fit."""
    batch_server = BatchServer(fitting)
    runner = await batch_server.start()
    yield batch_server
    await runner.cleanup()


@pytest.fixture
def judge(server, monkeypatch):
    """Give a judge that speaks to the batch server."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-batches")
    return Judge("openai:fine", base_url=server.url, max_items=2)


def prefer_flat(text):
    return "B" if "<answer_b>\nflat" in text else "A"


def cases(n):
    return [{"id": f"q{i}", "question": f"Q{i}?", "answer": f"A{i}.", "chunks": ["a", "b", "c"]} for i in range(n)]


async def done(folder):
    """Wait until nothing more will come."""
    while not all(state.is_done for state in [*(await read_status(folder)).values()]):
        pass


def requests(server):
    """Give the bodies of all requests that were sent, file by file."""
    files = [server.files[batch["input_file_id"]] for batch in server.batches.values()]
    return [[json.loads(line)["body"] for line in file.decode().splitlines()] for file in files]


def spent_calls(folder):
    """Give the calls that the run noted as spent, which caps of later commands count."""
    with Store.open(folder) as store:
        return read_spending(store).calls


async def test_a_batch_judges_as_a_run_does(server, judge, tmp_path):
    """Each case is scored once, with the cost of its request, and nothing is left to send."""
    sent = await submit(cases(5), [TONE], judge, out=tmp_path)
    assert sent.requests == 5
    await done(tmp_path)
    run = await collect(tmp_path)
    rows = [*run.results()]
    assert sorted(row.sample_id for row in rows) == [f"q{i}" for i in range(5)]
    assert {row.judgements[0].value for row in rows} == {"Polite"}
    assert {row.usage.calls for row in rows} == {1}
    assert {row.usage.input_tokens for row in rows} == {100}
    assert (await submit(cases(5), [TONE], judge, out=tmp_path)).batch is None
    assert server.begun == 1
    assert spent_calls(tmp_path) == 5


async def test_what_builds_on_others_goes_out_with_the_next_batch(server, judge, tmp_path):
    """Items are asked in one batch, the metric that builds on them in the next; then all is judged."""
    await submit(cases(2), [BUILT, PASSAGES], judge, out=tmp_path)
    await done(tmp_path)
    assert (await collect(tmp_path)).progress.done == 2
    second_batch = await submit(cases(2), [BUILT, PASSAGES], judge, out=tmp_path)
    await done(tmp_path)
    run = await collect(tmp_path)
    assert [len(file) for file in requests(server)] == [4, second_batch.requests] == [4, 2]
    assert sorted((row.metric, row.outcome.status) for row in run.results()) == [
        *[("built", "scored")] * 2,
        *[("passages", "scored")] * 2,
    ]
    assert spent_calls(tmp_path) == 6


async def test_what_cannot_be_read_is_a_failed_row_and_is_asked_again(server, judge, tmp_path):
    """A malformed answer fails its row alone, with what was said; the next batch asks for it alone."""
    server.answer = lambda body: "not JSON" if "A1." in body["messages"][-1]["content"] else fitting(body)
    await submit(cases(3), [TONE], judge, out=tmp_path)
    await done(tmp_path)
    run = await collect(tmp_path)
    failed = [row for row in run.results() if row.failures]
    assert [(row.sample_id, row.failures[0].kind, row.failures[0].raw) for row in failed] == [
        ("q1", "malformed", "not JSON")
    ]
    server.answer = fitting
    assert (await submit(cases(3), [TONE], judge, out=tmp_path)).requests == 1
    await done(tmp_path)
    run = await collect(tmp_path)
    assert {row.outcome.status for row in run.results()} == {"scored"}


async def test_a_batch_that_expired_keeps_what_was_answered(server, judge, tmp_path):
    """What came back is judged; what did not is sent again."""
    server.steps = ["expired"]
    await submit(cases(2), [TONE], judge, out=tmp_path)
    await done(tmp_path)
    run = await collect(tmp_path)
    assert run.progress.scored == 2


async def test_identical_requests_are_sent_once_and_repeats_are_not(server, judge, tmp_path):
    """Two samples with the same content share a request; two repeats of one are two."""
    twins = [{"id": name, "question": "Q?", "answer": "A."} for name in ("q1", "q2")]
    assert (await submit(twins, [TONE], judge, out=tmp_path / "once")).requests == 1
    assert (await submit(twins, [TONE], judge, out=tmp_path / "twice", repeats=2)).requests == 2


async def test_a_batch_that_is_out_is_collected_first(server, judge, tmp_path):
    """Sending again while a batch is out would pay twice: it is refused, and so is collecting too early."""
    await submit(cases(1), [TONE], judge, out=tmp_path)
    with pytest.raises(JudgeError, match="greval batch collect"):
        await submit(cases(1), [TONE], judge, out=tmp_path)
    server.steps = ["in_progress"]
    with pytest.raises(JudgeError, match="not done yet"):
        await collect(tmp_path)


async def test_what_has_no_batch_endpoint_is_told(tmp_path):
    """The embedded model cannot be asked in batches, and a folder without a batch says how to send one."""
    with pytest.raises(JudgeError, match="expected openai:MODEL"):
        await submit(cases(1), [TONE], Judge("local"), out=tmp_path)
    with pytest.raises(JudgeError, match="greval batch submit"):
        await collect(tmp_path / "none")


async def test_a_row_that_is_no_case_stops_no_other(server, judge, tmp_path):
    """A faulty row is told with its place, and all others are sent and judged."""
    sent = await submit([{"id": "bad"}, *cases(2)], [TONE], judge, out=tmp_path)
    assert sent.requests == 2
    assert [row.split(":")[0] for row in sent.unread] == ["cases, row 1"]
    await done(tmp_path)
    assert (await collect(tmp_path)).progress.scored == 2


async def test_a_preference_is_judged_in_both_orders(server, judge, tmp_path):
    """Both orders of each pair go out, repeated as often as asked, and the verdicts are those of a duel."""
    server.answer = lambda body: json.dumps({"reason": "r", "value": prefer_flat(body["messages"][-1]["content"])})
    answers = [
        Case(id=f"q{n}", question="Who?", method=name, answer=f"{name} {n}") for n in range(8) for name in METHODS
    ]
    pairs = list_pairs(answers, [CLEAR])
    assert (await submit(pairs, [CLEAR], judge, out=tmp_path / "run", repeats=2)).requests == 8 * 3 * 2 * 2
    await done(tmp_path / "run")
    run = await collect(tmp_path / "run")
    assert {row.usage.calls for row in run.results()} == {4}
    scripted = ScriptedJudge(lambda messages: {"reason": "r", "value": prefer_flat(messages[-1].text)})
    (tmp_path / "cases.jsonl").write_text("\n".join(case.model_dump_json() for case in answers), encoding="utf-8")
    expected = await duel_async(tmp_path / "cases.jsonl", [CLEAR], scripted, out=tmp_path / "duel", repeats=2)
    assert [result.judgements for result in run.results()] == [result.judgements for result in expected.results()]
    assert summarise_duel(run).metrics[0].pairs == summarise_duel(expected).metrics[0].pairs
    assert [pair.won for pair in summarise_duel(run).metrics[0].pairs] == [8, 8, 0]
