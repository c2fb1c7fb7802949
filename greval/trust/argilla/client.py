"""The REST interface of an Argilla server: one call each, with faults told in plain words."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from greval._util.files import Closing
from greval.errors import ArgillaError, MissingExtraError

if TYPE_CHECKING:
    import httpx

URL, KEY = "ARGILLA_API_URL", "ARGILLA_API_KEY"
AGAIN = "what was done before stays, and the same command goes on there"
PAGE = 1000
"""The most records that the server gives at once."""
READINGS = 4
SHOWN = 300
UNKNOWN_KEY, FORBIDDEN, SERVER_FAULT = 401, 403, 500

Json = dict[str, Any]


class Server(Closing):
    """An Argilla server and a key to it; a context manager.

    Args:
        url: Where it is; None takes the environment's ARGILLA_API_URL.
        key: An API key of an owner or admin; None takes the environment's ARGILLA_API_KEY.
        timeout: Seconds for one call.

    Raises:
        ArgillaError: Where either is not told.
        MissingExtraError: Where httpx is not installed.
    """

    def __init__(self, url: str | None = None, key: str | None = None, *, timeout: float = 60.0) -> None:
        """Open no connection yet."""
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError("argilla", "httpx") from error
        self.url = _told("url", url, URL).rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise ArgillaError(f"{self.url}: is no http(s) address such as http://127.0.0.1:6900; mend --url or {URL}")
        headers = {"X-Argilla-Api-Key": _told("key", key, KEY)}
        try:
            self._client = httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=timeout)
        except (httpx.InvalidURL, UnicodeEncodeError, ValueError) as error:
            raise ArgillaError(f"{URL} or {KEY}: cannot be used: {error}") from error

    def call(self, method: str, path: str, content: object = None, **query: str | int) -> Json:
        """Make a call and give what was answered.

        Raises:
            ArgillaError: Where the server is not there, refuses, or is no Argilla.
        """
        import httpx

        body = None if content is None else json.dumps(content, allow_nan=False)
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            answer = self._client.request(method, path, content=body, headers=headers, params=query)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = str(error) or type(error).__name__
            raise ArgillaError(f"{self.url}: no answer ({why}); is Argilla running there? {AGAIN}") from error
        if answer.is_success:
            return self._read(answer)
        raise self._refused(answer)

    def get(self, path: str, **query: str | int) -> Json:
        """Read."""
        return self.call("GET", path, **query)

    def items(self, path: str, **query: str | int) -> list[Json]:
        """Read a list."""
        found: list[Json] = self.get(path, **query).get("items", [])
        return found

    def records(self, dataset_id: str, include: str | None = None) -> Iterator[Json]:
        """Give each record of a dataset once.

        The server's pages are of an order in which records of one batch may stand either way, so
        that a reading can miss some: it is read again, with other pages, until all were seen.

        Raises:
            ArgillaError: Where they cannot be read, or never all.
        """
        seen: set[str] = set()
        for reading in range(READINGS):
            read, total, limit = 0, 1, PAGE - reading
            while read < total:
                more = {} if include is None else {"include": include}
                page = self.get(f"/datasets/{dataset_id}/records", offset=read, limit=limit, **more)
                total = page["total"] or 0
                yield from (one for one in page["items"] if one["id"] not in seen)
                seen.update(one["id"] for one in page["items"])
                read += len(page["items"]) or limit
            if len(seen) >= total:
                return
        raise ArgillaError(f"{self.url}: {total - len(seen)} of {total} records could not be read; {AGAIN}")

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _read(self, answer: httpx.Response) -> Json:
        if not answer.content:
            return {}
        try:
            found = answer.json()
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ArgillaError(f"{self.url}: that is no Argilla server: {answer.text[:SHOWN]!r}; mend {URL}")
        return found

    def _refused(self, answer: httpx.Response) -> ArgillaError:
        """Say why a call was refused and what to do."""
        status, said = answer.status_code, _detail(answer)
        if status == UNKNOWN_KEY:
            what = f"the key of {KEY} is not known there; copy it from the page My settings"
        elif status == FORBIDDEN:
            what = f"{self._who()} may not do this ({said}); use the key of an owner, or of an admin of the workspace"
        elif status >= SERVER_FAULT:
            what = f"the server failed ({status}: {said}); {AGAIN}"
        else:
            what = f"{answer.request.method} {answer.request.url.path} was refused ({status}): {said}"
        return ArgillaError(f"{self.url}: {what}", status)

    def _who(self) -> str:
        """Name the user of the key, where the server tells it."""
        import httpx

        try:
            user = self._client.get("/me").json()
            return f"the user {user['username']!r}, an {user['role']},"
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return "the user of this key"


def _told(name: str, given: str | None, variable: str) -> str:
    found = given or os.environ.get(variable, "")
    if not found.strip():
        raise ArgillaError(f"no {name} of an Argilla server: set {variable} in the environment")
    return found.strip()


def _detail(answer: httpx.Response) -> str:
    """Give what the server says of a fault, whichever of its forms it has."""
    try:
        detail = answer.json()["detail"]
    except (ValueError, KeyError, TypeError):
        return answer.text[:SHOWN] or "without a word"
    params = (detail.get("params") or detail) if isinstance(detail, dict) else {}
    if faults := params.get("errors"):
        places = (f"{'.'.join(map(str, fault.get('loc', ())))}: {fault.get('msg')}" for fault in faults)
        return "; ".join(places)[:SHOWN]
    return str(params.get("detail", detail))[:SHOWN]
