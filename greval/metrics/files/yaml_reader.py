"""A YAML reader for metric files that returns plain data and the line of each key and item."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
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

from greval.metrics.files.faults import Fault, Path

MAX_DEPTH = 12
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


class Source(NamedTuple):
    """The parsed form of a YAML text: its data, the line of each path, and its faults."""

    data: object
    lines: dict[Path, int]
    faults: list[Fault]


class _Stop(Exception):  # noqa: N818 - not an error for callers: it ends the parsing
    """Raised internally when the text cannot be parsed further."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.text)
        self.fault = fault


def read_source(text: str) -> Source:
    """Parse a YAML 1.2 text of one document, without anchors, aliases and tags.

    Keys of mappings stay text as written, so that a category may be named `1.0` or `true`.
    """
    reader = _Reader(text)
    try:
        data = reader.document()
    except _Stop as stop:
        return Source(None, reader.lines, [*reader.faults, stop.fault])
    return Source(data, reader.lines, reader.faults)


class _Reader:
    """Converts parser events to data; only content that the text spells out is built."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {(): 1}
        self.faults: list[Fault] = []
        self._events = _events(text)

    def document(self) -> object:
        """Return the content of the only document, None if the text has no document."""
        next(self._events)
        start = next(self._events)
        if isinstance(start, StreamEndEvent):
            return None
        if isinstance(start, DocumentStartEvent) and (start.version or start.tags):
            raise _Stop(Fault(_line(start), "leave out the lines that start with %; YAML 1.2 is read"))
        data = self._node(next(self._events), ())
        next(self._events)
        if not isinstance(following := next(self._events), StreamEndEvent):
            raise _Stop(Fault(_line(following), "a second document starts; write one metric a file"))
        return data

    def _node(self, event: Event, path: Path) -> object:
        self._refuse(event, path)
        if isinstance(event, ScalarEvent):
            return _scalar(event)
        if len(path) >= MAX_DEPTH:
            raise _Stop(Fault(_line(event), f"nested more than {MAX_DEPTH} deep; no metric needs that"))
        return self._mapping(path) if isinstance(event, MappingStartEvent) else self._sequence(path)

    def _refuse(self, event: Event, path: Path) -> None:
        """Reject aliases, anchors and tags, which make content larger or different from what the text shows."""
        if isinstance(event, AliasEvent):
            raise _Stop(Fault(_line(event), f"*{event.anchor}: aliases are not read; write the content out"))
        if isinstance(event, NodeEvent) and event.anchor:
            self.faults.append(Fault(_line(event), f"&{event.anchor}: anchors are not read; leave it out", path))
        if tag := getattr(event, "tag", None):
            self.faults.append(Fault(_line(event), f"the tag {tag} is not read; leave it out", path))

    def _mapping(self, path: Path) -> dict[str, object]:
        found: dict[str, object] = {}
        first: dict[str, int] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            key, line = self._key(event), _line(event)
            place = (*path, key)
            alike = unicodedata.normalize("NFC", key).strip()
            if alike in first:
                self.faults.append(Fault(line, f"given twice; first in line {first[alike]}", place))
            first.setdefault(alike, line)
            self.lines.setdefault(place, line)
            found[key] = self._node(next(self._events), place)
        return found

    def _key(self, event: Event) -> str:
        self._refuse(event, ())
        if not isinstance(event, ScalarEvent):
            raise _Stop(Fault(_line(event), "a key must be text, not a list or a mapping"))
        return str(event.value)

    def _sequence(self, path: Path) -> list[object]:
        found: list[object] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            place = (*path, len(found))
            self.lines[place] = _line(event)
            found.append(self._node(event, place))
        return found


def _events(text: str) -> Iterator[Event]:
    """Parse a text to events; raise `_StopParsing` with a line for anything that the parser cannot read."""
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(str(part) for part in (error.context, error.problem) if part)
        raise _Stop(Fault(mark.line + 1 if mark else 1, f"is not YAML: {what}")) from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _Stop(Fault(line, f"holds U+{error.character:04X}, which YAML does not allow")) from error
    except Exception as error:  # the parser itself may fail with any exception on broken text
        raise _Stop(Fault(1, f"is not YAML: {error}")) from error


def _line(event: Event) -> int:
    return int(event.start_mark.line) + 1


def _scalar(event: ScalarEvent) -> object:
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
