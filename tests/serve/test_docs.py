"""The page on REST is run: its command lines, in order, against a server; and it names every address there is."""

from __future__ import annotations

import json
import re
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import get_args

from served_runs import YES, over_http
from serving import served
from typer.main import get_command
from waiting import SECONDS

import greval
from greval.cli.app import app
from greval.serve.app import create_app
from greval.serve.jobs.queue import AlignRequest, DuelRequest, ProbeRequest, RunRequest
from greval.serve.problem_types import PROBLEM_TYPES, FaultCode
from greval.serve.problems import Fault
from greval.serve.settings import ServerSettings
from greval.testing import ScriptedJudge

ROOT = Path(greval.__file__).parents[1]
PAGE = (ROOT / "docs" / "rest.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
STRICT = 'set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; }\n'
OPERATIONS = [
    (method.upper(), path, operation)
    for path, operations in create_app(ServerSettings()).openapi()["paths"].items()
    if path.startswith("/v1/")
    for method, operation in operations.items()
]


def test_the_command_lines(tmp_path):
    """Each command line of the page does what the page says, one after the other."""
    demo = files("greval") / "demo" / "cases.jsonl"
    (tmp_path / "cases.jsonl").write_text("\n".join(demo.read_text(encoding="utf-8").splitlines()[:4]))
    with (
        over_http({"scripted": ScriptedJudge([YES])}) as judges,
        served(create_app(ServerSettings(runs=tmp_path / "runs", judges=judges))) as server,
    ):
        script = STRICT + "\necho\n".join(BLOCKS).replace("localhost:8000", server.url)
        # without a timeout: it starts a dozen processes, which take minutes on a busy machine
        done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    assert "event: end" in done.stdout
    assert '"status":"finished"' in done.stdout
    assert '"annotator":"ana"' in done.stdout


def test_every_address_is_documented():
    """Each address with its method stands in the page, and so does each of its parameters."""
    for method, path, operation in OPERATIONS:
        assert [line for line in PAGE.splitlines() if f"`{method} {path}" in line], f"{method} {path}"
        names = {parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"}
        assert not [name for name in names if f"`{name}`" not in PAGE and f"{name}=" not in PAGE]


def test_every_problem_is_documented():
    """Each problem type stands with its status in the page, and the page tells none that does not exist."""
    rows = re.findall(r"^\| (\d{3}) \| ([^|]+) \|", PAGE, re.MULTILINE)
    documented = {(int(status), code) for status, codes in rows for code in re.findall(r"`(\w+)`", codes)}
    assert documented == {(problem.status, code) for code, problem in PROBLEM_TYPES.items()}


def test_every_code_and_every_field_is_documented():
    """Each code of a fault stands in the page and in its schema; so does each field of a request for a run."""
    codes = get_args(FaultCode)
    assert not [code for code in codes if f"`{code}`" not in PAGE or f"`{code}`" not in str(Fault.__doc__)]
    requests = (RunRequest, DuelRequest, ProbeRequest, AlignRequest)
    fields = {name for request in requests for name in request.model_fields}
    assert not [name for name in fields if f"`{name}`" not in PAGE]


def test_the_first_request_of_a_reader(tmp_path):
    """The request that the page on the server begins with gives a verdict with its reason."""
    text = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^```sh\n(curl [^`]*/v1/evaluate [^`]*)\n```$", text, re.MULTILINE)
    settings = ServerSettings(runs=tmp_path, token="a-token")
    with served(create_app(settings, {"scripted": ScriptedJudge([YES])})) as server:
        command = ["bash", "-c", f"TOKEN=a-token\n{line.replace('localhost:8000', server.url)}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    (judgement,) = json.loads(done.stdout)["results"][0]["outcome"]["judgements"]
    assert judgement["value"] == 1
    assert judgement["reason"]


def test_every_setting_of_the_server_is_documented():
    """docs/server.md names each option of `greval serve` and the variable of each."""
    page = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
    options = get_command(app).commands["serve"].params
    assert not [name for option in options for name in option.opts if not re.search(rf"{name}\b", page)]
    assert not [variable for option in options for variable in _variables(option) if f"`{variable}`" not in page]


def _variables(option):
    variables = option.envvar or ()
    return (variables,) if isinstance(variables, str) else variables
