"""What the error of a provider holds: its status, its body, its texts and the headers of its response.

The errors of different clients are read by their attributes, so that no vendor's class is imported: `body` (openai,
anthropic), `details` (google), `response` as a mapping (botocore), and the exception's own text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

NOT_TEXT = frozenset({"input", "ctx", "url", "failed_generation", "flagged_input", "prompt", "messages", "request_id"})
"""Keys of an error body that repeat the request or the reply, which is judged text, or that name no cause."""
NOT_A_RESPONSE = "HttpProcessingError"
"""The class of aiohttp's errors for what is no HTTP or breaks off."""


def iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Iterate over an exception and its causes, outermost first."""
    # Exceptions can be the context of each other.
    visited: set[int] = set()
    while error is not None and id(error) not in visited:
        visited.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def read_body(error: BaseException) -> Any:  # noqa: ANN401 - JSON
    """Return the body of an error response: JSON or text, or None if the exception holds none."""
    response = getattr(error, "response", None)
    details = getattr(error, "details", None)
    bodies = (
        getattr(error, "body", None),
        details if isinstance(details, Mapping | list) else None,
        response if isinstance(response, Mapping) else None,
        error.args[0] if error.args and isinstance(error.args[0], Mapping) else None,
    )
    return next((body for body in bodies if body), None)


def read_status(error: BaseException) -> int | None:
    """Return the HTTP status of an error, or None if it has none."""
    # To aiohttp, a body that breaks off has the status 400, which no server gave.
    if NOT_A_RESPONSE in {cls.__name__ for cls in type(error).__mro__}:
        return None
    body = read_body(error)
    metadata = body.get("ResponseMetadata") if isinstance(body, Mapping) else None
    statuses = (
        getattr(error, "status_code", None),
        getattr(getattr(error, "response", None), "status_code", None),
        metadata.get("HTTPStatusCode") if isinstance(metadata, Mapping) else None,
        getattr(error, "code", None),
        body.get("code") if isinstance(body, Mapping) else None,
    )
    return next((status for value in statuses if (status := _parse_status(value)) is not None), None)


def list_error_texts(error: BaseException) -> list[str]:
    """List the texts of an error, without those that repeat the request: of its body, or else its own."""
    body = read_body(error)
    return [*_iterate_texts(body)] if body else [str(error)]


def read_error_fields(error: BaseException, *names: str) -> list[str]:
    """List the values of fields of an error body with these names, at any depth, such as `param` and `code`."""
    return [*_iterate_fields(read_body(error), frozenset(names))]


def read_headers(error: BaseException) -> dict[str, str]:
    """Return the headers of an error's response, with their names in lower case."""
    response = getattr(error, "response", None)
    # The response of botocore is a mapping.
    if isinstance(response, Mapping):
        headers = (response.get("ResponseMetadata") or {}).get("HTTPHeaders")
    else:
        headers = getattr(response, "headers", None)
    return {str(name).lower(): str(value) for name, value in (headers or {}).items()}


def _parse_status(value: object) -> int | None:
    """Return an HTTP status that is given as a number or as its digits."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(int(value)) if isinstance(value, int) else value
    return int(text) if re.fullmatch(r"[1-5]\d\d", text) else None


def _iterate_texts(body: object) -> Iterator[str]:
    """Iterate over the texts of a body, also over those of JSON inside a text, as a gateway passes it on."""
    if isinstance(body, Mapping):
        for name, part in body.items():
            if str(name) not in NOT_TEXT:
                yield from _iterate_texts(part)
    elif isinstance(body, list | tuple):
        for part in body:
            yield from _iterate_texts(part)
    elif isinstance(body, str):
        inner = _parse_json(body)
        yield from _iterate_texts(inner) if inner else [body]
    elif isinstance(body, int | float):
        yield str(body)


def _iterate_fields(body: object, names: frozenset[str]) -> Iterator[str]:
    """Iterate over the values of fields at any depth; the parts of a list, as a path has them, are joined."""
    if isinstance(body, str):
        body = _parse_json(body)
    if isinstance(body, Mapping):
        for name, part in body.items():
            if name in names and isinstance(part, str | int):
                yield str(part)
            elif name in names and isinstance(part, list) and all(isinstance(step, str | int) for step in part):
                yield ".".join(map(str, part))
            elif name not in NOT_TEXT:
                yield from _iterate_fields(part, names)
    elif isinstance(body, list | tuple):
        for part in body:
            yield from _iterate_fields(part, names)


def _parse_json(text: str) -> Any:  # noqa: ANN401 - JSON
    """Return the object or list that a text holds as JSON, or None."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None
