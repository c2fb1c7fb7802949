"""Conversion of the result of a method, in any supported form, to a `Response` or a clear error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import ValidationError

from greval._util.wording import did_you_mean
from greval.errors import MethodError
from greval.methods.search_result import read_search_result
from greval.records.case import Response

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

CONTENT_FIELDS = ("answer", "chunks", "triples", "aggregates", "traversal")
MAX_FAULTS = 5


def as_response(given: object) -> Response:
    """Convert the result of a method to a response.

    A result is a `Response`, a mapping of its fields, the answer as text, or a search result as GraphRAG and searches
    built on it return, an object or a mapping with `response`, `context_text`, `completion_time`, `llm_calls`,
    `prompt_tokens` and `output_tokens`; see `greval.methods.search_result`.

    Raises:
        MethodError: If the result has another type, is empty, or has faults. The first few faults are listed.

    Example:
        >>> as_response("At nine.").answer
        'At nine.'
        >>> as_response({"chunks": ["It opens at nine."]}).chunks[0].id
        'c1'
        >>> as_response({"response": "At nine.", "completion_time": 0.5}).usage.latency
        0.5
    """
    response = _parse_response(given)
    if response.error is None and all(getattr(response, name) is None for name in CONTENT_FIELDS):
        raise MethodError(f"the response has none of {', '.join(CONTENT_FIELDS)}; give at least one of them")
    return response


def _parse_response(given: object) -> Response:
    if isinstance(given, Response):
        own = {name: getattr(given, name) for name in Response.model_fields}
        return given if type(given) is Response else Response.model_construct(**own)  # drops the fields of a case
    if isinstance(given, str):
        return Response(answer=given)
    if (found := read_search_result(given)) is not None:
        return found
    if not isinstance(given, Mapping):
        got = "nothing (None)" if given is None else type(given).__name__
        raise MethodError(
            f"the method returned {got}; expected a Response, a mapping of its fields, or the answer as text"
        )
    try:
        return Response.model_validate(given)
    except ValidationError as error:
        faults = [_describe_fault(detail) for detail in error.errors(include_url=False, include_context=False)]
        more = f"; and {len(faults) - MAX_FAULTS} more" if len(faults) > MAX_FAULTS else ""
        raise MethodError(f"the response is wrong: {'; '.join(faults[:MAX_FAULTS])}{more}") from None


def _describe_fault(detail: ErrorDetails) -> str:
    """Describe what is wrong with a field: its name, and what was found."""
    place = ".".join(map(str, detail["loc"]))
    if detail["type"] == "extra_forbidden":
        near = did_you_mean(str(detail["loc"][-1]), Response.model_fields) if len(detail["loc"]) == 1 else ""
        return f"{place}: is not known{near}"
    return f"{place}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"
