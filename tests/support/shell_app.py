"""An app with a few routes of a test's beside the server's own, and what tests of it share."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import contextmanager

from fastapi.testclient import TestClient
from pydantic import BaseModel

from greval.errors import DataError, DefinitionError, JudgeUnavailableError, StoreError
from greval.serve.app import create_app
from greval.serve.logs import JsonLines
from greval.serve.service import TheTenant
from greval.serve.settings import ServerLimits, ServerSettings
from greval.testing import ScriptedJudge

LOCAL = "http://127.0.0.1"
KEY = "sk-very-secret-0123456789"


class Text(BaseModel):
    """A body."""

    text: str


def made(tmp_path, *, keys=None, token=None, **limits):
    """Give an app with a few routes of this file's beside its own."""
    app = create_app(
        ServerSettings(runs=tmp_path, keys=keys, token=token, limits=ServerLimits(**limits)),
        {"scripted": ScriptedJudge([{}])},
    )

    @app.get("/v1/who/{name}")
    def who(name: str, tenant: TheTenant, token: str = "") -> dict[str, str]:
        return {"tenant": tenant.name, "runs": str(tenant.runs)}

    @app.post("/v1/echo")
    async def echo(body: Text) -> Text:
        return body

    @app.get("/v1/fails")
    async def fails() -> None:
        message = f"secret words {KEY}"
        raise RuntimeError(message)

    @app.get("/v1/raises/{kind}")
    async def raises(kind: str) -> None:
        raise {"data": DataError, "store": StoreError, "judge": JudgeUnavailableError, "definition": DefinitionError}[
            kind
        ](f"cases.jsonl: line 3: no question ({KEY})")

    @app.get("/v1/waits/{seconds}")
    async def waits(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "done"

    return app


def client(app, **more):
    """Give a client of the app that sees errors of the server as their answers."""
    return TestClient(app, base_url=LOCAL, raise_server_exceptions=False, **more)


@contextmanager
def logged(name):
    """Give the lines that a logger writes, each as the object that it is."""
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(json.loads(JsonLines().format(record)))
    logger = logging.getLogger(name)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield lines
    logger.removeHandler(handler)
    logger.setLevel(level)


def bearer(key):
    return {"Authorization": f"Bearer {key}"}
