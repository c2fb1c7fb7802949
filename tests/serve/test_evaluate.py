"""Judging over REST: every case and metric has a row, whatever fails; limits hold, and nobody waits for the gone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from fault_server import error, ok
from served_metrics import CASE, app_of, client_of, says
from serving import served
from waiting import SECONDS

from greval import Judge
from greval.testing import ScriptedJudge

LARGE = CASE | {"answer": "x" * 100_000}


def ask(client, cases, metrics, **more):
    """Ask for judgements."""
    return client.post("/v1/evaluate", json={"cases": cases, "metrics": metrics, **more})


def test_rows_that_are_no_cases_are_listed_and_the_others_are_judged(metric_client):
    """A wrong row stands in `unread` with its position, so does a second one of an id; other tools' names are read."""
    wrong = [7, {"question": 1}, {"answer": "No question."}]
    cases = [{"input": "Who?", "actual_output": "Ada."}, *wrong, CASE, CASE, {**CASE, "method": "other"}]
    answer = ask(metric_client, cases, ["token_f1"]).json()
    assert [row["sample_id"] for row in answer["results"]] == ["row-1", "q1", "q1"]
    assert [row["case"] for row in answer["unread"]] == [2, 3, 4, 6]
    assert "input as question" in answer["notice"]


def test_judges_are_chosen_by_name(tmp_path):
    """A named judge judges, the first if none is named."""
    client = client_of(app_of(tmp_path, {"yes": says(1), "no": says(0)}))
    answers = [ask(client, [CASE], ["correctness"], **more).json() for more in ({}, {"judge": "yes"}, {"judge": "no"})]
    assert [answer["results"][0]["outcome"]["judgements"][0]["value"] for answer in answers] == [1, 1, 0]


