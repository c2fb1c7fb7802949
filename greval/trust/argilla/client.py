"""Client of the REST API of an Argilla server."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from greval._util.files import CloseOnExit
from greval.errors import ArgillaError, MissingExtraError

if TYPE_CHECKING:
    import httpx

URL_VARIABLE, KEY_VARIABLE = "ARGILLA_API_URL", "ARGILLA_API_KEY"
RESUME_HINT = "what was done before stays, and the same command goes on there"
TIMEOUT = 60.0
PAGE_SIZE = 1000
"""The maximum number of records per page."""
MAX_PASSES = 4
MAX_SHOWN = 300
UNKNOWN_KEY, FORBIDDEN, SERVER_FAULT = 401, 403, 500

Json = dict[str, Any]
API = "/api/v1"


class ArgillaClient(CloseOnExit):
    """A client of an Argilla server, usable as a context manager.

    URL and key are those of the environment by default. A `client` that is given sends every request in its own way,
    with its own URL, key and headers, and stays open. Raise `ArgillaError` if URL or key are missing or invalid.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        client: httpx.Client | None = None,
    ) -> None:
        """Create the HTTP client without connecting."""
        self._is_own = client is None
        if client is not None:
            self.url, _ = split_credentials(str(client.base_url))
            self._client = client
            return
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError("argilla", "httpx") from error
        self.url, user = split_credentials(_read_setting("url", url, URL_VARIABLE))
        all_headers = {**(headers or {}), "X-Argilla-Api-Key": _read_setting("key", key, KEY_VARIABLE)}
        try:
            self._client = httpx.Client(base_url=self.url, auth=user, headers=all_headers, timeout=TIMEOUT)
        except (httpx.InvalidURL, UnicodeEncodeError, ValueError) as error:
            # The error may quote a key, so its type alone is passed on.
            message = (
                f"{URL_VARIABLE} or {KEY_VARIABLE}: cannot be used ({type(error).__name__}); look for wrong characters"
            )
            raise ArgillaError(message) from None

    def call(self, method: str, path: str, content: object = None, **query: str | int | Sequence[str]) -> Json:
        """Send a request and return the parsed response."""
        import httpx

        body = None if content is None else json.dumps(content, allow_nan=False)
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            answer = self._client.request(method, f"{API}{path}", content=body, headers=headers, params=query)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = str(error) or type(error).__name__
            raise ArgillaError(f"{self.url}: no answer ({why}); is Argilla running there? {RESUME_HINT}") from error
        if answer.is_success:
            return self._parse_body(answer)
        raise self._build_error(answer)

    def get(self, path: str, **query: str | int | Sequence[str]) -> Json:
        """Send a GET request."""
        return self.call("GET", path, **query)

    def list_items(self, path: str, **query: str | int) -> list[Json]:
        """Return the items of a list endpoint."""
        items: list[Json] = self.get(path, **query).get("items", [])
        return items

    def iter_records(self, dataset_id: str, *include: str) -> Iterator[Json]:
        """Yield each record of a dataset once, with the parts that `include` names, such as its responses.

        The order of records within one batch is not stable between pages, so one pass can miss some. Further
        passes with other page sizes follow until all records were seen. Raise `ArgillaError` if some never were,
        or a page cannot be read.
        """
        ids: set[str] = set()
        for reading in range(MAX_PASSES):
            # Another page size moves the borders of the pages, across which records change places.
            read, total, limit = 0, 1, PAGE_SIZE - reading
            while read < total:
                page = self.get(f"/datasets/{dataset_id}/records", offset=read, limit=limit, include=include)
                total = page["total"] or 0
                yield from (record for record in page["items"] if record["id"] not in ids)
                ids.update(record["id"] for record in page["items"])
                # An empty page counts as read, so that a total that is too high does not repeat it for ever.
                read += len(page["items"]) or limit
            if len(ids) >= total:
                return
        raise ArgillaError(f"{self.url}: {total - len(ids)} of {total} records could not be read; {RESUME_HINT}")

    def close(self) -> None:
        """Close the connections, unless they are of a client that was given."""
        if self._is_own:
            self._client.close()

    def _parse_body(self, answer: httpx.Response) -> Json:
        if not answer.content:
            return {}
        try:
            body = answer.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise ArgillaError(
                f"{self.url}: that is no Argilla server: {answer.text[:MAX_SHOWN]!r}; mend {URL_VARIABLE}"
            )
        return body

    def _build_error(self, answer: httpx.Response) -> ArgillaError:
        """Build the error of a refused request, with what to do."""
        status, detail = answer.status_code, _extract_detail(answer)
        if status == UNKNOWN_KEY:
            what = f"the key of {KEY_VARIABLE} is not known there; copy it from the page My settings"
        elif status == FORBIDDEN:
            hint = "use the key of an owner, or of an admin of the workspace"
            what = f"{self._describe_user()} may not do this ({detail}); {hint}"
        elif status >= SERVER_FAULT:
            what = f"the server failed ({status}: {detail}); {RESUME_HINT}"
        else:
            what = f"{answer.request.method} {answer.request.url.path} was refused ({status}): {detail}"
        return ArgillaError(f"{self.url}: {what}", status)

    def _describe_user(self) -> str:
        """Describe the user of the key, if the server reports it."""
        import httpx

        try:
            user = self._client.get(f"{API}/me").json()
            return f"the user {user['username']!r}, an {user['role']},"
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return "the user of this key"


def split_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """Return the URL of a server without user name and password, and these, None if it has none.

    Raise `ArgillaError` if it is no http(s) URL. The message never has the credentials.

    Example:
        >>> split_credentials("http://admin:hunter2@127.0.0.1:6900/")
        ('http://127.0.0.1:6900', ('admin', 'hunter2'))
    """
    setting = f"the URL of the Argilla server ({URL_VARIABLE} or --url)"
    try:
        parts = urlsplit(url)
    except ValueError:
        # The message of the error quotes the URL, perhaps with a password.
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        # A password may be anywhere before an @.
        printable = "another text" if "@" in url else url
        raise ArgillaError(f"{setting}: expected an http(s) address such as http://127.0.0.1:6900, got {printable}")
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":
        message = (
            "has an @ after the host; in a user name or password write %2F for /, %23 for #, %3F for ? and %40 for @"
        )
        raise ArgillaError(f"{setting}: {message}")
    user, at, host = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    plain = parts._replace(netloc=host).geturl().rstrip("/")
    return plain, (unquote(name), unquote(password)) if at else None


def _read_setting(name: str, value: str | None, variable: str) -> str:
    setting = value or os.environ.get(variable, "")
    if not setting.strip():
        raise ArgillaError(f"no {name} of an Argilla server: set {variable} in the environment")
    return setting.strip()


def _extract_detail(answer: httpx.Response) -> str:
    """Extract the error message of a response, which has several forms."""
    try:
        detail = answer.json()["detail"]
    except (ValueError, KeyError, TypeError):
        return answer.text[:MAX_SHOWN] or "without a word"
    params = (detail.get("params") or detail) if isinstance(detail, dict) else {}
    if faults := params.get("errors"):
        places = (f"{'.'.join(map(str, fault.get('loc', ())))}: {fault.get('msg')}" for fault in faults)
        return "; ".join(places)[:MAX_SHOWN]
    return str(params.get("detail", detail))[:MAX_SHOWN]
