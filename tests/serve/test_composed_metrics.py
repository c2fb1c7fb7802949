"""A metric that builds on others, by each of its entry points: the same calls, shown items, verdicts, fingerprints."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter

import pytest
from fault_server import ITEM, error, gives, ok, sample
from langserve import RemoteRunnable
from served_metrics import app_of, client_of, tone
from serving import served

from greval import Judge, Result, compile_metric, evaluate, load_metric
from greval.records.result import Usage

NAME = "answer_completeness"
BELOW = ("chunk_evaluation", "triple_evaluation")
ITEMS = re.compile(ITEM.pattern + r"\n(.*?)\n</item>", re.DOTALL)
ASKED = {"question": "Who wrote it?", "answer": "Ada wrote it."}


def case(id_, chunks, triples=None):
    """Give a case; what is `good` in it is judged relevant, what is `bad` irrelevant, and what is `lost` not at all."""
    made = {**ASKED, "id": id_, "chunks": [f"A {word} chunk of {id_}." for word in chunks]}
    return made if triples is None else {**made, "triples": [[f"a {word} fact", "is", "told"] for word in triples]}


def same(*ids):
    """Give cases that differ in nothing that a judge sees."""
    first = case(ids[0], ["good", "bad"], ["good", "bad"])
    return [{**first, "id": id_} for id_ in ids]


class Plan:
    """Answers each request by what it shows; `late` items are left out of the first two answers that ask for them."""

    def __init__(self):
        self.late = 0

    def __call__(self, body):
        found = sample(body["response_format"]["json_schema"]["schema"], body)
        lists = (ITEMS.findall(str(message["content"])) for message in reversed(body["messages"]))
        shown = {int(number): text for number, text in next(filter(None, lists), [])}
        if "judgements" not in found:
            return gives(found)
        return gives({"judgements": [*self._judged(found["judgements"], shown)]})

    def _judged(self, entries, shown):
        for entry in entries:
            text = shown[entry["item"]]
            late = "late" in text
            self.late += late
            if "lost" not in text and not (late and self.late <= 2):
                yield {**entry, "value": "Irrelevant" if "bad" in text else "Relevant"}


CASES = {
    "some irrelevant": [case("q1", ["good", "bad", "good"], ["bad", "good"])],
    "none relevant": [case("q1", ["bad", "bad"], ["bad"])],
    "a failing chunk": [case("q1", ["good", "lost"], ["good"])],
    "a chunk that fails at first": [case("q1", ["good", "late", "bad"], ["good"])],
    "triples not recorded": [case("q1", ["good", "bad"])],
    "nothing recorded": [{**ASKED, "id": "q1"}],
    "no answer": [{**case("q1", ["good", "bad"], ["good"]), "answer": None}],
    "a method that failed": [{**case("q1", ["good"], ["good"]), "error": "it broke"}],
    "equal content": same("q1", "q2"),
    "several": [case("q1", ["good"], ["bad"]), case("q2", ["lost"], ["good"]), *same("q3", "q4")],
}
STATUSES = {
    "some irrelevant": {"scored"},
    "none relevant": {"scored"},
    "a failing chunk": {"failed"},
    "a chunk that fails at first": {"scored"},
    "triples not recorded": {"scored"},
    "nothing recorded": {"skipped"},
    "no answer": {"skipped"},
    "a method that failed": {"failed"},
    "equal content": {"scored"},
    "several": {"scored", "failed"},
}
"""How the metric that builds on others ends."""
CALLS = {
    "some irrelevant": 3,
    "none relevant": 3,
    "a failing chunk": 5,  # the chunks, the lost one again, both once more at the end, and the triples
    "a chunk that fails at first": 5,
    "nothing recorded": 0,
    "a method that failed": 0,
    "equal content": 3,
}


@pytest.fixture
def judge(fault_server, monkeypatch):
    """Give a judge on a real server that records what it is asked."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    return Judge("openai:x", base_url=fault_server.url, max_retries=0)


def rows_of(result):
    """Give the rows of a result and of those that it builds on."""
    row = Result.model_validate(result)
    return [*row.built_on, row.replace(built_on=())]


def by_runnable(cases, judge, _):
    return [row for found in compile_metric(load_metric(NAME), judge).batch(cases) for row in rows_of(found)]


def by_langserve(cases, judge, folder):
    with served(app_of(folder, {"x": judge})) as server:
        found = RemoteRunnable(f"{server.url}/metrics/{NAME}").batch(cases)
    return [row for one in found for row in rows_of(one)]


def by_rest(cases, judge, folder):
    told = client_of(app_of(folder, {"x": judge})).post("/v1/evaluate", json={"cases": cases, "metrics": [NAME]})
    return [Result.model_validate(row) for row in told.json()["results"]]


