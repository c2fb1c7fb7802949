"""Judging over REST: every case and metric has a row, whatever fails; limits hold, and nobody waits for the gone."""

from __future__ import annotations

import json
import re
import shlex
import threading
import time
from pathlib import Path

import pytest
from fault_server import error, hangs, ok
from raw_sockets import connect, format_post
from served_metrics import CASE, app_of, client_of, says, tone
from serving import served
from waiting import SECONDS, until

from greval import Judge, Result, compile_metric, evaluate, load_metric
from greval.testing import ScriptedJudge

CHUNKS = [{"id": "c1", "text": "Ada wrote it."}, {"id": "c2", "text": "Bread rises."}]
BUILT = tone("built").replace("needs: [answer]", "needs: [answer, chunks]") + (
    "uses: {chunks: {judged_by: chunk_evaluation, as: [Relevant]}}\n"
)


@pytest.fixture
def client(tmp_path):
    """Give a client of an app whose judge always says 1."""
    return client_of(app_of(tmp_path))


def ask(client, cases, metrics, **more):
    """Ask for judgements."""
    return client.post("/v1/evaluate", json={"cases": cases, "metrics": metrics, **more})


def different(n):
    """Give cases of which no two share a judgement."""
    return [{**CASE, "id": f"q{number}", "answer": f"Ada {number}."} for number in range(n)]


def without_time(result):
    """Give a result without what a clock decides."""
    return Result.model_validate(result).replace(latency=0.0)


def test_results_are_those_of_a_run(tmp_path, fault_server, monkeypatch):
    """The results over REST are those that `evaluate` gives for the same cases, metrics and judge, in order."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    judge = Judge("openai:x", base_url=fault_server.url)
    cases = [{**CASE, "chunks": CHUNKS, "triples": [["Ada", "wrote", "it"]]}, {**CASE, "id": "q2", "answer": None}]
    names = ["answer_completeness", "token_f1", "correctness"]
    rows = ask(client_of(app_of(tmp_path, {"x": judge})), cases, names).json()["results"]
    run = evaluate(cases, [load_metric(name) for name in names], judge, out=tmp_path / "run")
    expected = {(row.sample_id, row.metric): row.replace(latency=0.0) for row in run.results()}
    found = [without_time(row) for row in rows]
    assert {(row.sample_id, row.metric): row for row in found} == expected
    assert [row.sample_id for row in found] == ["q1"] * 5 + ["q2"] * 5
    assert [row.metric for row in found[:2]] == ["chunk_evaluation", "triple_evaluation"]


def test_what_is_no_case_is_told_and_the_others_are_judged(client):
    """A wrong row stands in `unread` with its position; the names of neighbours are read, and told."""
    cases = [{"input": "Who?", "actual_output": "Ada."}, 7, {"question": 1}, {"answer": "No question."}, CASE]
    told = ask(client, cases, ["tone_of", "token_f1"]).json()
    assert told["status"] == 404
    told = ask(client, cases, ["token_f1"]).json()
    assert [row["sample_id"] for row in told["results"]] == ["row-1", "q1"]
    assert [row["case"] for row in told["unread"]] == [2, 3, 4]
    assert "must be an object" in told["unread"][0]["message"]
    assert "input as question" in told["notice"]


def test_two_cases_with_one_id_are_told(client):
    """A second case of the same id could not be told apart: it is not judged."""
    told = ask(client, [CASE, CASE, {**CASE, "method": "other"}], ["token_f1"]).json()
    assert len(told["results"]) == 2
    assert "already" in told["unread"][0]["message"]


def test_failures_are_rows(tmp_path):
    """Where a judgement fails or is not defined, the status is 200 and the row says so."""

    def answer(messages):
        return ValueError("It broke.") if "Bob" in str(messages[-1].content) else {"reason": "Good.", "value": 1}

    client = client_of(app_of(tmp_path, {"scripted": ScriptedJudge(answer)}))
    cases = [CASE, {**CASE, "id": "q2", "answer": "Bob."}, {"id": "q3", "question": "Who?"}]
    answer = ask(client, cases, ["correctness"])
    assert answer.status_code == 200
    outcomes = [row["outcome"] for row in answer.json()["results"]]
    assert [outcome["status"] for outcome in outcomes] == ["scored", "failed", "skipped"]
    assert outcomes[1]["error"]["kind"] == "error"
    assert "expected_answer is not recorded" in outcomes[2]["reason"]


def test_a_metric_sees_what_it_builds_on(tmp_path):
    """The chunks are judged first, and the metric that builds on them sees only those that were kept."""
    seen = []

    def answer(messages):
        text = str(messages[-1].content)
        if "item n=" in text:
            return {"judgements": [{"item": 1, "reason": "On it.", "value": "Relevant"},
                                   {"item": 2, "reason": "Off it.", "value": "Irrelevant"}]}  # fmt: skip
        seen.append(text)
        return {"reason": "Kind.", "value": "Polite"}

    client = client_of(app_of(tmp_path, {"scripted": ScriptedJudge(answer)}))
    client.post("/v1/metrics", json={"yaml": BUILT})
    rows = ask(client, [{**CASE, "chunks": CHUNKS}], ["built"]).json()["results"]
    assert [(row["metric"], row["outcome"]["status"]) for row in rows] == [
        ("chunk_evaluation", "scored"),
        ("built", "scored"),
    ]
    assert "Ada wrote it." in seen[0]
    assert "Bread rises." not in seen[0]


def test_what_builds_on_a_failure_fails(tmp_path, fault_server, monkeypatch):
    """Where the chunks could not be judged, the metric that builds on them is failed as a dependency, unasked."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    fault_server.plan = error(400)
    client = client_of(app_of(tmp_path, {"x": Judge("openai:x", base_url=fault_server.url)}))
    client.post("/v1/metrics", json={"yaml": BUILT})
    rows = ask(client, [{**CASE, "chunks": CHUNKS}], ["built"]).json()["results"]
    assert [row["outcome"]["error"]["kind"] for row in rows] == ["request", "dependency"]
    assert fault_server.calls == 1


