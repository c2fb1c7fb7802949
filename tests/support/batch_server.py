"""A real server on 127.0.0.1 that speaks the form of OpenAI's Batch API."""

from __future__ import annotations

import json
from itertools import count

from aiohttp import web

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 5},
}


def completion(content="Yes.", finish="stop", message=None, **fields):
    """Give the body of an answer."""
    said = {"role": "assistant", "content": content, **(message or {})}
    choice = {"index": 0, "message": said, "finish_reason": finish, **fields.pop("choice", {})}
    told = {"id": "x1", "object": "chat.completion", "created": 1, "model": "fine-2025-01-01", "choices": [choice]}
    return {**told, "usage": USAGE, **fields}


def answer_line(custom_id, body, status=200, fault=None):
    """Give a line as it comes back."""
    response = {"status_code": status, "request_id": "r1", "body": body}
    return json.dumps({"id": "b1", "custom_id": custom_id, "response": response, "error": fault})


class BatchServer:
    """A server that takes files of requests, answers them in steps, and gives files of answers.

    A request whose id begins with `bad` is refused, one with `late` expires; `answer` gives the content of
    the answer to the body of any other request.
    """

    def __init__(self, answer=lambda _: "a\u2028b\x85c"):
        self.answer = answer
        self.files = {}
        self.batches = {}
        self.broken = 0
        self.max_batches = 99
        self.begun = 0
        self.busy = False
        self.steps = ["validating", "in_progress", "finalizing", "completed"]
        self._numbers = count(1)

    async def start(self):
        """Serve on a free port; give the runner that stops it."""
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/v1/files", self.take)
        app.router.add_get("/v1/files/{id}/content", self.give)
        app.router.add_post("/v1/batches", self.begin)
        app.router.add_get("/v1/batches/{id}", self.tell)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        return runner

    async def take(self, request):
        form = await request.post()
        if self.broken or len(self.batches) == self.max_batches:
            self.broken -= 1
            return web.json_response({"error": {"message": "down"}}, status=503, headers={"Retry-After": "0"})
        assert form["purpose"] == "batch"
        file_id = self._keep(form["file"].file.read())
        size = len(self.files[file_id])
        told = {"id": file_id, "object": "file", "bytes": size, "created_at": 1, "filename": form["file"].filename}
        return web.json_response({**told, "purpose": "batch", "status": "processed"})

    async def give(self, request):
        return web.Response(body=self.files[request.match_info["id"]], content_type="application/octet-stream")

    async def begin(self, request):
        asked = await request.json()
        self.begun += 1
        if self.busy:
            return web.json_response({"error": {"message": "busy"}}, status=503, headers={"Retry-After": "0"})
        assert (asked["endpoint"], asked["completion_window"]) == ("/v1/chat/completions", "24h")
        batch_id = f"batch_{next(self._numbers)}"
        self.batches[batch_id] = {"input_file_id": asked["input_file_id"], "left": [*self.steps], "answered": {}}
        return web.json_response(self._told(batch_id))

    async def tell(self, request):
        batch = self.batches[request.match_info["id"]]
        if len(batch["left"]) > 1:
            batch["left"].pop(0)
        status = batch["left"][0]
        if status in {"completed", "expired", "cancelled"} and not batch["answered"]:
            batch["answered"] = self._answered(batch["input_file_id"])
        return web.json_response(self._told(request.match_info["id"]))

    def _keep(self, content):
        file_id = f"file-{next(self._numbers)}"
        self.files[file_id] = content
        return file_id

    def _answered(self, file_id):
        good, bad = [], []
        for line in self.files[file_id].decode().splitlines():
            asked = json.loads(line)
            name = asked["custom_id"]
            if name.startswith("late-"):
                fault = {"code": "batch_expired", "message": "Too late."}
                bad.append(json.dumps({"custom_id": name, "response": None, "error": fault}))
            elif name.startswith("bad-"):
                bad.append(answer_line(name, {"error": {"message": "No.", "code": None}}, 400))
            else:
                answered = completion(self.answer(asked.get("body", {})))
                said = {"custom_id": name, "response": {"status_code": 200, "body": answered}}
                good.append(json.dumps(said, ensure_ascii=False))
        files = {"output_file_id": good, "error_file_id": bad}
        return {
            key: self._keep("".join(f"{line}\n" for line in lines).encode()) for key, lines in files.items() if lines
        }

    def _told(self, batch_id):
        batch = self.batches[batch_id]
        status = batch["left"][0]
        total = len(self.files[batch["input_file_id"]].splitlines())
        told = {"id": batch_id, "object": "batch", "endpoint": "/v1/chat/completions", "created_at": 1}
        done = total if batch["answered"] else 0
        counts = {"total": 0 if status == "validating" else total, "completed": done, "failed": 0}
        faults = {"object": "list", "data": [{"code": "invalid", "line": 2, "message": "no JSON"}]}
        errors = {"errors": faults} if status == "failed" else {}
        told |= {"completion_window": "24h", "status": status, "request_counts": counts, **errors}
        return {**told, "input_file_id": batch["input_file_id"], **batch["answered"]}