def by_evaluate(cases, judge, folder):
    run = evaluate(cases, [load_metric(NAME)], judge, out=folder / "run")
    return [*run.results()], run.progress.usage


ENTRY_POINTS = {"runnable": by_runnable, "langserve": by_langserve, "rest": by_rest}


def told(rows):
    """Give what rows tell, whatever their order, their time, and which of equal cases was the one that was asked."""
    plain = [row.replace(latency=0.0, usage=Usage()).model_dump_json() for row in rows]
    return sorted(plain)


def asked_of(server):
    """Give what was shown in each call, whatever their order."""
    return Counter(json.dumps(body["messages"]) for body in server.bodies)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_all_entry_points_judge_as_a_run_does(tmp_path, fault_server, judge, name, entry_point):
    """By each entry point: the calls and what they show, the verdicts, reasons, failures and fingerprints of a run."""
    cases = CASES[name]
    fault_server.plan = Plan()
    rows, spent = by_evaluate(cases, judge, tmp_path)
    asked = asked_of(fault_server)
    fault_server.bodies.clear()
    fault_server.plan = Plan()
    found = ENTRY_POINTS[entry_point](cases, judge, tmp_path)
    assert told(found) == told(rows)
    assert asked_of(fault_server) == asked
    assert sum((row.usage for row in found), Usage()) == spent
    assert len(rows) == 3 * len(cases)
    assert {row.outcome.status for row in found if row.metric == NAME} == STATUSES[name]
    assert fault_server.calls == CALLS.get(name, fault_server.calls)


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_what_was_judged_irrelevant_is_not_shown(tmp_path, fault_server, judge, entry_point):
    """The last call shows the relevant chunks and triples only; where there are none it says so."""
    fault_server.plan = Plan()
    ENTRY_POINTS[entry_point]([*CASES["some irrelevant"], case("q9", ["bad"], ["bad"])], judge, tmp_path)
    shown = [body["messages"][-1]["content"] for body in fault_server.bodies]
    (some,) = [text for text in shown if "good" in text and "<item" not in text]
    assert (some.count("A good chunk"), some.count("a good fact"), "bad" in some) == (2, 1, False)
    (none,) = [text for text in shown if "<item" not in text and text != some]
    assert "(none)" in none
    assert "bad" not in none


@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_what_builds_on_a_failure_is_a_dependency(tmp_path, fault_server, judge, entry_point):
    """Where a chunk could not be judged, the metric fails in the words of a run, and nobody is asked for it."""
    fault_server.plan = Plan()
    below, _, row = ENTRY_POINTS[entry_point](CASES["a failing chunk"], judge, tmp_path)
    assert below.failures[0].kind == "missing_item"
    assert row.outcome.error.kind == "dependency"
    assert row.outcome.error.message.startswith("it builds on chunk_evaluation, which failed here: ")
    assert all("<item" in str(body["messages"]) for body in fault_server.bodies)


async def test_every_way_of_asking_gives_the_same(tmp_path, fault_server, judge):
    """`invoke`, `batch`, `stream`, their twins and `with_config` give one result, at home and over LangServe."""
    fault_server.plan = Plan()
    (given,) = CASES["some irrelevant"]
    with served(app_of(tmp_path, {"x": judge})) as server:
        found = []
        for runnable in (compile_metric(load_metric(NAME), judge), RemoteRunnable(f"{server.url}/metrics/{NAME}")):
            found += [
                await asyncio.to_thread(runnable.invoke, given),
                await runnable.ainvoke(given),
                *await asyncio.to_thread(runnable.batch, [given]),
                *await runnable.abatch([given]),
                *await asyncio.to_thread(lambda runnable=runnable: [*runnable.stream(given)]),
                *[chunk async for chunk in runnable.astream(given)],
                await runnable.with_config(tags=["nightly"], run_name="bound").ainvoke(given),
            ]
    assert len(found) == 14
    assert len({tuple(told(rows_of(one))) for one in found}) == 1
    assert [row.metric for row in rows_of(found[-1])] == [*BELOW, NAME]
    assert fault_server.calls == 3 * 14


def test_the_log_of_a_run_holds_each_row_once(tmp_path, fault_server, judge):
    """In a run the results that others build on are rows of their own, and no row holds another."""
    fault_server.plan = Plan()
    run = evaluate(CASES["some irrelevant"], [load_metric(NAME)], judge, out=tmp_path / "run")
    rows = [row.model_dump() for row in run.results()]
    assert [row["metric"] for row in rows if "built_on" not in row] == [*BELOW, NAME]


