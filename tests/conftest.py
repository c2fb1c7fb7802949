"""Fixtures that several test files share."""

from __future__ import annotations

import signal
import sys
from functools import cache
from pathlib import Path

import pytest
from fault_server import KEY, FaultServer
from hypothesis import settings

import greval
from greval.cli import main

SERVER = Path(__file__).parent / "serve"
SHARED = Path(greval.__file__).parents[2] / "shared" / "data"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as where a shell began this in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # else the processes of tests could not be interrupted

settings.register_profile("greval", max_examples=60, deadline=None)  # a busy machine is no fault of a test
settings.load_profile("greval")


def pytest_collection_modifyitems(items):
    """Mark the tests of the server: `make test` leaves them to `make test-long`."""
    for item in items:
        if item.path.is_relative_to(SERVER) and not item.path.is_relative_to(SERVER / "page"):
            item.add_marker(pytest.mark.server)


@pytest.fixture(scope="session", params=["own", "published"])
def data_set(request, tmp_path_factory):
    """Return a function from the name of a data set to its folder: one of our own making, or the published one."""

    @cache
    def make(name):
        from own_data import WRITERS  # noqa: PLC0415 - it loads the packages whose figures are compared with

        folder = tmp_path_factory.mktemp("own") / name
        folder.mkdir()
        WRITERS[name](folder)
        return folder

    def find(name):
        if not (SHARED / name).exists():
            pytest.skip(f"the shared data is not here: {SHARED / name}")
        return SHARED / name

    return make if request.param == "own" else find


@pytest.fixture
def fault_server():
    """Give a chat server on 127.0.0.1 that answers well until its `plan` is set."""
    with FaultServer() as server:
        yield server


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """Go into an empty folder, with a wide page and a key, and nothing else that the environment tells greval."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in (
        "GREVAL_JUDGE",
        "GREVAL_CACHE",
        "GREVAL_PRICES",
        "OPENAI_BASE_URL",
        "ARGILLA_API_URL",
        "ARGILLA_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def greval_says(monkeypatch, capsys):
    """Run a command in this process: its exit code, what it printed, and what it said on stderr."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["greval", *map(str, words)])
        with pytest.raises(SystemExit) as leave:
            main()
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return leave.value.code, told.out, told.err

    return run
