"""Metrics that the operator names at the start of a server, also in Python, which no request can name."""

from __future__ import annotations

import sys

import pytest
from served_runs import ended, rows, serving, started, uploaded

CODE = """
import greval
def length(answer):
    '''Count the characters.'''
    return len(answer)
"""


@pytest.fixture
def spec(tmp_path):
    """Give the spec of a function in a Python file."""
    (tmp_path / "operator_code.py").write_text(CODE, encoding="utf-8")
    return f"{tmp_path}/operator_code.py:length"


def test_a_function_of_the_operator_is_a_metric_of_the_server(tmp_path, spec):
    """It is listed, shown, judged within a request, and in a run that restores it by its name."""
    with serving(tmp_path / "runs", metrics=(spec,)) as client:
        listed = {info["name"]: info for info in client.get("/v1/metrics").json()["metrics"]}
        assert listed["length"]["kind"] == "computed"
        assert listed["length"]["origin"] == "library"
        assert client.get("/v1/metrics/length").json()["description"] == "Count the characters."
        case = {"question": "Who?", "answer": "Ada"}
        answer = client.post("/v1/evaluate", json={"metrics": ["length"], "cases": [case]})
        assert answer.json()["results"][0]["outcome"]["judgements"][0]["value"] == 3
        run = started(client, uploaded(client, rows(2)), "length")
        assert ended(client, run)["status"] == "finished"


@pytest.mark.parametrize("name", ["operator_code:length", "{spec}", "os:system", "{folder}/tone.yaml"])
def test_no_request_loads_code_or_files(tmp_path, spec, name):
    """What is a spec on the command line is an unknown name in a request, and nothing is imported for it."""
    name = name.format(spec=spec, folder=tmp_path)
    modules_before = [module for module in sys.modules if "operator_code" in module]
    with serving(tmp_path / "runs") as client:
        body = {"metrics": [name], "cases": [{"question": "Who?", "answer": "Ada"}]}
        assert client.post("/v1/evaluate", json=body).status_code == 404
        run = {"dataset": uploaded(client, rows(1)), "metrics": [name]}
        assert client.post("/v1/runs", json=run).status_code == 404
    assert [module for module in sys.modules if "operator_code" in module] == modules_before
