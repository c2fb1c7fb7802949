"""Methods that are called over HTTP."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue, ValidationError

from greval.errors import MethodError
from greval.methods.endpoint import Endpoint, read_endpoint
from greval.methods.reply_mapping import ReplyMapping
from greval.methods.responses import as_response
from greval.methods.templates import fill_content, fill_url, read_variables
from greval.records.case import Response, Sample

if TYPE_CHECKING:
    import ssl

    import httpx

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

    Args:
        endpoint: The URL, the request to send, and how to read the reply.

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
            raise MethodError(f"the reply is no JSON: {_shorten_body(text)}") from None

    async def _send_request(self, sample: Sample) -> httpx.Response:
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
