"""An OpenAI-compatible server for the benchmarks of systems: scripted answers, streamed too, and embeddings.

Embeddings are hashed words, so that texts with words in common are near each other, and always the same.
The words of a question steer it: BREAK fails each call, HALF only the streamed ones that want JSON, and
SILENT gives empty answers.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import threading
import zlib
from typing import Any, Self

from aiohttp import web

SIZE = 64
ANSWER = "Alex Mercer and Sam Rivera belong to the Paranormal Military Squad."
FOLLOW_UPS = ["Who leads the squad?", "What is at Dulce base?"]
SCRIPT = {
    "points": [{"description": ANSWER, "score": 80}],
    "intermediate_answer": ANSWER,
    "response": ANSWER,
    "score": 80,
    "follow_up_queries": FOLLOW_UPS,
    "high_level_keywords": ["mission of Alex Mercer to Dulce base"],
    "low_level_keywords": ["Alex Mercer", "Dulce base"],
}
"""What a call that wants JSON gets: the fields of all that the systems ask for."""
ENTITIES = """entity<|#|>Alex Mercer<|#|>person<|#|>Alex Mercer is an agent of the squad.
entity<|#|>Sam Rivera<|#|>person<|#|>Sam Rivera is the technician of the squad.
entity<|#|>Dulce Base<|#|>location<|#|>Dulce base is where the mission goes.
relation<|#|>Alex Mercer<|#|>Sam Rivera<|#|>mentorship<|#|>Alex Mercer is the mentor of Sam Rivera.
relation<|#|>Alex Mercer<|#|>Dulce Base<|#|>mission<|#|>Alex Mercer leads the way to Dulce base.
<|COMPLETE|>"""


class ModelServer:
    """The server, on a free port of 127.0.0.1 and in a thread of its own; use it as a context manager."""

    def __init__(self) -> None:
        """Count nothing yet; nothing is served yet."""
        self.calls = 0
        self.prompt_tokens = 0
        self.embeddings = 0
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        """Begin to serve."""
        self._thread.start()
        self._runner = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _start(self) -> web.AppRunner:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embed)
        app.router.add_get("/counts", self._counts)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        return runner

    async def _counts(self, _: web.Request) -> web.Response:
        told = {"calls": self.calls, "prompt_tokens": self.prompt_tokens, "embeddings": self.embeddings}
        return web.json_response(told)

    async def _embed(self, request: web.Request) -> web.Response:
        given = (await request.json())["input"]
        texts = [given] if isinstance(given, str) else given
        self.embeddings += len(texts)
        data = [{"object": "embedding", "index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
        return web.json_response({"object": "list", "data": data, "model": "e", "usage": usage(" ".join(texts), "")})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.calls += 1
        sent = " ".join(text(message) for message in body["messages"])
        self.prompt_tokens += len(sent.split())
        said = reply(body, sent)
        if said is None:
            return web.json_response({"error": {"message": "planned", "type": "error"}}, status=400)
        if body.get("stream"):
            return await stream(request, said)
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response(envelope("chat.completion", choice) | {"usage": usage(sent, said)})


def text(message: dict[str, Any]) -> str:
    """Give the text of a message."""
    content = message["content"]
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def reply(body: dict[str, Any], sent: str) -> str | None:
    """Give the answer to a call, None where it shall fail."""
    fields = wanted(body, sent)
    if "BREAK" in sent or ("HALF" in sent and fields and body.get("stream")):
        return None
    if "<|COMPLETE|>" in sent:
        return ENTITIES
    if fields:
        return json.dumps({name: SCRIPT[name] for name in fields})
    return "" if "SILENT" in sent else ANSWER


def wanted(body: dict[str, Any], sent: str) -> list[str]:
    """Give the fields of the JSON that a call wants, by its schema or by the words of its prompt."""
    asked = body.get("response_format") or {}
    if asked.get("type") == "json_schema":
        return [name for name in asked["json_schema"]["schema"]["properties"] if name in SCRIPT]
    forms = (["points"], ["response", "score", "follow_up_queries"], ["high_level_keywords", "low_level_keywords"])
    return next((form for form in forms if all(re.search(rf"['\"]{name}['\"]", sent) for name in form)), [])


def vector(given: str) -> list[float]:
    """Give a text's place: its words, hashed and counted, at length 1."""
    counts = [1e-3] * SIZE
    for word in re.findall(r"\w+", given.lower()):
        counts[zlib.crc32(word.encode()) % SIZE] += 1.0
    length = math.sqrt(sum(count * count for count in counts))
    return [count / length for count in counts]


def usage(sent: str, said: str) -> dict[str, int]:
    """Count words as tokens."""
    prompt, output = len(sent.split()), len(said.split())
    return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}


def envelope(kind: str, choice: dict[str, Any]) -> dict[str, Any]:
    """Give what stands around a choice."""
    return {"id": "x", "object": kind, "created": 0, "model": "m", "choices": [choice]}


async def stream(request: web.Request, said: str) -> web.StreamResponse:
    """Answer word by word, and tell no usage, as most servers do."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for word in re.findall(r"\S+\s*", said):
        choice = {"index": 0, "delta": {"role": "assistant", "content": word}, "finish_reason": None}
        await response.write(f"data: {json.dumps(envelope('chat.completion.chunk', choice))}\n\n".encode())
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    await response.write(f"data: {json.dumps(envelope('chat.completion.chunk', end))}\n\ndata: [DONE]\n\n".encode())
    return response
