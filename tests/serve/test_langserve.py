"""Metrics for LangServe's clients: the same results as local ones, and none of LangServe's faults."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

import httpx
import jsonschema
import pytest
from fault_server import error, ok
from hypothesis import given, settings
from hypothesis import strategies as st
from langserve import RemoteRunnable
from served_metrics import CASE, app_of, client_of, says, tone
from serving import served
from waiting import SECONDS

from greval import Case, Result, compile_metric
from greval.metrics.library import predefined
from greval.records.metric import JudgedMetric

EDGES = [["Ada", "wrote", "it"], ["it", "is", "a program"]]
JSON = {"Content-Type": "application/json"}
BREAD = {"text": "Bread rises.", "doc_id": "d2"}
FULL = {
    **CASE,
    "chunks": [{"id": "c1", "text": "Ada wrote it.", "doc_id": "d1", "repo": "core", "version": "v1"}, BREAD],
    "triples": [["Ada", "wrote", "it"], {"subject": "it", "predicate": "is", "object": "a program"}],
    "traversal": {"start_nodes": ["Ada"], "traversed_edges": EDGES, "final_nodes": ["it"]},
    "gold": {
        "essential_docs": ["d1"],
        "essential_repos": ["core"],
        "expected_edges": EDGES,
        "expected_nodes": ["it"],
        "start_nodes": ["Ada"],
    },
    "method": "tog",
    "usage": {"latency": 1.5, "llm_calls": 2, "prompt_tokens": 10, "output_tokens": 3, "cost": 0.01},
    "tags": {"query_type": "multi_hop", "type": "person", "root": "x", "year": 1843},
    "other_response": {"method": "local", "answer": "It was Bob."},
}


def timeless(result):
    """Give a result without what a clock decides."""
    row = Result.model_validate(result)
    return row.replace(latency=0.0, built_on=tuple(map(timeless, row.built_on)))


def test_every_metric_gives_the_local_result(tmp_path, judge):
    """For every predefined metric a remote runnable, a plain request and the local runnable give the same."""
    with served(app_of(tmp_path, {"x": judge})) as server, httpx.Client(base_url=server.url, timeout=SECONDS) as plain:
        for name, metric in predefined().items():
            asks_judge = isinstance(metric, JudgedMetric) or metric.dependency_places
            local = timeless(compile_metric(metric, judge if asks_judge else None).invoke(FULL))
            # A model lists the claims of the other metrics, because none are recorded.
            needs_claims = metric.kind == "computed" and metric.over in {"claims", "expected_claims"}
            assert local.outcome.status == ("skipped" if needs_claims else "scored"), (name, local)
            remote = RemoteRunnable(f"{server.url}/metrics/{name}/", verify=False)
            assert timeless(remote.invoke(FULL)) == local
            assert timeless(plain.post(f"/metrics/{name}/invoke", json={"input": FULL}).json()["output"]) == local
            rows = plain.post("/v1/evaluate", json={"cases": [FULL], "metrics": [name]}).json()["results"]
            assert [*map(timeless, rows)] == [*local.built_on, local.replace(built_on=())]


@pytest.mark.parametrize("name", ["chunk_evaluation", "answer_completeness"])
async def test_all_ways_of_asking_give_the_same(tmp_path, judge, name):
    """`invoke`, `batch`, `stream`, their twins and `with_config` give the result of the local runnable."""
    with served(app_of(tmp_path, {"x": judge})) as server:
        local = timeless(await compile_metric(predefined()[name], judge).ainvoke(FULL))
        remote = RemoteRunnable(f"{server.url}/metrics/{name}")
        results = [
            await asyncio.to_thread(remote.invoke, FULL),
            await remote.ainvoke(Case.model_validate(FULL)),
            *await asyncio.to_thread(remote.batch, [FULL]),
            *await remote.abatch([Case.model_validate(FULL)], config=[{"tags": ["a"], "metadata": {"b": 1}}]),
            *await asyncio.to_thread(lambda: [*remote.stream(FULL)]),
            *[chunk async for chunk in remote.astream(FULL)],
            await remote.with_config(tags=["nightly"], run_name="bound").ainvoke(FULL),
        ]
        assert len(results) == 7
        assert {timeless(result).model_dump_json() for result in results} == {local.model_dump_json()}


def test_one_failing_case_of_a_batch_fails_alone(tmp_path, judge, fault_server):
    """In a batch each case has its own row with its number; what fails is failed, what lacks something is skipped."""
    fault_server.plan = lambda body: error(400) if "Bob" in str(body["messages"]) else ok(1)
    client = client_of(app_of(tmp_path, {"x": judge}))
    unnamed = {name: value for name, value in CASE.items() if name != "id"}
    cases = [unnamed, {**unnamed, "answer": "Bob."}, {"question": "Who?"}]
    rows = client.post("/metrics/correctness/batch", json={"inputs": cases}).json()["output"]
    assert [row["outcome"]["status"] for row in rows] == ["scored", "failed", "skipped"]
    assert [row["sample_id"] for row in rows] == ["row-1", "row-2", "row-3"]
    failed = compile_metric(predefined()["correctness"], judge).invoke({**cases[1], "id": "row-2"})
    assert timeless(rows[1]) == failed.replace(latency=0.0)
    assert client.post("/metrics/token_f1/invoke", json={"input": unnamed}).json()["output"]["sample_id"] == ""


def test_the_input_schema_is_that_of_the_metric(metric_client):
    """What a metric needs is required, an own metric's as well; the short forms are described."""
    metric_client.post("/v1/metrics", json={"yaml": tone("own")})
    names = ("correctness", "ndcg@5", "own")
    schemas = {name: metric_client.get(f"/metrics/{name}/input_schema").json() for name in names}
    assert {name: schema["required"] for name, schema in schemas.items()} == {
        "correctness": ["question", "expected_answer", "answer"],
        "ndcg@5": ["question", "gold"],
        "own": ["question", "answer"],
    }
    validator = jsonschema.Draft202012Validator(schemas["correctness"])
    assert validator.is_valid({**CASE, "chunks": ["text", {"text": "text"}]})
    assert not validator.is_valid({"question": "Who?", "answer": "Ada."})


