"""Pages of other origins: none may use the server but those that the operator allowed."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from greval.errors import GrevalError
from greval.serve.app import create_app
from greval.serve.middleware.api_keys import add_key
from greval.serve.settings import ServerSettings
from greval.serve.start import check_origins, parse_origins

APP = "https://app.example"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, content-type"}


@pytest.fixture
def keyed(tmp_path):
    """Give a client of a server with keys that allows an origin, and a header with a key."""
    keys = tmp_path / "keys.json"
    key = add_key(keys, "ana")
    app = create_app(ServerSettings(runs=tmp_path / "runs", keys=keys, cors_origins=(APP,)))
    return TestClient(app), {"Authorization": f"Bearer {key}"}


def test_an_allowed_origin_may_send_and_read(keyed):
    """The preflight needs no key, and the page reads the response, its headers, and errors too."""
    client, key = keyed
    allowed = client.options("/v1/evaluate", headers={"Origin": APP, **PREFLIGHT})
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == APP
    assert "authorization" in allowed.headers["access-control-allow-headers"].lower()
    assert "access-control-allow-credentials" not in allowed.headers
    for headers, status in ((key, 200), ({}, 401)):
        answer = client.get("/v1/metrics", headers={"Origin": APP, **headers})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (status, APP)
        assert "ETag" in answer.headers["access-control-expose-headers"]


def test_other_origins_may_not(keyed, tmp_path):
    """Another origin gets no permission, with or without a key, and no origin does by default."""
    client, key = keyed
    origin = {"Origin": "https://other.example"}
    refused = client.options("/v1/evaluate", headers={**origin, **PREFLIGHT})
    plain = TestClient(create_app(ServerSettings(runs=tmp_path)), base_url="http://127.0.0.1")
    answers = [refused, client.get("/v1/metrics", headers={**origin, **key}), plain.get("/health", headers=origin)]
    assert refused.status_code == 400
    assert not [answer for answer in answers if "access-control-allow-origin" in answer.headers]


def test_without_keys_an_allowed_page_of_this_machine_may_send(tmp_path):
    """A page of another port may send if it is allowed; one that is not is refused as before."""
    front = "http://localhost:3000"
    app = create_app(ServerSettings(runs=tmp_path, cors_origins=(front,)))
    client = TestClient(app, base_url="http://127.0.0.1:8000")
    body = {"yaml": "x"}
    sent = client.post("/v1/metrics/check", json=body, headers={"Origin": front, "Sec-Fetch-Site": "cross-site"})
    assert (sent.status_code, sent.headers["access-control-allow-origin"]) == (200, front)
    refused = client.post("/v1/metrics/check", json=body, headers={"Origin": "http://localhost:3001"})
    assert (refused.status_code, refused.json()["code"]) == (403, "foreign_origin")


def test_without_keys_pages_of_other_machines_are_refused_at_the_start(tmp_path):
    """The server does not start where a page of another machine could use it without a key."""
    check_origins(ServerSettings(cors_origins=("http://localhost:3000", "http://[::1]:3000")))
    check_origins(ServerSettings(cors_origins=(APP,), keys=tmp_path / "keys.json"))
    with pytest.raises(GrevalError, match="without keys its pages could use the server"):
        check_origins(ServerSettings(cors_origins=(APP,)))


@pytest.mark.parametrize("text", ["*", "app.example", "https://app.example/path", "https://*.example", "null", ""])
def test_texts_that_are_no_origins_are_refused(text):
    """An origin has a scheme and a host, and no path and no wildcard."""
    with pytest.raises(GrevalError, match="expected an origin"):
        parse_origins([text])
