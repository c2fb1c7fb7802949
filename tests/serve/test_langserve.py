"""Metrics for LangServe's clients: the same results as local ones, and none of LangServe's faults."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import httpx
import jsonschema
import pytest
from fault_server import error, gives, hangs, ok, refuses
from hypothesis import given, settings
from hypothesis import strategies as st
from langserve import RemoteRunnable
from raw_sockets import connect, format_post
from served_metrics import CASE, app_of, client_of, says, tone
from serving import served
from waiting import SECONDS, until

from greval import Case, Judge, Result, compile_metric
from greval.metrics.library import predefined
from greval.records.metric import JudgedMetric
from greval.serve.middleware.api_keys import add_key

EDGES = [["Ada", "wrote", "it"], ["it", "is", "a program"]]
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


@pytest.fixture
def judge(fault_server, monkeypatch):
    """Give a judge on a real server that answers as each schema wants it."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    return Judge("openai:x", base_url=fault_server.url)


@pytest.fixture
def client(tmp_path):
    """Give a client of an app whose judge always says 1."""
    return client_of(app_of(tmp_path))


def timeless(result):
    """Give a result without what a clock decides."""
    row = Result.model_validate(result)
    return row.replace(latency=0.0, built_on=tuple(map(timeless, row.built_on)))


def post(client, path, body):
    """Send bytes as JSON."""
    return client.post(path, content=body, headers={"Content-Type": "application/json"})


def test_every_metric_gives_the_local_result(tmp_path, judge):
    """For every predefined metric a remote runnable, a plain request and the local runnable give the same."""
    with served(app_of(tmp_path, {"x": judge})) as server, httpx.Client(base_url=server.url, timeout=SECONDS) as plain:
        for name, metric in predefined().items():
            local = timeless(compile_metric(metric, judge if isinstance(metric, JudgedMetric) else None).invoke(FULL))
            assert local.outcome.status == "scored", (name, local)
            remote = RemoteRunnable(f"{server.url}/metrics/{name}/", verify=False)
            assert timeless(remote.invoke(FULL)) == local
            assert timeless(plain.post(f"/metrics/{name}/invoke", json={"input": FULL}).json()["output"]) == local
            rows = plain.post("/v1/evaluate", json={"cases": [FULL], "metrics": [name]}).json()["results"]
            assert [*map(timeless, rows)] == [*local.built_on, local.replace(built_on=())]


async def test_all_ways_of_asking_give_the_same(tmp_path, judge):
    """`invoke`, `batch`, `stream` and their twins give the result of the local runnable, for mappings and records."""
    with served(app_of(tmp_path, {"x": judge})) as server:
        local = timeless(await compile_metric(predefined()["chunk_evaluation"], judge).ainvoke(FULL))
        remote = RemoteRunnable(f"{server.url}/metrics/chunk_evaluation")
        found = [
            await asyncio.to_thread(remote.invoke, FULL),
            await remote.ainvoke(Case.model_validate(FULL)),
            *await asyncio.to_thread(remote.batch, [FULL, FULL]),
            *await remote.abatch([FULL, Case.model_validate(FULL)], config=[{"tags": ["a"]}, {"metadata": {"b": 1}}]),
            *await asyncio.to_thread(lambda: [*remote.stream(FULL)]),
            *[chunk async for chunk in remote.astream(FULL)],
        ]
        assert len(found) == 8
        assert {timeless(one).model_dump_json() for one in found} == {local.model_dump_json()}


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [(refuses(), "refusal"), (error(400), "request"), (gives({"reason": "x", "value": 9}), "off_scale")],
)
def test_failures_are_the_local_ones(tmp_path, judge, fault_server, behaviour, kind):
    """What fails locally fails remotely, in the same row; no exception is raised for one case."""
    fault_server.plan = behaviour
    local = compile_metric(predefined()["correctness"], judge).invoke(CASE)
    found = client_of(app_of(tmp_path, {"x": judge})).post("/metrics/correctness/invoke", json={"input": CASE})
    assert timeless(found.json()["output"]) == local.replace(latency=0.0)
    assert local.failures[0].kind == kind


