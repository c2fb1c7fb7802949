"""A tuning for the terminal: what each fold chose, the gain with its interval, and whether it was written."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from greval._util.wording import format_count
from greval.reference.tuning import Settings, Tuning
from greval.report.tables import Column, build_table, format_interval, format_number, print_line, print_lines

DIGITS = 3


def render(tuning: Tuning, console: Console) -> None:
    """Print the choice of each fold, the gain, the outcome and the warnings."""
    tried = "; ".join(f"{name} {', '.join(map(_format_value, values))}" for name, values in tuning.grid.items())
    questions, settings = format_count(tuning.questions, "question"), format_count(tuning.candidates, "setting")
    print_line(console, f"{tuning.folder}: {tuning.measure} of {tuning.search}, {questions}, {settings}", "italic")
    print_line(console, f"tried: {tried}", "dim")
    columns = ("fold", "questions", Column("chosen on the other folds", left=True), "gain there", "gain here")
    rows = [
        (
            *(str(fold.fold), str(fold.questions), format_changes(fold.changes)),
            *(_format_gain(gain) for gain in (fold.learned_gain, fold.gain)),
        )
        for fold in tuning.folds
    ]
    console.print()
    console.print(build_table(columns, rows))
    console.print()
    print_lines(console, format_sentences(tuning))
    print_lines(console, tuning.warnings, "yellow")


def format_sentences(tuning: Tuning) -> Iterator[str]:
    """Yield the gain, how stable the choice is, and what was done with it."""
    current = format_number(tuning.before, digits=DIGITS)
    interval = format_interval(tuning.interval, _format_gain) or "[no interval]"
    level = f" {tuning.interval.level:.0%}" if tuning.interval else ""
    gain = f"{_format_gain(tuning.gain)} {interval}{level}, p {tuning.p:.4f}"
    yield f"{tuning.measure} now: {current}; gain of tuning: {gain}"
    yield (
        f"best on all questions: {format_changes(tuning.changes)}, chosen by {tuning.agreeing} of {len(tuning.folds)} "
        f"folds; gain there {_format_gain(tuning.optimistic_gain)}, which flatters it"
    )
    if tuning.written:
        yield f"written to {tuning.folder}: {tuning.why}"
    elif tuning.accepted:
        yield f"not written, as asked: {tuning.why}"
    else:
        yield f"not written: {tuning.why}{_format_detectable(tuning)}"
    for reason, count in tuning.skipped.items():
        yield f"{format_count(count, 'question')} left out: {reason}"


def format_changes(changes: Settings) -> str:
    """Format the settings that differ from the current ones.

    Example:
        >>> format_changes({"alpha": 0.2, "fusion": "rrf"}), format_changes({})
        ('alpha=0.2 fusion=rrf', 'the current settings')
    """
    return " ".join(f"{name}={_format_value(value)}" for name, value in changes.items()) or "the current settings"


def _format_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _format_gain(gain: float) -> str:
    return format_number(gain, digits=DIGITS, sign=True)


def _format_detectable(tuning: Tuning) -> str:
    """Format which gain would have been found, if the gain is not certain."""
    if tuning.detectable is None or not tuning.changes:
        return ""
    least = format_number(tuning.detectable, digits=DIGITS)
    return f"; with {tuning.questions:,} questions a gain below {least} is seldom found"
