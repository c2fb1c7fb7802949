"""OpenAI's Batch API: many requests as a file, answered within a day at half the price.

Requests and answers are lines of JSON. The functions that write and read them make no network calls.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Literal, cast, get_args

from pydantic import JsonValue

from greval.errors import DataError, JudgeError, JudgeUnavailableError
from greval.judging.model.failures import classify_error, format_failure_hint, list_secrets
from greval.judging.model.openai_direct import NOT_IN_BODY, build_body, read_completion
from greval.records.record import Record
from greval.records.result import Failure, FailureKind

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_openai import ChatOpenAI
    from openai import AsyncOpenAI
    from openai.types import Batch

ENDPOINT: Literal["/v1/chat/completions"] = "/v1/chat/completions"
MAX_REQUESTS = 50_000
# OpenAI accepts 200 MB a file.
MAX_BYTES = 190_000_000
BLOCK_BYTES = 1 << 20
# Of one request, in seconds: a file upload may take minutes.
REQUEST_TIMEOUT = 600.0
HTTP_OK = 200
NO_ENDPOINT_HINT = "see that this server has OpenAI's batch endpoint; greval evaluate asks any server"

BatchStatus = Literal[
    "validating", "in_progress", "finalizing", "cancelling", "failed", "expired", "cancelled", "completed"
]
"""Statuses of a batch, from the least to the most advanced. Those from `failed` on are final."""
STATUSES = get_args(BatchStatus)
FINAL_STATUSES = frozenset(STATUSES[STATUSES.index("failed") :])

KIND_BY_CODE: dict[str, FailureKind] = {
    "batch_expired": "timeout",
    "request_timeout": "timeout",
    "rate_limit_exceeded": "rate_limit",
    "server_error": "server",
}  # error codes of lines without an HTTP status


class BatchRequestError(Exception):
    """The error of one failed request of a batch, with the code and the HTTP status that decide its kind."""

    def __init__(self, message: str, code: str | None, status_code: int | None) -> None:
        """Keep the provider's code and the HTTP status."""
        super().__init__(message)
        self.code = code
        self.status_code = status_code


class BatchState(Record):
    """The progress of a batch. `total` is 0 while the file is being validated; `message` holds the error, if any."""

    status: BatchStatus
    total: int = 0
    completed: int = 0
    failed: int = 0
    message: str = ""

    @property
    def is_done(self) -> bool:
        """True if the status is final, so that no more answers will arrive."""
        return self.status in FINAL_STATUSES


def format_batch_request(
    custom_id: str, model: ChatOpenAI, messages: list[BaseMessage], extra: Mapping[str, Any]
) -> str:
    """Format the batch line of the request that `model.ainvoke(messages, **extra)` would send.

    Args:
        custom_id: A unique id, which is returned with the answer.
        model: The model. Its address, key and timeout are not part of the line.
        messages: The messages of the request.
        extra: Further arguments of the call, such as `extra_body`.

    Returns:
        One line of JSON, without the newline.

    Raises:
        JudgeError: If the model does not use the chat completions API, or streams.
    """
    payload = build_body(model, messages, extra)
    if "messages" not in payload:
        raise JudgeError(f"{model.model_name} is asked by the Responses API; a batch asks for chat completions only")
    body = {name: value for name, value in payload.items() if name not in NOT_IN_BODY}
    if body.get("stream"):
        raise JudgeError(f"{model.model_name} is set to stream, which a batch cannot; leave streaming=True out")
    try:
        # As ASCII, because texts may hold other line separators and lone surrogates.
        return json.dumps({"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": body}, ensure_ascii=True)
    except TypeError as error:
        raise JudgeError(f"request {custom_id}: an argument of the call cannot be written as JSON: {error}") from error


def parse_batch_answer(line: str, model: ChatOpenAI) -> tuple[str, AIMessage | Failure]:
    """Parse a line of a batch's output into its `custom_id` and the message that `ainvoke` would have returned.

    Args:
        line: A line of a batch's output file or of its error file.
        model: The model that was asked.

    Returns:
        The `custom_id`, and the message or the failure of the request. The message has no `id`, because
        LangChain assigns one to each run and there was no run.

    Raises:
        DataError: If the line is not a line of a batch.
    """
    fields = _parse_line(line)
    custom_id, response = str(fields["custom_id"]), cast("dict[str, Any]", fields.get("response") or {})
    body = response.get("body")
    try:
        if fields.get("error") or response.get("status_code") != HTTP_OK:
            raise _build_request_error(fields.get("error") or body, response.get("status_code"))  # noqa: TRY301 - one way out
        return custom_id, read_completion(body, model)
    except Exception as error:  # noqa: BLE001 - LangChain raises various errors on an invalid body
        failure = classify_error(error, list_secrets(model))
        kind = KIND_BY_CODE.get(str(getattr(error, "code", None)), failure.kind)
        return custom_id, failure.model_copy(update={"kind": kind})


def _parse_line(line: str) -> dict[str, JsonValue]:
    """Parse a line into its JSON object, and check its keys."""
    try:
        fields = json.loads(line)
    except ValueError:
        fields = None
    if (
        isinstance(fields, dict)
        and isinstance(fields.get("custom_id"), str)
        and isinstance(fields.get("response") or {}, dict)
    ):
        return fields
    raise DataError(
        f"no line of a batch, which is JSON with custom_id and response: {line[:80]!r}; fetch the file again"
    )


