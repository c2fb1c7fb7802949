"""Reading of an endpoint's reply: paths into its JSON, and the mapping from paths to the fields of a response."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from greval._util.wording import did_you_mean
from greval.errors import MethodError
from greval.records.case import Chunk, Effort, Response, Traversal, Triple

ROOT = "$"
MAX_KEYS_SHOWN = 12
PathStep = str | int | None
"""A name, the index of an item, or None for every item."""
_STEP = re.compile(r'\.?([^.\[\]"?$]+)|\[(\d+)\]|\[(\*)\]|\["([^"]+)"\]')


@dataclass(frozen=True)
class JsonPath:
    """A path into JSON.

    Names are separated by dots. `[0]` selects an item of a list (from 0), `[*]` every item, `["a.b"]` a name that
    contains dots, and `$` the whole content. A path that ends with `?` is optional.

    Example:
        >>> JsonPath.parse("hits[*].text").find({"hits": [{"text": "a"}, {"text": "b"}]})
        ['a', 'b']
        >>> JsonPath.parse("hits[0].score?").find({"hits": []}) is None
        True
    """

    text: str
    steps: tuple[PathStep, ...]
    optional: bool = False

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """Parse a path.

        Raises:
            MethodError: If the text is not a path.
        """
        bare = text.strip()
        optional = bare.endswith("?")
        rest = bare.removesuffix("?").removeprefix(ROOT)
        steps: list[PathStep] = []
        while rest:
            found = _STEP.match(rest)
            if not found or (rest.startswith(".") and not steps and not bare.startswith(ROOT)):
                raise MethodError(f'{text!r} is not a path; write it as data.hits[*].text, data["a.b"] or $')
            steps.append(int(found[2]) if found[2] else None if found[3] else found[1] or found[4])
            rest = rest[found.end() :]
        if not bare.removesuffix("?"):
            raise MethodError(f"{text!r} is not a path; $ is the whole reply")
        return cls(bare, tuple(steps), optional)

    def find(self, content: object) -> object:
        """Return the value at the path.

        Returns:
            The value, or a list of values if the path contains `[*]`. None if an optional path has no value.

        Raises:
            MethodError: If there is no value. The message describes what was found instead.
        """
        try:
            return _follow_steps(content, self.steps, ())
        except _MissingValueError as missing:
            if self.optional:
                return None
            raise MethodError(f"nothing is at {self.text}: {missing}") from None


class _MissingValueError(Exception):
    """There is no value at the path."""


def _follow_steps(content: object, steps: tuple[PathStep, ...], done: tuple[PathStep, ...]) -> object:
    if not steps:
        return content
    step, *rest = steps
    if step is None:
        if not isinstance(content, list):
            raise _MissingValueError(f"{_format_steps(done)} is {_describe_type(content)}, not a list")
        found = [_follow_steps(item, tuple(rest), (*done, n)) for n, item in enumerate(content)]
        if None not in rest:
            return found
        return [item for items in found for item in (items if isinstance(items, list) else [items])]
    if isinstance(step, int) and isinstance(content, list) and step < len(content):
        return _follow_steps(content[step], tuple(rest), (*done, step))
    if isinstance(step, str) and isinstance(content, dict) and step in content:
        return _follow_steps(content[step], tuple(rest), (*done, step))
    held = f"a list of {len(content)}" if isinstance(step, int) and isinstance(content, list) else None
    raise _MissingValueError(f"{_format_steps(done)} is {held or _describe_type(content)}")


def _format_steps(done: tuple[PathStep, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in done).lstrip(".") or "the reply"


def _describe_type(content: object) -> str:
    """Describe the type of a value without its content."""
    if isinstance(content, dict):
        names = [*map(str, content)]
        more = ", ..." if len(names) > MAX_KEYS_SHOWN else ""
        return f"an object with {', '.join(names[:MAX_KEYS_SHOWN])}{more}" if names else "an empty object"
    if content is None:
        return "null"
    kinds: dict[type, str] = {list: "a list", str: "a text", bool: "true or false"}
    return kinds.get(type(content), "a number")


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
    *(f"usage.{name}" for name in Effort.model_fields),
)
TARGETS = (*FIELDS, *(f"{items}.{name}" for items, names in ITEM_FIELDS.items() for name in names))
RESPONSE_FIELDS = tuple(name for name in Response.model_fields if name != "method")


class ReplyMapping:
    """Reads replies with a mapping such as `answer: data.text`, `chunks: hits`, `chunks.text: passage.content`.

    Args:
        lines: A path for each field of a response that the reply contains. For `chunks`, `triples` and
            `traversal.traversed_edges` it is the path of the list; `chunks.text` and the like give the path of a
            field within an item. If empty, the reply has the fields of a response under their own names.

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
        self._paths = {name: JsonPath.parse(path) for name, path in lines.items()}

    def read(self, reply: object) -> dict[str, object]:
        """Read the fields of a response from a reply.

        Raises:
            MethodError: If there is no value at a path, or the reply has no field of a response.
        """
        if not self._paths:
            return _read_own_fields(reply)
        if "error" in self._paths and (error := self._paths["error"].find(reply)) is not None:
            return {"error": str(error)}
        found: dict[str, object] = {}
        for name, path in self._paths.items():
            if name in FIELDS and name != "error" and (value := path.find(reply)) is not None:
                _set_field(
                    found, name, self._read_items(name, value) if name in ITEM_FIELDS else _read_plain(name, value)
                )
        return found

    def _read_items(self, name: str, value: object) -> list[object]:
        if not isinstance(value, list):
            raise MethodError(f"{name}: expected a list at {self._paths[name].text}, got {type(value).__name__}")
        paths = {part: self._paths[f"{name}.{part}"] for part in ITEM_FIELDS[name] if f"{name}.{part}" in self._paths}
        return [_read_item(name, item, paths) for item in value]


def _read_own_fields(reply: object) -> dict[str, object]:
    """Read the fields that a reply has under greval's own names; other names are ignored."""
    if isinstance(reply, str):
        return {"answer": reply}
    found = (
        {name: reply[name] for name in RESPONSE_FIELDS if reply.get(name) is not None}
        if isinstance(reply, dict)
        else {}
    )
    if not found:
        held = f"an object with {', '.join(map(str, reply)) or 'nothing'}" if isinstance(reply, dict) else "no object"
        raise MethodError(
            f"the reply is {held}; it should hold {', '.join(RESPONSE_FIELDS[:4])} or others of a response, "
            "or the endpoint needs a file with `response:` that says where they are"
        )
    for name in ("chunks", "triples"):
        if isinstance(found.get(name), list):
            found[name] = [_read_item(name, item, {}) for item in found[name]]
    return found


def _read_item(name: str, item: object, paths: Mapping[str, JsonPath]) -> object:
    """Read an item of a list by its paths, or its fields under their own names if there are no paths."""
    if paths:
        values = {part: path.find(item) for part, path in paths.items()}
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