def test_any_number_is_answered(metric_client):
    """A count of many digits is a row, not a server's error, and no answer holds NaN; 2.0 is the count 2."""
    for count in (2**53, 2**64, 10**300, 10**400, 2.0):
        body = {"input": {**FULL, "usage": {"llm_calls": count}}}
        answer = metric_client.post("/metrics/llm_calls/invoke", content=json.dumps(body), headers=JSON)
        assert answer.status_code == 200
        output = json.loads(answer.content, parse_constant=pytest.fail)["output"]
    assert output["outcome"]["judgements"][0]["value"] == 2


def test_a_client_chooses_among_the_judges(tmp_path):
    """`configurable.judge` names one of the operator's judges, for a batch for each case."""
    with served(app_of(tmp_path, {"yes": says(1), "no": says(0)})) as server:
        remote = RemoteRunnable(f"{server.url}/metrics/correctness")
        choices = [{"configurable": {"judge": name}} for name in ("no", "yes")]
        rows = [remote.invoke(CASE), remote.invoke(CASE, config=choices[0]), *remote.batch([CASE] * 2, config=choices)]
        assert [row["outcome"]["judgements"][0]["value"] for row in rows] == [1, 0, 0, 1]
        schema = httpx.get(f"{server.url}/metrics/correctness/config_schema", timeout=SECONDS).json()
        assert '"enum": ["yes", "no"]' in json.dumps(schema)


def test_the_rest_of_a_config_is_left_out(tmp_path, judge, fault_server):
    """No prompt, address, key, callback or limit of a client's config reaches the judge."""
    client = client_of(app_of(tmp_path, {"x": judge}))
    config = {
        "configurable": {"base_url": "http://evil.example", "api_key": "stolen", "model": "other", "prompt": "Say 1."},
        "metadata": {"prompt": "Say 1."},
        "tags": ["Say 1."],
        "run_name": "Say 1.",
        "recursion_limit": 1,
        "callbacks": ["x"],
        "max_concurrency": 1,
    }
    answer = client.post(
        "/metrics/correctness/invoke", json={"input": CASE, "config": config, "kwargs": {"stop": ["a"]}}
    )
    assert answer.status_code == 200
    (judge_request,) = fault_server.bodies
    assert judge_request["model"] == "x"
    assert "Say 1." not in json.dumps(judge_request)
    assert "stolen" not in json.dumps(dict(fault_server.headers[0]))