def test_one_failing_case_of_a_batch_fails_alone(tmp_path, judge, fault_server):
    """In a batch each case has its own row; what fails is failed, what lacks something is skipped."""
    fault_server.plan = lambda body: error(400) if "Bob" in str(body["messages"]) else ok(1)
    client = client_of(app_of(tmp_path, {"x": judge}))
    cases = [CASE, {**CASE, "answer": "Bob."}, {"question": "Who?"}]
    answer = client.post("/metrics/correctness/batch", json={"inputs": cases})
    assert [row["outcome"]["status"] for row in answer.json()["output"]] == ["scored", "failed", "skipped"]


def test_a_wrong_case_of_a_batch_is_refused_with_its_place(client):
    """A batch with what is no case is 422 with every fault's place (LangServe: 500); nothing was judged."""
    cases = [CASE, "x", {"question": 1}, {**CASE, "chunks": [{"score": 1}]}, {**CASE, "anser": "x"}, None]
    answer = client.post("/metrics/correctness/batch", json={"inputs": cases})
    assert answer.status_code == 422
    assert [fault["place"] for fault in answer.json()["faults"]] == [
        "body.inputs.1",
        "body.inputs.2.question",
        "body.inputs.3.chunks.0.text",
        "body.inputs.4.anser",
        "body.inputs.5",
    ]


def test_cases_of_a_batch_without_an_id_are_numbered(client):
    """The results of a batch can be told apart, as those of `/v1/evaluate`; one case alone has no number."""
    cases = [{"question": "Who?", "answer": "Ada.", "expected_answer": text} for text in ("Ada", "Bob")]
    answer = client.post("/metrics/token_f1/batch", json={"inputs": cases})
    ids = [row["sample_id"] for row in answer.json()["output"]]
    rows = client.post("/v1/evaluate", json={"cases": cases, "metrics": ["token_f1"]}).json()["results"]
    assert ids == [row["sample_id"] for row in rows] == ["row-1", "row-2"]
    assert client.post("/metrics/token_f1/invoke", json={"input": cases[0]}).json()["output"]["sample_id"] == ""


def test_the_input_schema_is_that_of_the_metric(client):
    """What a metric needs is required, an own metric's as well; the short forms are described."""
    schemas = {name: client.get(f"/metrics/{name}/input_schema").json() for name in ("correctness", "ndcg@5")}
    assert {name: schema["required"] for name, schema in schemas.items()} == {
        "correctness": ["question", "expected_answer", "answer"],
        "ndcg@5": ["question", "gold"],
    }
    validator = jsonschema.Draft202012Validator(schemas["correctness"])
    assert validator.is_valid({**CASE, "chunks": ["text", {"text": "text"}]})
    assert not validator.is_valid({"question": "Who?", "answer": "Ada."})
    client.post("/v1/metrics", json={"yaml": tone("own")})
    assert client.get("/metrics/own/input_schema").json()["required"] == ["question", "answer"]
    assert client.get("/metrics/none/input_schema").status_code == 404


