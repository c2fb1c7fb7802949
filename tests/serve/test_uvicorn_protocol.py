"""Tests of the timeouts of connections."""

from __future__ import annotations

from contextlib import suppress

import httpx
from raw_sockets import connect, is_closed
from starlette.responses import StreamingResponse
from waiting import SECONDS, until

from greval.serve.settings import MEGABYTE


def test_slow_loris(serve):
    """Clients that send their heads a byte at a time are cut off; others are served all the while."""
    with serve(patience=0.5) as server:
        slow = [connect(server.url) for _ in range(100)]
        answered, connections = [], server.server.server_state.connections
        until(lambda: len(connections) == len(slow))

        def cut_off():
            for line in slow:
                with suppress(ConnectionError):
                    line.sendall(b"G")
            assert httpx.get(f"{server.url}/health", timeout=SECONDS).status_code == 200
            answered.append(1)
            return len(connections) <= 1

        until(cut_off)
        assert len(answered) > 1
        for line in slow:
            line.close()


def test_connections_without_a_request_are_closed(serve):
    """The time to send a head holds for the first request of a connection and for each further one."""
    with serve(patience=0.4) as server:
        for first in (b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            with connect(server.url) as line:
                if first:
                    line.sendall(first)
                    assert line.recv(65536).startswith(b"HTTP/1.1 200")
                    line.sendall(b"GET /hea")
                assert is_closed(line)


def test_clients_that_do_not_read(serve):
    """A client that asks for much and takes nothing of it is cut off; its answer is not made any further."""
    with serve(patience=0.3) as server:
        sent_parts = []

        @server.app.get("/v1/endless")
        async def endless():
            async def parts():
                while True:
                    sent_parts.append(1)
                    yield b"x" * MEGABYTE

            return StreamingResponse(parts())

        with connect(server.url) as line:
            line.sendall(b"GET /v1/endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
            until(lambda: sent_parts)
            until(lambda: not server.server.server_state.tasks)
        assert len(sent_parts) < 50
