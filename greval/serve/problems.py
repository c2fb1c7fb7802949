"""Problem documents (RFC 9457): the one form of every error response, never with a stack trace or a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from greval.judging.model.failures import redact_secrets
from greval.records.record import Record

MEDIA_TYPE = "application/problem+json"


class Problem(Record):
    """Why a request was not served: `detail` says what, where and what to do, `faults` lists each single fault."""

    title: str
    status: int
    detail: str
    faults: tuple[str, ...] = ()
    request_id: str = ""


class ServeError(GrevalError):
    """An error response to a request.

    Args:
        status: The HTTP status.
        message: What is wrong, where, and what to do.
        headers: Headers of the response, such as `Retry-After`.
        faults: Each single fault.
    """

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
    from http import HTTPStatus

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