@pytest.mark.parametrize("way", ["invoke", "batch", "stream"])
@pytest.mark.parametrize(
    "body",
    [b"\xff\xfe", b"", b"{", b"null", b"[]", b"[" * 100_000, b'{"input": ' + b"[" * 5_000, b'{"a":' * 3_000,
     b'{"input": {"question": NaN}}', b'{"input": {"question": "\\ud800"}, "inputs": [{"question": "\\ud800"}]}',
     b'{"input": {"question": "Who?", "usage": {"cost": 1e999}}, "inputs": [1e999]}',
     b'{"input": {"question": "Who?"}, "inputs": [{"question": "Who?"}], "config": {"max_concurrency": -1}}',
     b'{"input": {"question": "Who?"}, "inputs": [{"question": "Who?"}], "config": 1}',
     b'{"input": {"question": "Who?"}, "inputs": [{"question": "Who?"}], "config": {"configurable": {"judge": 1}}}',
     b'{"input": {"question": "Who?"}, "inputs": [{"question": "Who?"}], "config": {"configurable": [1]}}'],
)  # fmt: skip
def test_bodies_that_cannot_be_read_are_422(client, way, body):
    """Non-UTF-8, deep, broken or odd bodies are the client's fault, in one form (LangServe: 500)."""
    answer = post(client, f"/metrics/token_f1/{way}", body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json"]
)
def test_only_json_is_taken(client, kind):
    """Another content type is refused: no page of another site can send it unasked."""
    body = json.dumps({"input": CASE}).encode()
    answer = client.post("/metrics/token_f1/invoke", content=body, headers={"Content-Type": kind})
    assert answer.status_code in {415, 422}


def test_numbers_that_no_float_holds_are_answered(client):
    """A count of many digits is a row, not a server's error; no answer holds NaN."""
    for count in (2**53, 2**64, 10**300, 10**400):
        answer = post(
            client, "/metrics/llm_calls/invoke", json.dumps({"input": {**FULL, "usage": {"llm_calls": count}}})
        )
        assert answer.status_code == 200
        json.loads(answer.content, parse_constant=pytest.fail)


@pytest.mark.parametrize("way", ["batch", "invoke", "stream"])
def test_a_request_is_bounded(tmp_path, way):
    """Too many cases, items or letters are refused with the limit's name, before a judge is asked."""
    judge = says()
    client = client_of(app_of(tmp_path, {"scripted": judge}, limits={"batch": 3, "items": 5, "text": 100}))
    faulty = {"(items)": {**CASE, "chunks": ["x"] * 6}, "(text)": {**CASE, "answer": "x" * 101}}
    for name, case in faulty.items():
        answer = client.post(f"/metrics/correctness/{way}", json={"input": case, "inputs": [case]})
        assert answer.status_code == 422
        assert name in answer.json()["faults"][0]["message"]
    answer = client.post("/metrics/correctness/batch", json={"inputs": [CASE] * 4})
    assert "(batch)" in answer.json()["detail"]
    assert client.post("/metrics/correctness/batch", json={"inputs": []}).status_code == 422
    assert not judge.calls


def test_a_batch_does_not_run_all_at_once(tmp_path, judge, fault_server):
    """A batch has so many calls in flight as the server allows (LangServe: all), and its rows stay in order."""
    fault_server.latency = 0.02
    client = client_of(app_of(tmp_path, {"x": judge}, limits={"calls": 4}))
    cases = [{**CASE, "id": f"q{n}"} for n in range(40)]
    answer = client.post("/metrics/correctness/batch", json={"inputs": cases, "config": {"max_concurrency": 40}})
    assert [row["sample_id"] for row in answer.json()["output"]] == [case["id"] for case in cases]
    assert fault_server.most == 4


def test_a_client_chooses_among_the_judges_only(tmp_path):
    """`configurable.judge` names one of the operator's judges, for a batch for each case; another is refused."""
    with served(app_of(tmp_path, {"yes": says(1), "no": says(0)})) as server:
        remote = RemoteRunnable(f"{server.url}/metrics/correctness")
        choices = [{"configurable": {"judge": name}} for name in ("no", "yes")]
        found = [remote.invoke(CASE), remote.invoke(CASE, config=choices[0]), *remote.batch([CASE] * 2, config=choices)]
        assert [one["outcome"]["judgements"][0]["value"] for one in found] == [1, 0, 0, 1]
        schema = httpx.get(f"{server.url}/metrics/correctness/config_schema", timeout=SECONDS).json()
        assert '"enum": ["yes", "no"]' in json.dumps(schema)
        with pytest.raises(httpx.HTTPStatusError, match="the server has none of this name"):
            remote.invoke(CASE, config={"configurable": {"judge": "openai:gpt-x"}})


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
    (asked,) = fault_server.bodies
    assert asked["model"] == "x"
    assert "Say 1." not in json.dumps(asked)
    assert "stolen" not in json.dumps(dict(fault_server.headers[0]))


