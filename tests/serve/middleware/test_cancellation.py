"""Clients that go away, come in crowds, or are others' rivals: work ends with its client, and all have their turn."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter

import httpx
import pytest
from fault_server import hangs, held, ok
from serving import ASKED, CASE, INVOKED
from waiting import SECONDS, until

from greval.serve.middleware.api_keys import add_key

LARGE = CASE | {"answer": "x" * 150_000}
"""A case that a child process judges."""


def send_and_leave(url, path, body, fault_server):
    """Send a request, and go away once the judge is asked."""

    async def go():
        async with httpx.AsyncClient(base_url=url, timeout=SECONDS) as http_client:
            request = asyncio.create_task(http_client.post(path, json=body))
            await asyncio.to_thread(fault_server.wait)
            request.cancel()

    asyncio.run(go())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/evaluate", ASKED | {"cases": [CASE] * 8}),
        ("/v1/evaluate", ASKED | {"cases": [LARGE]}),
        ("/metrics/correctness/invoke", INVOKED),
        ("/metrics/correctness/batch", {"inputs": [CASE] * 8}),
        ("/metrics/correctness/stream", INVOKED),
        ("/v1/metrics/draft", {"name": "tone", "description": "The tone of the answer.", "scale": "categorical"}),
    ],
)
def test_work_ends_with_its_client(serve, fault_server, path, body):
    """When a client goes away, also in the middle of a stream, the judge's calls in flight are given up."""
    fault_server.plan = hangs()
    with serve() as server:
        send_and_leave(server.url, path, body, fault_server)
        until(lambda: fault_server._flying == 0)
        until(lambda: server.service.call_limit.in_flight == server.service.call_limit.waiting_count == 0)
        calls = fault_server.calls
        time.sleep(0.2)
        assert fault_server.calls == calls


def test_reading_ends_with_its_client(serve):
    """A request without a body ends with its client too."""
    with serve() as server:
        begun, ended = [], []

        @server.app.get("/v1/slow")
        async def slow():
            begun.append(1)
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                ended.append(1)
                raise

        with pytest.raises(httpx.ReadTimeout):
            httpx.get(f"{server.url}/v1/slow", timeout=httpx.Timeout(SECONDS, read=0.5))
        until(lambda: len(begun) == len(ended))


def test_work_ends_with_its_time(serve, fault_server):
    """A request that took too long is answered with 504, and the judge's call is given up."""
    fault_server.plan = hangs()
    with serve(seconds=0.5) as server:
        assert httpx.post(f"{server.url}/v1/evaluate", json=ASKED, timeout=SECONDS).status_code == 504
        until(lambda: fault_server._flying == 0)


def test_a_crowd(serve, fault_server):
    """Of many clients at once as many are served as have a place; the others are told at once when to come again."""
    fault_server.latency = 0.1

    async def crowd(url):
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=url, limits=limits, timeout=SECONDS) as http_client:
            return await asyncio.gather(*(http_client.post("/v1/evaluate", json=ASKED) for _ in range(60)))

    with serve(calls=4, waiting=16) as server:
        answers = asyncio.run(crowd(server.url))
        assert httpx.post(f"{server.url}/v1/evaluate", json=ASKED, timeout=SECONDS).status_code == 200
    statuses = [answer.status_code for answer in answers]
    assert {*statuses} == {200, 429}
    assert statuses.count(200) >= 20
    assert all(1 <= int(answer.headers["retry-after"]) <= 60 for answer in answers if answer.status_code == 429)
    assert all(answer.json()["results"] for answer in answers if answer.status_code == 200)
    assert fault_server.most <= 4


def test_one_key_cannot_take_all_places(serve, fault_server, tmp_path):
    """Where one key has as many requests as it may, another one is served in its turn."""
    release = threading.Event()
    fault_server.plan = held(release, ok())
    file = tmp_path / "keys.json"
    ana, bob = ({"Authorization": f"Bearer {add_key(file, name)}"} for name in ("ana", "bob"))
    of_bob = {"cases": [CASE | {"answer": "This is of Bob."}], "metrics": ["correctness"]}

    async def crowd(http_client, body, headers, count, served):
        """Send requests until all but those that are served have been refused."""
        sent = [asyncio.create_task(http_client.post("/v1/evaluate", json=body, headers=headers)) for _ in range(count)]
        while sum(request.done() for request in sent) < count - served:  # noqa: ASYNC110 - the server is in another thread
            await asyncio.sleep(0.01)
        return sent

    async def play(server):
        async with httpx.AsyncClient(base_url=server.url, timeout=SECONDS) as http_client:
            many = await crowd(http_client, ASKED, ana, 40, 16)
            others = await crowd(http_client, of_bob, bob, 20, 16)
            await asyncio.to_thread(until, lambda: server.service.call_limit.waiting_count == 31)
            release.set()
            return await asyncio.gather(*many), await asyncio.gather(*others)

    with serve(keys=file, calls=1, waiting=15, rate=6000) as server:
        first, others = asyncio.run(asyncio.wait_for(play(server), SECONDS))
    assert Counter(answer.status_code for answer in first) == {200: 16, 429: 24}
    assert Counter(answer.status_code for answer in others) == {200: 16, 429: 4}
    turns = ["of Bob" in str(body["messages"]) for body in fault_server.bodies]
    assert turns.index(True) <= 2  # next but one, not behind all that came before
