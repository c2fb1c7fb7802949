"""Tests of the client of an Argilla server."""

from __future__ import annotations

import json
import traceback
from base64 import b64encode

import pytest
from argilla_stand_in import KEY
from proxy import Proxy

from greval.errors import ArgillaError
from greval.trust.argilla.client import ArgillaClient


@pytest.mark.parametrize(
    ("url", "key", "message"),
    [
        ("", "k", "no url of an Argilla server: set ARGILLA_API_URL"),
        ("http://127.0.0.1:1", " ", "no key of an Argilla server: set ARGILLA_API_KEY"),
        ("ftp://127.0.0.1", "k", "ARGILLA_API_URL.*expected an http"),
        ("http://127.0.0.1:1", "schlüssel\u2603", "cannot be used"),
    ],
)
def test_a_wrong_setting_is_refused_before_any_request(monkeypatch, url, key, message):
    """The error names the variable to set."""
    monkeypatch.delenv("ARGILLA_API_URL", raising=False)
    monkeypatch.delenv("ARGILLA_API_KEY", raising=False)
    with pytest.raises(ArgillaError, match=message):
        ArgillaClient(url, key)


@pytest.mark.parametrize(
    "url",
    [
        "http://admin:hunter2@127.0.0.1:1",
        "http://admin:hunter2@127.0.0.1:port",
        "ftp://admin:hunter2@127.0.0.1",
        "admin:hunter2@127.0.0.1",
        "http://admin:hunter2#hunter2@127.0.0.1",
        "http://admin:hunter2/hunter2@127.0.0.1",
        "http://admin:hunter2@[::1",
    ],
)
def test_credentials_of_a_url_are_in_no_error(url):
    """Whether the URL is wrong or nothing answers there, no part of the password is shown, nor in the causes."""
    with pytest.raises(ArgillaError) as caught, ArgillaClient(url, "k") as client:
        client.get("/me")
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_credentials_of_a_url_are_sent(stand_in):
    """They are for a proxy before the server; the address that is shown to people does not have them."""
    with ArgillaClient(stand_in.url.replace("//", "//admin:hunter%402@"), KEY) as client:
        assert client.get("/me")["username"] == "ana"
        assert client.url == stand_in.url
    assert stand_in.logins == {f"Basic {b64encode(b'admin:hunter@2').decode()}"}


def test_settings_come_from_the_environment(monkeypatch, stand_in):
    """A slash at the end of the URL does no harm."""
    monkeypatch.setenv("ARGILLA_API_URL", f"{stand_in.url}/")
    monkeypatch.setenv("ARGILLA_API_KEY", KEY)
    with ArgillaClient() as client:
        assert client.get("/me")["username"] == "ana"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            (403, {"detail": {"params": {"detail": "not yours"}}}),
            r"'ana', an owner, may not do this \(not yours\)",
        ),
        (
            (422, {"detail": {"params": {"errors": [{"loc": ["body", "x"], "msg": "too long"}]}}}),
            "body.x: too long",
        ),
        ((500, {"detail": "out of memory"}), r"the server failed \(500: out of memory\)"),
        ((409, "a plain text"), r"GET /api/v1/things was refused \(409\): a plain text"),
    ],
)
def test_a_refusal_says_what_the_server_said(stand_in, answer, message):
    """The status is kept, and the message of each form of answer is found."""
    stand_in.failing["/things"] = answer
    with ArgillaClient(stand_in.url, KEY) as client, pytest.raises(ArgillaError, match=message) as raised:
        client.get("/things")
    assert raised.value.status == answer[0]


def test_an_unknown_key_and_a_foreign_server_have_messages_of_their_own(stand_in):
    """Each has its own remedy."""
    with (
        ArgillaClient(stand_in.url, "wrong") as client,
        pytest.raises(ArgillaError, match="_API_KEY is not known"),
    ):
        client.get("/me")
    for ending, answer in (("/page", (200, "<html>")), ("/list", (200, "[1]"))):
        stand_in.failing[ending] = answer
        with ArgillaClient(stand_in.url, KEY) as client, pytest.raises(ArgillaError, match="no Argilla server"):
            client.get(ending)


def test_no_server_is_an_error_that_says_how_to_go_on():
    """Nothing listens on port 1."""
    with (
        ArgillaClient("http://127.0.0.1:1", "k") as client,
        pytest.raises(ArgillaError, match="is Argilla running"),
    ):
        client.get("/me")


def test_records_are_read_over_pages_once_each(stand_in):
    """More records than fit on a page come all, each once."""
    stand_in.records["d"] = {str(n): {"id": str(n)} for n in range(2500)}
    with ArgillaClient(stand_in.url, KEY) as client:
        assert [record["id"] for record in client.iter_records("d")] == [str(n) for n in range(2500)]
    assert stand_in.requests.count(("GET", "/datasets/d/records")) == 3


def test_records_that_a_pass_missed_are_read_in_the_next(stand_in):
    """The order changes from page to page, and each record still comes once."""
    stand_in.records["d"] = {str(n): {"id": str(n)} for n in range(2500)}
    stand_in.is_unstable = True
    with ArgillaClient(stand_in.url, KEY) as client:
        found = [record["id"] for record in client.iter_records("d")]
    assert len(found) == len(set(found)) == 2500
    assert stand_in.requests.count(("GET", "/datasets/d/records")) > 3


@pytest.fixture
def pages():
    """Return a function that reads the records of pages, one a call, however they overlap."""
    with Proxy("http://127.0.0.1:9") as proxy, ArgillaClient(proxy.url, "key") as client:

        def read(*listed, total):
            texts = [json.dumps({"items": [{"id": value} for value in ids], "total": total}).encode() for ids in listed]
            proxy.reset(lambda n, *_: (200, texts[(n - 1) % len(texts)]))
            return [record["id"] for record in client.iter_records("d")]

        yield read


def test_records_that_never_come_are_an_error(pages):
    """If not all records can be read, nothing is taken for all; an empty page ends a reading."""
    assert pages(["a", "b"], ["b"], ["c", "a"], ["b"], total=3) == ["a", "b", "c"]
    assert pages([], total=0) == []
    for listed in ([["a", "b"], ["b"]], [["a"], []]):
        with pytest.raises(ArgillaError, match=r"1 of \d records could not be read"):
            pages(*listed, total=len(listed[0]) + 1)


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'{"detail": null}', b'{"detail": {"params": null}}', b"\xff"])
def test_any_refusal_has_its_status(body):
    """Whatever a refusal holds, it is an error with its status."""
    with Proxy("http://127.0.0.1:9") as proxy, ArgillaClient(proxy.url, "key") as client:
        for status in (400, 401, 403, 404, 422, 500, 503):
            proxy.reset(lambda *_, status=status: (status, body))
            with pytest.raises(ArgillaError) as caught:
                client.get("/me")
            assert caught.value.status == status
