"""Fixtures of the server's tests: a folder of runs, and a client of a server on it; a test file may have its own."""

from __future__ import annotations

import pytest
from served_runs import serving


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