@pytest.mark.parametrize(
    "path", ["/v1/evaluate", *(f"/metrics/correctness/{way}" for way in ("invoke", "batch", "stream"))]
)
def test_a_judge_that_cannot_be_asked_is_the_operators_fault(tmp_path, monkeypatch, path):
    """Without a judge, or with one without its key, each way answers with a problem; what is computed is served."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    body = {"cases": [CASE] * 2, "metrics": ["token_f1", "correctness"]}
    body = body if path == "/v1/evaluate" else {"input": CASE, "inputs": [CASE]}
    for judges, statuses in (({}, {503}), ({"x": Judge("openai:x")}, {502, 503})):
        client = client_of(app_of(tmp_path, judges))
        answer = client.post(path, json=body)
        assert answer.status_code in statuses
        assert answer.headers["content-type"] == "application/problem+json"
        assert ask(client, [CASE], ["token_f1"]).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/evaluate", {"cases": [LARGE] * 3, "metrics": ["correctness", "token_f1"]}),
        ("/metrics/correctness/batch", {"inputs": [LARGE] * 3}),
    ],
)
def test_large_requests_are_judged_in_a_child_process(serve, fault_server, path, body):
    """It makes no more calls at once than the server allows, and its results and calls are counted as others."""
    fault_server.latency = 0.05
    with serve(calls=2) as server:
        content = [{**case, "id": f"q{n}", "answer": f"{n} {case['answer']}"} for n, case in enumerate([LARGE] * 3)]
        answer = httpx.post(server.url + path, json=body | {next(iter(body)): content}, timeout=SECONDS)
        exposition = httpx.get(f"{server.url}/metrics-exposition", timeout=SECONDS).text
        assert server.service.call_limit.in_flight == server.service.call_limit.waiting_count == 0
    results = answer.json().get("results") or answer.json()["output"]
    judged = [row for row in results if row["metric"] == "correctness"]
    assert [(row["sample_id"], row["outcome"]["status"]) for row in judged] == [(f"q{n}", "scored") for n in range(3)]
    assert (fault_server.calls, fault_server.most <= 2) == (3, True)
    assert 'greval_judgements_total{judge="openai:x",status="scored"} 3.0' in exposition
    assert 'greval_judge_calls_total{judge="openai:x"} 3.0' in exposition


def test_repeats_are_counted(tmp_path):
    """With `repeats` a case is judged so often, and the votes are in the row."""
    judge = ScriptedJudge([{"reason": "So.", "value": value} for value in (1, 0, 1)])
    client = client_of(app_of(tmp_path, {"scripted": judge}))
    (row,) = ask(client, [CASE], ["correctness"], repeats=3).json()["results"]
    assert (row["outcome"]["judgements"][0]["votes"], len(judge.calls)) == ({"1": 2, "0": 1}, 3)


@pytest.mark.parametrize(
    "case",
    [
        '{"question": "\\u0000", "answer": "\\u0000"}',
        f'{{"question": 1{"0" * 500}}}',
        f'{{"question": "Who?", "usage": {{"llm_calls": 1{"0" * 500}}}}}',
        '{"question": "Who?", "tags": {"a": null}}',
        'null, [], {}, "", {"question": []}',
    ],
)
def test_odd_cases_are_judged_or_refused(metric_client, case):
    """NUL, huge numbers and odd shapes are no errors of the server."""
    body = f'{{"cases": [{case}], "metrics": ["token_f1", "llm_calls"]}}'
    answer = metric_client.post("/v1/evaluate", content=body, headers={"Content-Type": "application/json"})
    assert answer.json()["results" if answer.status_code == 200 else "faults"]


@pytest.mark.parametrize("path", ["/v1/evaluate", "/metrics/correctness/batch"])
def test_calls_are_bounded_for_all_clients(tmp_path, judge, fault_server, path):
    """However many cases are sent, so many calls are in flight at most; rows stay in the order of the cases."""
    fault_server.latency = 0.02
    client = client_of(app_of(tmp_path, {"x": judge}, limits={"calls": 3}))
    cases = [{**CASE, "id": f"q{number}", "answer": f"Ada {number}."} for number in range(20)]
    langserve = {"inputs": cases, "config": {"max_concurrency": 40}}
    answer = client.post(path, json=langserve if "batch" in path else {"cases": cases, "metrics": ["correctness"]})
    rows = answer.json()["output" if "batch" in path else "results"]
    assert [row["sample_id"] for row in rows] == [case["id"] for case in cases]
    assert fault_server.most == 3


def test_clients_at_the_same_time_get_their_own(tmp_path):
    """Requests at the same time do not mix their results."""
    app = app_of(tmp_path, {"scripted": ScriptedJudge(lambda _: {"reason": "Good.", "value": 1}, delay=0.01)})

    def request(server, number):
        cases = [{**CASE, "id": f"client-{number}-{position}"} for position in range(5)]
        body = {"cases": cases, "metrics": ["correctness"]}
        rows = httpx.post(f"{server.url}/v1/evaluate", json=body, timeout=SECONDS).json()["results"]
        return [row["sample_id"] for row in rows] == [case["id"] for case in cases]

    with served(app) as server, ThreadPoolExecutor(6) as threads:
        assert all(threads.map(lambda number: request(server, number), range(6)))


def test_columns_of_other_names(metric_client):
    """Fields that are called otherwise are named in `columns`."""
    cases = [{"q": "Who?", "out": {"text": "Ada"}, "truth": "Ada"}]
    columns = {"question": "q", "answer": "out.text", "expected_answer": "truth"}
    answer = ask(metric_client, cases, ["token_f1"], columns=columns).json()
    assert answer["results"][0]["outcome"]["judgements"][0]["number"] == 1.0
    assert "read q as question, out.text as answer, truth as expected_answer" in answer["notice"]


def test_a_request_judges_as_a_run_does(tmp_path, fault_server, judge):
    """What failed and may pass is tried once more, and cases of equal content are judged once; both count the cost."""
    plan = iter([error(503)])
    fault_server.plan = lambda body: next(plan, ok())
    client = client_of(app_of(tmp_path, {"x": judge}))
    (row,) = ask(client, [CASE], ["correctness"]).json()["results"]
    assert (row["outcome"]["status"], row["usage"]["calls"], fault_server.calls) == ("scored", 2, 2)
    equal_cases = [{**CASE, "id": f"q{n}", "answer": "Bob."} for n in range(6)]
    rows = ask(client, equal_cases, ["correctness"]).json()["results"]
    assert [row["outcome"]["status"] for row in rows] == ["scored"] * 6
    assert sorted((row["usage"]["calls"], row["usage"]["hits"]) for row in rows) == [(0, 1)] * 5 + [(1, 0)]
    assert fault_server.calls == 3


def test_a_request_ends_when_the_judge_refuses_the_key(tmp_path, fault_server, judge):
    """A refused key ends the calls: what was not asked has failed and says so, the rest is computed."""
    fault_server.plan = error(401)
    cases = [{**CASE, "id": f"q{n}", "answer": f"Ada {n}."} for n in range(60)]
    client = client_of(app_of(tmp_path, {"x": judge}, limits={"calls": 2}))
    rows = ask(client, cases, ["correctness", "token_f1"]).json()["results"]
    failures = [row["outcome"]["error"] for row in rows if row["metric"] == "correctness"]
    assert {failure["kind"] for failure in failures} == {"authentication"}
    unasked = [failure["message"] for failure in failures if "was not asked" in failure["message"]]
    assert (len(unasked), "operator" in unasked[0]) == (60 - fault_server.calls, True)
    assert fault_server.calls <= 2
    assert {row["outcome"]["status"] for row in rows if row["metric"] == "token_f1"} == {"scored"}
    assert [row["sample_id"] for row in rows[::2]] == [case["id"] for case in cases]
