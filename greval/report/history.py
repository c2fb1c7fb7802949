"""A history for the terminal: what changed, a table of each metric by run, and the explanation of the figures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rich.console import Console

from greval._util.wording import format_count
from greval.analysis.history.records import HistoryChange, HistoryPoint, HistoryRun, MetricHistory, RunHistory
from greval.report.console import print_gate
from greval.report.tables import Cell, Column, build_table, fit_table, format_interval, format_number, print_report
from greval.stats.change_points import MIN_QUESTIONS
from greval.stats.interval import Interval

COLUMNS = (
    Column("run", left=True),
    Column("began", left=True, wrap=False),
    Column("commit", left=True, wrap=False),
    Column("mean", left=True, wrap=False),
    Column("n"),
    Column("from before", left=True, wrap=False),
    Column("change", left=True),
)
NARROW = (0, 3, 5, 6)
"""The places of the columns that a narrow terminal has."""
COMMIT_CHARACTERS = 8
STYLES = {"better": "green", "worse": "red"}


def render(history: RunHistory, console: Console) -> None:
    """Print a history: what changed, a table for each metric, and the gate."""
    tables = []
    for line in history.metrics:
        rows = [list_cells(history, line, point) for point in line.points]
        title = format_title(line)
        narrow = [[row[place] for place in NARROW] for row in rows]
        wide = build_table(COLUMNS, rows, title=title)
        tables.append(fit_table(console, wide, build_table([COLUMNS[place] for place in NARROW], narrow, title=title)))
    print_report(
        console,
        [format_heading(history), *describe_findings(history)],
        tables,
        list_legend(history),
        warnings=history.warnings,
        loud=(),
    )
    print_gate(history.gate, console)


def format_heading(history: RunHistory) -> str:
    """Return the title: how many runs, and from when to when."""
    first, last = history.runs[0], history.runs[-1]
    return f"{format_count(len(history.runs), 'run')} from {format_day(first)} to {format_day(last)}"


def format_day(run: HistoryRun) -> str:
    """Return the day and the time at which a run began."""
    return f"{run.began:%Y-%m-%d %H:%M}"


def format_title(line: MetricHistory) -> str:
    """Return the name of a metric with its method, and its direction if lower is better."""
    name = f"{line.metric} of {line.method}" if line.method else line.metric
    return f"{name} (lower is better)" if line.better == "lower" else name


def describe_findings(history: RunHistory) -> Iterator[str]:
    """Yield a plain sentence on each change, the newest first, and one on the metrics without any."""
    changes = [(line, change) for line in history.metrics for change in line.changes]
    for line, change in sorted(changes, key=lambda pair: -pair[1].found):
        yield f"{format_title(line)} {describe_change(history, change)}."
    steady = sum(not line.changes for line in history.metrics)
    if steady:
        yield f"No change was found in {format_count(steady, 'metric')} of {len(history.metrics)}."


def describe_change(history: RunHistory, change: HistoryChange) -> str:
    """Return what changed at which run: the levels before and after, and the difference with its interval."""
    run = history.runs[change.run]
    levels = f"{format_number(change.before)} before, {format_number(change.after)} since"
    difference = f"{format_number(change.difference, sign=True)} {_format_ends(change.interval)}"
    later = f"; found after {history.runs[change.found].label}" if change.found != change.run else ""
    return f"is {change.verdict} from {run.label} on: {levels}, {difference}, n = {change.n}{later}"


def list_cells(history: RunHistory, line: MetricHistory, point: HistoryPoint) -> list[Cell]:
    """Return the cells of a point, in the order of `COLUMNS`."""
    run = history.runs[point.run]
    change = next((change for change in line.changes if change.run == point.run), None)
    verdict = change.verdict if change else ""
    marks = f"new {' and '.join(point.marks)}: not compared with the runs before" if point.marks else ""
    return [
        run.label,
        format_day(run),
        (run.commit or "")[:COMMIT_CHARACTERS],
        f"{format_number(point.mean)} {format_interval(point.interval)}".rstrip(),
        str(point.n),
        format_difference(point),
        (verdict or marks, STYLES.get(verdict, "yellow" if marks else "")),
    ]


def format_difference(point: HistoryPoint) -> str:
    """Return the difference of a run from the runs before, with its interval; a dash without one."""
    if point.difference is None:
        return "-"
    questions = "" if point.paired else " (other questions)"
    return f"{format_number(point.difference, sign=True)} {_format_ends(point.difference_interval)}{questions}"


def _format_ends(interval: Interval | None) -> str:
    """Return the ends of the interval of a difference, with their signs."""
    return format_interval(interval, partial(format_number, sign=True))


def list_legend(history: RunHistory) -> Iterator[str]:
    """Yield sentences that explain the figures."""
    yield (
        "from before: the mean minus that of the comparable runs before, since the last change for the better, "
        f"question by question where they are shared; intervals {history.level:.0%}."
    )
    yield (
        f"change: found by looking after each run, with an error of {history.alpha:.0%} for all looks at a metric and "
        f"method together; a run with fewer than {MIN_QUESTIONS} questions is not tested."
    )
