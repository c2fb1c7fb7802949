"""Readiness check: the judges respond and the folder of runs is writable. It spends no tokens."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import httpx

from greval.errors import GrevalError
from greval.judging.model.judge import KEY_VARIABLE, URL_VARIABLE, Judge, chat_model
from greval.records.record import Record
from greval.serve.logs import ERRORS
from greval.serve.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

FRESH = 10.0
"""The seconds for which a result is cached, so that frequent checks cause no more requests to the judges."""
PATIENCE = 5.0
OPENAI = "https://api.openai.com/v1"
REFUSED = frozenset({401, 403})
BROKEN = 500

Whether = Literal["ok", "its key is refused", "it cannot be reached", "it cannot be used as set up"]


class Ready(Record):
    """Whether the server is ready; `judges` and `runs` show what is not. The server's log has more."""

    ready: bool
    judges: dict[str, Whether]
    runs: Literal["ok", "cannot be written"]


class Readiness:
    """Checks whether the server is ready, and caches the result for some seconds."""

    def __init__(self, settings: Settings, models: Mapping[str, Judge | BaseChatModel]) -> None:
        """Start without a cached result."""
        self._settings = settings
        self._models = models
        self._turn = asyncio.Lock()
        self._found: Ready | None = None
        self._at = 0.0

    async def __call__(self) -> Ready:
        """Return whether the server is ready."""
        async with self._turn:
            if self._found is None or time.monotonic() - self._at > FRESH:
                self._found = await self._look()
                self._at = time.monotonic()
            return self._found

    async def _look(self) -> Ready:
        told = await asyncio.gather(*(_judge(name, model) for name, model in self._models.items()))
        judges = dict(zip(self._models, told, strict=True))
        writable = await asyncio.to_thread(_writable, self._settings.runs)
        ready = writable and all(state == "ok" for state in told)
        return Ready(ready=ready, judges=judges, runs="ok" if writable else "cannot be written")


async def _judge(name: str, model: Judge | BaseChatModel) -> Whether:
    """Return the status of a judge: an OpenAI server is asked for its models, other judges are only set up."""
    if not isinstance(model, Judge):
        return "ok"
    try:
        await chat_model(model)
        if not model.model.startswith("openai:"):
            return "ok"
        url = model.base_url or os.environ.get(URL_VARIABLE) or OPENAI
        return await _server(url)
    except GrevalError as error:
        ERRORS.warning("judge %s: %s", name, error)
        return "it cannot be used as set up"
    except httpx.HTTPError as error:
        ERRORS.warning("judge %s: %s", name, type(error).__name__)
        return "it cannot be reached"


async def _server(url: str) -> Whether:
    headers = {"Authorization": f"Bearer {os.environ.get(KEY_VARIABLE) or 'none'}"}
    async with httpx.AsyncClient(timeout=PATIENCE) as client:
        status = (await client.get(f"{url.rstrip('/')}/models", headers=headers)).status_code
    if status in REFUSED:
        return "its key is refused"
    return "ok" if status < BROKEN else "it cannot be reached"


def _writable(folder: Path) -> bool:
    """Return whether the folder, or its nearest existing parent, is writable; nothing is created."""
    there = next((path for path in (folder, *folder.absolute().parents) if path.exists()), folder)
    return there.is_dir() and os.access(there, os.W_OK)
