"""Metric files: read them with all faults reported at once, write them, and build their JSON schema."""

from __future__ import annotations

from pathlib import Path

from greval.errors import DefinitionError
from greval.metrics.files.json_schema import build_file_schema
from greval.records.formula_metric import FileMetric, FormulaMetric
from greval.records.metric import JudgedMetric

__all__ = ["MAX_BYTES", "build_file_schema", "parse_metric", "read_metric", "write_metric"]

MAX_BYTES = 1_000_000
MAX_VALUES = 5_000
"""The most keys and values of a metric file: far more than a metric has, and few enough to be read in an instant."""


def read_metric(path: str | Path) -> FileMetric:
    r"""Read a metric file.

    Args:
        path: A YAML file in UTF-8.

    Returns:
        A metric of one of the five public classes, or a `FormulaMetric` if the file has a formula.

    Example:
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp(), "tone.yaml")
        >>> _ = file.write_text("name: tone\ndescription: Is it polite?\nneeds: [answer]\nsteps: [Read.]\n"
        ...                     "scale: {range: [0, 1], levels: {0: Rude., 1: Polite.}}")
        >>> read_metric(file).scale.range
        (0, 1)
    """
    try:
        with Path(path).open("rb") as file:
            # One byte too many is enough to refuse a file of any size.
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DefinitionError(f"{path}: cannot be read: {reason}") from error
    _refuse_large(len(content), str(path))
    try:
        # Some editors begin a file with a byte order mark.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DefinitionError(f"{path}:{line}: is not UTF-8; save it in that encoding") from error
    return parse_metric(text, str(path))


def parse_metric(text: str, source: str = "metric") -> FileMetric:
    r"""Parse the text of a metric file.

    Args:
        text: YAML 1.2, one document, without anchors and tags.
        source: A name for the text in messages, such as the path of the file.

    Returns:
        A metric of one of the five public classes, or a `FormulaMetric` if the file has a formula.

    Raises:
        DefinitionError: If the text is invalid. The error holds every fault with its line.

    Example:
        >>> try:
        ...     parse_metric("name: tone\ndescription: Polite?\nneeds: [answr]\nsteps: [Read.]\n"
        ...                  "scale: {range: [5, 1], levels: {1: Rude., 5: Polite.}}", "tone.yaml")
        ... except DefinitionError as error:
        ...     print(error)
        tone.yaml:3: needs.1: 'answr' is no field of a case; did you mean answer?
        tone.yaml:5: scale.range: must rise, got 5 to 1
    """
    # The YAML reader is imported on first use: computed metrics have no file.
    from greval.metrics.files.validation import validate_source
    from greval.metrics.files.yaml_text import read_source

    _refuse_large(len(text.encode(errors="replace")), source)
    validated = validate_source(read_source(text, MAX_VALUES))
    if isinstance(validated, JudgedMetric | FormulaMetric):
        return validated
    in_order = sorted(validated, key=lambda fault: fault.line)
    raise DefinitionError(*dict.fromkeys(f"{source}:{fault}" for fault in in_order))


def write_metric(metric: FileMetric) -> str:
    """Write a metric as the text of a metric file. Parsing the text gives an equal metric.

    Args:
        metric: The definition.

    Returns:
        YAML with folded text and a comment that names its JSON schema for editors.

    Example:
        >>> from greval.records.metric import ValueMetric
        >>> metric = ValueMetric(name="depth", description="How deep it goes.", needs=["answer"], steps=["Compare."],
        ...                      range=(1, 2), levels={1: "Shallow.", 2: "Deep."})
        >>> parse_metric(write_metric(metric)) == metric
        True
    """
    from greval.metrics.files.yaml_text import write_yaml

    return write_yaml(metric)


def _refuse_large(size: int, source: str) -> None:
    if size > MAX_BYTES:
        raise DefinitionError(f"{source}: is larger than {MAX_BYTES:,} bytes; a metric file has some thousand")
