"""Fixtures of the server's tests: a folder of runs, and a client of a server on it; a test file may have its own."""

from __future__ import annotations

from functools import partial

import pytest
from served_metrics import app_of, client_of
from served_runs import serving
from serving import judging
from shell_app import client as shell_client
from shell_app import made

from greval.judging.model.judge import Judge
from greval.serve.middleware.api_keys import add_key


@pytest.fixture
def runs(tmp_path):
    """Return the folder of the server's runs."""
    return tmp_path / "runs"


@pytest.fixture
def client(runs):
    """Yield a client of a server with these runs."""
    with serving(runs) as client:
        yield client


@pytest.fixture(scope="module")
def shared_runs(tmp_path_factory):
    """Return the folder of the runs of a server that all tests of a file share."""
    return tmp_path_factory.mktemp("served") / "runs"


@pytest.fixture(scope="module")
def shared_client(shared_runs):
    """Yield a client of a server that all tests of a file share."""
    with serving(shared_runs) as client:
        yield client


@pytest.fixture
def metric_client(tmp_path):
    """Yield a client of a server without own metrics whose judge always says 1; its requests share an event loop."""
    with client_of(app_of(tmp_path)) as client:
        yield client


@pytest.fixture
def judge(fault_server, monkeypatch):
    """Return a judge on a real server that answers as each schema wants it, and records what it is asked."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    return Judge("openai:x", base_url=fault_server.url, max_retries=0)


@pytest.fixture
def serve(fault_server, tmp_path):
    """Return a function that starts a real server with the fault server as its judge, and with these limits."""
    return partial(judging, fault_server.url, tmp_path)


@pytest.fixture
def local(tmp_path):
    """Return a client of a server without keys that has a few routes of tests."""
    return shell_client(made(tmp_path))


@pytest.fixture
def keyed(tmp_path):
    """Return an app with a few routes of tests, and the keys of ana and bob, which it takes."""
    file = tmp_path / "keys.json"
    return made(tmp_path / "runs", keys=file), add_key(file, "ana"), add_key(file, "bob")
