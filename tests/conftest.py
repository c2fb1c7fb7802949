"""Fixtures that several test files share."""

from __future__ import annotations

import signal

import pytest
from fault_server import FaultServer
from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as where a shell began this in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # else the processes of tests could not be interrupted

settings.register_profile("greval", max_examples=60, deadline=None)  # a busy machine is no fault of a test
settings.load_profile("greval")


def pytest_collection_modifyitems(items):
    """Mark the tests of the server: `make test` leaves them to `make test-long`."""
    for item in items:
        if item.path.name.startswith("test_serve_"):
            item.add_marker(pytest.mark.server)


@pytest.fixture
def fault_server():
    """Give a chat server on 127.0.0.1 that answers well until its `plan` is set."""
    with FaultServer() as server:
        yield server