def test_own_metrics_build_on_own_metrics(tmp_path, fault_server, judge):
    """What a client's metric builds on is looked for among the client's, and counts as it is now."""
    client = client_of(app_of(tmp_path, {"x": judge}))
    fault_server.plan = Plan()
    below = tone("own_chunks").replace("needs: [answer]", "over: chunks\nneeds: [chunks]")
    built = tone("built").replace("needs: [answer]", "needs: [answer, chunks]")
    texts = (
        below.replace("Polite", "Relevant").replace("Rude", "Irrelevant"),
        built + "uses: {chunks: {judged_by: own_chunks, as: [Relevant]}}\n",
    )
    for text in texts:
        assert client.post("/v1/metrics", json={"yaml": text}).status_code == 201
    (given,) = CASES["some irrelevant"]

    def ask():
        answer = client.post("/metrics/built/invoke", json={"input": given})
        return rows_of(answer.json()["output"])

    first = ask()
    assert [row.metric for row in first] == ["own_chunks", "built"]
    assert "bad" not in fault_server.bodies[-1]["messages"][-1]["content"]
    replaced = texts[0].replace("Courteous.", "Useful.")
    assert client.post("/v1/metrics?replace=true", json={"yaml": replaced}).status_code == 201
    second = ask()
    assert all(one.fingerprint != other.fingerprint for one, other in zip(first, second, strict=True))
    misfit = tone("own_chunks")
    assert client.post("/v1/metrics?replace=true", json={"yaml": misfit}).status_code == 201
    for path, body in (
        ("/metrics/built/invoke", {"input": given}),
        ("/v1/evaluate", {"cases": [given], "metrics": ["built"]}),
    ):
        answer = client.post(path, json=body)
        assert answer.status_code == 422
        assert "own_chunks judges the whole case; name a metric that is over chunks" in answer.text


def test_results_built_on_are_counted(tmp_path, fault_server, judge):
    """The server's counters count each result that was made over LangServe, those built upon too."""
    fault_server.plan = Plan()
    client = client_of(app_of(tmp_path, {"x": judge}))
    client.post(f"/metrics/{NAME}/invoke", json={"input": CASES["some irrelevant"][0]})
    lines = client.get("/metrics-exposition").text.splitlines()
    (calls,) = [line for line in lines if line.startswith("greval_judge_calls_total")]
    assert float(calls.split()[-1]) == fault_server.calls == 3


def test_a_request_shares_what_is_equal(tmp_path, fault_server, judge):
    """Over REST cases of equal content are judged once, and the others tell that it cost nothing."""
    cases = [{**ASKED, "id": f"q{n}", "expected_answer": "Ada."} for n in range(6)]
    client = client_of(app_of(tmp_path, {"x": judge}))
    rows = client.post("/v1/evaluate", json={"cases": cases, "metrics": ["correctness"]}).json()["results"]
    assert [row["outcome"]["status"] for row in rows] == ["scored"] * 6
    assert sorted((row["usage"]["calls"], row["usage"]["hits"]) for row in rows) == [(0, 1)] * 5 + [(1, 0)]
    assert fault_server.calls == 1


def test_a_request_tries_once_more(tmp_path, fault_server, judge):
    """Over REST what failed and may pass is tried once more after the others, and counts what both tries cost."""
    plan = iter([error(503)])
    fault_server.plan = lambda body: next(plan, ok())
    cases = [{**ASKED, "id": "q1", "expected_answer": "Ada."}]
    client = client_of(app_of(tmp_path, {"x": judge}))
    (row,) = client.post("/v1/evaluate", json={"cases": cases, "metrics": ["correctness"]}).json()["results"]
    assert row["outcome"]["status"] == "scored"
    assert row["usage"]["calls"] == fault_server.calls == 2


def test_a_request_ends_where_the_judge_refuses_the_key(tmp_path, fault_server, judge):
    """Over REST a refused key ends the asking: what was not asked failed and says so, the rest is computed."""
    fault_server.plan = error(401)
    cases = [{**ASKED, "id": f"q{n}", "answer": f"Ada {n}.", "expected_answer": "Ada."} for n in range(60)]
    client = client_of(app_of(tmp_path, {"x": judge}, limits={"calls": 2}))
    body = {"cases": cases, "metrics": ["correctness", "token_f1"]}
    rows = client.post("/v1/evaluate", json=body).json()["results"]
    judged = [row["outcome"] for row in rows if row["metric"] == "correctness"]
    assert {outcome["error"]["kind"] for outcome in judged} == {"authentication"}
    unasked = [outcome for outcome in judged if "the judge was not asked" in outcome["error"]["message"]]
    assert len(unasked) == 60 - fault_server.calls
    assert fault_server.calls <= 2
    assert "operator" in unasked[0]["error"]["message"]
    assert {row["outcome"]["status"] for row in rows if row["metric"] == "token_f1"} == {"scored"}
    assert [row["sample_id"] for row in rows[::2]] == [one["id"] for one in cases]