def _build_request_error(detail: JsonValue, status: int | None) -> BatchRequestError:
    """Build the error of a failed line, from its `error` field or from the error in the response body."""
    inner = detail.get("error", detail) if isinstance(detail, dict) else detail
    fault = inner if isinstance(inner, dict) else {"message": str(inner) if inner else "no answer was given"}
    code = fault.get("code")
    return BatchRequestError(str(fault.get("message") or code), None if code is None else str(code), status)


class BatchFiles:
    """Sends files of requests as batches, and fetches the results; a failed server is a `JudgeUnavailableError`.

    Batches that belong together have one name: their ids joined by commas. The client is one of the `openai` package,
    such as `model.root_async_client`. The limits are the most requests in a batch and the most bytes in a file.
    """

    def __init__(
        self, client: AsyncOpenAI, *, limits: tuple[int, int] = (MAX_REQUESTS, MAX_BYTES), retries: int = 4
    ) -> None:
        """Copy the client with a timeout that fits large files. The caller closes the client."""
        self._client = client.with_options(timeout=REQUEST_TIMEOUT, max_retries=retries)
        self._limits = limits

    async def submit(self, lines: Iterable[str]) -> str:
        """Send the lines of `format_batch_request`, consumed lazily, and return the name of their batches."""
        ids: list[str] = []
        # A batch that is created twice is paid for twice.
        once = self._client.with_options(max_retries=0)
        for file in _split_into_files(lines, *self._limits):
            with self._wrap_server_errors(f"sending batch {len(ids) + 1}", ids):
                sent = await self._client.files.create(file=("requests.jsonl", file), purpose="batch")
                batch = await once.batches.create(input_file_id=sent.id, endpoint=ENDPOINT, completion_window="24h")
            ids.append(batch.id)
        if not ids:
            raise DataError("no requests to send")
        return ",".join(ids)

    async def status(self, batch_id: str) -> BatchState:
        """Return the combined state of the batches of a name: summed counts and the least advanced status."""
        states = [_read_state(await self._retrieve_batch(part_id)) for part_id in batch_id.split(",")]
        return BatchState(
            status=min((state.status for state in states), key=STATUSES.index),
            total=sum(state.total for state in states),
            completed=sum(state.completed for state in states),
            failed=sum(state.failed for state in states),
            message="; ".join(filter(None, (state.message for state in states))),
        )

    async def collect(self, batch_id: str) -> AsyncIterator[str]:
        """Yield the result lines, answers and errors, in any order; raise the error of rejected batches at the end.

        Batches that expired or were cancelled are included, because the requests answered by then are paid for.
        """
        batches = [await self._retrieve_batch(part_id) for part_id in batch_id.split(",")]
        if waiting := [batch.id for batch in batches if not _read_state(batch).is_done]:
            raise JudgeError(f"{', '.join(waiting)}: not done yet; collect again later")
        for batch in batches:
            for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
                async for line in self._read_lines(file_id):
                    yield line
        if refused := [f"{batch.id}: {_read_state(batch).message}" for batch in batches if batch.status == "failed"]:
            raise JudgeError(f"no request of these batches was answered: {'; '.join(refused)}")

    async def _retrieve_batch(self, batch_id: str) -> Batch:
        with self._wrap_server_errors(f"asking for {batch_id}"):
            return await self._client.batches.retrieve(batch_id)

    async def _read_lines(self, file_id: str) -> AsyncIterator[str]:
        """Read the lines of a file in blocks."""
        tail = b""
        with self._wrap_server_errors(f"fetching {file_id}"):
            async with self._client.files.with_streaming_response.content(file_id) as response:
                async for block in response.iter_bytes(BLOCK_BYTES):
                    # Only a newline ends a line: texts may hold other separators.
                    *lines, tail = (tail + block).split(b"\n")
                    for line in lines:
                        if line.strip():
                            yield line.decode()
        if tail.strip():
            yield tail.decode()

    @contextmanager
    def _wrap_server_errors(self, doing: str, ids: Sequence[str] = ()) -> Iterator[None]:
        """Raise a server error as `JudgeUnavailableError`, without the key, naming the batches that continue."""
        try:
            yield
        except Exception as error:
            failure = classify_error(error, [self._client.api_key])
            hint = NO_ENDPOINT_HINT if failure.kind == "request" else format_failure_hint(failure.kind, "openai:")
            going = f"; these continue and can be collected: {','.join(ids)}" if ids else ""
            raise JudgeUnavailableError(
                f"{doing}: {self._client.base_url.host}: {failure.message}; {hint}{going}"
            ) from error


def _split_into_files(lines: Iterable[str], max_requests: int, max_bytes: int) -> Iterator[IO[bytes]]:
    """Yield one temporary file, filled for each batch with as many lines as fit and rewritten for the next one."""
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


def _read_state(batch: Batch) -> BatchState:
    faults = (batch.errors.data or []) if batch.errors else []
    messages = (f"line {fault.line}: {fault.message}" if fault.line else fault.message or "" for fault in faults)
    counts = batch.request_counts.model_dump(include={"total", "completed", "failed"}) if batch.request_counts else {}
    return BatchState(status=batch.status, message="; ".join(messages), **counts)
