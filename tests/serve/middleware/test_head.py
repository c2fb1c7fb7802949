"""HEAD is answered as GET is, without the content."""

from __future__ import annotations

import httpx
import pytest
from served_metrics import CASE
from served_runs import ended, started, uploaded
from serving import served
from shell_app import client, logged, made
from waiting import SECONDS

from greval.serve.app import create_app
from greval.serve.settings import ServerSettings


@pytest.fixture
def local(tmp_path):
    """Give a client of a server without keys."""
    with client(made(tmp_path)) as http_client:
        yield http_client


@pytest.mark.parametrize(
    "path", ["/", "/health", "/v1/metrics", "/v1/metrics/correctness", "/openapi.json", "/v1/runs/x"]
)
def test_head_has_the_headers_of_get(local, path):
    """The status and the headers are those of GET, also of an error; there is no content."""
    full, head = local.get(path), local.head(path)
    assert (head.status_code, head.content) == (full.status_code, b"")
    differing = {"x-request-id", "content-length"} if full.is_error else {"x-request-id"}
    assert {name: value for name, value in head.headers.items() if name not in differing} == {
        name: value for name, value in full.headers.items() if name not in differing
    }


def test_head_needs_a_route_of_get(local):
    """A path that takes no GET takes no HEAD."""
    answer = local.head("/v1/evaluate")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_head_is_logged_as_such(local):
    """The log has the method that was sent, and the template of the path."""
    with logged("greval.access") as lines:
        local.head("/v1/metrics/correctness")
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [("HEAD", "/v1/metrics/{name}", 200)]


def test_head_of_a_stream_ends_at_once(tmp_path):
    """HEAD of a run's events does not wait for the run."""
    app = create_app(ServerSettings(runs=tmp_path))
    with served(app) as server, httpx.Client(base_url=server.url, timeout=SECONDS) as http_client:
        run = started(http_client, uploaded(http_client, [CASE] * 3), "token_f1")
        head = http_client.head(f"/v1/runs/{run}/events")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"].startswith("text/event-stream")
        assert http_client.get("/health").status_code == 200  # the connection is in order
        ended(http_client, run)
