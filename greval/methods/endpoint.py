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
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, ValidationError, field_validator, model_validator

from greval._util.wording import did_you_mean
from greval._util.work_clock import count_as_waiting
from greval.errors import MethodError
from greval.methods.reply_mapping import ReplyMapping
from greval.methods.responses import as_response
from greval.methods.templates import check_fields, fill_content, fill_url, find_variables, iterate_texts, read_variables
from greval.metrics.files.yaml_text import find_line, read_source_file
from greval.records.case import Response, Sample
from greval.records.record import Record

if TYPE_CHECKING:
    import ssl

    import httpx

DEFAULT_BODY: JsonValue = {"question": "{question}"}
SECRET_NAME = re.compile(r"auth|key|token|secret|cookie|pass|credential", re.IGNORECASE)
"""Names of headers and variables that hold secrets."""
QUERY_SECRET = re.compile(r"[?&][^=&]*(key|token|secret|pass)[^=&]*=", re.IGNORECASE)


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
        except MethodError as error:
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
    """Read an endpoint file, YAML or JSON.

    Raises:
        MethodError: If it cannot be read. All its faults are reported at once, each with its line.
    """
    source = read_source_file(path, "name a YAML or JSON file of an endpoint", MethodError)
    faults = [(fault.line, str(fault).partition(": ")[2]) for fault in source.faults]
    if not faults:
        try:
            return Endpoint.model_validate(source.data)
        except ValidationError as error:
            found = error.errors(include_url=False)
            faults = [(find_line(detail["loc"], source.lines), _describe_fault(dict(detail))) for detail in found]
    raise MethodError("\n".join(f"{path}:{line}: {text}" for line, text in sorted(faults)))


def _describe_fault(detail: dict[str, object]) -> str:
    """Describe what is wrong with a key."""
    place = detail["loc"]
    assert isinstance(place, tuple)  # noqa: S101 - guaranteed by pydantic
    kind, name = detail["type"], ".".join(map(str, place))
    if kind == "extra_forbidden":
        return f"{name}: is not known{did_you_mean(str(place[-1]), Endpoint.model_fields)}"
    text = str(detail["msg"])
    ours = text.removeprefix("Value error, ")
    message = "is missing; add it" if kind == "missing" else ours if ours != text else f"{text[:1].lower()}{text[1:]}"
    return f"{name}: {message}" if name else message


def _check_text(text: str) -> str:
    if faults := [*check_fields(text)]:
        raise ValueError("; ".join(faults))
    return text


SUCCESS_STATUSES = range(200, 300)
MAX_BODY_SHOWN = 200
"""The maximum length of a body in an error message, in characters."""
REDACTED = "[key]"


def load_endpoint(spec: str) -> HttpMethod:
    """Load an endpoint from its URL, or from a YAML or JSON file that describes it.

    Raises:
        MethodError: If it cannot be read, or an environment variable that it uses is not set.
    """
    if not spec.startswith(("http://", "https://")):
        return HttpMethod(read_endpoint(Path(spec)))
    try:
        return HttpMethod(Endpoint(url=spec))
    except ValidationError as error:
        raise MethodError(f"{spec}: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from None


class HttpMethod:
    """An HTTP endpoint as a method; each call is one request on its own connection.

    Raises:
        MethodError: If an environment variable that the endpoint uses is not set.

    Example:
        >>> HttpMethod(Endpoint(url="http://127.0.0.1:8000/ask"))
        HttpMethod('http://127.0.0.1:8000/ask')
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._form = ReplyMapping(endpoint.response)
        self._variables = read_variables(endpoint.variables, endpoint.display_url)
        secrets = {self._variables[name] for name in endpoint.secrets}
        self._secrets = secrets | {json.dumps(secret)[1:-1] for secret in secrets}  # also in JSON-escaped form

    def __repr__(self) -> str:
        return f"HttpMethod({self._endpoint.display_url!r})"

    async def prepare(self) -> None:
        """Load the HTTP client and the certificates."""
        await asyncio.to_thread(_create_tls_context)

    async def __call__(self, sample: Sample) -> Response:
        """Call the endpoint.

        Raises:
            MethodError: If the call times out or fails, the status is an error, or the reply is not a response.
        """
        try:
            return as_response(self._form.read(await self._fetch_json(sample)))
        except MethodError as error:
            raise MethodError(f"{self._endpoint.display_url}: {self._redact(str(error))}") from None

    async def _fetch_json(self, sample: Sample) -> object:
        """Return the JSON of the reply, with the secrets that were sent redacted."""
        sent = await self._send_request(sample)
        text = self._redact(sent.text)
        if sent.status_code not in SUCCESS_STATUSES:
            raise MethodError(f"status {sent.status_code}: {_shorten_body(text)}")
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise MethodError(f"the reply is not JSON: {_shorten_body(text)}") from None

    async def _send_request(self, sample: Sample) -> httpx.Response:
        with count_as_waiting():
            if not _create_tls_context.cache_info().currsize:
                await self.prepare()
            import httpx

        end = self._endpoint
        url = fill_url(end.url, sample)
        body = None if end.method == "GET" else _encode_json(fill_content(end.body, sample, self._variables))
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


def _encode_json(body: JsonValue) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def _shorten_body(text: str) -> str:
    """Return the beginning of a body in one line."""
    line = " ".join(text.split())
    return f"{line[:MAX_BODY_SHOWN]}..." if len(line) > MAX_BODY_SHOWN else line or "(empty)"


@cache
def _create_tls_context() -> ssl.SSLContext:
    """Create the TLS context once, because loading the certificates takes longer than a request."""
    import httpx

    return httpx.create_ssl_context()
