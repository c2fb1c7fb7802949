"""Tests of the timeouts of connections."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from select import select

from raw_sockets import connect, is_closed, is_served
from starlette.responses import StreamingResponse
from waiting import until

from greval.serve.settings import MEGABYTE


def test_slow_loris(serve):
    """Clients that send their heads a byte at a time are cut off; others are served all the while."""
    with serve(patience=0.5) as server, ExitStack() as lines:
        slow = [lines.enter_context(connect(server.url)) for _ in range(100)]

        def is_cut_off(line):
            # On a busy machine the first are cut off before the last are there.
            with suppress(ConnectionError):
                line.sendall(b"G")
                return bool(select([line], [], [], 0)[0]) and not line.recv(65536)
            return True

        def cut_off():
            slow[:] = [line for line in slow if not is_cut_off(line)]
            until(lambda: is_served(server.url))
            return not slow

        until(cut_off)


def test_connections_without_a_request_are_closed(serve):
    """The time to send a head holds for the first request of a connection and for each further one."""
    with serve(patience=1) as server:
        for first in (b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            with connect(server.url) as line:
                if first:
                    line.sendall(first)
                    assert line.recv(65536).startswith(b"HTTP/1.1 200")
                    line.sendall(b"GET /hea")
                assert is_closed(line)


def test_clients_that_do_not_read(serve):
    """A client that asks for much and takes nothing of it is cut off; its answer is not made any further."""
    with serve(patience=1) as server:
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
