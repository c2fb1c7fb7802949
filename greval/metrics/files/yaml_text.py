"""YAML of metric files: a reader that returns plain data and the line of each key and item, and a writer.

The writer keeps the style of a human author: folded text, short lists on one line.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, FoldedScalarString, LiteralScalarString

from greval.errors import DataError, GrevalError
from greval.records.formula_metric import FileMetric
from greval.records.scale import CategoricalScale, Category, MeasureScale, Scale, ValueScale

if TYPE_CHECKING:
    from greval.records.definition_faults import Path

MAX_DEPTH = 12
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
SCHEMA_FILE = "metric.schema.json"
SCHEMA_LINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
FIELD_ORDER = (
    *("name", "description", "formula", "metrics", "over", "preference", "needs", "uses", "scale", "steps"),
    *("instructions", "reason_depth", "pass", "judge", "notes", "counts", "examples"),
)
"""The order in which fields are written."""
MAX_LINE = 100
"""Maximum line length. Longer text is folded into several lines."""
UNBROKEN_WIDTH = 2**20
"""The width passed to ruamel. It must not break lines itself, because it may add a space to quoted text."""
INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
"""Invisible characters, some of which YAML readers treat as line breaks."""
PLAIN_WORD = re.compile(r"\w([\w .@/-]*\w)?")
_PLAIN_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,8}|-?(0|[1-9][0-9]{0,8})\.[0-9]{0,3}[1-9]")
YAML_BOOLEANS = frozenset({"yes", "no", "on", "off", "y", "n"})
"""Text that YAML 1.1 readers parse as true or false."""
MAX_WHOLE_SCORE = 1_000_000
"""Whole scores up to this value are written without a decimal point."""


class MetricFileFault(NamedTuple):
    """A fault with its line and path; `unknown` is true for a key that no metric has."""

    line: int
    text: str
    path: Path = ()
    unknown: bool = False

    def __str__(self) -> str:
        from greval.records.definition_faults import format_fault

        return f"{self.line}: {format_fault(self.path, self.text)}"


class YamlSource(NamedTuple):
    """The parsed form of a YAML text: its data, the line of each path, and its faults."""

    data: object
    lines: dict[Path, int]
    faults: list[MetricFileFault]


class _StopParsing(Exception):  # noqa: N818 - not an error for callers: it ends the parsing
    """Raised internally when the text cannot be parsed further."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.fault = MetricFileFault(line, text)


