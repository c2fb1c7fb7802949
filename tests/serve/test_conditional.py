"""Compressed responses, and responses that a client has already."""

from __future__ import annotations

import pytest
from agreed_runs import write
from shell_app import client
from starlette.requests import Request

from greval.records.annotation import Annotation
from greval.serve.app import create_app
from greval.serve.conditional import build_etag, is_not_modified
from greval.serve.settings import ServerSettings
from greval.trust.annotations.files import keep_annotations


@pytest.fixture
def http_client(tmp_path):
    """Give a client of a server with a run."""
    write(tmp_path / "judged", "right", ["Yes", "No"] * 4)
    with client(create_app(ServerSettings(runs=tmp_path))) as http_client:
        yield http_client


@pytest.mark.parametrize(
    ("tags", "expected"),
    [("", False), ("*", True), ('W/"a"', True), ('"a"', True), ('"b", W/"a"', True), ('W/"b"', False), ('"ab"', False)],
)
def test_tags_are_compared_weakly(tags, expected):
    """Each tag of the list counts, whether it is weak or not."""
    request = Request({"type": "http", "headers": [(b"if-none-match", tags.encode())]})
    assert is_not_modified(request, 'W/"a"') == expected
    assert build_etag(b"a") != build_etag(b"b")


@pytest.mark.parametrize(
    "path", ["/openapi.json", "/v1/runs/judged/report", "/v1/runs/judged/report?by=method", "/page/js/main.js", "/"]
)
def test_a_client_that_has_the_content_is_not_sent_it(http_client, path):
    """The same content has the same tag, with which the response is 304 without content."""
    first = http_client.get(path)
    again = http_client.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert "no-store" not in first.headers["cache-control"]
    assert http_client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_changed_run_has_another_tag(http_client, tmp_path):
    """A new annotation changes the tag of a report, and the client gets the new one."""
    tag = http_client.get("/v1/runs/judged/report").headers["etag"]
    keep_annotations(tmp_path / "judged", [Annotation(sample_id="q0", metric="right", annotator="ana", value="Yes")])
    changed = http_client.get("/v1/runs/judged/report", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag
    assert http_client.get("/v1/runs/judged/report?by=method").headers["etag"] != changed.headers["etag"]


def test_large_responses_are_compressed(http_client):
    """A client that takes gzip gets it for large responses; the content is the same."""
    plain = http_client.get("/openapi.json", headers={"Accept-Encoding": "identity"})
    packed = http_client.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content) / 5
    assert packed.json() == plain.json()
    assert packed.headers["vary"] == "Accept-Encoding"
    assert "content-encoding" not in http_client.get("/health", headers={"Accept-Encoding": "gzip"}).headers