@pytest.mark.parametrize("way", ["invoke", "batch", "stream"])
def test_prompts_stay_on_the_server(tmp_path, judge, fault_server, way):
    """No answer holds the judge's instructions, and the ways that would show them are not there."""
    client = client_of(app_of(tmp_path, {"x": judge}))
    answer = client.post(f"/metrics/correctness/{way}", json={"input": CASE, "inputs": [CASE]})
    prompt = fault_server.bodies[0]["messages"][0]["content"]
    assert prompt[:60] not in answer.text
    assert "callback_events" not in answer.text or answer.json()["callback_events"] == []
    for path in (
        "stream_log",
        "stream_events",
        "astream_events",
        "feedback",
        "public_trace_link",
        "playground/",
        "c/x/invoke",
    ):
        for method in ("GET", "POST"):
            assert client.request(method, f"/metrics/correctness/{path}", json={"input": CASE}).status_code == 404


def test_markup_in_a_metric_and_a_case_stays_json(client):
    """`</script>` in a description and in every text comes back as JSON, which no browser runs."""
    nasty = "</script><script>alert(1)</script>"
    client.post("/v1/metrics", json={"yaml": tone("nasty").replace("Courteous.", f"'{nasty}'")})
    case = {**CASE, "question": nasty, "answer": nasty, "tags": {nasty: nasty}, "id": nasty}
    for path in ("input_schema", "output_schema", "config_schema"):
        answer = client.get(f"/metrics/nasty/{path}")
        assert answer.headers["content-type"] == "application/json"
    answer = client.post("/metrics/token_f1/invoke", json={"input": case})
    assert answer.json()["output"]["tags"] == {nasty: nasty}
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_tags_survive_the_client(tmp_path):
    """Tags named `type` and `root` come back as they were sent, unless they look like a message altogether."""
    with served(app_of(tmp_path)) as server:
        remote = RemoteRunnable(f"{server.url}/metrics/token_f1")
        for tags in ({"type": "person", "root": "x"}, {"root": "x"}, {"type": "human"}, {"type": "ai", "name": "Ada"}):
            assert remote.invoke({**CASE, "tags": tags})["tags"] == tags
        assert remote.batch([{**CASE, "tags": {"root": "x"}}])[0]["tags"] == {"root": "x"}


@pytest.mark.parametrize(
    ("part", "place"),
    [
        ({"usage": {"latency": "1.5"}}, "usage.latency"),
        ({"usage": {"llm_calls": True}}, "usage.llm_calls"),
        ({"chunks": [{"id": "c", "text": "x", "score": "0.5"}]}, "chunks.0.score"),
    ],
)
def test_a_number_is_not_read_from_text(client, part, place):
    """What is described as a number is refused as a text or a truth value; 2.0 is the number 2."""
    answer = client.post("/metrics/llm_calls/invoke", json={"input": {**CASE, **part}})
    assert answer.status_code == 422
    assert answer.json()["faults"] == [
        {"place": f"body.input.{place}", "message": "must be a number", "code": "wrong_type"}
    ]
    whole = client.post("/metrics/llm_calls/invoke", json={"input": {**CASE, "usage": {"llm_calls": 2.0}}})
    assert whole.json()["output"]["outcome"]["judgements"][0]["value"] == 2


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


