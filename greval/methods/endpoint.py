"""Endpoint files: the URL of a system under test, the request to send, and how to read the reply.

Example::

    url: https://rag.example.com/{tags.lang}/ask
    headers: {Authorization: "Bearer ${RAG_KEY}"}
    body: {query: "{question}", top_k: 5}
    timeout: 60
    response:
      answer: data.text
      chunks: data.hits
      chunks.id: ref
      chunks.text: passage
      usage.prompt_tokens: meta.tokens.in?
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, ValidationError, field_validator, model_validator

from greval._util.concurrency import count_as_waiting
from greval._util.json_path import JsonPath, JsonPathError
from greval._util.wording import did_you_mean, shorten_text
from greval.datasets.field_values import as_text, write_answer
from greval.errors import MethodError
from greval.methods.responses import as_response, read_response_fields
from greval.methods.templates import check_fields, fill_content, fill_url, find_variables, iterate_texts, read_variables
from greval.metrics.files.validation import convert_errors
from greval.metrics.files.yaml_text import read_source_file
from greval.records.case import Chunk, Response, ResponseUsage, Sample, Traversal, Triple
from greval.records.record import Record

if TYPE_CHECKING:
    import ssl

    import httpx

DEFAULT_BODY: JsonValue = {"question": "{question}"}
SECRET_NAME = re.compile(r"auth|key|token|secret|cookie|pass|credential", re.IGNORECASE)
"""Names of headers and variables that hold secrets."""
QUERY_SECRET = re.compile(r"[?&][^=&]*(key|token|secret|pass)[^=&]*=", re.IGNORECASE)
SUCCESS_STATUSES = range(200, 300)
MAX_BODY_SHOWN = 200
"""The maximum length of a body in an error message, in characters."""
REDACTED = "[key]"
EDGE_FIELDS = ("source", "label", "target")
EDGES_FIELD = "traversal.traversed_edges"
ITEM_FIELDS: Mapping[str, tuple[str, ...]] = {
    "chunks": tuple(Chunk.model_fields),
    "triples": tuple(Triple.model_fields),
    EDGES_FIELD: EDGE_FIELDS,
}
"""Lists of items with fields; the path of each field is relative to the item."""
TEXT_FIELDS = frozenset({*Chunk.model_fields, *Triple.model_fields, *EDGE_FIELDS} - {"score"})
FIELDS = (
    *("answer", "chunks", "triples", "aggregates", "error"),
    *(f"traversal.{name}" for name in Traversal.model_fields),
    *(f"usage.{name}" for name in ResponseUsage.model_fields),
)
TARGETS = (*FIELDS, *(f"{items}.{name}" for items, names in ITEM_FIELDS.items() for name in names))
RESPONSE_FIELDS = tuple(name for name in Response.model_fields if name != "method")


class Endpoint(Record):
    """An HTTP endpoint; see the module docstring. `timeout` is in seconds.

    Example:
        >>> Endpoint(url="http://127.0.0.1:8000/ask").body
        {'question': '{question}'}
    """

    url: Annotated[str, Field(min_length=1)]
    method: Literal["GET", "POST", "PUT", "PATCH"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict)
    body: JsonValue = DEFAULT_BODY
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0
    response: dict[str, str] = Field(default_factory=dict)

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("must be an address such as https://rag.example.com/ask")
        if parts.username or "${" in url or QUERY_SECRET.search(url):
            raise ValueError('keys do not belong into an address, which logs show; send headers: X-Key: "${MY_KEY}"')
        return _check_text(url)

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if SECRET_NAME.search(name) and not find_variables(value):
                raise ValueError(f'{name}: keys come from the environment: "Bearer ${{MY_KEY}}"')
            if re.search(r"(?<![${])\{\w", value):
                raise ValueError(f"{name}: a header takes ${{NAME}} of the environment; put samples into url or body")
        return headers

    @field_validator("body")
    @classmethod
    def _check_body(cls, body: JsonValue) -> JsonValue:
        for text in iterate_texts(body):
            _check_text(text)
        return body

    @model_validator(mode="after")
    def _check_response(self) -> Self:
        try:
            ReplyMapping(self.response)
        except (MethodError, JsonPathError) as error:
            raise ValueError(str(error)) from None
        return self

    @property
    def secrets(self) -> set[str]:
        """The environment variables that hold secrets, by their names or by the headers that use them."""
        by_header = (find_variables(value) for name, value in self.headers.items() if SECRET_NAME.search(name))
        return {name for name in self.variables if SECRET_NAME.search(name)}.union(*by_header)

    @property
    def variables(self) -> set[str]:
        """The environment variables that the endpoint uses."""
        return find_variables([*self.headers.values(), self.body])

    @property
    def display_url(self) -> str:
        """The address for messages: without the query, and with unfilled placeholders."""
        return self.url.partition("?")[0]


def read_endpoint(path: Path) -> Endpoint:
    """Read an endpoint file, YAML or JSON."""
    source = read_source_file(path, "name a YAML or JSON file of an endpoint", MethodError)
    faults, content = source.faults, {} if source.data is None else source.data
    if not faults:
        try:
            return Endpoint.model_validate(content)
        except ValidationError as error:
            faults = convert_errors(error.errors(include_url=False), content, source.lines, _list_keys)
    raise MethodError("\n".join(f"{path}:{fault}" for fault in sorted(faults, key=lambda fault: fault.line)))


def _list_keys(*_: object) -> tuple[str, ...]:
    return tuple(Endpoint.model_fields)


def _check_text(text: str) -> str:
    if faults := [*check_fields(text)]:
        raise ValueError("; ".join(faults))
    return text


def load_endpoint(spec: str) -> HttpMethod:
    """Load an endpoint from its URL, or from a YAML or JSON file that describes it."""
    if not spec.startswith(("http://", "https://")):
        return HttpMethod(read_endpoint(Path(spec)))
    try:
        return HttpMethod(Endpoint(url=spec))
    except ValidationError as error:
        raise MethodError(f"{spec}: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from None


class HttpMethod:
    """An HTTP endpoint as a method; each call is one request on its own connection."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._form = ReplyMapping(endpoint.response)
        self._variables = read_variables(endpoint.variables, endpoint.display_url)
        secrets = {self._variables[name] for name in endpoint.secrets}
        # Replies may hold them in JSON-escaped form, too.
        self._secrets = secrets | {json.dumps(secret)[1:-1] for secret in secrets}

    def __repr__(self) -> str:
        return f"HttpMethod({self._endpoint.display_url!r})"

    async def prepare(self) -> None:
        """Load the HTTP client and the certificates."""
        await asyncio.to_thread(_create_tls_context)

    async def __call__(self, sample: Sample) -> Response:
        """Call the endpoint."""
        try:
            return as_response(self._form.read(await self._fetch_json(sample)))
        except (MethodError, JsonPathError) as error:
            raise MethodError(f"{self._endpoint.display_url}: {self._redact(str(error))}") from None

    async def _fetch_json(self, sample: Sample) -> object:
        """Return the JSON of the reply, with the secrets that were sent redacted."""
        sent = await self._send_request(sample)
        # First of all, as an endpoint may return the headers that were sent.
        text = self._redact(sent.text)
        excerpt = shorten_text(text, MAX_BODY_SHOWN) or "(empty)"
        if sent.status_code not in SUCCESS_STATUSES:
            raise MethodError(f"status {sent.status_code}: {excerpt}")
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise MethodError(f"the reply is not JSON: {excerpt}") from None

    async def _send_request(self, sample: Sample) -> httpx.Response:
        with count_as_waiting():
            if not _create_tls_context.cache_info().currsize:
                # A call without `prepare` loads the certificates here, and not on the event loop.
                await self.prepare()
            import httpx

        end = self._endpoint
        url = fill_url(end.url, sample)
        body = None
        if end.method != "GET":
            body = json.dumps(fill_content(end.body, sample, self._variables), ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json"} if body is not None else {}
        headers |= {name: str(fill_content(value, sample, self._variables)) for name, value in end.headers.items()}
        try:
            async with (
                asyncio.timeout(end.timeout),
                httpx.AsyncClient(verify=_create_tls_context(), timeout=None) as client,  # noqa: S113 - `asyncio.timeout` limits it
            ):
                return await client.request(end.method, url, headers=headers, content=body)
        except TimeoutError:
            raise MethodError(f"no reply within {end.timeout:g} s (`timeout` of the endpoint)") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise MethodError(f"cannot be reached: {type(error).__name__}: {error}") from None

    def _redact(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text


# Once, because loading the certificates takes longer than a request.
@cache
def _create_tls_context() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()


class ReplyMapping:
    """Reads replies with a mapping such as `answer: data.text`, `chunks: hits`, `chunks.text: passage.content`.

    Args:
        lines: A path for each field of a response that the reply contains. For `chunks`, `triples` and
            `traversal.traversed_edges` it is the path of the list; `chunks.text` and the like give the path of a
            field within an item. If empty, the reply is read as the result of a function is.
    """

    def __init__(self, lines: Mapping[str, str]) -> None:
        for name in lines:
            if name not in TARGETS:
                raise MethodError(f"response: {name}: is not a field of a response{did_you_mean(name, TARGETS)}")
            items = name.rpartition(".")[0]
            if items in ITEM_FIELDS and items not in lines:
                raise MethodError(f"response: {name}: add {items}, the path of the list that holds them")
        self._paths = {name: JsonPath.parse(path) for name, path in lines.items()}

    def read(self, reply: object) -> dict[str, object]:
        """Read the fields of a response from a reply; raise `JsonPathError` if nothing is at a path."""
        if not self._paths:
            return _read_own_fields(reply)
        if "error" in self._paths and (error := self._paths["error"].find(reply)) is not None:
            return {"error": str(error)}
        fields: dict[str, object] = {}
        for name, path in self._paths.items():
            if name in FIELDS and name != "error" and (value := path.find(reply)) is not None:
                _set_field(
                    fields, name, self._read_items(name, value) if name in ITEM_FIELDS else _read_plain(name, value)
                )
        return fields

    def _read_items(self, name: str, value: object) -> list[object]:
        if not isinstance(value, list):
            raise MethodError(f"{name}: expected a list at {self._paths[name].text}, got {type(value).__name__}")
        paths = {part: self._paths[f"{name}.{part}"] for part in ITEM_FIELDS[name] if f"{name}.{part}" in self._paths}
        return [_read_item(name, item, paths) for item in value]


def _read_own_fields(reply: object) -> dict[str, object]:
    """Read the fields that a reply has under names or in forms that are known; other names are ignored."""
    fields, _ = read_response_fields(reply) or ({}, ())
    if not fields:
        description = (
            f"an object with {', '.join(map(str, reply)) or 'nothing'}" if isinstance(reply, dict) else "no object"
        )
        raise MethodError(
            f"the reply is {description}; it should hold {', '.join(RESPONSE_FIELDS[:4])} or others of a response, "
            "or the endpoint needs a file with `response:` that says where they are"
        )
    return fields


def _read_item(name: str, item: object, paths: Mapping[str, JsonPath]) -> object:
    """Read an item of a list by its paths, or its fields under their own names if there are no paths."""
    if paths:
        values = {part: path.find(item) for part, path in paths.items()}
    elif isinstance(item, dict):
        values = {part: item[part] for part in ITEM_FIELDS[name] if part in item}
    else:
        return item
    fields = {
        part: as_text(value) if part in TEXT_FIELDS else value for part, value in values.items() if value is not None
    }
    return [fields.get(part) for part in EDGE_FIELDS] if name == EDGES_FIELD else fields


def _read_plain(name: str, value: object) -> object:
    """Read a field that is not a list of items; names of nodes may be numbers in the reply."""
    if isinstance(value, list):
        return [as_text(item) for item in value]
    return write_answer(value) if name == "answer" else value


def _set_field(fields: dict[str, object], name: str, value: object) -> None:
    first, _, part = name.partition(".")
    if not part:
        fields[first] = value
        return
    within = fields.setdefault(first, {})
    assert isinstance(within, dict)  # noqa: S101 - created here
    within[part] = value
