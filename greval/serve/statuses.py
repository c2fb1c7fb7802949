"""What routes may answer beside what they give, for the OpenAPI document."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from greval.serve.problems import MEDIA_TYPE, Problem


def may_answer(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Give the errors of a route as FastAPI's `responses`.

    Example:
        >>> may_answer(404)[404]["description"]
        'Not Found'
    """
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"model": Problem, "description": HTTPStatus(status).phrase, "content": content} for status in statuses
    }
