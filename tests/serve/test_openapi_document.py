"""The OpenAPI document as programs read it: the names that generated clients have, and examples that are true."""

from __future__ import annotations

import json
import re
from importlib.resources import files

from drafting_judge import draft_or_judge
from golden_files import GOLDEN, same
from served_metrics import tone
from served_runs import ended, lines, serving
from shell_app import client as plain_client

from greval.serve.app import create_app
from greval.serve.openapi import EXAMPLES_FILE, TAGS
from greval.serve.settings import ServerSettings

DOCUMENT = create_app(ServerSettings()).openapi()
OPERATIONS = [
    (method.upper(), path, operation) for path, item in DOCUMENT["paths"].items() for method, operation in item.items()
]
CASES = [
    {"id": "q1", "question": "Who wrote the first program?", "answer": "Ada.", "expected_answer": "Ada Lovelace"},
    {"id": "q2", "question": "When does it open?", "answer": "At nine.", "expected_answer": "At nine"},
]
METHODS = [{**case, "method": method, "tags": {"type": "fact"}} for case in CASES for method in ("basic", "graph")]
STEADY = {
    **dict.fromkeys(("created", "began", "ended", "started", "updated", "time", "at", "saved"), "2026-11-22T10:15:00Z"),
    **dict.fromkeys(("latency", "seconds", "median_latency", "p95_latency", "elapsed", "rate"), 0.5),
    "fingerprint": "c68dfbf33450795b",  # depends on the port of the judge
    "run_id": "0b8f7f0e-6a51-4a0e-9d0c-3c2f5d1e7a42",
}
"""What differs each time, and what stands for it."""
QUEUED = {"status": "queued", "progress": None, "methods": None}
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ID = re.compile(r"(mine|first|duel|probe|alignment)-\d{8}-\d{6}-[0-9a-f]{4}")


def steadied(content):
    """Give JSON without what differs each time."""
    if isinstance(content, dict):
        plain = {key for key, value in content.items() if key in STEADY and value and not isinstance(value, dict)}
        return {key: STEADY[key] if key in plain else steadied(value) for key, value in content.items()}
    if isinstance(content, list):
        return [steadied(part) for part in content]
    if not isinstance(content, str):
        return content
    return UUID.sub(STEADY["run_id"], ID.sub(r"\1-20261122-101500-3f2a", content))


class Recorder:
    """Sends requests and records them with their responses."""

    def __init__(self, client):
        """Start with no example."""
        self.client = client
        self.examples = {}

    def send(self, operation, method, path, body=None, *, kind="application/json", **sure):
        """Send a request, keep it with its response under the id of its operation, and give the response.

        `sure` are fields of the response that depend on the moment, with their values in the example.
        """
        content = body if body is None or isinstance(body, str) else json.dumps(body)
        response = self.client.request(method, path, content=content, headers={"Content-Type": kind} if body else {})
        assert response.is_success, response.text
        example = {"request": {kind: steadied(body)}} if body else {}
        example |= {
            "status": str(response.status_code),
            "response": {"application/json": {**steadied(response.json()), **sure}},
        }
        self.examples.setdefault(operation, example)
        return response.json()


def judge_labelled_cases(client):
    """Give a run that is large enough for an alignment, and annotated."""
    cases = [{**CASES[0], "id": f"q{n}", "question": f"Who wrote program {n}?"} for n in range(20)]
    kind = {"Content-Type": "application/jsonl"}
    data = client.post("/v1/datasets?name=mine", content=lines(cases), headers=kind).json()["id"]
    run = client.post("/v1/runs", json={"dataset": data, "metrics": ["correctness"]}).json()["id"]
    ended(client, run)
    people = [
        {"sample_id": case["id"], "metric": "correctness", "annotator": "ana", "value": n % 2}
        for n, case in enumerate(cases)
    ]
    client.put(f"/v1/runs/{run}/annotations", content=lines(people), headers=kind)
    return run


