"""A metric that builds on others, over LangServe and REST: the calls, verdicts, costs and fingerprints of a run."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from fault_server import ITEM, error, gives, ok, sample
from served_metrics import app_of, client_of

from greval import Result, evaluate, load_metric
from greval.records.result import Usage

NAME = "answer_completeness"
ITEMS = re.compile(ITEM.pattern + r"\n(.*?)\n</item>", re.DOTALL)
ASKED = {"question": "Who wrote it?", "answer": "Ada wrote it."}


def build_case(id_, chunks, triples=None):
    """Build a case; a `good` item is judged relevant, a `bad` one irrelevant, and a `lost` one not at all."""
    case = {**ASKED, "id": id_, "chunks": [f"A {word} chunk of {id_}." for word in chunks]}
    return case if triples is None else {**case, "triples": [[f"a {word} fact", "is", "told"] for word in triples]}


class Plan:
    """Answers each request by what it shows; `late` items are left out of the first two answers that ask for them."""

    def __init__(self):
        self.late = 0

    def __call__(self, body):
        verdict = sample(body["response_format"]["json_schema"]["schema"], body)
        lists = (ITEMS.findall(str(message["content"])) for message in reversed(body["messages"]))
        texts = {int(number): text for number, text in next(filter(None, lists), [])}
        if "judgements" not in verdict:
            return gives(verdict)
        return gives({"judgements": [*self._judge(verdict["judgements"], texts)]})

    def _judge(self, entries, texts):
        for entry in entries:
            text = texts[entry["item"]]
            late = "late" in text
            self.late += late
            if "lost" not in text and not (late and self.late <= 2):
                yield {**entry, "value": "Irrelevant" if "bad" in text else "Relevant"}


EQUAL = build_case("q1", ["good", "bad"], ["good", "bad"])
CASES = {
    "scored": [EQUAL, {**EQUAL, "id": "q2"}, build_case("q3", ["bad"], ["bad"]), build_case("q4", ["good", "bad"])],
    "scored at last": [build_case("q1", ["good", "late", "bad"], ["good"])],
    "failed": [build_case("q1", ["good", "lost"], ["good"]), {**build_case("q2", ["good"]), "error": "it broke"}],
    "skipped": [{**ASKED, "id": "q1"}, {**build_case("q2", ["good"]), "answer": None}],
}
"""Cases by how the metric that builds on others ends."""


def ask_langserve(client, cases):
    """Return the rows of a batch, each after those that it builds on."""
    rows = [*map(Result.model_validate, client.post(f"/metrics/{NAME}/batch", json={"inputs": cases}).json()["output"])]
    return [part for row in rows for part in (*row.built_on, row.replace(built_on=()))]


def ask_rest(client, cases):
    """Return the rows of a request."""
    answer = client.post("/v1/evaluate", json={"cases": cases, "metrics": [NAME]})
    return [*map(Result.model_validate, answer.json()["results"])]


def dump(rows):
    """Return what rows say, whatever their order, their time, and which of equal cases was the one that was asked."""
    return sorted(row.replace(latency=0.0, usage=Usage()).model_dump_json() for row in rows)


def take_messages(server):
    """Return what was shown in each call since the last time, whatever their order."""
    messages = Counter(json.dumps(body["messages"]) for body in server.bodies)
    server.bodies.clear()
    return messages


@pytest.mark.parametrize("ending", CASES)
@pytest.mark.parametrize("ask", [ask_langserve, ask_rest])
def test_both_ways_judge_as_a_run_does(tmp_path, fault_server, judge, ending, ask):
    """The calls and what they show, the verdicts, reasons, failures, costs and fingerprints are those of a run."""
    cases = CASES[ending]
    fault_server.plan = Plan()
    run = evaluate(cases, [load_metric(NAME)], judge, out=tmp_path / "run")
    expected, messages = [*run.results()], take_messages(fault_server)
    fault_server.plan = Plan()
    client = client_of(app_of(tmp_path, {"x": judge}))
    rows = ask(client, cases)
    assert dump(rows) == dump(expected)
    assert [row.sample_id for row in rows] == [case["id"] for case in cases for _ in range(3)]
    assert [row.metric for row in rows[::3]] == ["chunk_evaluation"] * len(cases)
    assert take_messages(fault_server) == messages
    assert sum((row.usage for row in rows), Usage()) == run.progress.usage
    assert {row.outcome.status for row in rows if row.metric == NAME} == {ending.split()[0]}
    counts = re.findall(r"^greval_judge_calls_total.* (\S+)$", client.get("/metrics-exposition").text, re.MULTILINE)
    assert sum(map(float, counts)) == sum(messages.values())  # those of the metrics below too


def test_a_request_judges_equal_cases_once(tmp_path, fault_server, judge):
    """Over REST cases of equal content are judged once, and the others say that it cost nothing."""
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
    failures = [row["outcome"]["error"] for row in rows if row["metric"] == "correctness"]
    assert {failure["kind"] for failure in failures} == {"authentication"}
    unasked = [failure["message"] for failure in failures if "was not asked" in failure["message"]]
    assert (len(unasked), "operator" in unasked[0]) == (60 - fault_server.calls, True)
    assert fault_server.calls <= 2
    assert {row["outcome"]["status"] for row in rows if row["metric"] == "token_f1"} == {"scored"}
    assert [row["sample_id"] for row in rows[::2]] == [case["id"] for case in cases]