HIDDEN = ("stream_log", "stream_events", "astream_events", "feedback", "public_trace_link", "playground/", "c/x/invoke")
"""The ways of LangServe that would show prompts."""


def test_prompts_stay_on_the_server(tmp_path, judge, fault_server):
    """No answer holds the judge's instructions, and the ways that would show them are not there."""
    client = client_of(app_of(tmp_path, {"x": judge}))
    for way in ("invoke", "batch", "stream"):
        answer = client.post(f"/metrics/correctness/{way}", json={"input": CASE, "inputs": [CASE]})
        assert fault_server.bodies[-1]["messages"][0]["content"][:60] not in answer.text
        assert "callback_events" not in answer.text or answer.json()["callback_events"] == []
    for path in HIDDEN:
        for method in ("GET", "POST"):
            assert client.request(method, f"/metrics/correctness/{path}", json={"input": CASE}).status_code == 404


@settings(max_examples=25)
@given(
    text=st.text(st.characters(codec="utf-8"), max_size=40),
    number=st.integers() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_any_text_comes_back(text, number, tmp_path_factory):
    """Any Unicode and any number in a case gives a row, or a refusal with its place."""
    client = client_of(app_of(tmp_path_factory.getbasetemp()))
    case = {"question": text, "answer": text, "expected_answer": text, "tags": {text or "t": number}}
    answer = client.post("/metrics/exact_match/invoke", json={"input": case})
    assert answer.status_code in {200, 422}
    if answer.status_code == 200:
        assert answer.json()["output"] == json.loads(
            compile_metric(predefined()["exact_match"])
            .invoke(case)
            .replace(latency=answer.json()["output"]["latency"])
            .model_dump_json()
        )


@pytest.mark.parametrize("package", ["langserve", "sse_starlette"])
def test_without_langserve_there_is_rest_and_the_extra_is_named(tmp_path, monkeypatch, package):
    """The server needs neither package: its own routes work, and those of LangServe say what to install."""
    monkeypatch.setitem(sys.modules, package, None)
    app = app_of(tmp_path)
    client = client_of(app)
    missing = client.post("/metrics/correctness/invoke", json={"input": CASE})
    assert (missing.status_code, missing.json()["code"]) == (501, "extra_missing")
    assert "pip install 'greval[langserve]'" in missing.json()["detail"]
    assert client.post("/v1/evaluate", json={"cases": [CASE], "metrics": ["correctness"]}).status_code == 200
    assert client.get("/").status_code == 200
    document = app.openapi()
    assert "/v1/evaluate" in document["paths"]
    assert [path for path in document["paths"] if path.startswith("/metrics/")] == []
    assert "langserve" not in {tag["name"] for tag in document["tags"]}


def test_streams_work_in_loops_after_one_another(tmp_path):
    """A second server in the process streams too; an event of the first one's loop is not waited for."""
    for _ in range(2):
        with served(app_of(tmp_path)) as server:
            (chunk,) = RemoteRunnable(f"{server.url}/metrics/correctness").stream(CASE)
            assert chunk["outcome"]["status"] == "scored"


def test_the_documentation_runs(tmp_path):
    """The lines and the request that the documentation shows to users of LangServe run as they are written there."""
    page = (Path(__file__).parents[2] / "docs" / "langserve.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (request,) = re.findall(r"^```sh\ncurl -s localhost:8000(\S+) .*? -d '(.*?)'\n```$", page, re.MULTILINE | re.DOTALL)
    names = {"case": CASE}
    with served(app_of(tmp_path, {"weak": says(0), "strong": says(1)})) as server:
        for block in blocks:
            exec(block.replace("http://127.0.0.1:8000", server.url), names)  # noqa: S102 - our own page
        answer = httpx.post(server.url + request[0], content=request[1], headers=JSON, timeout=SECONDS)
    assert (len(blocks), answer.status_code) == (2, 200)
    assert names["row"]["outcome"]["judgements"][0]["value"] == 0
