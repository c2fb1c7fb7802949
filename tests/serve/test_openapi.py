"""The OpenAPI document and the server agree: schemathesis sends what it allows and what it does not."""

from __future__ import annotations

import json
import re

import httpx
import pytest
import requests
import schemathesis
from drafting_judge import draft_or_judge
from file_bodies import register_file_bodies
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig
from served_metrics import CASE, app_of, tone
from served_runs import over_http
from serving import served
from waiting import SECONDS, until

from greval.serve.app import create_app
from greval.serve.settings import ServerSettings
from greval.testing import ScriptedJudge

NAMES = ("correctness", "chunk_evaluation", "token_f1", "tone", "ndcg@5")
EXAMPLES = settings.default.max_examples // 8
SEED = 1
"""The requests are the same in each run; more examples look further (make test-nightly)."""
DEFAULT = ("2xx", "3xx", "401", "403", "404", "409", "412", "429")
BY_MEANING = {"positive_data_acceptance": {"expected-statuses": [*DEFAULT, "422", "501", "502"]}}
"""What a JSON schema cannot say: what a metric file or a data set is, which version of it is stored (412), that a range
rises, that two lists are of one length, which cursor is one, or that a run has data enough for a figure."""
BY_A_JUDGE = {"not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", "501", "502"]}}
"""That this judge gave no draft, and that no Argilla server is there, is told as the fault of what is behind."""
REFUSALS = ["400", "401", "403", "404", "405", "406", "409", "412", "413", "415", "422", "429", "431"]
"""How a faulty request may be refused: schemathesis does not think of requests that are too long."""
MEANING = (
    *("POST /v1/metrics/edit", "POST /v1/metrics/{name}/versions/{version}/restore", "DELETE /v1/metrics/{name}"),
    *("POST /v1/metrics", "POST /v1/metrics/draft", "POST /metrics/{name}/batch", "POST /v1/datasets"),
    *("POST /v1/evaluate", "POST /v1/runs/import", "POST /v1/forecast", "POST /v1/runs/duel", "POST /v1/runs/probe"),
    *("GET /v1/runs/{id}/compare", "GET /v1/runs/{id}/agreement", "GET /v1/runs/{id}/estimate"),
    *("GET /v1/runs/{id}/results.csv", "GET /v1/runs/{id}/results.jsonl", "GET /v1/runs/{id}/diagnose"),
    *("GET /v1/runs/{id}/label-sheet.csv", "GET /v1/runs/{id}/label-sheet.xlsx", "GET /v1/history"),
    *("POST /v1/runs/align", "GET /v1/runs/{id}/duel"),
    *(
        "GET /v1/runs/{id}/metrics.zip",
        "GET /v1/runs/{id}/report.html",
        "GET /v1/runs/{id}/compare.html",
        "GET /v1/runs/{id}/panel",
        "GET /v1/runs/{id}/report.svg",
        "GET /v1/runs/{id}/compare.svg",
    ),
    *("GET /v1/runs/{id}/grid", "GET /v1/runs/{id}/search", "GET /v1/runs/{id}/walk.svg", "POST /v1/walk.svg"),
    *("GET /v1/runs/{id}/report", "GET /v1/runs/{id}/results", "PUT /v1/runs/{id}/annotations", "POST /v1/runs"),
)
JUDGE = ("POST /v1/metrics/draft", "POST /v1/runs/{id}/argilla/push", "POST /v1/runs/{id}/argilla/pull")
LABELLED = re.compile("/(agreement|estimate)$")
"""The paths of figures of the metric that people labelled."""
LASTING = ("GET", "PUT")
"""The methods by which requests are sent to a run that is there; the others would take it away."""
THERE = "there"
"""Stands for the id of a data set or a run that is there: requests are made up before the server runs."""


def known(_, case):
    """Let most well-formed requests find a metric, and those that change nothing a run."""
    if not (case.meta and case.meta.generation.mode.is_positive):
        return case
    parts = case.path_parameters or {}
    if "name" in parts:
        parts["name"] = NAMES[len(str(parts["name"])) % len(NAMES)]
    if "id" in parts and case.operation.method.upper() in LASTING:
        parts["id"] = THERE
    if LABELLED.search(case.operation.path) and "metric" in (case.query or {}):
        case.query["metric"] = "correctness"
    if isinstance(case.body, dict) and isinstance(case.body.get("metrics"), list):
        case.body["metrics"] = [NAMES[len(name) % len(NAMES)] for name in case.body["metrics"]]
    return case


@pytest.fixture(scope="module")
def ids(tmp_path_factory):
    """Give a server with a judge and an own metric: its address, and the ids of a data set and a run."""
    with (
        over_http({"scripted": ScriptedJudge(draft_or_judge("It names what decides."))}) as judges,
        served(app_of(tmp_path_factory.mktemp("served"), judges)) as server,
        httpx.Client(base_url=server.url, timeout=SECONDS) as client,
    ):
        client.post("/v1/metrics", json={"yaml": tone()}).raise_for_status()
        rows = json.dumps([{**CASE, "id": f"q{n}", "method": method} for n in range(9) for method in ("a", "b")])
        sent = client.post("/v1/datasets?name=d", content=rows, headers={"Content-Type": "application/json"})
        dataset = sent.raise_for_status().json()["id"]
        order = {"dataset": dataset, "metrics": ["correctness", "token_f1"]}
        run = client.post("/v1/runs", json=order).raise_for_status().json()["id"]
        until(lambda: client.get(f"/v1/runs/{run}").json()["status"] == "finished")
        labels = [
            {"sample_id": f"q{n}", "method": method, "metric": "correctness", "annotator": "ana", "value": n % 2}
            for n in range(9)
            for method in ("a", "b")
        ]
        client.put(f"/v1/runs/{run}/annotations", json=labels).raise_for_status()
        with requests.Session() as session:
            yield {"url": server.url, "session": session, "datasets": dataset, "runs": run}


register_file_bodies()
document = create_app(ServerSettings()).openapi()
paged = (
    f"{method.upper()} {path}"
    for path, operations in document["paths"].items()
    for method, operation in operations.items()
    if any(parameter["name"] == "cursor" for parameter in operation.get("parameters", ()))
)
meant = {*MEANING, *paged}
checks = {
    name: {**(BY_MEANING if name in meant else {}), **(BY_A_JUDGE if name in JUDGE else {})}
    for name in sorted(meant.union(JUDGE))
}
config = {
    "seed": SEED,
    "request-timeout": float(SECONDS),
    "checks": {"negative_data_rejection": {"expected-statuses": REFUSALS}},
    "operations": [{"include-name": name, "checks": check} for name, check in checks.items()],
}
schema = schemathesis.openapi.from_dict(document, config=SchemathesisConfig.from_dict(config))
schema.hook("map_case")(known)


@pytest.mark.filterwarnings("ignore:Skipped test cases with unsupported payload")  # files that it cannot write
@schema.parametrize()
@settings(max_examples=EXAMPLES, suppress_health_check=[*HealthCheck])
def test_every_operation_is_as_it_is_described(case, ids):
    """No request of any form gives a server's error, or an answer that the document does not tell."""
    if (case.path_parameters or {}).get("id") == THERE:
        case.path_parameters["id"] = ids[case.operation.path.split("/")[2]]
    case.call_and_validate(base_url=ids["url"], session=ids["session"])
