"""The page on REST is run: its command lines, in order, against a server; and it names every address there is."""

from __future__ import annotations

import re
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
from served_runs import YES
from serving import served

import greval
from greval.serve.app import create_app
from greval.serve.orders import RunRequest
from greval.serve.settings import Settings
from greval.testing import ScriptedJudge

PAGE = (Path(greval.__file__).parents[1] / "docs" / "rest.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
STRICT = 'set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; }\n'
OPERATIONS = [
    (method.upper(), path, operation)
    for path, operations in create_app(Settings()).openapi()["paths"].items()
    if path.startswith("/v1/")
    for method, operation in operations.items()
]


def test_the_command_lines(tmp_path):
    """Each command line of the page does what the page says, one after the other."""
    demo = files("greval") / "demo" / "cases.jsonl"
    (tmp_path / "cases.jsonl").write_text("\n".join(demo.read_text(encoding="utf-8").splitlines()[:4]))
    app = create_app(Settings(runs=tmp_path / "runs"), {"scripted": ScriptedJudge([YES])})
    with served(app) as server:
        script = STRICT + "\necho\n".join(BLOCKS).replace("localhost:8000", server.url)
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    assert "event: end" in done.stdout
    assert '"status":"finished"' in done.stdout
    assert '"annotator":"ana"' in done.stdout


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_every_address_is_told(method, path, operation):
    """Each address with its method stands in the page, and so does each of its parameters and fields."""
    lines = [line for line in PAGE.splitlines() if f"`{method} {path}" in line]
    assert lines, f"{method} {path}"
    names = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}
    assert not [name for name in names if f"`{name}`" not in PAGE and f"{name}=" not in PAGE]


def test_every_field_of_a_run_is_told():
    """Each field that a run can be asked for with stands in the page."""
    assert not [name for name in RunRequest.model_fields if f"`{name}`" not in PAGE]
