"""Answers of a chat model as streams in OpenAI's form."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace


def chunk(text: str, usage: object = None) -> SimpleNamespace:
    return SimpleNamespace(choices=[SimpleNamespace(delta=SimpleNamespace(content=text))], usage=usage)


def count_words(text: str) -> int:
    """Count words as tokens."""
    return len(text.split())


async def streamed(*texts: str, fails: bool = False) -> AsyncIterator[SimpleNamespace]:
    """Stream these texts, and break off where it shall fail."""
    for text in texts:
        yield chunk(text)
    if fails:
        raise ConnectionError("gone")
