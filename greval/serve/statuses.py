"""Error responses of routes, for the OpenAPI document."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from greval.serve.problems import MEDIA_TYPE, Problem


def describe_errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of a route for FastAPI's `responses`.

    Example:
        >>> describe_errors(404)[404]["description"]
        'Not Found'
    """
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"model": Problem, "description": HTTPStatus(status).phrase, "content": content} for status in statuses
    }
