"""What every request passes: ids, headers, the log, problems, a time, and the OpenAPI document."""

from __future__ import annotations

import json

import pytest
from shell_app import bearer, client, logged, made


def test_request_ids(local):
    """A plain id of a client's is kept, any other is replaced; problems carry it too."""
    assert local.get("/health", headers={"X-Request-ID": "trace-1.a"}).headers["x-request-id"] == "trace-1.a"
    for odd in ("a b", "x" * 65, '"><script>', "é"):
        request_id = local.get("/health", headers={"X-Request-ID": odd.encode()}).headers["x-request-id"]
        assert len(request_id) == 32
    problem = local.get("/nowhere", headers={"X-Request-ID": "mine"})
    assert problem.json()["request_id"] == "mine"


@pytest.mark.parametrize("path", ["/health", "/nowhere", "/v1/fails", "/openapi.json", "/%2e%2e/x"])
def test_every_answer_has_the_safe_headers(local, path):
    """Answers of routes, problems and refusals carry them, and none lets other origins read it."""
    headers = local.get(path, headers={"Origin": "http://evil.example"}).headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


def test_access_log(tmp_path):
    """One line a request: the template of its path and its size, nothing of what was sent."""
    with logged("greval.access") as lines:
        answer = client(made(tmp_path)).get("/v1/who/secret-name?token=hush", headers=bearer("greval_secret"))
    [line] = lines
    assert (line["method"], line["route"], line["status"]) == ("GET", "/v1/who/{name}", 200)
    assert line["request_id"] == answer.headers["x-request-id"]
    assert line["bytes_out"] == len(answer.content)
    assert line["ms"] >= 0
    assert not [word for word in ("secret", "hush") if word in json.dumps(line)]


def test_unforeseen_errors(local):
    """The client gets a problem with the id of the request; the log has where it came from, and no words of it."""
    with logged("greval.server") as lines:
        answer = local.get("/v1/fails")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert not [word for word in ("secret", "RuntimeError", "Traceback", ".py") if word in answer.text]
    [line] = lines
    assert line["request_id"] == answer.json()["request_id"]
    assert "in fails" in line["trace"]
    assert line["trace"].endswith("RuntimeError")
    assert "secret" not in json.dumps(line)


def test_openapi_tells_what_every_request_can_meet(keyed):
    """Each operation lists the refusals as problems under their own media type, and the scope of the key."""
    app, ana, _ = keyed
    document = client(app).get("/openapi.json", headers=bearer(ana)).json()
    paths = document["paths"]
    echo = paths["/v1/echo"]["post"]
    assert {"401", "403", "408", "413", "415", "422", "429", "431", "500", "503", "504"} <= {*echo["responses"]}
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    assert echo["responses"]["422"]["content"] == echo["responses"]["429"]["content"] == problem
    assert "HTTPValidationError" not in document["components"]["schemas"]
    assert "security" not in paths["/health"]["get"]
    for method, path, scope in (
        ("get", "/metrics-exposition", "scrape"),
        ("get", "/v1/runs", "read"),
        ("post", "/v1/runs", "judge"),
        ("delete", "/v1/runs/{id}", "judge"),
    ):
        assert paths[path][method]["security"] == [{"key": [scope]}]
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
