"""Who sends a request: several keys of a tenant, their scopes, their expiry and their last use."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from shell_app import bearer, client, made

from greval.serve.middleware.api_keys import LastUseFolder, add_key, read_keys


@pytest.mark.parametrize(
    "scopes", [("read",), ("judge",), ("scrape",), ("read", "judge"), ("read", "judge", "scrape")], ids="-".join
)
def test_scopes_of_a_key(keyed, tmp_path, scopes):
    """A request outside the scopes of its key is refused with the scope that it needs; public paths need none."""
    http_client = client(keyed[0])
    sent = bearer(add_key(tmp_path / "keys.json", "eve", scopes=scopes))
    answers = {
        "read": http_client.get("/v1/who/x", headers=sent),
        "judge": http_client.post("/v1/echo", json={"text": "a"}, headers=sent),
        "scrape": http_client.get("/metrics-exposition", headers=sent),
    }
    for scope, answer in answers.items():
        assert answer.status_code == (200 if scope in scopes else 403)
        if answer.status_code == 403:
            assert answer.json()["code"] == "scope_missing"
            assert answer.headers["www-authenticate"] == f'Bearer error="insufficient_scope", scope="{scope}"'
    assert http_client.get("/health", headers=sent).status_code == 200


def test_a_key_without_the_scope_is_refused_before_the_body_is_read(keyed, tmp_path):
    """The app does not ask for the body of a request that it refuses."""
    key = add_key(tmp_path / "keys.json", "eve", scopes=("read",))
    headers = [(b"authorization", f"Bearer {key}".encode())]
    scope = {"type": "http", "method": "POST", "path": "/v1/echo", "query_string": b"", "headers": headers}
    messages = []

    async def receive():
        messages.append("asked for the body")
        return {"type": "http.request", "body": b"{}"}

    async def send(message):
        messages.append(message.get("status"))

    asyncio.run(keyed[0](scope, receive, send))
    assert messages[0] == 403
    assert "asked for the body" not in messages


def test_an_expired_key_is_refused(keyed, tmp_path):
    """Its holder learns when it expired; with any other key the answer is the same as without such a key."""
    app, ana, _ = keyed
    http_client, now = client(app), datetime.now(UTC)
    valid = add_key(tmp_path / "keys.json", "eve", expires=now + timedelta(days=1))
    expired = add_key(tmp_path / "keys.json", "eve", expires=datetime(2026, 1, 2, tzinfo=UTC))
    assert http_client.get("/v1/who/x", headers=bearer(valid)).status_code == 200
    refused = http_client.get("/v1/who/x", headers=bearer(expired))
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Bearer error="invalid_token"')
    assert "expired on 2026-01-02 00:00 UTC" in refused.json()["detail"]
    for guess in (expired[:-1], read_keys(tmp_path / "keys.json").find_key(expired).sha256):
        guessed = http_client.get("/v1/who/x", headers=bearer(guess))
        assert (guessed.status_code, guessed.headers["www-authenticate"]) == (401, "Bearer")
        assert "expired" not in guessed.text
    assert http_client.get("/v1/who/x", headers=bearer(ana)).status_code == 200


def test_the_last_use_of_a_key_is_recorded(keyed, tmp_path):
    """A key that was sent has a time of last use, one that was not has none, whatever the answer was."""
    app, ana, bob = keyed
    http_client, keys, uses = client(app), read_keys(tmp_path / "keys.json"), LastUseFolder(tmp_path / "keys.json")
    assert http_client.get("/v1/nothing", headers=bearer(ana)).status_code == 404
    assert uses.read_last_use(keys.find_key(ana)) is not None
    assert uses.read_last_use(keys.find_key(bob)) is None


def test_the_token_of_a_server_without_keys(tmp_path):
    """Each request but those of the page and of monitoring needs it; this machine alone is served with it too."""
    http_client = client(made(tmp_path, token="t" * 20))
    for headers in ({}, bearer("t" * 19), bearer(""), {"Authorization": "t" * 20}):
        refused = http_client.get("/v1/who/x", headers=headers)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert "--no-token" in refused.json()["detail"]
        assert "t" * 19 not in refused.text
    sent = bearer("t" * 20)
    assert http_client.get("/v1/who/x", headers=sent).json()["tenant"] == ""
    assert http_client.get("/metrics-exposition", headers=sent).status_code == 200
    assert http_client.post("/v1/echo", json={"text": "a"}, headers=sent).status_code == 200
    for path in ("/", "/health", "/page/js/main.js"):
        assert http_client.get(path).status_code == 200
    assert http_client.get("/v1/who/x", headers=sent | {"Host": "evil.example"}).status_code == 403
    document = http_client.get("/openapi.json", headers=sent).json()
    assert document["paths"]["/v1/evaluate"]["post"]["security"] == [{"key": ["judge"]}]
