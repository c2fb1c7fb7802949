"""Runs for the page's tests, made over REST as another client would."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

import httpx
from waiting import SECONDS


def read_json(url: str, path: str, **query: Any) -> Any:
    """Send a request that succeeds, and give the JSON of its response."""
    answer = httpx.get(f"{url}{path}", params=query, timeout=SECONDS)
    assert answer.status_code == 200, answer.text
    return answer.json()


def upload(url: str, content: bytes | Iterable[dict[str, Any]], name: str = "demo") -> str:
    """Upload cases as JSON lines and give the id of the data set."""
    if not isinstance(content, bytes):
        content = "".join(f"{json.dumps(row)}\n" for row in content).encode()
    answer = httpx.post(
        f"{url}/v1/datasets",
        params={"name": name},
        content=content,
        headers={"Content-Type": "application/jsonl"},
        timeout=SECONDS,
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def start(url: str, dataset: str, metrics: Sequence[str], *, name: str, judge: str | None = None, **more: Any) -> str:
    """Start a run and give its id."""
    body = {"dataset": dataset, "metrics": [*metrics], "name": name, "judge": judge, **more}
    answer = httpx.post(f"{url}/v1/runs", json=body, timeout=SECONDS)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def run(url: str, dataset: str, metrics: Sequence[str], *, name: str, judge: str | None = None) -> str:
    """Start a run, wait until it ends, and give its id."""
    found = start(url, dataset, metrics, name=name, judge=judge)
    end = time.monotonic() + SECONDS
    while httpx.get(f"{url}/v1/runs/{found}", timeout=SECONDS).json()["status"] in {"queued", "running"}:
        assert time.monotonic() < end, "the run did not end"
        time.sleep(0.1)
    return found


def read_labels(url: str, run_id: str) -> list[dict[str, Any]]:
    """Return the submitted annotations of a run."""
    found = httpx.get(f"{url}/v1/runs/{run_id}/annotations", timeout=SECONDS).json()["annotations"]
    return [one for one in found if one["status"] == "submitted"]
