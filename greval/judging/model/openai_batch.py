"""OpenAI's Batch API: many requests as a file, answered within a day at half the price.

Requests and answers are lines of JSON; the functions that write and read them touch no network.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Literal, cast, get_args

from pydantic import JsonValue

from greval.errors import DataError, JudgeError, JudgeUnavailableError
from greval.judging.model.failures import failure_of, secrets_of
from greval.judging.model.hints import advice
from greval.judging.model.openai_direct import NOT_SENT, body_of, read
from greval.records.record import Record
from greval.records.result import Failure, FailureKind

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_openai import ChatOpenAI
    from openai import AsyncOpenAI
    from openai.types import Batch

URL: Literal["/v1/chat/completions"] = "/v1/chat/completions"
MAX_REQUESTS = 50_000
MAX_BYTES = 190_000_000  # OpenAI takes 200 MB a file
BLOCK = 1 << 20
PATIENCE = 600.0  # seconds for one request; a file may take minutes
OK = 200
NO_BATCHES = "see that this server has OpenAI's batch endpoint; greval evaluate asks any server"

Status = Literal["validating", "in_progress", "finalizing", "cancelling", "failed", "expired", "cancelled", "completed"]
"""From the least to the most finished; those from `failed` on are final."""
STATUSES = get_args(Status)
FINAL = frozenset(STATUSES[STATUSES.index("failed") :])

BY_CODE: dict[str, FailureKind] = {
    "batch_expired": "timeout",
    "request_timeout": "timeout",
    "rate_limit_exceeded": "rate_limit",
    "server_error": "server",
}  # what lines without an HTTP status tell


class BatchRequestError(Exception):
    """What a line tells of a request that failed, with what decides its failure kind."""

    def __init__(self, message: str, code: str | None, status_code: int | None) -> None:
        """Keep the provider's code and the HTTP status."""
        super().__init__(message)
        self.code = code
        self.status_code = status_code


class BatchState(Record):
    """How far a batch is; `total` is 0 while the file is being checked, `message` says why it failed."""

    status: Status
    total: int = 0
    completed: int = 0
    failed: int = 0
    message: str = ""

    @property
    def done(self) -> bool:
        """Whether nothing more will come."""
        return self.status in FINAL


def request_line(custom_id: str, model: ChatOpenAI, messages: list[BaseMessage], extra: Mapping[str, Any]) -> str:
    """Give the line that asks a model in a batch what `model.ainvoke(messages, **extra)` asks at once.

    Args:
        custom_id: Comes back with the answer; unlike that of any other line.
        model: The model; its address, key and timeout are no part of the line.
        messages: What is asked.
        extra: Further arguments of the call, such as `extra_body`.

    Returns:
        One line of JSON, without the newline.

    Raises:
        JudgeError: Where the model does not speak the chat completions API, or streams.
    """
    payload = body_of(model, messages, extra)
    if "messages" not in payload:
        raise JudgeError(f"{model.model_name} is asked by the Responses API; a batch asks for chat completions only")
    body = {name: value for name, value in payload.items() if name not in NOT_SENT}
    if body.get("stream"):
        raise JudgeError(f"{model.model_name} is set to stream, which a batch cannot; leave streaming=True out")
    try:
        return json.dumps({"custom_id": custom_id, "method": "POST", "url": URL, "body": body}, ensure_ascii=True)
    except TypeError as error:
        message = f"request {custom_id}: an argument of the call cannot be written as JSON: {error}"
        raise JudgeError(message) from error


def read_line(line: str, model: ChatOpenAI) -> tuple[str, AIMessage | Failure]:
    """Give the `custom_id` of a line that came back, with the message that `ainvoke` would have given.

    Args:
        line: A line of a batch's output file or of its error file.
        model: The model that was asked.

    Returns:
        The message, whatever it holds, or why the request failed. The message has no `id`: LangChain
        gives one to each run, and there was none.

    Raises:
        DataError: Where the line is none of a batch.
    """
    told = _object(line)
    custom_id, response = str(told["custom_id"]), cast("dict[str, Any]", told.get("response") or {})
    body = response.get("body")
    try:
        if told.get("error") or response.get("status_code") != OK:
            raise _refused(told.get("error") or body, response.get("status_code"))  # noqa: TRY301 - one way out
        return custom_id, read(body, model)
    except Exception as error:  # noqa: BLE001 - LangChain raises as it likes on a body that is none
        failure = failure_of(error, secrets_of(model))
        kind = BY_CODE.get(str(getattr(error, "code", None)), failure.kind)
        return custom_id, failure.model_copy(update={"kind": kind})


def _object(line: str) -> dict[str, JsonValue]:
    """Give the content of a line."""
    try:
        told = json.loads(line)
    except ValueError:
        told = None
    if (
        isinstance(told, dict)
        and isinstance(told.get("custom_id"), str)
        and isinstance(told.get("response") or {}, dict)
    ):
        return told
    message = f"no line of a batch, which is JSON with custom_id and response: {line[:80]!r}; fetch the file again"
    raise DataError(message)


def _refused(told: JsonValue, status: int | None) -> BatchRequestError:
    """Give the error that a line tells of, in whichever of its two places it stands."""
    inner = told.get("error", told) if isinstance(told, dict) else told
    fault = inner if isinstance(inner, dict) else {"message": str(inner) if inner else "no answer was given"}
    code = fault.get("code")
    return BatchRequestError(str(fault.get("message") or code), None if code is None else str(code), status)


