"""A diagnosis for the terminal: the number of cases of each cause by method and tag, and the cases themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from greval._util.wording import format_count, format_names
from greval.analysis.diagnosis.records import MEANINGS, WRONG, Cause, DiagnosisTable
from greval.report.tables import Column, build_table, print_line, print_lines, shorten_name
from greval.stats.summary import NO_VALUE

ALL = "all"
MAX_NOTES = 3


def render(diagnoses: DiagnosisTable, console: Console, *, title: str, show: Iterable[Cause] = ()) -> None:
    """Print the cases of the causes to show, then a plain sentence and the table of counts."""
    for cause in show:
        print_cases(cause, diagnoses, console)
    print_line(console, describe_causes(diagnoses))
    console.print(_build_table(diagnoses, title))
    print_lines(console, (f"{cause}: {MEANINGS[cause]}" for cause in diagnoses.causes), "dim")


def describe_causes(diagnoses: DiagnosisTable) -> str:
    """Describe in plain sentences how many answers are wrong, by method, and the cause that is the most frequent."""
    causes_by_method: dict[str, list[Cause]] = {}
    for row in diagnoses.rows:
        causes_by_method.setdefault(row.method or NO_VALUE, []).append(row.cause)
    counts = Counter(row.cause for row in diagnoses.rows if row.cause in WRONG)
    if not counts:
        return f"None of {format_count(len(diagnoses.rows), 'answer')} is known to be wrong."
    methods = (
        f"{method} {sum(cause in WRONG for cause in causes)} of {len(causes)}"
        for method, causes in causes_by_method.items()
    )
    by_method = f" ({format_names(methods)})" if len(causes_by_method) > 1 else ""
    (cause, count), *_ = counts.most_common(1)
    wrong = f"{counts.total()} of {format_count(len(diagnoses.rows), 'answer')} wrong{by_method}"
    return f"{wrong}. The most frequent cause ({count} of {counts.total()}) is {cause!r}: {MEANINGS[cause]}."


def print_notes(notes: Iterable[str], console: Console) -> None:
    """Print the first few notes about an index, and the number of the others."""
    notes = [*notes]
    more = [f"and {len(notes) - MAX_NOTES} more notes"] if len(notes) > MAX_NOTES else []
    print_lines(console, (f"index: {note}" for note in (*notes[:MAX_NOTES], *more)), "yellow")


def _build_table(diagnoses: DiagnosisTable, title: str) -> Table:
    columns = (*(Column(name, left=True) for name in diagnoses.by), *map(Column, (*diagnoses.causes, ALL)))
    counts = [[group.counts.get(cause, 0) for cause in diagnoses.causes] for group in diagnoses.groups]
    rows = [(*group.names, *map(str, (*of, sum(of)))) for group, of in zip(diagnoses.groups, counts, strict=True)]
    if len(rows) > 1:
        sums = map(sum, zip(*counts, strict=True))
        rows.append((ALL, *[""] * (len(diagnoses.by) - 1), *map(str, sums), str(len(diagnoses.rows))))
    return build_table(columns, rows, title=title)


def print_cases(cause: Cause, diagnoses: DiagnosisTable, console: Console) -> None:
    """Print every case of a cause with its evidence."""
    rows = diagnoses.filter_by_cause(cause)
    print_line(console, f"{cause} ({len(rows)}): {MEANINGS[cause]}", "bold")
    for row in rows:
        group = " · ".join(diagnoses.list_group_names(row))
        print_line(console, f"{shorten_name(row.sample_id)} ({group}): {row.reason}")
        evidence = (f"  {part.kind} {part.name}: {part.lost or 'found'}; {part.told}" for part in row.evidence)
        print_lines(console, evidence)
    console.print()