def test_judges_are_chosen_by_name_only(tmp_path):
    """A named judge judges, the first if none is named; no other can be named, and no address or key be given."""
    client = client_of(app_of(tmp_path, {"yes": says(1), "no": says(0)}))

    def value(**more):
        (row,) = ask(client, [CASE], ["correctness"], **more).json()["results"]
        return row["outcome"]["judgements"][0]["value"]

    assert (value(), value(judge="yes"), value(judge="no")) == (1, 1, 0)
    for name in ("correctness", "token_f1"):
        assert ask(client, [CASE], [name], judge="openai:x").status_code == 404
    for more in ({"base_url": "http://x"}, {"api_key": "k"}, {"judge": {"model": "x"}}):
        assert ask(client, [CASE], ["correctness"], **more).status_code == 422


def test_without_a_judge_computed_metrics_are_served(tmp_path):
    """A server without judges says so where one is needed, and computes the rest."""
    client = client_of(app_of(tmp_path, {}))
    assert ask(client, [CASE], ["token_f1"]).status_code == 200
    answer = ask(client, [CASE], ["token_f1", "correctness"])
    assert answer.status_code == 503
    assert "no judge" in answer.json()["detail"]


def test_a_judge_that_cannot_work_is_the_operators_fault(tmp_path, monkeypatch):
    """A judge without its key is told once, not as a failure of each case, and nothing of its settings."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    client = client_of(app_of(tmp_path, {"x": Judge("openai:x")}))
    answer = ask(client, [CASE] * 2, ["correctness"])
    assert answer.status_code in {502, 503}
    assert "Traceback" not in answer.text


def test_repeats_are_counted(tmp_path):
    """With `repeats` a case is judged so often, and the votes are in the row."""
    judge = ScriptedJudge(
        [{"reason": "Yes.", "value": 1}, {"reason": "No.", "value": 0}, {"reason": "Yes.", "value": 1}]
    )
    client = client_of(app_of(tmp_path, {"scripted": judge}))
    (row,) = ask(client, [CASE], ["correctness"], repeats=3).json()["results"]
    assert row["outcome"]["judgements"][0]["votes"] == {"1": 2, "0": 1}
    assert len(judge.calls) == 3
    for wrong in (0, 10, "3", 1.5):
        assert ask(client, [CASE], ["correctness"], repeats=wrong).status_code == 422


@pytest.mark.parametrize(
    ("cases", "limit"),
    [
        ([CASE] * 4, "(batch)"),
        ([{**CASE, "chunks": ["x"] * 6}], "(items)"),
        ([{**CASE, "triples": [["a", "b", "c"]] * 6}], "(items)"),
        ([{"input": "Who?", "retrieval_context": ["x"] * 6}], "(items)"),
        ([{**CASE, "answer": "x" * 101}], "(text)"),
        ([{**CASE, "chunks": [{"id": "c", "text": "x" * 101}]}], "(text)"),
        ([CASE, {**CASE, "tags": {"a": "x" * 101}}], "(text)"),
    ],
)
def test_more_than_a_request_may_hold_is_refused(tmp_path, cases, limit):
    """Too many cases or items or too long a text is refused as a whole, with the limit's name; nothing is asked."""
    judge = says()
    client = client_of(app_of(tmp_path, {"scripted": judge}, limits={"batch": 3, "items": 5, "text": 100}))
    answer = ask(client, cases, ["correctness"])
    assert answer.status_code == 422
    assert limit in answer.json()["detail"] + str(answer.json()["faults"])
    assert not judge.calls