class BatchFiles:
    """Sends files of requests as batches, and fetches what came of them.

    Batches that belong together have one name: their ids with commas between.

    Args:
        client: A client of the `openai` package, such as `model.root_async_client`; it keeps its key and address.
        limits: The most requests in one batch, and the most bytes in one file.
        retries: How often a request that failed is made again.

    Raises:
        JudgeUnavailableError: From each method, where the server does not do what is asked.
    """

    def __init__(
        self, client: AsyncOpenAI, *, limits: tuple[int, int] = (MAX_REQUESTS, MAX_BYTES), retries: int = 4
    ) -> None:
        """Take the client with a patience that fits large files; whoever made it closes it."""
        self._client = client.with_options(timeout=PATIENCE, max_retries=retries)
        self._limits = limits

    async def submit(self, lines: Iterable[str], *, on_batch: Callable[[str], object] | None = None) -> str:
        """Send requests, and give the name of their batches.

        Args:
            lines: What `request_line` gave; read as they are needed.
            on_batch: Called with the id of each batch as soon as there is one, to write it down: it is paid for.

        Raises:
            DataError: Where there is no line, or one is larger than a file can be.
            JudgeUnavailableError: Where a file is not taken; the batches before it go on, and are named.
        """
        ids: list[str] = []
        once = self._client.with_options(max_retries=0)  # a batch that was made twice is paid for twice
        for file in _files(lines, *self._limits):
            with self._telling(f"sending batch {len(ids) + 1}", ids):
                sent = await self._client.files.create(file=("requests.jsonl", file), purpose="batch")
                batch = await once.batches.create(input_file_id=sent.id, endpoint=URL, completion_window="24h")
            ids.append(batch.id)
            if on_batch:
                on_batch(batch.id)
        if not ids:
            raise DataError("there is no request to send")
        return ",".join(ids)

    async def status(self, batch_id: str) -> BatchState:
        """Give how far the batches of a name are; together they are as far as the last of them."""
        states = [_state(await self._batch(one)) for one in batch_id.split(",")]
        return BatchState(
            status=min((state.status for state in states), key=STATUSES.index),
            total=sum(state.total for state in states),
            completed=sum(state.completed for state in states),
            failed=sum(state.failed for state in states),
            message="; ".join(filter(None, (state.message for state in states))),
        )

    async def collect(self, batch_id: str) -> AsyncIterator[str]:
        """Give the lines that came back, of answers and of errors, in any order.

        Also of a batch that expired or was cancelled: what was answered by then is paid for. A request
        that has no line at all was never begun.

        Raises:
            JudgeError: Where a batch is not done yet; or, after all lines of the others, where one was refused.
        """
        batches = [await self._batch(one) for one in batch_id.split(",")]
        if waiting := [batch.id for batch in batches if not _state(batch).done]:
            raise JudgeError(f"{', '.join(waiting)}: not done yet; collect again later")
        for batch in batches:
            for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
                async for line in self._lines(file_id):
                    yield line
        if refused := [f"{batch.id}: {_state(batch).message}" for batch in batches if batch.status == "failed"]:
            raise JudgeError(f"no request of these batches was answered: {'; '.join(refused)}")

    async def cancel(self, batch_id: str) -> None:
        """Stop the batches of a name that are not done; what was answered can be collected then."""
        for one in batch_id.split(","):
            if not _state(await self._batch(one)).done:
                with self._telling(f"cancelling {one}"):
                    await self._client.batches.cancel(one)

    async def _batch(self, batch_id: str) -> Batch:
        with self._telling(f"asking for {batch_id}"):
            return await self._client.batches.retrieve(batch_id)

    async def _lines(self, file_id: str) -> AsyncIterator[str]:
        """Read a file a block at a time; lines end with a newline only, as texts may hold other separators."""
        rest = b""
        with self._telling(f"fetching {file_id}"):
            async with self._client.files.with_streaming_response.content(file_id) as response:
                async for block in response.iter_bytes(BLOCK):
                    *whole, rest = (rest + block).split(b"\n")
                    for line in whole:
                        if line.strip():
                            yield line.decode()
        if rest.strip():
            yield rest.decode()

    @contextmanager
    def _telling(self, doing: str, ids: Sequence[str] = ()) -> Iterator[None]:
        """Tell what went wrong with the server, free of the key, and which batches go on all the same."""
        try:
            yield
        except Exception as error:
            failure = failure_of(error, [self._client.api_key])
            hint = NO_BATCHES if failure.kind == "request" else advice(failure.kind, "openai:")
            going = f"; these go on and can be collected: {','.join(ids)}" if ids else ""
            message = f"{doing}: {self._client.base_url.host}: {failure.message}; {hint}{going}"
            raise JudgeUnavailableError(message) from error


def _files(lines: Iterable[str], max_requests: int, max_bytes: int) -> Iterator[IO[bytes]]:
    """Give a file on the disk with as many lines as one batch takes, again and again; it holds one part at a time."""
    count = 0
    with TemporaryFile() as file:
        for line in lines:
            content = f"{line}\n".encode()
            if len(content) > max_bytes:
                raise DataError(f"a request has {len(content)} bytes, a file takes {max_bytes}: {line[:80]}")
            if count == max_requests or file.tell() + len(content) > max_bytes:
                file.seek(0)
                yield file
                file.seek(0)
                file.truncate()
                count = 0
            file.write(content)
            count += 1
        if count:
            file.seek(0)
            yield file


def _state(batch: Batch) -> BatchState:
    faults = (batch.errors.data or []) if batch.errors else []
    told = (f"line {fault.line}: {fault.message}" if fault.line else fault.message or "" for fault in faults)
    counts = batch.request_counts.model_dump(include={"total", "completed", "failed"}) if batch.request_counts else {}
    return BatchState(status=batch.status, message="; ".join(told), **counts)
