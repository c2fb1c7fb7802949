"""The page when its server goes away, in a real browser."""

from __future__ import annotations

import socket

import httpx
import pytest
from fault_server import FaultServer
from runs_made import start, upload
from serving import server_process
from visit import Visit
from waiting import SECONDS

KEY = {"OPENAI_API_KEY": "none"}


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.mark.nightly
def test_follows_on_after_a_restart(chromium, tmp_path, demo):
    """Who follows a run while the server is killed and started again sees it come to its end, without a reload."""
    with FaultServer(latency=0.5) as judge:
        words = ("--judge", "openai:any", "--base-url", judge.url, "--port", free_port())
        with server_process(*words, folder=tmp_path, environment=KEY) as first:
            run_id = start(first.url, upload(first.url, demo), ["relevance"], name="long")
            visit = Visit(chromium, first.url)
            visit.expect("Failed to load resource|ERR_")
            visit.open(f"runs/{run_id}")
            bar = visit.at.get_by_role("progressbar")
            visit.until(lambda: int(bar.get_attribute("aria-valuenow")) > 5)
            first.kill()
        with visit, server_process(*words, folder=tmp_path, environment=KEY) as second:
            assert second.url == visit.url
            visit.at.locator(".badge:text('finished')").wait_for(timeout=60_000)
            assert httpx.get(f"{second.url}/v1/runs/{run_id}", timeout=SECONDS).json()["progress"]["done"] == 40
            visit.sees("40 of 40 judgements, 100 %")
