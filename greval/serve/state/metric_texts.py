"""Texts of metric files that clients send: check, edit and compare them.

All of it takes time that depends on the texts, so the server calls these functions in a child process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from pydantic import JsonValue

from greval.errors import DefinitionError
from greval.metrics.files import MAX_VALUES, parse_metric
from greval.metrics.files.editing import add_line, read_content, replace_fields
from greval.metrics.files.yaml_text import YamlSource, read_source
from greval.metrics.lint import find_formula_remarks, lint_metric
from greval.records.formula_metric import FileMetric, FormulaMetric
from greval.records.metric import Metric
from greval.records.record import Record
from greval.serve.problems import ServeError, parse_faults

SOURCE = "yaml"
"""The name of a text in the places of faults."""


class ReadText(NamedTuple):
    """A text with the metric that it defines, or its faults; remarks and faults have the lines of their places."""

    source: YamlSource
    metric: FileMetric | None
    faults: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def content(self) -> dict[str, JsonValue] | None:
        """The content as plain data, None if the text cannot be read."""
        return read_content(self.source)  # type: ignore[return-value]  # a reader of YAML gives nothing else

    def locate_faults(self, error: DefinitionError) -> tuple[str, ...]:
        """Return the faults of how a metric fits the others, each with its line.

        The name of the metric before a place is left out, as it is in faults of the text.
        """
        prefix = f"{self.metric.name}: " if self.metric else ""
        return tuple(add_line(fault.removeprefix(prefix), self.source, SOURCE) for fault in error.faults)

    def find_formula_remarks(self, dependencies: Iterable[Metric]) -> tuple[str, ...]:
        """Return the remarks on how a formula reads the other metrics, each with its line; empty without a formula."""
        if not isinstance(self.metric, FormulaMetric):
            return ()
        return tuple(
            add_line(remark, self.source, SOURCE) for remark in find_formula_remarks(self.metric, dependencies)
        )


class DiffLine(Record):
    """A line of a comparison, with its number in the text that it is from; `same` has the number in the new text."""

    kind: Literal["same", "removed", "added"]
    line: int
    text: str


def parse_metric_texts(texts: Iterable[str]) -> list[dict[str, JsonValue]]:
    """Return the definitions in texts as JSON, or raise `ServeError` (422) with each fault of the first faulty one."""
    try:
        return [parse_metric(text, SOURCE).model_dump(mode="json") for text in texts]
    except DefinitionError as error:
        raise ServeError("invalid_metric", "unsaved: not a valid metric", faults=parse_faults(error.faults)) from error


def read_metric_text(text: str) -> ReadText:
    """Read a text with all that is known about it, whether or not it is valid."""
    source = read_source(text, MAX_VALUES)
    try:
        metric = parse_metric(text, SOURCE)
    except DefinitionError as error:
        return ReadText(source, None, faults=error.faults)
    return ReadText(source, metric, remarks=tuple(add_line(remark, source, SOURCE) for remark in lint_metric(metric)))


def edit_metric_text(text: str, fields: Mapping[str, JsonValue]) -> tuple[str, ReadText]:
    """Return the text with new values of fields, and what is known about the new text."""
    try:
        edited = replace_fields(text, fields, MAX_VALUES)
    except DefinitionError as error:
        raise DefinitionError(*(f"{SOURCE}:{fault}" for fault in error.faults)) from error
    return edited, read_metric_text(edited)


def compare_texts(old: str, new: str) -> tuple[DiffLine, ...]:
    r"""Return all lines of two texts in order: those of both, those that were removed, and those that were added.

    Example:
        >>> [(line.kind, line.line, line.text) for line in compare_texts("a\nb\n", "a\nc\n")]
        [('same', 1, 'a'), ('removed', 2, 'b'), ('added', 2, 'c')]
    """
    old_lines, new_lines = old.splitlines(), new.splitlines()
    lines: list[DiffLine] = []
    for kind, a, b, c, d in SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes():
        if kind == "equal":
            lines.extend(DiffLine(kind="same", line=n + 1, text=new_lines[n]) for n in range(c, d))
        else:
            lines.extend(DiffLine(kind="removed", line=n + 1, text=old_lines[n]) for n in range(a, b))
            lines.extend(DiffLine(kind="added", line=n + 1, text=new_lines[n]) for n in range(c, d))
    return tuple(lines)
