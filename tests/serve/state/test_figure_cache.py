"""Tests of the cache of analysis results."""

from __future__ import annotations

import asyncio
import threading

import pytest
from waiting import SECONDS, until

from greval.serve.state.figure_cache import FigureCache


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


async def test_a_figure_is_worked_out_once():
    """Who asks while a figure is worked out, also after going away, gets the same one; a failure is tried again."""
    figuring, calls, free = FigureCache(), [], threading.Event()

    def make():
        calls.append(1)
        free.wait(SECONDS)
        if len(calls) == 1:
            return "{}"
        raise ValueError

    first = asyncio.create_task(figuring.get_json("a", make))
    second = asyncio.create_task(figuring.get_json("a", make))
    await asyncio.to_thread(until, lambda: calls)
    first.cancel()
    free.set()
    assert await second == "{}"
    assert await figuring.get_json("a", make) == "{}"
    assert len(calls) == 1
    for _ in range(2):
        with pytest.raises(ValueError):  # noqa: PT011 - it has no words
            await figuring.get_json("b", make)
    assert len(calls) == 3
    figuring.close()
