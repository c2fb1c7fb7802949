"""Fixtures that several test files share."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from browsers import started_browser
from fault_server import KEY, FaultServer
from hypothesis import HealthCheck, settings

import greval
from greval.cli import main

SERVER = Path(__file__).parent / "serve"
SHARED = Path(greval.__file__).parents[2] / "shared" / "data"

MEMORY, MEMORY_BYTES = Path("/dev/shm"), 2 << 30  # noqa: S108 - pytest and tempfile create folders of their own in it

if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_BYTES:
    # runs are flushed to the disk row by row: most of the time of many tests, and only a power failure would show it
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

AUTHORITIES = Path("/etc/ssl/certs")

if any(AUTHORITIES.glob("*.0")) and Path(os.environ.get("SSL_CERT_FILE", AUTHORITIES)).is_relative_to(AUTHORITIES):
    # from a folder a certificate is read when a peer needs it; of a file all are read for each chat model, in 50 ms
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = str(AUTHORITIES)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as where a shell began this in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # else the processes of tests could not be interrupted

# a busy machine is no fault of a test: neither the time of an example nor that of its making ends one
UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", max_examples=25, derandomize=True, **UNHURRIED)  # what passed once passes again
settings.register_profile("nightly", max_examples=300, print_blob=True, **UNHURRIED)  # looks for what is not known yet
settings.load_profile("same")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect no garbage while modules and tests are loaded: they stay to the end, and each pass looks at them all."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items):
    """Mark the tests of the server: `make test` leaves them to `make test-server`. Refuse two tests of one id."""
    for item in items:
        if item.path.is_relative_to(SERVER) and not item.path.is_relative_to(SERVER / "page"):
            item.add_marker(pytest.mark.server)
    repeated = [name for name, count in Counter(item.nodeid for item in items).items() if count > 1]
    if repeated:
        message = f"several tests have the id {repeated[0]}: of these, pytest-xdist runs one and leaves out the others"
        raise RuntimeError(message)


@pytest.fixture(scope="session")
def own_folder(tmp_path_factory):
    """Return a function from the name of a data set to a folder of data of our own making in its form."""

    @cache
    def make(name):
        from own_data import WRITERS  # noqa: PLC0415 - it loads the packages whose figures are compared with

        folder = tmp_path_factory.mktemp("own") / name
        folder.mkdir()
        WRITERS[name](folder)
        return folder

    return make


@pytest.fixture(scope="session", params=["own", pytest.param("published", marks=pytest.mark.published)])
def data_set(request, own_folder):
    """Return a function from the name of a data set to its folder: one of our own making, or the published one."""

    def find(name):
        if not (SHARED / name).exists():
            pytest.skip(f"the shared data is not here: {SHARED / name}")
        return SHARED / name

    return own_folder if request.param == "own" else find


@pytest.fixture(scope="session")
def chromium():
    """Give a browser without a window."""
    with started_browser() as browser:
        yield browser


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
        "XDG_CACHE_HOME",
        "OPENAI_BASE_URL",
        "ARGILLA_API_URL",
        "ARGILLA_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    # Another test may have a module of the same name.
    for name, module in [*sys.modules.items()]:
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


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
