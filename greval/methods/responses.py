"""Conversion of the result of a method, in any supported form, to a `Response` or a clear error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import ValidationError

from greval._util.wording import did_you_mean
from greval.datasets.field_names import TYPO_PREFIX, MappedRow
from greval.datasets.field_values import convert_value, drop_unknown_parts, find_first, read_message
from greval.datasets.record_rows import to_plain
from greval.datasets.replies.forms import read_reply
from greval.datasets.replies.search_result import OTHER_FIELDS
from greval.datasets.row_fields import read_fields
from greval.errors import MethodError
from greval.records.case import Response

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

CONTENT_FIELDS = ("answer", "chunks", "triples", "aggregates", "traversal")
CHAIN_ANSWERS = ("result", "output_text", "text")
"""Names of the answer of a chain that mean something else in a file."""
MAX_FAULTS = 5
ResponseFields = tuple[dict[str, object], tuple[str, ...]]
"""The fields of a response as a method gave them, and what is wrong with the names that are none of these."""


def as_response(result: object) -> Response:
    """Convert the result of a method to a response.

    A result is a `Response`, a mapping of its fields, the answer as text, a list of passages, or what a system returns:
    the forms of LightRAG, Microsoft GraphRAG, neo4j-graphrag, LlamaIndex and LangChain are read as in a file of cases,
    see `greval.datasets.row_fields`.
    """
    if isinstance(result, Response):
        # A `Case` is a response, too, with fields that a response does not have.
        fields = {name: getattr(result, name) for name in Response.model_fields}
        return _require_content(result if type(result) is Response else Response.model_construct(**fields))
    if (parsed := read_response_fields(result)) is None:
        got = "nothing (None)" if result is None else type(result).__name__
        raise MethodError(
            f"the method returned {got}; expected a Response, a mapping of its fields, or the answer as text"
        )
    return build_response(*parsed)


def build_response(values: Mapping[str, object], faults: Sequence[str] = ()) -> Response:
    """Build a response from its fields; raise `MethodError` with the faults of all fields, or if it is empty."""
    listed = [*faults]
    try:
        response = Response.model_validate(values)
    except ValidationError as error:
        listed += [_describe_fault(detail) for detail in error.errors(include_url=False, include_context=False)]
    if listed:
        more = f"; and {len(listed) - MAX_FAULTS} more" if len(listed) > MAX_FAULTS else ""
        raise MethodError(f"the response is wrong: {'; '.join(listed[:MAX_FAULTS])}{more}")
    return _require_content(response)


def _require_content(response: Response) -> Response:
    if response.error is None and all(getattr(response, name) is None for name in CONTENT_FIELDS):
        raise MethodError(f"the response has none of {', '.join(CONTENT_FIELDS)}; give at least one of them")
    return response


def read_response_fields(result: object) -> ResponseFields | None:
    """Read the result of a method, or the reply of an endpoint, as the fields of a response; None if it is neither."""
    plain = to_plain(result)
    if (reply := read_reply(plain)) is not None and not (isinstance(plain, Mapping) and plain.keys() - reply.used):
        return _convert_fields(MappedRow(values=reply.fields, names={field: field for field in reply.fields}))
    if isinstance(plain, str):
        return {"answer": plain}, ()
    # A pair of texts as a list would be two passages.
    if isinstance(result, tuple) and isinstance(plain, list) and _is_answer_with_text(plain):
        plain = {"answer": plain[0], "chunks": plain[1:]}
    elif isinstance(plain, list) and all(map(_is_passage, plain)):
        plain = {"chunks": plain}
    elif isinstance(plain, list) and _is_answer_with_passages(plain):
        plain = {"answer": plain[0], "chunks": plain[1]}
    return _read_mapping(plain) if isinstance(plain, Mapping) else None


def _is_passage(item: object) -> bool:
    """Return whether an item is a text, a document, or a document with its score."""
    if isinstance(item, list):
        return len(item) == 2 and isinstance(item[0], Mapping) and isinstance(item[1], int | float)  # noqa: PLR2004
    return isinstance(item, str | Mapping)


def _is_answer_with_text(items: Sequence[object]) -> bool:
    """Return whether the items of a tuple are an answer and its context as one text; a list would be of passages."""
    return len(items) == 2 and all(isinstance(item, str) for item in items)  # noqa: PLR2004 - an answer and its context


def _is_answer_with_passages(items: Sequence[object]) -> bool:
    if len(items) != 2 or not isinstance(items[1], list):  # noqa: PLR2004 - an answer and its context
        return False
    return isinstance(read_message(items[0]), str) and all(map(_is_passage, items[1]))


def _read_mapping(mapping: Mapping[str, object]) -> ResponseFields:
    settled = read_fields({name: value for name, value in mapping.items() if value is not None})
    answer = find_first(mapping, CHAIN_ANSWERS)
    if "answer" not in settled.values and isinstance(answer, str):
        settled.values["answer"] = answer
        for name in CHAIN_ANSWERS:
            settled.tagged.pop(name, None)
            settled.ignored.pop(name, None)
    return _convert_fields(settled)


def _convert_fields(settled: MappedRow) -> ResponseFields:
    """Convert the values of a row to those of a response, and describe the names that no response has."""
    own_values = {field: value for field, value in settled.values.items() if field in Response.model_fields}
    values = {field: convert_value(field, value) for field, value in own_values.items()}
    known_names = (*Response.model_fields, *OTHER_FIELDS)
    faults = [f"{name}: is not known{did_you_mean(name, known_names)}" for name in (*settled.ignored, *settled.tagged)]
    faults += [f"{name}: {why}" for name, why in settled.faults.items()]
    parts = MappedRow(names=settled.names)
    drop_unknown_parts(values, parts)
    slips = {name: why for name, why in parts.ignored.items() if why.startswith(TYPO_PREFIX)}
    faults += [f"{name}: is not known; {why}" for name, why in slips.items()]
    if isinstance(chunks := values.get("chunks"), list):
        values["chunks"] = _number_repeated_ids(chunks)
    return values, tuple(faults)


def _number_repeated_ids(chunks: Sequence[object]) -> list[object]:
    """Return chunks with a number after an id that occurred before, as a document may be in several passages."""
    counts: Counter[object] = Counter()
    numbered: list[object] = []
    for chunk in chunks:
        name = chunk.get("id") if isinstance(chunk, dict) else None
        counts[name] += name is not None
        numbered.append(
            {**chunk, "id": f"{name}#{counts[name]}"} if isinstance(chunk, dict) and counts[name] > 1 else chunk
        )
    return numbered


def _describe_fault(detail: ErrorDetails) -> str:
    """Describe what is wrong with a field: its name, and what was found."""
    path = ".".join(map(str, detail["loc"]))
    if detail["type"] == "extra_forbidden":
        hint = did_you_mean(str(detail["loc"][-1]), Response.model_fields) if len(detail["loc"]) == 1 else ""
        return f"{path}: is not known{hint}"
    return f"{path}: {detail['msg'][:1].lower()}{detail['msg'][1:]}"
