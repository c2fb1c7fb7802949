"""YAML of metric files: a reader that returns plain data and the line of each key and item, and a writer.

The writer keeps the style of a human author: folded text, short lists on one line.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple, assert_never

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
from greval.records.formula_metric import FileMetric, FormulaMetric
from greval.records.judge_choice import JudgeChoice
from greval.records.metric import JudgedMetric
from greval.records.note import ListNote, Note, ShareNote, TextNote
from greval.records.scale import CategoricalScale, Category, MeasureScale, Scale, ValueScale

Path = tuple[str | int, ...]

MAX_DEPTH = 12
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
SCHEMA_FILE = "metric.schema.json"
SCHEMA_LINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
MAX_LINE = 100
"""Maximum line length. Longer text is folded into several lines."""
UNBROKEN_WIDTH = 2**20
"""The width passed to ruamel. It must not break lines itself, because it may add a space to quoted text."""
INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
"""Invisible characters, some of which YAML readers treat as line breaks."""
PLAIN_WORD = re.compile(r"\w([\w .@/-]*\w)?")
_PLAIN_INT = re.compile(r"0|-?[1-9][0-9]{0,8}")
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
        dotted_path = ".".join(str(part + 1) if isinstance(part, int) else part for part in self.path)
        message = f"{dotted_path}: {self.text}" if dotted_path else self.text
        return f"{self.line}: {' '.join(message.splitlines())}"


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
    content = _dump_formula_metric(metric) if isinstance(metric, FormulaMetric) else _dump_judged_metric(metric)
    return SCHEMA_LINE + _dump_yaml({key: part for key, part in content.items() if part})


def _dump_formula_metric(metric: FormulaMetric) -> dict[str, Any]:
    """Return the content of the file of a metric with a formula."""
    scale = metric.scale.model_dump(mode="json", exclude_defaults=True)
    scale_fields = {"low": metric.scale.low, **scale, "high": metric.scale.high}
    stated = {
        key: int(part) if isinstance(part, float) and part.is_integer() else part for key, part in scale_fields.items()
    }
    return {
        "name": metric.name,
        "description": _style_text(metric.description),
        "formula": _style_text(metric.formula),
        "metrics": _build_flow_mapping(**_quote_words(metric.metrics)) if metric.metrics else None,
        "scale": _build_flow_mapping(**{key: part for key, part in stated.items() if part is not None}),
        "pass": metric.pass_if,
    }


def _dump_judged_metric(metric: JudgedMetric) -> dict[str, Any]:
    """Return the content of the file of a judged metric."""
    return {
        "name": metric.name,
        "description": _style_text(metric.description),
        "over": metric.over,
        "preference": metric.preference or None,
        "needs": _build_flow_list(metric.needs),
        "uses": {
            field: _build_flow_mapping(judged_by=_quote_word(use.judged_by), **{"as": _build_flow_list(use.as_)})
            for field, use in metric.uses.items()
        },
        "scale": _dump_scale(metric.scale),
        "steps": [_style_text(step) for step in metric.steps],
        "instructions": _style_text(metric.instructions),
        "reason_depth": None if metric.reason_depth == "brief" else metric.reason_depth,
        "pass": metric.pass_if,
        "judge": _dump_judge(metric.judge) if metric.judge else None,
        "notes": {name: _dump_note(note) for name, note in metric.notes.items()},
        "counts": metric.counts,
        "examples": [
            _style_texts(example.model_dump(mode="json", exclude_defaults=True)) for example in metric.examples
        ],
    }


def write_fields(fields: Mapping[str, object]) -> str:
    """Return the YAML text of fields that are plain data, in the style of a metric file; they need not be valid."""
    return _dump_yaml({_style_key(key): _style_field(key, part) for key, part in fields.items()}) if fields else ""


def _style_field(key: str, content: object) -> object:
    """Style a field: each step has a line of its own, other lists of words are written on one line."""
    if key == "steps" and isinstance(content, list):
        return [_style_texts(step) for step in content]
    return _style_texts(content)


def _style_key(key: str) -> str | int:
    """Return a key as it is written: a whole number as one, since it is read the same way, quoted only if necessary."""
    if _PLAIN_INT.fullmatch(key):
        return int(key)
    return DoubleQuotedScalarString(key) if INVISIBLE.search(key) else key


def _dump_yaml(content: Mapping[Any, object]) -> str:
    yaml = YAML(typ="rt", pure=True)
    yaml.width = UNBROKEN_WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump(content, stream)
    return stream.getvalue()


def _dump_judge(judge: JudgeChoice) -> object:
    """Return the judge of a metric in its file form: a name, or a mapping on one line."""
    settings: object = judge.model_dump(mode="json")
    return _build_flow_mapping(**_quote_words(settings)) if isinstance(settings, dict) else settings


def _quote_words(content: Mapping[str, object]) -> dict[str, object]:
    return {key: _quote_word(part) if isinstance(part, str) else part for key, part in content.items()}


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
        return _build_flow_list(content) if plain else [_style_texts(part) for part in content]
    return _style_text(content) if isinstance(content, str) else content


def _build_flow_list(items: Iterable[str | float]) -> CommentedSeq:
    """Build a list that is written on one line."""
    row = CommentedSeq([_quote_word(item) if isinstance(item, str) else item for item in items])
    row.fa.set_flow_style()
    return row


def _quote_word(text: str) -> str:
    """Quote text within a one-line list or mapping unless it is plain, because ruamel quotes too little there."""
    return (
        text if PLAIN_WORD.fullmatch(text) and text.casefold() not in YAML_BOOLEANS else DoubleQuotedScalarString(text)
    )


def _build_flow_mapping(**fields: object) -> CommentedMap:
    """Build a mapping that is written on one line."""
    line = CommentedMap(fields)
    line.fa.set_flow_style()
    return line


def _dump_scale(scale: Scale) -> dict[str, Any]:
    match scale:
        case CategoricalScale():
            categories = {category.name: _dump_category(category) for category in scale.categories}
            return {"categories": categories, **({} if scale.ordered else {"ordered": False})}
        case ValueScale():
            stated = {"better": scale.better} if "better" in scale.model_fields_set else {}
            levels = {level: _style_text(scale.levels[level]) for level in sorted(scale.levels)}
            step = {"step": scale.step} if scale.step else {}
            return {"range": _build_flow_list(scale.range), **step, **stated, "levels": levels}
        case MeasureScale():
            raise TypeError("a measure is computed; there is no file for it")
        case _:
            assert_never(scale)


def _dump_category(category: Category) -> object:
    means = _style_text(category.means)
    if category.score is None:
        return means or None
    is_whole = category.score.is_integer() and abs(category.score) <= MAX_WHOLE_SCORE
    score = int(category.score) if is_whole else category.score
    return {"means": means, "score": score} if means else {"score": score}


def _dump_note(note: Note) -> object:
    """Return the file form of a note without its defaults."""
    match note:
        case TextNote(means=means, when="after"):
            return _style_text(means)
        case TextNote(means=means, when=when):
            return {"when": when, "means": _style_text(means)}
        case ListNote(means=means, each=each, when=when):
            fields = {
                name: _style_text(described) if isinstance(described, str) else _build_flow_list(described)
                for name, described in each.items()
            }
            return {**({} if when == "after" else {"when": when}), "means": _style_text(means), "each": fields}
        case ShareNote(share=share, where=where, among=among, better=better):
            further = {**({"among": _dump_words(among)} if among else {}), **({"better": better} if better else {})}
            return _build_flow_mapping(share=_quote_word(share), where=_dump_words(where), **further)
        case _:
            assert_never(note)


def _dump_words(words_by_field: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
    return {
        _quote_word(field): _quote_word(words[0]) if len(words) == 1 else _build_flow_list(words)
        for field, words in words_by_field.items()
    }
