"""A client that openapi-python-client generates from the document works against a real server."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from served_runs import YES, over_http, rows
from serving import served
from waiting import SECONDS

from greval.serve.app import create_app
from greval.serve.middleware.api_keys import add_key
from greval.serve.settings import ServerSettings
from greval.testing import ScriptedJudge

GENERATOR = Path(sys.prefix) / "openapi-client" / "bin" / "openapi-python-client"
PACKAGE = "generated_client"


@pytest.fixture
def keyed(tmp_path):
    """Give an app with a key, and the key."""
    keys = tmp_path / "keys.json"
    key = add_key(keys, "ana")
    with over_http({"scripted": ScriptedJudge([YES])}) as judges:
        yield create_app(ServerSettings(runs=tmp_path / "runs", keys=keys, judges=judges)), key


@pytest.fixture
def generated(keyed, tmp_path, monkeypatch):
    """Give a function that imports a module of the client, generated from the document of the app."""
    assert GENERATOR.exists(), "openapi-python-client is missing: make test-server installs it"
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps(keyed[0].openapi()), encoding="utf-8")
    command = [GENERATOR, "generate", "--path", document, "--output-path", tmp_path / PACKAGE, "--meta", "none"]
    path = f"{GENERATOR.parent}{os.pathsep}{os.environ['PATH']}"  # it formats with ruff
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=True, env={**os.environ, "PATH": path}
    )
    output = done.stdout + done.stderr
    assert "will not be generated" not in output, output
    assert "Unable to process" not in output, output
    assert "Could not find" not in output, output
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda name: importlib.import_module(f"{PACKAGE}.{name}")
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.mark.nightly
def test_a_generated_client_does_the_work(keyed, generated):
    """It judges a case, starts a run, reads results and puts annotations; each answer is of its class."""
    app, key = keyed
    models = generated("models")

    def call(operation, *arguments, **more):
        """Call an operation of the client."""
        return generated(f"api.{operation}").sync(*arguments, client=client, **more)

    connect = generated("client").AuthenticatedClient
    with served(app) as server, connect(base_url=server.url, token=key) as client:
        judged = call("evaluate.evaluate_cases", body=models.EvaluateRequest(cases=rows(1), metrics=["correctness"]))
        (result,) = judged.results
        assert isinstance(result.outcome, models.Scored)
        assert result.outcome.judgements[0].value == 1

        dataset = call("datasets.upload_dataset", body=rows(3), name="mine")
        assert isinstance(dataset, models.DatasetInfo)
        run = call("runs.start_run", body=models.RunRequest(dataset=dataset.id, metrics=["correctness"]))
        assert isinstance(run, models.RunInfo)
        end = time.monotonic() + SECONDS
        while call("runs.show_run", run.id).status not in {"finished", "stopped", "failed"}:
            assert time.monotonic() < end
            time.sleep(0.05)
        page = call("runs.list_results", run.id)
        assert [row.sample_id for row in page.results] == ["q0", "q1", "q2"]

        annotations = [
            models.Annotation(sample_id=f"q{n}", metric="correctness", annotator="ana", value=1) for n in range(3)
        ]
        stored = call("people.put_annotations", run.id, body=annotations)
        assert (stored.annotations, stored.held) == (3, 3)
        assert isinstance(call("figures.measure_agreement", run.id, metric="correctness"), models.DescribedAgreement)
        assert isinstance(call("figures.report_run", run.id), models.DescribedReport)

        missing = call("runs.show_run", "nothing")
        assert isinstance(missing, models.Problem)
        assert missing.code == "run_not_found"
        wrong = call("people.put_annotations", run.id, body=[models.Annotation("q0", "correctness", "ana", value=7)])
        assert (wrong.code, wrong.faults[0].place) == ("invalid_annotations", "row 1")
