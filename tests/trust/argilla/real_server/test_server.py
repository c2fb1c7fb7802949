"""The REST interface alone, against a server that says whatever a test wants: pages that overlap, odd refusals."""

from __future__ import annotations

import json

import pytest
from proxy import Proxy

from greval.errors import ArgillaError
from greval.trust.argilla.client import ArgillaClient


@pytest.fixture
def pages():
    """Give a server whose pages of records are those of a list, one a call, and a client of it."""
    with Proxy("http://127.0.0.1:9") as proxy, ArgillaClient(proxy.url, "key") as server:

        def serve(*listed, total):
            texts = [json.dumps({"items": [{"id": one} for one in ids], "total": total}).encode() for ids in listed]
            proxy.reset(lambda n, *_: (200, texts[(n - 1) % len(texts)]))
            return [one["id"] for one in server.iter_records("d")]

        yield serve


def test_records_are_given_once_however_pages_overlap(pages):
    """Where pages overlap, so that one is missed, they are read again until all were seen, each given once."""
    assert pages(["a", "b"], ["b"], ["c", "a"], ["b"], total=3) == ["a", "b", "c"]
    assert pages([], total=0) == []


def test_records_that_never_come_are_told(pages):
    """Where not all records can be read, nothing is taken for all."""
    with pytest.raises(ArgillaError, match="1 of 3 records could not be read"):
        pages(["a", "b"], ["b"], total=3)


def test_a_record_that_goes_meanwhile_is_no_fault(pages):
    """An empty page ends a reading; it does not go on forever."""
    with pytest.raises(ArgillaError, match="could not be read"):
        pages(["a"], [], total=2)


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'{"detail": null}', b'{"detail": {"params": null}}', b"\xff"])
def test_any_refusal_is_told(body):
    """Whatever a refusal holds, it is told as a refusal with its status."""
    with Proxy("http://127.0.0.1:9") as proxy, ArgillaClient(proxy.url, "key") as server:
        for status in (400, 401, 403, 404, 422, 500, 503):
            proxy.reset(lambda *_, status=status: (status, body))
            with pytest.raises(ArgillaError) as caught:
                server.get("/me")
            assert caught.value.status == status
