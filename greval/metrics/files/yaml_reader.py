"""A YAML reader for metric files that returns plain data and the line of each key and item."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import NamedTuple

from ruamel.yaml import YAML
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

from greval.errors import DataError, GrevalError
from greval.metrics.files.faults import MetricFileFault, Path

MAX_DEPTH = 12
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


class YamlSource(NamedTuple):
    """The parsed form of a YAML text: its data, the line of each path, and its faults."""

    data: object
    lines: dict[Path, int]
    faults: list[MetricFileFault]


class _StopParsing(Exception):  # noqa: N818 - not an error for callers: it ends the parsing
    """Raised internally when the text cannot be parsed further."""

    def __init__(self, fault: MetricFileFault) -> None:
        super().__init__(fault.text)
        self.fault = fault


def read_source(text: str) -> YamlSource:
    """Parse a YAML 1.2 text of one document, without anchors, aliases and tags.

    Keys of mappings stay text as written, so that a category may be named `1.0` or `true`.
    """
    reader = _YamlReader(text)
    try:
        data = reader.read_document()
    except _StopParsing as stop:
        return YamlSource(None, reader.lines, [*reader.faults, stop.fault])
    return YamlSource(data, reader.lines, reader.faults)


def read_source_file(path: FilePath, hint: str, error: type[GrevalError] = DataError) -> YamlSource:
    """Read and parse a YAML or JSON file; see `read_source`.

    Raises:
        GrevalError: Of the type `error`, if the file cannot be read. The hint says which file to name instead.
    """
    try:
        return read_source(path.read_text(encoding="utf-8-sig"))
    except OSError as cause:
        raise error(f"{path}: {cause.strerror or cause}; {hint}") from cause
    except UnicodeDecodeError as cause:
        raise error(f"{path}: is not UTF-8 (at byte {cause.start + 1}); save the file as UTF-8") from cause


class _YamlReader:
    """Converts parser events to data; only content that the text spells out is built."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {(): 1}
        self.faults: list[MetricFileFault] = []
        self._events = _parse_events(text)

    def read_document(self) -> object:
        """Return the content of the only document, None if the text has no document."""
        next(self._events)
        start = next(self._events)
        if isinstance(start, StreamEndEvent):
            return None
        if isinstance(start, DocumentStartEvent) and (start.version or start.tags):
            raise _StopParsing(
                MetricFileFault(_get_line(start), "leave out the lines that start with %; YAML 1.2 is read")
            )
        data = self._read_node(next(self._events), ())
        next(self._events)
        if not isinstance(following := next(self._events), StreamEndEvent):
            raise _StopParsing(
                MetricFileFault(_get_line(following), "a second document starts; write one metric a file")
            )
        return data

    def _read_node(self, event: Event, path: Path) -> object:
        self._reject_unsupported(event, path)
        if isinstance(event, ScalarEvent):
            return _convert_scalar(event)
        if len(path) >= MAX_DEPTH:
            raise _StopParsing(
                MetricFileFault(_get_line(event), f"nested more than {MAX_DEPTH} deep; no metric needs that")
            )
        return self._read_mapping(path) if isinstance(event, MappingStartEvent) else self._read_sequence(path)

    def _reject_unsupported(self, event: Event, path: Path) -> None:
        """Reject aliases, anchors and tags, which make content larger or different from what the text shows."""
        if isinstance(event, AliasEvent):
            raise _StopParsing(
                MetricFileFault(_get_line(event), f"*{event.anchor}: aliases are not read; write the content out")
            )
        if isinstance(event, NodeEvent) and event.anchor:
            self.faults.append(
                MetricFileFault(_get_line(event), f"&{event.anchor}: anchors are not read; leave it out", path)
            )
        if tag := getattr(event, "tag", None):
            self.faults.append(MetricFileFault(_get_line(event), f"the tag {tag} is not read; leave it out", path))

    def _read_mapping(self, path: Path) -> dict[str, object]:
        found: dict[str, object] = {}
        first: dict[str, int] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            key, line = self._read_key(event), _get_line(event)
            place = (*path, key)
            alike = unicodedata.normalize("NFC", key).strip()
            if alike in first:
                self.faults.append(MetricFileFault(line, f"given twice; first in line {first[alike]}", place))
            first.setdefault(alike, line)
            self.lines.setdefault(place, line)
            found[key] = self._read_node(next(self._events), place)
        return found

    def _read_key(self, event: Event) -> str:
        self._reject_unsupported(event, ())
        if not isinstance(event, ScalarEvent):
            raise _StopParsing(MetricFileFault(_get_line(event), "a key must be text, not a list or a mapping"))
        return str(event.value)

    def _read_sequence(self, path: Path) -> list[object]:
        found: list[object] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            place = (*path, len(found))
            self.lines[place] = _get_line(event)
            found.append(self._read_node(event, place))
        return found


def _parse_events(text: str) -> Iterator[Event]:
    """Parse a text to events; raise `_StopParsing` with a line for anything that the parser cannot read."""
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(str(part) for part in (error.context, error.problem) if part)
        raise _StopParsing(MetricFileFault(mark.line + 1 if mark else 1, f"is not YAML: {what}")) from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _StopParsing(
            MetricFileFault(line, f"holds U+{error.character:04X}, which YAML does not allow")
        ) from error
    except Exception as error:  # the parser itself may fail with any exception on broken text
        raise _StopParsing(MetricFileFault(1, f"is not YAML: {error}")) from error


def _get_line(event: Event) -> int:
    return int(event.start_mark.line) + 1


def _convert_scalar(event: ScalarEvent) -> object:
    """Convert a scalar by the core schema of YAML 1.2; dates, yes and no stay text."""
    text = str(event.value)
    if not event.implicit[0]:
        return text
    if text.lower() in _CONSTANTS and text in {text.lower(), text.upper(), text.capitalize()}:
        return _CONSTANTS[text.lower()]
    try:
        return int(text) if _INT.fullmatch(text) else float(text) if _FLOAT.fullmatch(text) else text
    except ValueError:  # more digits than Python converts
        return text
