"""What hostile or broken clients do to a real server: nothing is lost, nothing leaks, and others are served."""

from __future__ import annotations

import httpx
import psutil
from fault_server import ok
from raw_sockets import connect, is_closed, is_served
from served_metrics import tone
from serving import ASKED, server_process
from waiting import SECONDS, until

from greval.serve.settings import MEGABYTE

JSON = {"Content-Type": "application/json"}
SCRIPT = "</script><img src=x onerror=alert(1)>"


def says(url, *request):
    """Send raw bytes, and give all that comes back until the server closes or falls silent."""
    with connect(url) as line:
        line.sendall(b"".join(request))
        return heard(line)


def heard(line):
    """Give what comes until the other side closes or falls silent."""
    parts = []
    try:
        while part := line.recv(65536):
            parts.append(part)
            if b"\r\n\r\n" in part and b"chunked" not in part:
                line.settimeout(0.2)
    except (TimeoutError, ConnectionError):
        pass
    return b"".join(parts)


def test_100_megabytes(tmp_path):
    """A body of 100 MB is refused, announced or not, and the server's memory does not grow with it."""
    with server_process(folder=tmp_path) as server:
        memory = psutil.Process(server.process.pid).memory_info
        bytes_before, part = memory().rss, b" " * MEGABYTE
        for headers in (JSON, JSON | {"Content-Length": str(100 * MEGABYTE)}):
            content = (part for _ in range(100))
            answer = httpx.post(f"{server.url}/v1/evaluate", content=content, headers=headers, timeout=SECONDS)
            assert answer.status_code == 413
        assert memory().rss - bytes_before < 40 * MEGABYTE
        assert httpx.get(f"{server.url}/health", timeout=SECONDS).status_code == 200


def test_two_lengths_of_a_body(serve):
    """A request with Content-Length and Transfer-Encoding is refused; what follows it is not read."""
    smuggled = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = b"POST /v1/evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with serve() as server, connect(server.url) as line:
        line.sendall(head + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled)
        answer = heard(line)
        assert answer.startswith(b"HTTP/1.1 400")
        assert answer.count(b"HTTP/1.1") == 1
        assert is_closed(line)


def test_slow_bodies(serve, fault_server):
    """A body that stops coming is given up with 408, and its place is free again."""
    with serve(patience=2, calls=1, waiting=1) as server:
        head = b"POST /v1/evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        for _ in range(3):
            answer = says(server.url, head, b"Content-Length: 1000\r\n\r\n{")
            assert answer.startswith(b"HTTP/1.1 408")
        assert httpx.post(f"{server.url}/v1/evaluate", json=ASKED, timeout=SECONDS).status_code == 200
    assert fault_server.calls == 1


PATHS = [
    b"/metrics/../v1/judges",
    b"/metrics/%2e%2e/%2e%2e/etc/passwd/invoke",
    b"/metrics/..%2f..%2fkeys/input_schema",
    b"/metrics/..%5c..%5ckeys/input_schema",
    b"/metrics/a%00b/input_schema",
    b"/v1/metrics/%2e%2e",
    b"/v1/metrics/.",
    b"/v1/metrics/..%2F..%2Fpyproject.toml",
    b"/v1/metrics/%252e%252e%252fkeys",
    b"/v1/metrics/C:%5Cx",
    b"/v1/metrics/%0d%0aSet-Cookie:a=b",
    b"/v1/datasets/..%2f..",
    b"/v1/runs/%2e%2e/report",
    b"/page/..%2f..%2f..%2fserver.py",
    b"/page/%2e%2e/app.py",
    b"/v1/metrics/%ff%fe",
    b"//v1/metrics/x",
]


def test_paths_stay_where_they_are(serve):
    """No spelling of a path leaves its folder: there is nothing there, and no file is told of."""
    with serve() as server:
        for path in PATHS:
            answer = says(server.url, b"GET ", path, b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert int(answer.split()[1]) in {404, 422}, (path, answer)
            assert b"Set-Cookie" not in answer.partition(b"\r\n\r\n")[0]
            assert not [word for word in (b"root:", b"Traceback") if word in answer], path


def test_headers_cannot_be_injected(serve):
    """What a client sends never begins a header of an answer; odd and huge heads are refused."""
    with serve() as server:
        for value in (b"a\rSet-Cookie: b=c", b"a%0d%0aSet-Cookie:b"):
            answer = says(server.url, b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Request-ID: ", value, b"\r\n\r\n")
            assert b"set-cookie" not in answer.lower()
        huge = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n"
        assert says(server.url, huge).split()[1] in {b"400", b"431"}


def test_garbage(serve):
    """Bytes that are no HTTP are answered with 400 or silence, and the server goes on."""
    requests = (b"\x16\x03\x01\x02\x00\x01", b"\0" * 1000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 50)
    with serve(patience=0.5) as server:
        assert not [request for request in requests if b" 200 " in says(server.url, request)]
        until(lambda: is_served(server.url))


def test_markup_stays_text(serve, fault_server):
    """Markup in every field comes back as JSON that no browser takes for a page."""
    fault_server.plan = ok()
    case = dict.fromkeys(("id", "question", "expected_answer", "answer", "method"), SCRIPT)
    case |= {"chunks": [{"id": SCRIPT, "text": SCRIPT}], "tags": {SCRIPT: SCRIPT}}
    requests = [
        ("POST", "/v1/evaluate", {"cases": [case], "metrics": ["correctness", "chunk_evaluation"]}),
        ("POST", "/v1/evaluate", {"cases": [case], "metrics": [SCRIPT]}),
        ("POST", "/v1/evaluate", {SCRIPT: SCRIPT}),
        ("POST", "/metrics/correctness/invoke", {"input": case}),
        ("POST", "/metrics/correctness/invoke", {"input": {SCRIPT: SCRIPT}}),
        ("POST", "/v1/metrics/check", {"yaml": SCRIPT}),
        ("POST", "/v1/metrics", {"yaml": tone("evil").replace("Courteous.", f"'{SCRIPT}'")}),
        *(("GET", f"/metrics/evil/{part}_schema", None) for part in ("input", "output", "config")),
    ]
    with serve() as server:
        for method, path, body in requests:
            answer = httpx.request(method, server.url + path, json=body, timeout=SECONDS)
            assert answer.headers["content-type"] in {"application/json", "application/problem+json"}
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.status_code < 500
