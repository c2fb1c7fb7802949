"""A real Argilla server for the tests of this folder, started once; skipped where its harness is not there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from browsers import FLAGS, WHY_NOT, browser_path
from people import PASSWORD, Owner
from proxy import Proxy

import greval

HERE = Path(__file__).parent
START = Path(greval.__file__).parents[2] / "shared" / "argilla" / "start.sh"


def pytest_collection_modifyitems(items):
    """Mark what needs the server: it takes two minutes, so `make test` leaves it to `make test-argilla`."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.argilla_server)


@pytest.fixture(scope="session")
def argilla_server():
    """Give the description of a running server: url, api_key, username, password."""
    if not START.is_file():
        pytest.skip(f"no Argilla server can be started: {START} is not here")
    env = {**os.environ, "PYTHON": sys.executable}
    command = [str(START), "--max-seconds", "1800"]  # what it says of a first installation is for the log
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    told = json.loads(done.stdout)
    yield told
    subprocess.run([str(START), "stop", told["dir"]], env=env, check=True, capture_output=True)


@pytest.fixture
def owner(argilla_server, monkeypatch):
    """Give the owner of the server, with a workspace of this test's own; greval finds the server in the environment."""
    monkeypatch.setenv("ARGILLA_API_URL", argilla_server["url"])
    monkeypatch.setenv("ARGILLA_API_KEY", argilla_server["api_key"])
    with Owner(argilla_server["url"], argilla_server["api_key"]) as found:
        yield found


@pytest.fixture
def proxy(argilla_server):
    """Give a way to the server that can be cut, see `proxy.Proxy`."""
    with Proxy(argilla_server["url"]) as found:
        yield found


@pytest.fixture
def browse(argilla_server):
    """Give a function that has a person answer on the page in a real browser, see `argilla_browser.py`."""
    program = browser_path()
    if program is None:
        pytest.skip(WHY_NOT)
    pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[dev]'")

    def answered(page, person, pattern, plan):
        job = {"program": program, "flags": FLAGS, "url": argilla_server["url"], "page": page, "pattern": pattern}
        job |= {"username": person["username"], "password": PASSWORD, "plan": plan}
        command = [sys.executable, str(HERE.parents[2] / "support" / "argilla_browser.py")]
        done = subprocess.run(command, input=json.dumps(job), check=False, capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return answered
