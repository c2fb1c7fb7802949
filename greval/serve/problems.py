"""Problem documents (RFC 9457): the one form of every error response, never with a stack trace or a secret."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field
from starlette.exceptions import HTTPException

from greval.errors import DataError, DefinitionError, GrevalError, word_message
from greval.judging.model.failures import redact_secrets
from greval.records.record import Record, replace_lone_surrogates
from greval.serve.problem_types import (
    CODES_OF_ERRORS,
    CODES_OF_STATUSES,
    PROBLEM_TYPES,
    FaultCode,
    find_fault_code,
)

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:greval:problem:"
MAX_FAULTS = 100
"""The most faults that are listed; a broken text may have thousands."""
MAX_COLUMNS = 200
"""The most columns of a file that are named."""
DISK_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_PLACE_IN_TEXT = re.compile(r"((?:[^\s:]+(?::\d+)?: )*)(.*)", re.DOTALL)
"""The words before the message of a fault, each with a colon, such as `yaml:3: scale.range: `."""


class Fault(Record):
    """One thing that is wrong with a request.

    `place` is the path of a field, such as `body.cases.0.answer` or `query.limit`, or the line of a text, such
    as `yaml:3: scale.range`; it is empty if the message names none. `code` is what is wrong: `missing`, `unknown`,
    `wrong_type`, `out_of_range`, `not_allowed`, `wrong_format` or `invalid`.
    """

    place: str
    message: str
    code: str


class Problem(Record):
    """Why a request was not served.

    `code` is the stable word of the cause and `type` the same as a URN; a client should accept new ones and decide by
    `status` then. `detail` says what is wrong, at which place and what to do. `faults` lists each thing that is wrong,
    the first hundred of `fault_count`. `columns` are those of a file of which no row is a case,
    the first two hundred.
    """

    type: str = Field(examples=[f"{TYPE_PREFIX}run_not_found"])
    code: str = Field(examples=["run_not_found"])
    title: str
    status: int
    detail: str
    faults: tuple[Fault, ...] = ()
    fault_count: int = 0
    columns: tuple[str, ...] = ()
    request_id: str = ""


class ServeError(GrevalError):
    """An error response to a request.

    Args:
        code: The cause, one of `PROBLEM_TYPES`, which knows its status. A new cause needs an entry there and in
            docs/rest.md.
        message: What is wrong, its place, what to do.
        headers: Headers of the response.
        faults: Each thing that is wrong; see `build_fault` and `parse_faults`.
        columns: The columns of a file that could not be read as cases.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        faults: Iterable[Fault] = (),
        columns: Iterable[str] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = PROBLEM_TYPES[code].status
        self.headers = dict(headers or {})
        self.faults = tuple(faults)
        self.columns = tuple(columns)