@pytest.mark.parametrize(
    "body",
    [
        b'{"cases": [{"question": "\\u0000", "answer": "\\u0000"}], "metrics": ["token_f1"]}',
        b'{"cases": [{"question": 1' + b"0" * 500 + b'}], "metrics": ["token_f1"]}',
        b'{"cases": [{"question": "Who?", "usage": {"llm_calls": 1' + b"0" * 500 + b'}}], "metrics": ["llm_calls"]}',
        b'{"cases": [{"question": "Who?", "tags": {"a": null}}], "metrics": ["token_f1"]}',
        b'{"cases": [null, [], {}, "", {"question": []}], "metrics": ["token_f1"]}',
    ],
)
def test_strange_cases_are_told(client, body):
    """NUL, huge numbers and odd shapes are told or judged; the server does not stumble."""
    answer = client.post("/v1/evaluate", content=body, headers={"Content-Type": "application/json"})
    told = answer.json()
    assert answer.status_code in {200, 422}
    assert told["results"] if answer.status_code == 200 else told["faults"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'"x"', b"\xff", b'{"cases": [], "metrics": ["token_f1"]}', b'{"cases": [{}], "metrics": []}',
     b'{"cases": [{"question": NaN}], "metrics": ["token_f1"]}', b"[" * 5_000, b'{"cases": {}, "metrics": ["x"]}',
     b'{"cases": [{"question": "\\ud800"}], "metrics": ["token_f1"]}'],
)  # fmt: skip
def test_what_is_no_request_is_a_problem(client, body):
    """A body that cannot be read is refused with a problem, never a server's error."""
    answer = client.post("/v1/evaluate", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


def test_results_are_counted(tmp_path):
    """Each result is counted by the server's counters, once."""
    app = app_of(tmp_path)
    ask(client_of(app), [CASE, {**CASE, "id": "q2", "answer": "Bob."}], ["correctness", "token_f1"])
    told = client_of(app).get("/metrics-exposition").text
    calls = [line for line in told.splitlines() if line.startswith("greval_judge_calls_total")]
    assert calls
    assert float(calls[0].split()[-1]) == 2


def test_calls_are_bounded_for_all_clients(tmp_path, fault_server, monkeypatch):
    """However many cases are sent, so many calls are in flight at most."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    fault_server.latency = 0.02
    client = client_of(app_of(tmp_path, {"x": Judge("openai:x", base_url=fault_server.url)}, limits={"calls": 3}))
    answer = ask(client, different(20), ["correctness"])
    assert len(answer.json()["results"]) == 20
    assert fault_server.most == 3


def test_who_goes_away_is_not_judged_for(tmp_path, fault_server, monkeypatch):
    """When the client hangs up, calls under way end and no further call is made."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    fault_server.plan = hangs()
    app = app_of(tmp_path, {"x": Judge("openai:x", base_url=fault_server.url)}, limits={"calls": 2})
    body = json.dumps({"cases": different(9), "metrics": ["correctness"]})
    with served(app) as server:
        with connect(server.url) as line:
            line.sendall(format_post("/v1/evaluate", body))
            until(lambda: fault_server.calls == 2)
        until(lambda: fault_server.connections == 0 or not server.service.call_limit.in_flight)
        until(lambda: not server.service.call_limit.in_flight and not server.service.call_limit.waiting_count)
        fault_server.plan = ok()
        time.sleep(0.1)
        assert fault_server.calls == 2
        assert ask(client_of(app), [CASE], ["correctness"]).status_code == 200


def test_clients_at_the_same_time_get_their_own(tmp_path):
    """Requests at the same time do not mix their results."""
    app = app_of(tmp_path, {"scripted": ScriptedJudge(lambda _: {"reason": "Good.", "value": 1}, delay=0.01)})
    found = {}
    with served(app) as server:

        def one(n):
            import httpx  # noqa: PLC0415 - a client beside the others

            body = {"cases": [{**CASE, "id": f"client-{n}-{m}"} for m in range(5)], "metrics": ["correctness"]}
            found[n] = httpx.post(f"{server.url}/v1/evaluate", json=body, timeout=SECONDS).json()["results"]

        threads = [threading.Thread(target=one, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for n, rows in found.items():
        assert [row["sample_id"] for row in rows] == [f"client-{n}-{m}" for m in range(5)]


def test_the_result_is_the_local_runnables(tmp_path):
    """A row over REST is what the local runnable gives for the case."""
    row = ask(client_of(app_of(tmp_path)), [CASE], ["correctness"]).json()["results"][0]
    local = compile_metric(load_metric("correctness"), says()).invoke(CASE)
    assert without_time(row) == local.replace(latency=0.0)


@pytest.mark.parametrize("page", ["rest.md", "langserve.md"])
def test_the_documented_requests_are_answered(client, page):
    """Each request that the documentation shows with a body is answered as it is written there."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8").split("\n## Data sets")[0]
    lines = [shlex.split(block) for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]
    assert lines
    for words in lines:
        address = [word for word in words if word.startswith("localhost:8000")][-1]
        body = words[-1].encode()
        assert words[-2] == "-d"
        headers = dict(words[place + 1].split(": ") for place, word in enumerate(words) if word == "-H")
        if words[0].startswith("TAG="):  # the entity tag of the metric that the block before created
            headers["If-Match"] = client.get("/v1/metrics/tone").headers["etag"]
        answer = client.post(address.removeprefix("localhost:8000"), content=body, headers=headers)
        assert answer.status_code in {200, 201}, answer.text
        assert not answer.json().get("unread")


def test_columns_of_other_names(client):
    """Fields that are called otherwise are named in `columns`; a name that no case has is refused."""
    cases = [{"q": "Who?", "out": {"text": "Ada"}, "truth": "Ada"}]
    columns = {"question": "q", "answer": "out.text", "expected_answer": "truth"}
    answer = ask(client, cases, ["token_f1"], columns=columns).json()
    assert [row["outcome"]["judgements"][0]["number"] for row in answer["results"]] == [1.0]
    assert "read q as question, out.text as answer, truth as expected_answer" in answer["notice"]
    refused = ask(client, cases, ["token_f1"], columns={**columns, "answer": "oot.text"})
    assert refused.status_code == 422
    assert "'oot.text', which is to be answer, is not there" in refused.json()["detail"]
