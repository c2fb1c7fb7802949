"""Who may ask the server: this machine, or a key's owner, and how often."""

from __future__ import annotations

import asyncio

import pytest
from shell_app import LOCAL, bearer, client, made

from greval.serve.middleware.access import MAX_PUBLIC, AccessMiddleware, classify_request
from greval.serve.middleware.api_keys import add_key, remove_keys
from greval.serve.problems import ServeError


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "169.254.169.254", "", "["])
def test_without_keys_the_host_must_be_this_machine(local, host):
    """A name that was pointed at this machine (DNS rebinding) is refused, whatever it asks for."""
    assert local.get("/v1/who/a", headers={"Host": host}).status_code == 403
    for name in ("localhost:8000", "127.0.0.1", "[::1]:80"):
        assert local.get("/v1/who/a", headers={"Host": name}).status_code == 200


def test_without_keys_other_origins_are_refused(local):
    """A page of another site cannot make a browser here ask the server for anything that changes or costs."""
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert local.post("/v1/echo", json={"text": "a"}, headers=headers).status_code == 403
    other_scheme = {"Origin": "https://127.0.0.1", "Host": "127.0.0.1"}
    assert local.post("/v1/echo", json={"text": "a"}, headers=other_scheme).status_code == 403
    same_origin = {"Origin": LOCAL, "Host": "127.0.0.1", "Sec-Fetch-Site": "same-origin"}
    assert local.post("/v1/echo", json={"text": "a"}, headers=same_origin).status_code == 200


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
def test_without_keys_requests_through_a_proxy_are_refused(local, keyed, header):
    """A proxy may bring requests of other machines: they need keys, and the answer says how to make one."""
    refused = local.get("/v1/who/a", headers={header: "10.0.0.7"})
    assert refused.status_code == 403
    assert "greval keys add" in refused.json()["detail"]
    app, ana, _ = keyed
    assert client(app).get("/v1/who/a", headers={header: "10.0.0.7"} | bearer(ana)).status_code == 200


def test_keys_name_tenants(keyed):
    """A key's name is the tenant and its folder; no key, a wrong one, and one in another form are 401."""
    app, ana, bob = keyed
    http_client = client(app)
    for key, name in ((ana, "ana"), (bob, "bob")):
        answer = http_client.get("/v1/who/x", headers=bearer(key) | {"Host": "greval.example"}).json()
        assert answer["tenant"] == name
        assert answer["runs"].endswith(f"runs/{name}")
    for headers in ({}, bearer("greval_wrong"), bearer(""), {"Authorization": ana}, bearer("é".encode())):
        refused = http_client.get("/v1/who/x", headers=headers)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
    assert http_client.get("/health").status_code == 200
    assert http_client.get("/metrics-exposition").status_code == 401
    assert http_client.get("/openapi.json").status_code == 401


def test_a_key_that_is_taken_away_is_refused_at_once(keyed, tmp_path):
    """No restart is needed to take a key away or to add one; a file that cannot be read lets nobody in."""
    app, ana, bob = keyed
    file = tmp_path / "keys.json"
    http_client = client(app)
    assert http_client.get("/v1/who/x", headers=bearer(ana)).status_code == 200
    remove_keys(file, "ana")
    assert http_client.get("/v1/who/x", headers=bearer(ana)).status_code == 401
    assert http_client.get("/v1/who/x", headers=bearer(add_key(file, "eve"))).status_code == 200
    file.write_text("{", encoding="utf-8")
    assert http_client.get("/v1/who/x", headers=bearer(bob)).status_code == 503
    file.unlink()
    assert http_client.get("/v1/who/x", headers=bearer(bob)).status_code == 503


def test_rate_of_a_key(tmp_path):
    """A key that asks too often is told when to come again, and its connection ends; another key is not concerned."""
    file = tmp_path / "keys.json"
    ana, bob = add_key(file, "ana"), add_key(file, "bob")
    http_client = client(made(tmp_path, keys=file, rate=12))
    answers = [http_client.get("/v1/who/x", headers=bearer(ana)) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429]
    # what was sent after the request would be refused as well
    assert {answer.headers.get("connection") for answer in answers[2:]} == {"close"}
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 6
    assert http_client.get("/v1/who/x", headers=bearer(bob)).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("GET", "/", "public cheap"),
        ("HEAD", "/page/js/main.js", "public cheap"),
        ("GET", "/ready", "public cheap"),
        ("GET", "/pages", ""),
        ("GET", "/metrics-exposition", "cheap"),
        ("POST", "/v1/datasets", "upload"),
        ("PUT", "/v1/runs/a-1/annotations", "upload"),
        ("POST", "/v1/runs/a-1/annotations", "upload"),
        ("GET", "/v1/runs/a-1/annotations", ""),
        ("GET", "/v1/runs/a-1/events", "event_stream"),
        ("POST", "/v1/runs/a-1/events", ""),
        ("GET", "/v1/runs/a/b/events", ""),
        ("POST", "/v1/evaluate", ""),
    ],
)
def test_requests_are_classified_by_method_and_path(method, path, kind):
    """Only the listed paths are public, cheap, uploads or event streams; any other request is none of them."""
    kinds = classify_request(method, path)
    assert [name for name, holds in kinds._asdict().items() if holds] == kind.split()


@pytest.mark.parametrize("path", ["/v1/../keys", "/./x", "/v1/a%00b", "/v1/a%5Cb"])
def test_path_traversal_is_not_found(local, path):
    """Paths with dot segments, control characters or backslashes reach no route."""
    answer = local.request("GET", path.replace("..", "%2e%2e").replace("/./", "/%2e/"))
    assert answer.status_code == 404
    assert "nothing at such a path" in answer.json()["detail"]


def test_long_heads_are_refused(local):
    """The address and the headers together may have 16 KB."""
    assert local.get("/v1/who/a", headers={"X-Long": "a" * 10_000}).status_code == 200
    assert local.get("/v1/who/a", headers={"X-Long": "a" * 17_000}).status_code == 431
    assert local.get("/v1/who/a?q=" + "a" * 17_000).status_code == 431


async def test_so_many_files_of_the_page_are_sent_at_once(tmp_path):
    """Further requests are refused and end their connections; health checks are always answered."""
    release, statuses = asyncio.Event(), []

    async def app(scope, receive, send):
        await release.wait()
        statuses.append(scope["path"])

    access = AccessMiddleware(app, made(tmp_path).state.service)

    async def ask(path):
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "state": {}}
        await access({**scope, "headers": [(b"host", b"127.0.0.1")]}, None, None)

    async with asyncio.TaskGroup() as group:
        for _ in range(MAX_PUBLIC):
            group.create_task(ask("/page/js/main.js"))
        health = group.create_task(ask("/health"))
        await asyncio.sleep(0)
        with pytest.raises(ServeError) as refused:
            await ask("/page/js/main.js")
        assert (refused.value.status, refused.value.headers["Connection"]) == (429, "close")
        assert not health.done()
        release.set()
    assert len(statuses) == MAX_PUBLIC + 1
    await ask("/page/js/main.js")
