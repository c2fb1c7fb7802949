"""Problem documents (RFC 9457): the one form of every error response, never with a stack trace or a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from greval.errors import (
    ArgillaError,
    DataError,
    DefinitionError,
    GrevalError,
    JudgeError,
    JudgeUnavailableError,
    MissingExtraError,
    StoreError,
)
from greval.judging.model.failures import redact_secrets, replace_lone_surrogates
from greval.records.record import Record

MEDIA_TYPE = "application/problem+json"


class Problem(Record):
    """Why a request was not served: `detail` is the fault, its place and what to do, `faults` lists each one."""

    title: str
    status: int
    detail: str
    faults: tuple[str, ...] = ()
    request_id: str = ""


class ServeError(GrevalError):
    """An error response to a request: its status, message (the fault, its place, what to do), headers and faults."""

    def __init__(
        self, status: int, message: str, *, headers: Mapping[str, str] | None = None, faults: Sequence[str] = ()
    ) -> None:
        """Store the status with the message."""
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.faults = tuple(faults)


_STATUS_OF_ERRORS: tuple[tuple[type[GrevalError], int], ...] = (
    (DefinitionError, 422),
    (DataError, 422),
    (StoreError, 409),
    (JudgeUnavailableError, 503),
    (JudgeError, 502),
    (ArgillaError, 502),
    (MissingExtraError, 501),
    (GrevalError, 500),
)


def build_problem(error: GrevalError, request_id: str = "") -> Problem:
    """Build the problem document of an error.

    Example:
        >>> build_problem(DataError("body: no cases")).status
        422
    """
    if isinstance(error, ServeError):
        status = error.status
    else:
        status = next(status for kind, status in _STATUS_OF_ERRORS if isinstance(error, kind))
    faults = error.faults if isinstance(error, DefinitionError | ServeError) else ()
    return Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        detail=redact_secrets(str(error)),
        faults=tuple(map(redact_secrets, faults)),
        request_id=request_id,
    )


def describe_errors(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of a route for FastAPI's `responses`.

    Example:
        >>> describe_errors(404)[404]["description"]
        'Not Found'
    """
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {code: {"model": Problem, "description": HTTPStatus(code).phrase, "content": content} for code in codes}


MAX_FAULTS = 50
STATUS_HINTS = {
    404: "there is nothing here; /openapi.json lists what there is",
    405: "the path does not take this method; the header Allow names those that it takes",
}


def add_error_handlers(app: FastAPI) -> None:
    """Register the handlers of expected errors; the outermost middleware answers all others."""
    app.add_exception_handler(GrevalError, _handle_greval_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_error)


async def _handle_greval_error(request: Request, error: Exception) -> JSONResponse:
    """Answer a `GrevalError`."""
    return _build_response(request, cast("GrevalError", error))


async def _handle_validation_error(request: Request, error: Exception) -> JSONResponse:
    """Answer a request that fails validation: each fault with its place, never the content that was sent."""
    found = cast("RequestValidationError", error).errors()
    faults = [replace_lone_surrogates(f"{'.'.join(map(str, one['loc']))}: {one['msg']}") for one in found[:MAX_FAULTS]]
    if len(found) > MAX_FAULTS:
        faults.append(f"and {len(found) - MAX_FAULTS} more")
    return _build_response(request, ServeError(422, "\n".join(faults), faults=faults))


async def _handle_http_error(request: Request, error: Exception) -> JSONResponse:
    """Answer the refusals of FastAPI and LangServe; a body that cannot be parsed is a client error (422)."""
    refused = cast("HTTPException", error)
    status = 422 if refused.status_code == 400 else refused.status_code  # noqa: PLR2004 - FastAPI's for such a body
    message = STATUS_HINTS.get(status) or replace_lone_surrogates(str(refused.detail))
    headers = {**(refused.headers or {}), **(_build_allow_header(request) if status == 405 else {})}  # noqa: PLR2004 - HTTP
    return _build_response(request, ServeError(status, message, headers=headers))


def _build_allow_header(request: Request) -> dict[str, str]:
    """Return the header `Allow` of a path, with the methods of all its routes.

    Starlette itself lists the methods of the first route only.
    """
    given = request.url.path.split("/")
    fitting = [path for path in request.app.openapi()["paths"] if _matches_template(path.split("/"), given)]
    if not fitting:
        return {}
    methods = request.app.openapi()["paths"][min(fitting, key=lambda path: path.count("{"))]
    return {"Allow": ", ".join(sorted(method.upper() for method in methods))}


def _matches_template(template: list[str], given: list[str]) -> bool:
    """Return whether a path matches a template, segment by segment."""
    pairs = zip(template, given, strict=False)
    return len(template) == len(given) and all(part.startswith("{") or part == other for part, other in pairs)


def _build_response(request: Request, error: GrevalError) -> JSONResponse:
    found = build_problem(error, getattr(request.state, "request_id", ""))
    headers = error.headers if isinstance(error, ServeError) else {}
    return JSONResponse(found.model_dump(mode="json"), found.status, headers=headers, media_type=MEDIA_TYPE)