def record_metrics(recorder):
    """Record what is done with a metric of one's own."""
    send = recorder.send
    send("check_metric", "POST", "/v1/metrics/check", {"yaml": tone()})
    send("create_metric", "POST", "/v1/metrics", {"yaml": tone()})
    send("show_metric", "GET", "/v1/metrics/tone")
    fields = {"steps": ["Read the answer.", "Look for insults."]}
    edited = send("edit_metric", "POST", "/v1/metrics/edit", {"yaml": tone(), "fields": fields})["yaml"]
    recorder.client.post("/v1/metrics?replace=true", json={"yaml": edited})
    send("list_metric_versions", "GET", "/v1/metrics/tone/versions")
    send("show_metric_version", "GET", "/v1/metrics/tone/versions/1")
    send("compare_metric_versions", "GET", "/v1/metrics/tone/versions/1/diff")
    send("restore_metric_version", "POST", "/v1/metrics/tone/versions/1/restore")
    draft = {"name": "tone", "description": "Whether the answer is polite.", "scale": ["Polite", "Rude"]}
    send("draft_metric", "POST", "/v1/metrics/draft", draft)


def record_jobs(recorder, run, data):
    """Record a duel, a probe and an alignment."""
    client, send = recorder.client, recorder.send
    body = {"run": run, "metrics": ["comprehensiveness"], "concurrency": 1}
    duel = send("start_duel", "POST", "/v1/runs/duel", body, **QUEUED)["id"]
    ended(client, duel)
    send("report_duel", "GET", f"/v1/runs/{duel}/duel")
    body = {"metric": "correctness", "dataset": data, "checks": ["empty"], "limit": 1, "concurrency": 1}
    probe = send("start_probe", "POST", "/v1/runs/probe", body, **QUEUED)["id"]
    ended(client, probe)
    send("show_probe", "GET", f"/v1/runs/{probe}/probe")
    labelled = judge_labelled_cases(client)
    body = {"run": labelled, "metric": "correctness", "folds": 2, "ways": ["examples"], "max_calls": 500}
    aligned = send("start_alignment", "POST", "/v1/runs/align", body, **QUEUED)["id"]
    ended(client, aligned)
    send("show_alignment", "GET", f"/v1/runs/{aligned}/alignment")


def recorded(folder):
    """Give the examples of all operations."""
    with serving(folder, draft_or_judge("The answer names the person that was asked for.")) as client:
        recorder = Recorder(client)
        send = recorder.send
        for name, path in {"check_health": "/health", "check_readiness": "/ready", "list_judges": "/v1/judges"}.items():
            send(name, "GET", path)
        record_metrics(recorder)
        send("evaluate_cases", "POST", "/v1/evaluate", {"cases": CASES[:1], "metrics": ["correctness"]})
        send("invoke_metric", "POST", "/metrics/correctness/invoke", {"input": CASES[0]})
        send("invoke_metric_batch", "POST", "/metrics/token_f1/batch", {"inputs": CASES})
        data = send("upload_dataset", "POST", "/v1/datasets?name=mine", lines(METHODS), kind="application/jsonl")["id"]
        send("list_datasets", "GET", "/v1/datasets")
        send("show_dataset", "GET", f"/v1/datasets/{data}")
        send("list_dataset_cases", "GET", f"/v1/datasets/{data}/cases?limit=1")
        body = {"dataset": data, "metrics": ["correctness"], "name": "first", "concurrency": 1}
        run = send("start_run", "POST", "/v1/runs", body, **QUEUED)["id"]
        ended(client, run)
        send("list_runs", "GET", "/v1/runs")
        send("create_example_run", "POST", "/v1/runs/example")
        verdicts = "id,question,value\nq1,Who wrote it?,yes\nq2,When was it?,no\n"
        path = "/v1/runs/import?name=first&scale=yes/no&metric=right&judge=gpt-4"
        send("import_run", "POST", path, verdicts, kind="text/csv")
        send("show_run", "GET", f"/v1/runs/{run}")
        for listed in ("results", "calls", "cases"):
            send(f"list_{listed}", "GET", f"/v1/runs/{run}/{listed}?limit=1")
        send("show_case", "GET", f"/v1/runs/{run}/case?sample_id=q1&method=basic")
        send("show_grid", "GET", f"/v1/runs/{run}/grid")
        send("show_excerpts", "GET", f"/v1/runs/{run}/excerpts?metric=correctness&sample_id=q1")
        send("search_run", "GET", f"/v1/runs/{run}/search?q=ada")
        send("report_run", "GET", f"/v1/runs/{run}/report")
        send("replay_run", "POST", f"/v1/runs/{run}/replay", {"metrics": ["correctness"], "preview": True})
        send("compare_run", "GET", f"/v1/runs/{run}/compare?baseline=basic")
        people = [
            {"sample_id": case["id"], "method": case["method"], "metric": "correctness", "annotator": "ana", "value": 1}
            for case in METHODS
        ]
        body = {"metric": "correctness", "annotator": "ana", "sample": "random:2", "limit": 1}
        send("plan_run_labels", "POST", f"/v1/runs/{run}/labels", body)
        send("put_annotations", "PUT", f"/v1/runs/{run}/annotations", people)
        send("list_annotations", "GET", f"/v1/runs/{run}/annotations")
        send("measure_agreement", "GET", f"/v1/runs/{run}/agreement?metric=correctness")
        send("estimate_verdicts", "GET", f"/v1/runs/{run}/estimate?metric=correctness")
        record_jobs(recorder, run, data)
        send("resume_run", "POST", f"/v1/runs/{run}/resume", {"max_calls": 500}, **QUEUED)
        ended(client, run)
        return recorder.examples


