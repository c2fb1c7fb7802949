"""Systems under test that are asked over HTTP."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue, ValidationError

from greval.errors import MethodError
from greval.methods.endpoint import Endpoint, read_endpoint
from greval.methods.reply_mapping import ReplyForm
from greval.methods.responses import as_response
from greval.methods.templates import fill, fill_url, read_variables
from greval.records.case import Response, Sample

if TYPE_CHECKING:
    import ssl

    import httpx

GOOD = range(200, 300)
MAX_PIECE = 200
"""So much of a body is told where it is no response."""
BLOTTED = "[key]"


def load(spec: str) -> HttpMethod:
    """Load an endpoint by its address, or by the name of a YAML or JSON file that describes it.

    Raises:
        MethodError: Where it cannot be read, or a variable that it needs is not in the environment.
    """
    if not spec.startswith(("http://", "https://")):
        return HttpMethod(read_endpoint(Path(spec)))
    try:
        return HttpMethod(Endpoint(url=spec))
    except ValidationError as error:
        raise MethodError(f"{spec}: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from None


class HttpMethod:
    """An endpoint of HTTP as a method; each call is one request, on a connection of its own.

    Args:
        endpoint: Where it is, what is sent and how the reply is read.

    Raises:
        MethodError: Where a variable that it needs is not in the environment.

    Example:
        >>> HttpMethod(Endpoint(url="http://127.0.0.1:8000/ask"))
        HttpMethod('http://127.0.0.1:8000/ask')
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._form = ReplyForm(endpoint.response)
        self._variables = read_variables(endpoint.variables, endpoint.shown)
        secrets = {self._variables[name] for name in endpoint.secrets}
        self._secrets = secrets | {json.dumps(secret)[1:-1] for secret in secrets}  # as JSON writes them, too

    def __repr__(self) -> str:
        return f"HttpMethod({self._endpoint.shown!r})"

    async def __call__(self, sample: Sample) -> Response:
        """Ask the endpoint.

        Raises:
            MethodError: Where it does not answer in time, answers with an error, or with no response.
        """
        try:
            return as_response(self._form.read(await self._reply(sample)))
        except MethodError as error:
            raise MethodError(f"{self._endpoint.shown}: {self._blotted(str(error))}") from None

    async def _reply(self, sample: Sample) -> object:
        """Give the JSON of the reply, without the secrets that were sent."""
        sent = await self._sent(sample)
        text = self._blotted(sent.text)
        if sent.status_code not in GOOD:
            raise MethodError(f"status {sent.status_code}: {_piece(text)}")
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise MethodError(f"the reply is no JSON: {_piece(text)}") from None

    async def _sent(self, sample: Sample) -> httpx.Response:
        import httpx

        end = self._endpoint
        url = fill_url(end.url, sample)
        body = None if end.method == "GET" else _encoded(fill(end.body, sample, self._variables))
        headers = {"Content-Type": "application/json"} if body is not None else {}
        headers |= {name: str(fill(value, sample, self._variables)) for name, value in end.headers.items()}
        try:
            async with asyncio.timeout(end.timeout), httpx.AsyncClient(verify=_trust(), timeout=None) as client:  # noqa: S113 - ours is for the whole
                return await client.request(end.method, url, headers=headers, content=body)
        except TimeoutError:
            raise MethodError(f"no reply within {end.timeout:g} s (`timeout` of the endpoint)") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise MethodError(f"cannot be reached: {type(error).__name__}: {error}") from None

    def _blotted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, BLOTTED)
        return text


def _encoded(body: JsonValue) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def _piece(text: str) -> str:
    """Give the beginning of a body in one line."""
    line = " ".join(text.split())
    return f"{line[:MAX_PIECE]}..." if len(line) > MAX_PIECE else line or "(empty)"


@cache
def _trust() -> ssl.SSLContext:
    """Read the trusted certificates once: it takes longer than a request."""
    import httpx

    return httpx.create_ssl_context()
