"""Runs, data sets, metrics and versions of one tenant are not there for another, whatever is requested."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from served_metrics import CASE, tone
from served_runs import ended, rows, started, two_tenants, uploaded

from greval.serve.settings import ServerLimits

RUN, DATA = "RUN", "DATA"
"""Stand for the ids of ana's run and data set."""
KINDS = {"/v1/runs/{id}": "run", "/v1/datasets/{id}": "dataset", "/v1/metrics/{name}": "metric", "/metrics/": "metric"}
"""The start of a path by what it is about."""
BODIES = {
    "push": {"metrics": ["correctness"], "dataset": "a"},
    "pull": {"dataset": "a"},
    "labels": {"metric": "correctness", "annotator": "ben"},
    "replay": {},
    "invoke": {"input": CASE},
    "stream": {"input": CASE},
    "batch": {"inputs": [CASE]},
}
"""Valid bodies by the last part of the path, so that a request is not refused for its body."""
QUERY = {"sample_id": "q0", "metric": "correctness"}


@pytest.fixture(scope="module")
def tenants(tmp_path_factory):
    """Yield a client, the headers of ana, who has something of each kind, and ben, and the ids of what is ana's."""
    with two_tenants(tmp_path_factory.mktemp("tenants"), limits=ServerLimits(rate=100_000)) as (client, ana, ben):
        for text in (tone(), tone().replace("Courteous.", "Friendly.")):
            client.post("/v1/metrics?replace=true", json={"yaml": text}, headers=ana).raise_for_status()
        data = uploaded(client, rows(2), headers=ana)
        run = started(client, data, headers=ana)
        assert ended(client, run, headers=ana)["status"] == "finished"
        yield client, ana, ben, {"run": run, "dataset": data, "metric": "tone"}


def list_requests(document) -> Iterator[tuple[str, str, str, dict]]:
    """List the operations on one thing: its kind, method and path, and the query that the operation needs."""
    for path, operations in document["paths"].items():
        for kind in [kind for start, kind in KINDS.items() if path.startswith(start) and "{" in path]:
            for method, operation in operations.items():
                names = (item for item in operation.get("parameters", ()) if item["in"] == "query")
                query = {item["name"]: QUERY.get(item["name"], "x") for item in names if item.get("required")}
                yield kind, method, path.replace("{version}", "1"), query


def test_every_operation_on_a_thing_of_another_tenant_is_404(tenants):
    """No spelling of the id of another tenant's run, data set or metric leads to it."""
    client, ana, ben, ids = tenants
    requests = [*list_requests(client.get("/openapi.json", headers=ana).json())]
    assert len(requests) >= 50
    for kind, method, path, query in requests:
        body = BODIES.get(path.rpartition("/")[2])
        sent = {"headers": ben, "params": query, **({} if body is None else {"json": body})}
        plain = ids[kind]
        for spelling in (plain, "ana", f"../ana/{plain}", f"ana%2F{plain}"):
            url = path.replace("{id}", spelling).replace("{name}", spelling)
            answer = client.request(method, url, **sent)
            if spelling == plain:
                assert (answer.status_code, answer.json()["code"]) == (404, f"{kind}_not_found"), (method, path)
            else:
                assert answer.status_code in {404, 405, 422}, (method, url)
    for path in (f"/v1/runs/{ids['run']}/report", f"/v1/datasets/{ids['dataset']}", "/v1/metrics/tone/versions/2"):
        assert client.get(path, headers=ana).status_code == 200, path


@pytest.mark.parametrize(
    ("request_line", "body"),
    [
        ("POST /v1/runs", {"dataset": DATA, "metrics": ["correctness"]}),
        ("POST /v1/runs", {"dataset": "OWN", "metrics": ["tone"]}),
        ("POST /v1/runs/duel", {"dataset": DATA, "metrics": ["directness"]}),
        ("POST /v1/runs/duel", {"run": RUN, "metrics": ["directness"]}),
        ("POST /v1/runs/probe", {"dataset": DATA, "metric": "correctness"}),
        ("POST /v1/runs/align", {"run": RUN, "metric": "correctness"}),
        ("POST /v1/forecast", {"dataset": DATA, "metrics": ["correctness"]}),
        ("POST /v1/evaluate", {"cases": [CASE], "metrics": ["tone"]}),
        ("GET /v1/runs/MINE/compare?against=RUN", None),
        ("GET /v1/runs/MINE/compare.html?against=RUN", None),
        ("GET /v1/runs/MINE/panel?metric=correctness&run=RUN", None),
        ("GET /v1/history?run=MINE&run=RUN", None),
    ],
)
def test_a_request_cannot_name_things_of_another_tenant(tenants, bens, request_line, body):
    """Neither a body nor a query leads to what another tenant has."""
    client, _, ben, ids = tenants
    names = {RUN: ids["run"], DATA: ids["dataset"], "MINE": bens["run"], "OWN": bens["dataset"]}
    method, path = request_line.split(" ")
    for name, value in names.items():
        path = path.replace(name, value)
    sent = None if body is None else {key: names.get(str(value), value) for key, value in body.items()}
    assert client.request(method, path, json=sent, headers=ben).status_code == 404


def test_verdicts_are_not_joined_with_a_data_set_of_another_tenant(tenants):
    """An import that names another tenant's data set finds none."""
    client, _, ben, ids = tenants
    query = {"name": "a", "scale": "yes/no", "dataset": ids["dataset"]}
    sent = {"content": "id,question,value\nq1,Who?,yes\n", "headers": ben | {"Content-Type": "text/csv"}}
    assert client.post("/v1/runs/import", params=query, **sent).status_code == 404


@pytest.fixture(scope="module")
def bens(tenants):
    """Return the ids of a run and a data set of ben's."""
    client, _, ben, _ = tenants
    data = uploaded(client, rows(2), headers=ben)
    run = started(client, data, headers=ben)
    ended(client, run, headers=ben)
    return {"run": run, "dataset": data}


def test_lists_and_names_are_of_each_tenant(tenants, bens):
    """A tenant may use the names and the idempotency keys of another, and changes nothing of the other's."""
    client, ana, ben, ids = tenants
    for listed, kind in (("runs", "run"), ("datasets", "dataset")):
        for headers, expected in ((ana, ids[kind]), (ben, bens[kind])):
            entries = client.get(f"/v1/{listed}", headers=headers).json()[listed]
            assert [entry["id"] for entry in entries] == [expected]
    assert client.get("/v1/metrics?own=true", headers=ben).json()["metrics"] == []
    text_of_ben = tone().replace("Courteous.", "Of ben.")
    assert client.post("/v1/metrics", json={"yaml": text_of_ben}, headers=ben).status_code == 201
    texts = {name: client.get("/v1/metrics/tone", headers=key).json()["yaml"] for name, key in (("a", ana), ("b", ben))}
    assert (texts["b"], "Friendly." in texts["a"]) == (text_of_ben, True)
    assert len(client.get("/v1/metrics/tone/versions", headers=ben).json()["versions"]) == 1
    assert client.delete("/v1/metrics/tone", headers=ben).status_code == 204
    assert client.get("/v1/metrics/tone", headers=ana).status_code == 200
    runs = []
    for headers, data in ((ana, ids["dataset"]), (ben, bens["dataset"])):
        key = headers | {"Idempotency-Key": "k"}
        body = {"dataset": data, "metrics": ["exact_match"]}
        runs.append(client.post("/v1/runs", json=body, headers=key).json()["id"])
        ended(client, runs[-1], headers)
    assert runs[0] != runs[1]
