"""A YAML writer for metric files, in the style of a human author."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, assert_never

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, FoldedScalarString, LiteralScalarString

from greval.records.metric import JudgedMetric
from greval.records.note import ListNote, Note, ShareNote, TextNote
from greval.records.scale import CategoricalScale, Category, MeasureScale, Scale, ValueScale

SCHEMA_LINE = "# yaml-language-server: $schema=metric.schema.json\n"
MAX_LINE = 100
"""Maximum line length. Longer text is folded into several lines."""

UNBROKEN_WIDTH = 2**20
"""The width passed to ruamel. It must not break lines itself, because it may add a space to quoted text."""

INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
"""Invisible characters, some of which YAML readers treat as line breaks."""

PLAIN_WORD = re.compile(r"\w([\w .@/-]*\w)?")
YAML_BOOLEANS = frozenset({"yes", "no", "on", "off", "y", "n"})
"""Text that YAML 1.1 readers parse as true or false."""

MAX_WHOLE_SCORE = 1_000_000
"""Whole scores up to this value are written without a decimal point."""


def write_yaml(metric: JudgedMetric) -> str:
    """Return the YAML text of a metric."""
    content: dict[str, Any] = {
        "name": metric.name,
        "description": _style_text(metric.description),
        "over": metric.over,
        "needs": _build_flow_list(metric.needs),
        "uses": {
            field: _build_flow_mapping(judged_by=_quote_word(use.judged_by), **{"as": _build_flow_list(use.as_)})
            for field, use in metric.uses.items()
        },
        "scale": _dump_scale(metric.scale),
        "steps": [_style_text(step) for step in metric.steps],
        "instructions": _style_text(metric.instructions),
        "reason_depth": None if metric.reason_depth == "brief" else metric.reason_depth,
        "notes": {name: _dump_note(note) for name, note in metric.notes.items()},
        "examples": [
            _style_texts(example.model_dump(mode="json", exclude_defaults=True)) for example in metric.examples
        ],
    }
    yaml = YAML(typ="rt", pure=True)
    yaml.width = UNBROKEN_WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump({key: part for key, part in content.items() if part}, stream)
    return SCHEMA_LINE + stream.getvalue()


def _style_text(text: str) -> object:
    """Return a text in its YAML style: folded if long, literal if it has several lines, quoted if necessary."""
    lines = text.split("\n")
    if any(INVISIBLE.search(line) for line in lines) or text.casefold() in YAML_BOOLEANS:
        return DoubleQuotedScalarString(text)
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
        return {key: _style_texts(part) for key, part in content.items()}
    if isinstance(content, list):
        plain = all(isinstance(part, str) for part in content)
        return _build_flow_list(content) if plain else [_style_texts(part) for part in content]
    return _style_text(content) if isinstance(content, str) else content


def _build_flow_list(items: Iterable[str | int]) -> CommentedSeq:
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
            message = "a measure is computed; there is no file for it"
            raise TypeError(message)
        case _:
            assert_never(scale)


def _dump_category(category: Category) -> object:
    means = _style_text(category.means)
    if category.score is None:
        return means or None
    whole = category.score.is_integer() and abs(category.score) <= MAX_WHOLE_SCORE
    score = int(category.score) if whole else category.score
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
                name: _style_text(told) if isinstance(told, str) else _build_flow_list(told)
                for name, told in each.items()
            }
            return {**({} if when == "after" else {"when": when}), "means": _style_text(means), "each": fields}
        case ShareNote(share=share, where=where, among=among, better=better):
            further = {**({"among": _dump_words(among)} if among else {}), **({"better": better} if better else {})}
            return _build_flow_mapping(share=_quote_word(share), where=_dump_words(where), **further)
        case _:
            assert_never(note)


def _dump_words(wanted: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
    return {
        _quote_word(field): _quote_word(words[0]) if len(words) == 1 else _build_flow_list(words)
        for field, words in wanted.items()
    }
