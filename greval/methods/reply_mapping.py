"""Reading of an endpoint's reply: the mapping from paths in its JSON to the fields of a response."""

from __future__ import annotations

from collections.abc import Mapping

from greval._util.json_path import JsonPath, JsonPathError
from greval._util.wording import did_you_mean
from greval.errors import MethodError
from greval.methods.responses import read_response_fields
from greval.records.case import Chunk, Response, ResponseUsage, Traversal, Triple

EDGE_FIELDS = ("source", "label", "target")
EDGES_FIELD = "traversal.traversed_edges"
ITEM_FIELDS: Mapping[str, tuple[str, ...]] = {
    "chunks": tuple(Chunk.model_fields),
    "triples": tuple(Triple.model_fields),
    EDGES_FIELD: EDGE_FIELDS,
}
"""Lists of items with fields; the path of each field is relative to the item."""
TEXT_FIELDS = frozenset({*Chunk.model_fields, *Triple.model_fields, *EDGE_FIELDS} - {"score"})
FIELDS = (
    *("answer", "chunks", "triples", "aggregates", "error"),
    *(f"traversal.{name}" for name in Traversal.model_fields),
    *(f"usage.{name}" for name in ResponseUsage.model_fields),
)
TARGETS = (*FIELDS, *(f"{items}.{name}" for items, names in ITEM_FIELDS.items() for name in names))
RESPONSE_FIELDS = tuple(name for name in Response.model_fields if name != "method")


class ReplyMapping:
    """Reads replies with a mapping such as `answer: data.text`, `chunks: hits`, `chunks.text: passage.content`.

    Args:
        lines: A path for each field of a response that the reply contains. For `chunks`, `triples` and
            `traversal.traversed_edges` it is the path of the list; `chunks.text` and the like give the path of a
            field within an item. If empty, the reply is read as the result of a function is.

    Raises:
        MethodError: If a field is unknown or a path is invalid.

    Example:
        >>> form = ReplyMapping({"answer": "data.text", "chunks": "data.hits", "chunks.text": "passage"})
        >>> form.read({"data": {"text": "At nine.", "hits": [{"passage": "It opens at nine."}]}})
        {'answer': 'At nine.', 'chunks': [{'text': 'It opens at nine.'}]}
    """

    def __init__(self, lines: Mapping[str, str]) -> None:
        for name in lines:
            if name not in TARGETS:
                raise MethodError(f"response: {name}: is not a field of a response{did_you_mean(name, TARGETS)}")
            items = name.rpartition(".")[0]
            if items in ITEM_FIELDS and items not in lines:
                raise MethodError(f"response: {name}: add {items}, the path of the list that holds them")
        self._paths = {name: _parse_path(path) for name, path in lines.items()}

    def read(self, reply: object) -> dict[str, object]:
        """Read the fields of a response from a reply.

        Raises:
            MethodError: If there is no value at a path, or the reply has no field of a response.
        """
        if not self._paths:
            return _read_own_fields(reply)
        if "error" in self._paths and (error := _find_value(self._paths["error"], reply)) is not None:
            return {"error": str(error)}
        found: dict[str, object] = {}
        for name, path in self._paths.items():
            if name in FIELDS and name != "error" and (value := _find_value(path, reply)) is not None:
                _set_field(
                    found, name, self._read_items(name, value) if name in ITEM_FIELDS else _read_plain(name, value)
                )
        return found

    def _read_items(self, name: str, value: object) -> list[object]:
        if not isinstance(value, list):
            raise MethodError(f"{name}: expected a list at {self._paths[name].text}, got {type(value).__name__}")
        paths = {part: self._paths[f"{name}.{part}"] for part in ITEM_FIELDS[name] if f"{name}.{part}" in self._paths}
        return [_read_item(name, item, paths) for item in value]


def _parse_path(text: str) -> JsonPath:
    """Parse a path; raise `MethodError` if it is none."""
    try:
        return JsonPath.parse(text)
    except JsonPathError as error:
        raise MethodError(str(error)) from error


def _find_value(path: JsonPath, content: object) -> object:
    """Return the value at a path; raise `MethodError` if it is required and missing."""
    try:
        return path.find(content)
    except JsonPathError as error:
        raise MethodError(str(error)) from error


def _read_own_fields(reply: object) -> dict[str, object]:
    """Read the fields that a reply has under names or in forms that are known; other names are ignored."""
    if (found := read_response_fields(reply)) is None or not found.values:
        held = f"an object with {', '.join(map(str, reply)) or 'nothing'}" if isinstance(reply, dict) else "no object"
        raise MethodError(
            f"the reply is {held}; it should hold {', '.join(RESPONSE_FIELDS[:4])} or others of a response, "
            "or the endpoint needs a file with `response:` that says where they are"
        )
    return found.values


def _read_item(name: str, item: object, paths: Mapping[str, JsonPath]) -> object:
    """Read an item of a list by its paths, or its fields under their own names if there are no paths."""
    if paths:
        values = {part: _find_value(path, item) for part, path in paths.items()}
    elif isinstance(item, dict):
        values = {part: item[part] for part in ITEM_FIELDS[name] if part in item}
    else:
        return item
    fields = {
        part: _as_text(value) if part in TEXT_FIELDS else value for part, value in values.items() if value is not None
    }
    return [fields.get(part) for part in EDGE_FIELDS] if name == EDGES_FIELD else fields


def _read_plain(name: str, value: object) -> object:
    """Read a field that is not a list of items; names of nodes may be numbers in the reply."""
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    return _as_text(value) if name == "answer" else value


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _set_field(found: dict[str, object], name: str, value: object) -> None:
    first, _, part = name.partition(".")
    if not part:
        found[first] = value
        return
    within = found.setdefault(first, {})
    assert isinstance(within, dict)  # noqa: S101 - created here
    within[part] = value