@contextmanager
def report_full_disk() -> Iterator[None]:
    """Convert the errors of a full disk to `ServeError` (507)."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_FULL_ERRORS:
            raise
        raise ServeError("disk_full", "body: the server's disk is full; its operator must make room") from error


def build_fault(location: str, message: str, code: FaultCode = "invalid") -> Fault:
    """Build a fault."""
    return Fault(place=location, message=word_message(message), code=code)


def parse_faults(texts: Iterable[str]) -> tuple[Fault, ...]:
    """Return faults that are texts, such as those of a `DefinitionError`, with the place and the message apart.

    Example:
        >>> [fault] = parse_faults(["yaml:3: scale.range: must rise, got 5 to 1"])
        >>> fault.place, fault.message
        ('yaml:3: scale.range', 'must rise, got 5 to 1')
    """
    matches = (cast("re.Match[str]", _PLACE_IN_TEXT.fullmatch(text)).groups() for text in texts)
    return tuple(build_fault(location.removesuffix(": "), message) for location, message in matches)


def convert_faults(errors: Iterable[Mapping[str, Any]], *above: str) -> Iterable[Fault]:
    """Convert the errors of pydantic to faults, below these parts of the place, without the content that was sent."""
    for error in errors:
        location = ".".join(map(str, (*above, *error["loc"])))
        message = replace_lone_surrogates(error["msg"])
        yield build_fault(replace_lone_surrogates(location), message, find_fault_code(error["type"]))


def convert_error(error: GrevalError) -> ServeError:
    """Return the error response that an error is for a client."""
    if isinstance(error, ServeError):
        return error
    code = next(code for kind, code in CODES_OF_ERRORS if isinstance(error, kind))
    faults = parse_faults(error.faults) if isinstance(error, DefinitionError) else ()
    return ServeError(code, str(error), faults=faults, columns=error.columns if isinstance(error, DataError) else ())


def build_problem(error: ServeError, request_id: str = "") -> Problem:
    """Build the problem document of an error response."""
    return Problem(
        type=f"{TYPE_PREFIX}{error.code}",
        code=error.code,
        title=PROBLEM_TYPES[error.code].title,
        status=error.status,
        detail=redact_secrets(str(error)),
        faults=tuple(map(_redact_fault, error.faults[:MAX_FAULTS])),
        fault_count=len(error.faults),
        columns=error.columns[:MAX_COLUMNS],
        request_id=request_id,
    )


def build_problem_response(error: GrevalError, request_id: str) -> Response:
    """Build the response of an error: the one writer of problem documents."""
    refusal = convert_error(error)
    content = build_problem(refusal, request_id).model_dump_json()
    return Response(content, refusal.status, headers=refusal.headers, media_type=MEDIA_TYPE)


def _redact_fault(fault: Fault) -> Fault:
    return Fault(place=redact_secrets(fault.place), message=redact_secrets(fault.message), code=fault.code)


def describe_errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of a route for FastAPI's `responses`; `openapi.py` adds those that all routes have."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"model": Problem, "description": HTTPStatus(status).phrase, "content": content} for status in statuses
    }


STATUS_HINTS = {
    404: "there is nothing here; /openapi.json lists what there is",
    405: "the path does not take this method; the header Allow names those that it takes",
}


def add_error_handlers(app: FastAPI) -> None:
    """Register what raises a `ServeError` for each error of FastAPI; the outermost middleware answers all errors."""
    app.add_exception_handler(RequestValidationError, _raise_validation_error)
    app.add_exception_handler(HTTPException, _raise_http_error)


async def _raise_validation_error(_: Request, error: Exception) -> Response:
    """Refuse a request that fails validation: each fault with its place, never the content that was sent."""
    raise build_invalid_request_error([*convert_faults(cast("RequestValidationError", error).errors())]) from error


def build_invalid_request_error(faults: Sequence[Fault]) -> ServeError:
    """Build the error of a request whose fields are not as described; its message lists the first faults."""
    lines = [f"{fault.place}: {fault.message}" for fault in faults[:MAX_FAULTS]]
    if len(faults) > MAX_FAULTS:
        lines.append(f"and {len(faults) - MAX_FAULTS:,} more")
    return ServeError("invalid_request", "\n".join(lines), faults=faults)


async def _raise_http_error(request: Request, error: Exception) -> Response:
    """Refuse what FastAPI and LangServe refuse; a body that cannot be parsed is a client error (422)."""
    refused = cast("HTTPException", error)
    code = CODES_OF_STATUSES.get(refused.status_code, "invalid_request")
    status = PROBLEM_TYPES[code].status
    # The detail may quote a client, and a lone surrogate cannot be sent as UTF-8.
    message = STATUS_HINTS.get(status) or replace_lone_surrogates(str(refused.detail))
    headers = {**(refused.headers or {}), **(_build_allow_header(request) if code == "method_not_allowed" else {})}
    raise ServeError(code, message, headers=headers) from error


def _build_allow_header(request: Request) -> dict[str, str]:
    """Return the header `Allow` of a path, with the methods of all its routes.

    Starlette itself lists the methods of the first route only.
    """
    segments = request.url.path.split("/")
    fitting = [path for path in request.app.openapi()["paths"] if _matches_template(path.split("/"), segments)]
    if not fitting:
        return {}
    # A path such as /v1/runs/import also fits /v1/runs/{id}: the one with fewer placeholders is meant.
    operations = request.app.openapi()["paths"][min(fitting, key=lambda path: path.count("{"))]
    methods = {method.upper() for method in operations} | ({"HEAD"} if "get" in operations else set())
    return {"Allow": ", ".join(sorted(methods))}


def _matches_template(template: list[str], segments: list[str]) -> bool:
    """Return whether a path matches a template, segment by segment."""
    pairs = zip(template, segments, strict=False)
    return len(template) == len(segments) and all(part.startswith("{") or part == segment for part, segment in pairs)
