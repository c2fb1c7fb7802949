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
def asked(tmp_path):
    """Give a client of a server with a run."""
    write(tmp_path / "judged", "right", ["Yes", "No"] * 4)
    with client(create_app(ServerSettings(runs=tmp_path))) as asked:
        yield asked


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
def test_a_client_that_has_the_content_is_not_sent_it(asked, path):
    """The same content has the same tag, with which the response is 304 without content."""
    first = asked.get(path)
    again = asked.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert "no-store" not in first.headers["cache-control"]
    assert asked.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_changed_run_has_another_tag(asked, tmp_path):
    """A new annotation changes the tag of a report, and the client gets the new one."""
    tag = asked.get("/v1/runs/judged/report").headers["etag"]
    keep_annotations(tmp_path / "judged", [Annotation(sample_id="q0", metric="right", annotator="ana", value="Yes")])
    changed = asked.get("/v1/runs/judged/report", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag
    assert asked.get("/v1/runs/judged/report?by=method").headers["etag"] != changed.headers["etag"]


def test_large_responses_are_compressed(asked):
    """A client that takes gzip gets it for large responses; the content is the same."""
    plain = asked.get("/openapi.json", headers={"Accept-Encoding": "identity"})
    packed = asked.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content) / 5
    assert packed.json() == plain.json()
    assert packed.headers["vary"] == "Accept-Encoding"
    assert "content-encoding" not in asked.get("/health", headers={"Accept-Encoding": "gzip"}).headers