def test_examples_are_true(tmp_path):
    """Each example is what the server answers."""
    examples = recorded(tmp_path / "runs")
    same(files("greval.serve") / EXAMPLES_FILE, json.dumps(examples, indent=1, ensure_ascii=False) + "\n")
    assert examples.keys() <= {operation["operationId"] for *_, operation in OPERATIONS}


def test_operations_are_described():
    """Each operation has words and a tag that is described."""
    for *_, operation in OPERATIONS:
        assert operation["description"]
        assert set(operation["tags"]) <= TAGS.keys()


def test_errors_of_bodies_are_of_methods_with_bodies():
    """408, 413 and 415 stand at POST and PUT alone, and a GET with a body does not get them."""
    for method, path, operation in OPERATIONS:
        assert ({"408", "413", "415"} <= operation["responses"].keys()) == (method in {"POST", "PUT"}), path
    with plain_client(create_app(ServerSettings())) as http_client:
        assert http_client.request("GET", "/v1/judges", content=b"x" * 9_000_000).status_code == 200


def test_the_server_is_named():
    """Generated clients find the server beside the document."""
    assert [server["url"] for server in DOCUMENT["servers"]] == ["/"]
    assert [tag["name"] for tag in DOCUMENT["tags"]] == [*TAGS]


def test_operation_ids_are_stable():
    """Each operation has the short id of the golden file, by which generated clients name their functions."""
    lines = [f"{method:6} {path} {operation['operationId']}" for method, path, operation in OPERATIONS]
    assert len({line.rpartition(" ")[2] for line in lines}) == len(lines)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)+", line.rpartition(" ")[2]) for line in lines)
    same(GOLDEN / "openapi-operations.txt", "\n".join([*sorted(lines), ""]))


def test_schema_names_are_plain():
    """No two classes share a name: FastAPI would put their modules into it, and generators drop such schemas."""
    names = [*DOCUMENT["components"]["schemas"]]
    assert "Problem" in names
    assert "Fault" in names
    assert not [name for name in names if not re.fullmatch("[A-Z][A-Za-z]+", name)]


def test_references_are_there():
    """Each schema that an operation refers to is in the document."""
    references = set(re.findall(r"'\$ref': '#/components/schemas/([^']+)'", str(DOCUMENT["paths"])))
    assert references <= DOCUMENT["components"]["schemas"].keys()


def test_streams_have_a_schema():
    """Streams of events are described by the words of OpenAPI 3.1, which has no schema of items."""
    assert DOCUMENT["openapi"].startswith("3.1.")
    contents = [operation["responses"].get("200", {}).get("content", {}) for *_, operation in OPERATIONS]
    streams = [content["text/event-stream"] for content in contents if "text/event-stream" in content]
    assert [[*described] for described in streams] == [["schema"], ["schema"]]


def test_every_route_knows_its_parameters(tmp_path):
    """Each parameter of the document is taken by its route, whatever its value."""
    with plain_client(create_app(ServerSettings(runs=tmp_path))) as http_client:
        for method, path, operation in OPERATIONS:
            names = [parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
            answer = http_client.request(method, path, params=dict.fromkeys(names, "x"))
            faults = answer.json()["faults"] if answer.is_error else ()
            assert not [fault for fault in faults if fault["place"].startswith("query.") and fault["code"] == "unknown"]
