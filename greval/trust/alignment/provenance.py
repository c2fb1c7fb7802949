"""Provenance of an aligned definition as comments at the top of its file, and its diff from the original."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path

from greval.metrics.files import write_metric
from greval.records.metric import JudgedMetric
from greval.trust.alignment.records import Alignment

SCHEMA_COMMENT = "# yaml-language-server:"


def add_provenance(text: str, alignment: Alignment) -> str:
    """Add comments to the text of a metric file that state what it was learned from and the gain.

    Args:
        text: The file as written by `write_metric`.
        alignment: The result of the alignment.
    """
    first, rest = text.split("\n", 1) if text.startswith(SCHEMA_COMMENT) else ("", text)
    lines = (f"# {_replace_unprintable(line)}" for line in format_provenance(alignment))
    return "\n".join((*([first] if first else []), *lines, rest))


def format_provenance(alignment: Alignment) -> Iterator[str]:
    """Yield the provenance of a definition, line by line."""
    gain = alignment.gain
    today = datetime.now(tz=UTC).date().isoformat()
    chosen = [one for one in alignment.attempts if one.fold == 0 and one.chosen]
    ways = ", ".join(f"{one.way} (from {one.learned} of the labels)" for one in chosen)
    yield f"Aligned with people by greval on {today}, from the run {Path(alignment.folder).name}: {ways}"
    people = ", ".join(alignment.annotators)
    yield f"{alignment.labels} labelled things of {alignment.questions} questions; annotators: {people}"
    yield f"judge: {alignment.judge}; writer: {alignment.writer}"
    yield (
        f"held-back folds ({alignment.folds}, seed {alignment.seed}, {gain.things} things): {gain.figure} "
        f"{_format_number(gain.before)} before, {_format_number(gain.after)} after"
    )
    ends = f"[{gain.interval.low:.3f}, {gain.interval.high:.3f}]" if gain.interval else ""
    yield f"gain {_format_number(gain.gain)} {ends} ({alignment.level:.0%}), sign-flip p = {gain.p:.4f}"


def diff_definitions(before: JudgedMetric, after: JudgedMetric, name: str) -> str:
    """Return the unified diff of two definitions, both formatted by `write_metric`."""
    old, new = (write_metric(metric).splitlines(keepends=True) for metric in (before, after))
    return "".join(unified_diff(old, new, f"before/{name}", f"after/{name}"))


def _format_number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _replace_unprintable(text: str) -> str:
    """Replace characters that are not printable by spaces. A line break would end the comment."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
