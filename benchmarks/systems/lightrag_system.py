"""A LightRAG of the benchmark: model functions that ask the server of MODEL_URL, files in WORKING_DIR.

As a command it indexes a short text of two documents.
"""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request

import numpy as np
from lightrag import LightRAG
from lightrag.utils import EmbeddingFunc, Tokenizer

URL = os.environ["MODEL_URL"]
TEXTS = {
    "squad.txt": "Alex Mercer is an agent of the Paranormal Military Squad. Sam Rivera learns from him.",
    "base.txt": "Dulce base lies below the desert. Alex Mercer leads the mission of the squad to Dulce base.",
}


class Words:
    """A tokenizer that needs no file: a letter is a token."""

    def encode(self, content: str) -> list[int]:
        """Give the letters' numbers."""
        return [ord(letter) for letter in content]

    def decode(self, tokens: list[int]) -> str:
        """Give the text again."""
        return "".join(map(chr, tokens))


def build() -> LightRAG:
    """Make the object; its storages are not initialised yet."""
    return LightRAG(
        working_dir=os.environ["WORKING_DIR"],
        llm_model_func=model,
        embedding_func=EmbeddingFunc(embedding_dim=64, max_token_size=8192, func=embed),
        tokenizer=Tokenizer("letters", Words()),
    )


async def model(prompt: str, system_prompt: str | None = None, history_messages: object = (), **_: object) -> str:
    """Ask the chat server."""
    system = [{"role": "system", "content": system_prompt}] if system_prompt else []
    messages = [*system, *(history_messages or ()), {"role": "user", "content": prompt}]
    reply = await asyncio.to_thread(posted, "/chat/completions", {"model": "m", "messages": messages})
    return reply["choices"][0]["message"]["content"]


async def embed(texts: list[str]) -> np.ndarray:
    """Ask the server for embeddings."""
    reply = await asyncio.to_thread(posted, "/embeddings", {"model": "e", "input": list(texts)})
    return np.array([row["embedding"] for row in reply["data"]])


def posted(path: str, body: dict) -> dict:
    """Post JSON and give what comes back."""
    request = urllib.request.Request(  # noqa: S310 - our own server
        URL + path, data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310 - our own server
        return json.load(reply)


async def index() -> None:
    """Index the texts."""
    rag = build()
    await rag.initialize_storages()
    await rag.ainsert([*TEXTS.values()], file_paths=[*TEXTS])
    await rag.finalize_storages()


if __name__ == "__main__":
    asyncio.run(index())
