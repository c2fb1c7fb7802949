"""Tests of the app: start, stop and middleware."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from serving import served
from shell_app import made
from starlette.responses import StreamingResponse
from waiting import SECONDS


def test_a_stopping_server_answers_requests_in_flight(tmp_path):
    """A request that came before the end gets its answer; a stream without an end is ended."""
    app = made(tmp_path)

    @app.get("/v1/runs/{name}/events")
    async def events(name: str):
        async def forever():
            while True:
                yield "data: 1\n\n"
                await asyncio.sleep(0.02)

        return StreamingResponse(forever(), media_type="text/event-stream")

    app.router.routes.insert(0, app.router.routes.pop())  # before the server's own

    async def ask(server):
        async with httpx.AsyncClient(base_url=server.url, timeout=SECONDS) as http_client:
            answer = asyncio.create_task(http_client.get("/v1/waits/0.4"))
            async with http_client.stream("GET", "/v1/runs/a/events") as stream:
                lines = stream.aiter_lines()
                await anext(lines)
                server.server.should_exit = True
                with pytest.raises(httpx.RemoteProtocolError):
                    [line async for line in lines]
            return await answer

    with served(app) as server:
        server.server.config.timeout_graceful_shutdown = 600  # a stream that were waited for would last as long
        assert asyncio.run(asyncio.wait_for(ask(server), SECONDS)).json() == "done"