@pytest.mark.parametrize("way", ["invoke", "batch", "stream"])
def test_who_goes_away_is_not_judged_for(tmp_path, judge, fault_server, way):
    """When the client hangs up, the judge's calls end (LangServe: they run on)."""
    fault_server.plan = hangs()
    body = json.dumps({"input": CASE, "inputs": [{**CASE, "id": f"q{n}"} for n in range(9)]})
    with served(app_of(tmp_path, {"x": judge}, limits={"calls": 2})) as server:
        with connect(server.url) as line:
            line.sendall(format_post(f"/metrics/correctness/{way}", body))
            calls = 2 if way == "batch" else 1
            until(lambda: fault_server.calls == calls)
        until(lambda: not server.service.call_limit.in_flight and not server.service.call_limit.waiting_count)
        assert fault_server.calls == calls


def test_a_judge_that_cannot_be_asked_is_told(tmp_path, monkeypatch):
    """Where the judge is not set up rightly, each way answers with a problem, the stream before it begins."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    client = client_of(app_of(tmp_path, {"x": Judge("openai:x")}))
    for way in ("invoke", "batch", "stream"):
        answer = client.post(f"/metrics/correctness/{way}", json={"input": CASE, "inputs": [CASE]})
        assert answer.status_code in {502, 503}
        assert answer.headers["content-type"] == "application/problem+json"


def test_streams_work_in_loops_after_one_another(tmp_path):
    """A second server in the process streams too; an event of the first one's loop is not waited for."""
    for _ in range(2):
        with served(app_of(tmp_path)) as server:
            (chunk,) = RemoteRunnable(f"{server.url}/metrics/correctness").stream(CASE)
            assert chunk["outcome"]["status"] == "scored"


def test_own_metrics_are_served_to_their_owner_with_a_key(tmp_path):
    """With a key, the remote runnable of an own metric judges; without one it is refused."""
    keys = tmp_path / "keys.json"
    key = add_key(keys, "ana")
    with served(app_of(tmp_path, {"scripted": says("Polite")}, keys=keys)) as server:
        headers = {"Authorization": f"Bearer {key}"}
        url = f"{server.url}/metrics/tone"
        assert (
            httpx.post(f"{server.url}/v1/metrics", json={"yaml": tone()}, headers=headers, timeout=SECONDS).status_code
            == 201
        )
        assert RemoteRunnable(url, headers=headers).invoke(CASE)["outcome"]["judgements"][0]["value"] == "Polite"
        with pytest.raises(httpx.HTTPStatusError, match="401"):
            RemoteRunnable(url).invoke(CASE)


def test_a_replaced_metric_judges_anew(client):
    """After a metric was replaced its next result has the new definition's fingerprint."""
    client.post("/v1/metrics", json={"yaml": tone()})
    first = client.post("/metrics/tone/invoke", json={"input": CASE}).json()["output"]["fingerprint"]
    client.post("/v1/metrics?replace=true", json={"yaml": tone().replace("Courteous.", "Kind.")})
    second = client.post("/metrics/tone/invoke", json={"input": CASE}).json()["output"]["fingerprint"]
    assert first != second


def test_results_are_counted(tmp_path):
    """Each row is counted by the server's counters, once."""
    client = client_of(app_of(tmp_path))
    client.post("/metrics/correctness/batch", json={"inputs": [CASE] * 3})
    client.post("/metrics/correctness/invoke", json={"input": CASE})
    told = client.get("/metrics-exposition").text
    (calls,) = [line for line in told.splitlines() if line.startswith("greval_judge_calls_total")]
    assert float(calls.split()[-1]) == 4


def test_the_documentation_runs(tmp_path):
    """The lines that the documentation shows to users of LangServe run as they are written there."""
    page = (Path(__file__).parents[2] / "docs" / "langserve.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names = {"case": CASE}
    with served(app_of(tmp_path, {"weak": says(0), "strong": says(1)})) as server:
        for block in blocks:
            exec(block.replace("http://127.0.0.1:8000", server.url), names)  # noqa: S102 - our own page
    assert len(blocks) == 2
    assert names["row"]["outcome"]["judgements"][0]["value"] == 0
