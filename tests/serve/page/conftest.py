"""A real Chromium on a real server, with the network cut off but for it; skipped where there is no browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from page_judge import FAULTY, page_judge
from served_runs import over_http
from serving import served
from visit import Visit

import greval
from greval.serve.app import create_app
from greval.serve.settings import ServerSettings

HERE = Path(__file__).parent
DEMO = Path(greval.__file__).parent / "demo" / "cases.jsonl"


def pytest_collection_modifyitems(items):
    """Mark what needs a browser: `make test` leaves it to `make test-browser`."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Give a server with a quick judge, and one that takes its time."""
    with over_http({"quick": page_judge(0.01), "slow": page_judge(0.4)}) as judges:
        settings = ServerSettings(runs=tmp_path_factory.mktemp("runs"), judges=judges)
        with served(create_app(settings)) as running:
            yield running


@pytest.fixture
def visit(chromium, server):
    """Give a page of the server in a window of a usual size; at its end nothing may have gone wrong in it."""
    with Visit(chromium, server.url) as page:
        yield page


@pytest.fixture(scope="session")
def demo():
    """Give the shipped cases of two methods as JSON lines, one that cannot be judged, and a row that is no case."""
    rows = [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]
    rows[5]["answer"] = f"This {FAULTY}."
    return "".join(f"{json.dumps(row)}\n" for row in [*rows, {"nothing": 1}]).encode()