def find_line(path: Path, lines: Mapping[Path, int]) -> int:
    """Return the line of a path, or of its nearest parent that is in the file."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def read_source(text: str, max_values: int | None = None) -> YamlSource:
    """Parse a YAML 1.2 text of one document, without anchors, aliases and tags.

    Keys of mappings stay text as written, so that a category may be named `1.0` or `true`. Parsing stops with a fault
    at the key or value beyond `max_values`.
    """
    reader = _YamlReader(text, max_values)
    try:
        data = reader.read_document()
    except _StopParsing as stop:
        return YamlSource(None, reader.lines, [*reader.faults, stop.fault])
    return YamlSource(data, reader.lines, reader.faults)


def read_source_file(path: FilePath, hint: str, error: type[GrevalError] = DataError) -> YamlSource:
    """Read and parse a YAML or JSON file; raise an `error` with the hint which file to name instead if that fails."""
    try:
        return read_source(path.read_text(encoding="utf-8-sig"))
    except OSError as cause:
        raise error(f"{path}: {cause.strerror or cause}; {hint}") from cause
    except UnicodeDecodeError as cause:
        raise error(f"{path}: is not UTF-8 (at byte {cause.start + 1}); save the file as UTF-8") from cause


class _YamlReader:
    """Converts parser events to data; only content that the text spells out is built."""

    def __init__(self, text: str, max_values: int | None = None) -> None:
        self.lines: dict[Path, int] = {(): 1}
        self.faults: list[MetricFileFault] = []
        events = _parse_events(text)
        self._events = events if max_values is None else _limit_values(events, max_values)

    def read_document(self) -> object:
        """Return the content of the only document, None if the text has no document."""
        next(self._events)
        start = next(self._events)
        if isinstance(start, StreamEndEvent):
            return None
        if isinstance(start, DocumentStartEvent) and (start.version or start.tags):
            raise _StopParsing(_get_line(start), "leave out the lines that start with %; YAML 1.2 is read")
        data = self._read_node(next(self._events), ())
        next(self._events)
        if not isinstance(following := next(self._events), StreamEndEvent):
            raise _StopParsing(_get_line(following), "a second document starts; write one metric a file")
        return data

    def _read_node(self, event: Event, path: Path) -> object:
        self._reject_unsupported(event, path)
        if isinstance(event, ScalarEvent):
            return _convert_scalar(event)
        if len(path) >= MAX_DEPTH:
            raise _StopParsing(_get_line(event), f"nested more than {MAX_DEPTH} deep; no metric needs that")
        return self._read_mapping(path) if isinstance(event, MappingStartEvent) else self._read_sequence(path)

    def _reject_unsupported(self, event: Event, path: Path) -> None:
        """Reject aliases, anchors and tags, which make content larger or different from what the text shows."""
        if isinstance(event, AliasEvent):
            raise _StopParsing(_get_line(event), f"*{event.anchor}: aliases are not read; write the content out")
        if isinstance(event, NodeEvent) and event.anchor:
            self.faults.append(
                MetricFileFault(_get_line(event), f"&{event.anchor}: anchors are not read; leave it out", path)
            )
        if tag := getattr(event, "tag", None):
            self.faults.append(MetricFileFault(_get_line(event), f"the tag {tag} is not read; leave it out", path))

    def _read_mapping(self, path: Path) -> dict[str, object]:
        content: dict[str, object] = {}
        first: dict[str, int] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            key, line = self._read_key(event), _get_line(event)
            key_path = (*path, key)
            # Keys that look the same are one key, whichever way an editor stores their accents.
            normalised = unicodedata.normalize("NFC", key).strip()
            if normalised in first:
                self.faults.append(MetricFileFault(line, f"given twice; first in line {first[normalised]}", key_path))
            first.setdefault(normalised, line)
            self.lines.setdefault(key_path, line)
            content[key] = self._read_node(next(self._events), key_path)
        return content

    def _read_key(self, event: Event) -> str:
        self._reject_unsupported(event, ())
        if not isinstance(event, ScalarEvent):
            raise _StopParsing(_get_line(event), "a key must be text, not a list or a mapping")
        return str(event.value)

    def _read_sequence(self, path: Path) -> list[object]:
        items: list[object] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            item_path = (*path, len(items))
            self.lines[item_path] = _get_line(event)
            items.append(self._read_node(event, item_path))
        return items


def _parse_events(text: str) -> Iterator[Event]:
    """Parse a text to events; raise `_StopParsing` with a line for anything that the parser cannot read."""
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(str(part) for part in (error.context, error.problem) if part)
        raise _StopParsing(mark.line + 1 if mark else 1, f"is not YAML: {what}") from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _StopParsing(line, f"holds U+{error.character:04X}, which YAML does not allow") from error
    except Exception as error:
        # The parser itself may fail with any exception on broken text.
        raise _StopParsing(1, f"is not YAML: {error}") from error


def _limit_values(events: Iterator[Event], most: int) -> Iterator[Event]:
    """Yield events; raise `_StopParsing` at the first key or value that is too many."""
    count = 0
    for event in events:
        count += isinstance(event, NodeEvent)
        if count > most:
            raise _StopParsing(_get_line(event), f"has more than {most:,} keys and values; shorten it")
        yield event


def _get_line(event: Event) -> int:
    return int(event.start_mark.line) + 1


def _convert_scalar(event: ScalarEvent) -> object:
    """Convert a scalar by the core schema of YAML 1.2; dates, yes and no stay text."""
    text = str(event.value)
    # It is quoted, and therefore text, such as "1.0".
    if not event.implicit[0]:
        return text
    if text.lower() in _CONSTANTS and text in {text.lower(), text.upper(), text.capitalize()}:
        return _CONSTANTS[text.lower()]
    try:
        return int(text) if _INT.fullmatch(text) else float(text) if _FLOAT.fullmatch(text) else text
    except ValueError:
        # More digits than Python converts.
        return text


def write_yaml(metric: FileMetric) -> str:
    """Return the YAML text of a metric."""
    fields = metric.model_dump(mode="json", exclude_defaults=True) | {"scale": _dump_scale(metric.scale)}
    # For a class of preferences it is the default, and in a file it is not.
    fields["preference"] = getattr(metric, "preference", False)
    fields["notes"] = {name: _dump_note(note) for name, note in fields.get("notes", {}).items()}
    return SCHEMA_LINE + write_fields({key: fields[key] for key in FIELD_ORDER if fields.get(key)})


def write_fields(fields: Mapping[str, object]) -> str:
    """Return the YAML text of fields that are plain data, in the style of a metric file; they need not be valid."""
    return _dump_yaml({_style_key(key): _style_field(key, part) for key, part in fields.items()}) if fields else ""


def _style_field(key: str, content: object) -> object:
    """Style a field: each step has a line of its own; what is short in all metrics is written on one line."""
    if key == "steps" and isinstance(content, list):
        return [_style_texts(step) for step in content]
    if key in {"uses", "notes"} and isinstance(content, dict):
        return {_style_key(name): _style_part(key, part) for name, part in content.items()}
    is_short_scale = (
        key == "scale" and isinstance(content, dict) and content.keys().isdisjoint({"categories", "levels"})
    )
    is_short = is_short_scale or (key in {"judge", "metrics"} and isinstance(content, dict))
    return _style_flow(content) if is_short else _style_texts(content)


def _style_part(field: str, part: object) -> object:
    is_short = isinstance(part, dict) and (field == "uses" or "share" in part)
    return _style_flow(part) if is_short else _style_texts(part)


def _style_flow(content: object) -> object:
    """Style lists and mappings that are written on one line, in which ruamel quotes too little."""
    if isinstance(content, str):
        is_plain = PLAIN_WORD.fullmatch(content) and content.casefold() not in YAML_BOOLEANS
        return content if is_plain else DoubleQuotedScalarString(content)
    flow: CommentedMap | CommentedSeq
    if isinstance(content, dict):
        flow = CommentedMap({_style_flow(key): _style_flow(part) for key, part in content.items()})
    elif isinstance(content, list):
        flow = CommentedSeq(map(_style_flow, content))
    else:
        return content
    flow.fa.set_flow_style()
    return flow


def _style_key(key: str) -> str | float:
    """Return a key as it is written: a number as one, since it is read the same way, quoted only if necessary."""
    if _PLAIN_NUMBER.fullmatch(key):
        return float(key) if "." in key else int(key)
    return DoubleQuotedScalarString(key) if INVISIBLE.search(key) else key


def _dump_yaml(content: Mapping[Any, object]) -> str:
    yaml = YAML(typ="rt", pure=True)
    yaml.width = UNBROKEN_WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump(content, stream)
    return stream.getvalue()


def _style_text(text: str) -> object:
    """Return a text in its YAML style: folded if long, literal if it has several lines, quoted if necessary."""
    lines = text.split("\n")
    if any(INVISIBLE.search(line) for line in lines) or text.casefold() in YAML_BOOLEANS:
        return DoubleQuotedScalarString(text)
    # Block styles lose spaces at the ends of lines, so ruamel chooses a style that keeps them.
    if any(line != line.strip() for line in lines) or text != text.strip():
        return text
    if len(lines) > 1:
        return LiteralScalarString(text)
    if len(text) <= MAX_LINE:
        return text
    folded = FoldedScalarString(text)
    folded.fold_pos = [*_find_fold_positions(text)]
    return folded


def _find_fold_positions(text: str) -> Iterator[int]:
    """Yield the positions of single spaces at which a text is folded."""
    start = last = 0
    for space in re.finditer(r"(?<=\S) (?=\S)", text):
        if space.start() - start > MAX_LINE and last > start:
            yield last
            start = last
        last = space.start()
    if len(text) - start > MAX_LINE and last > start:
        yield last


def _style_texts(content: object) -> object:
    """Fold the long texts of any JSON content."""
    if isinstance(content, dict):
        return {_style_key(key): _style_texts(part) for key, part in content.items()}
    if isinstance(content, list):
        plain = all(isinstance(part, str | int | float) for part in content)
        return _style_flow(content) if plain else [_style_texts(part) for part in content]
    return _style_text(content) if isinstance(content, str) else content


def _dump_scale(scale: Scale) -> dict[str, object]:
    match scale:
        case CategoricalScale():
            categories = {category.name: _dump_category(category) for category in scale.categories}
            return {"categories": categories, **({} if scale.ordered else {"ordered": False})}
        case ValueScale():
            stated = {"better": scale.better} if "better" in scale.model_fields_set else {}
            step = {"step": scale.step} if scale.step else {}
            levels = {str(level): scale.levels[level] for level in sorted(scale.levels)}
            return {"range": [*scale.range], **step, **stated, "levels": levels}
        case MeasureScale():
            further = scale.model_dump(mode="json", exclude_defaults=True)
            fields = {"low": scale.low, **further, "high": scale.high}
            numbers = {key: _to_whole(part) for key, part in fields.items() if isinstance(part, float)}
            return {key: numbers.get(key, part) for key, part in fields.items() if part is not None}
        case _:
            assert_never(scale)


def _dump_category(category: Category) -> object:
    score = {} if category.score is None else {"score": _to_whole(category.score)}
    return {**({"means": category.means} if category.means else {}), **score} if score else category.means or None


def _to_whole(number: float) -> float:
    return int(number) if number.is_integer() and abs(number) <= MAX_WHOLE_SCORE else number


def _dump_note(note: Mapping[str, object]) -> object:
    """Return the file form of a note: a text alone, or with `when` first; a single word is no list."""
    if note.keys() == {"means"}:
        return note["means"]
    words = {key: part for key in ("where", "among") if isinstance(part := note.get(key), Mapping)}
    shortened = {
        key: {field: listed[0] if len(listed) == 1 else listed for field, listed in part.items()}
        for key, part in words.items()
    }
    first = {"when": note["when"]} if "when" in note else {}
    return {**first, **note, **shortened}
