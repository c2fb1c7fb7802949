"""The history of a client's runs over HTTP: that of the library, with the names of runs in place of their folders."""

from __future__ import annotations

import json

import pytest
from served_runs import ended, rows, started, two_tenants, uploaded

from greval.analysis.history.api import build_history
from greval.report.history import describe_findings, list_legend
from greval.serve.routes.history import DescribedHistory

NAMES = ["monday", "tuesday", "tuesday"]


@pytest.fixture(scope="module")
def tenants(tmp_path_factory):
    """Yield a client, the headers of ana, who has three runs, and of ben, who has one, and the folder of all runs."""
    folder = tmp_path_factory.mktemp("tenants")
    with two_tenants(folder) as (client, ana, ben):
        for headers, names in ((ana, NAMES), (ben, ["alone"])):
            for number, name in enumerate(names):
                answers = [{**row, "answer": "Ada" if n < number else "Nobody"} for n, row in enumerate(rows(9))]
                data = uploaded(client, answers, headers=headers)
                run = started(client, data, "exact_match", "answer_words", name=name, headers=headers)
                assert ended(client, run, headers=headers)["status"] == "finished"
        yield client, ana, ben, folder / "runs"


def test_a_history_is_that_of_the_library(tenants):
    """The figures are those of `build_history`; a run has its name, or its id if another run has the same name."""
    client, ana, _, runs = tenants
    query = {"metric": "exact_match", "method": "", "level": 0.9}
    history = build_history([runs / "ana"], metrics=["exact_match"], methods=[""], level=0.9)
    assert [round(9 * point.mean) for point in history.metrics[0].points] == [0, 1, 2]
    ids = [run.label for run in history.runs]
    labels = ["monday", *ids[1:]]
    named = history.model_copy(
        update={
            "runs": tuple(
                run.model_copy(update={"folder": run_id, "label": label})
                for run, run_id, label in zip(history.runs, ids, labels, strict=True)
            )
        }
    )
    sentences = {"findings": tuple(describe_findings(named)), "legend": tuple(list_legend(named))}
    expected = DescribedHistory(**dict(named), **sentences)
    response = client.get("/v1/history", params=query, headers=ana)
    assert response.json() == json.loads(expected.model_dump_json())
    unchanged = client.get("/v1/history", params=query, headers={**ana, "If-None-Match": response.headers["etag"]})
    assert unchanged.status_code == 304
    newest = client.get("/v1/history", params={"last": 2}, headers=ana).json()
    assert [run["folder"] for run in newest["runs"]] == ids[1:]
    assert {line["metric"] for line in newest["metrics"]} == {"exact_match", "answer_words"}
    chosen = client.get("/v1/history", params={"run": [ids[2], ids[0]]}, headers=ana).json()
    assert [run["label"] for run in chosen["runs"]] == ["monday", "tuesday"]


def test_a_history_has_only_runs_of_the_client(tenants):
    """A client with one run has no history, and cannot name a run of another client."""
    client, _, ben, runs = tenants
    alone = client.get("/v1/history", headers=ben)
    assert (alone.status_code, alone.json()["code"]) == (422, "invalid_data")
    ids = [path.name for path in sorted((runs / "ana").glob("*day-*"))]
    assert client.get("/v1/history", params={"run": ids}, headers=ben).json()["code"] == "run_not_found"
