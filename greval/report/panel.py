"""A panel for the terminal: the agreement among the judges, with the others and with people, and the outlier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from greval._util.wording import counted
from greval.report.agreement import pairs
from greval.report.number_format import by_question, named, told
from greval.report.terminal import plain_table, say, say_loud, say_rest
from greval.stats.measured import Measured
from greval.trust.panels.records import Against, Jury, Panel, Seat

LOUD = ("MIXED", "ENRICHED")
PAIR = 2
COMBINED = {"majority": "what most judges say", "median": "the median of the judges", "mean": "the mean of the judges"}


def render(panel: Panel, console: Console) -> None:
    """Print a panel: important warnings, the tables, their explanation, and the other warnings."""
    whole, *groups = panel.groups
    say_loud(console, panel.warnings, LOUD)
    say(console, _title(panel, whole), "italic")
    first = (_runs(panel), _whole(whole, panel.level), _seats(whole))
    several = pairs("pairs of judges", whole.among) if len(whole.seats) > PAIR else None
    for table in (*first, several, _people(whole), _groups(panel, groups)):
        if table is not None:
            console.print()
            console.print(table)
    console.print()
    for line in legend(panel):
        say(console, line, "dim")
    say_rest(console, panel.warnings, LOUD)


def legend(panel: Panel) -> Iterator[str]:
    """Yield sentences that explain the figures."""
    whole = panel.groups[0]
    yield f"The panel's verdict is {COMBINED[panel.combine]}. Only things that all judged count."
    yield f"Intervals are {panel.level:.0%}, by bootstrap" + (
        "; by question, whole questions are drawn: the safer one." if whole.questions < whole.things else "."
    )
    yield f"Outlier: {panel.outlier}." if panel.outlier else f"Outlier: none named: {panel.why_none}."
    for seat in whole.seats:
        if seat.others.why:
            yield f"{seat.name}: {seat.others.why}."
    if whole.people and whole.people.why:
        yield f"People: {whole.people.why}."


def _title(panel: Panel, whole: Jury) -> str:
    """Format the title."""
    judges = (
        f"{len(panel.benches)} judges on {counted(whole.things, 'thing')} of {counted(whole.questions, 'question')}"
    )
    return f"{panel.metric}: {judges}"


def _runs(panel: Panel) -> Table:
    """Build the table of the runs with their counts."""
    table = plain_table("judge", "verdicts", "missing", "failed", "skipped")
    for one in panel.benches:
        table.add_row(*map(Text, (one.name, *map(str, (one.verdicts, one.missing, one.failed, one.skipped)))))
    return table


def _whole(whole: Jury, level: float) -> Table:
    """Build the table of the agreement among all judges."""
    figures = {**whole.among.figures, "unanimous": whole.unanimous}
    table = plain_table("all judges", "n", f"figure [{level:.0%}]", "by question")
    for name, figure in figures.items():
        table.add_row(*map(Text, (named(name), f"{figure.n:,}", told(figure), by_question(figure))))
    return table


def _seats(whole: Jury) -> Table:
    """Build the table of each judge compared with the others."""
    names = _names(seat.others for seat in whole.seats)
    without = any(seat.alpha_without for seat in whole.seats)
    last = ["alpha without it"] if without else []
    table = plain_table("against the others", "n", "tied", *map(named, names), *last)
    for seat in whole.seats:
        extra = [told(seat.alpha_without)] if without else []
        table.add_row(*map(Text, (*_cells(seat.name, seat.others, names), *extra)))
    return table


def _people(whole: Jury) -> Table | None:
    """Build the table of the panel and each judge compared with people."""
    if whole.people is None:
        return None
    rows: list[tuple[str, Against]] = [("the panel", whole.people)]
    rows += [(seat.name, seat.people) for seat in whole.seats if seat.people]
    names = _names(against for _, against in rows)
    table = plain_table("against people", "n", "tied", *map(named, names))
    for name, against in rows:
        table.add_row(*map(Text, _cells(name, against, names)))
    return table


def _groups(panel: Panel, groups: Sequence[Jury]) -> Table | None:
    """Build the table of groups, one row each."""
    if not groups:
        return None
    names = [*groups[0].among.figures]
    judges = [seat.name for seat in groups[0].seats]
    table = plain_table(f"by {' · '.join(panel.by)}", "n", *map(named, names), "unanimous", *judges)
    for group in groups:
        figures = [told(group.among.figures.get(name)) for name in names]
        seats = [told(_main(seat)) for seat in group.seats]
        table.add_row(*map(Text, (group.name, f"{group.things:,}", *figures, told(group.unanimous), *seats)))
    return table


def _main(seat: Seat) -> Measured | None:
    """Return the figure that represents a judge in one cell."""
    return seat.others.figures.get("kappa") or seat.others.figures.get("mae")


def _cells(name: str, against: Against, names: Sequence[str]) -> tuple[str, ...]:
    """Format a row of figures."""
    return (name, f"{against.n:,}", str(against.ties), *(told(against.figures.get(one)) for one in names))


def _names(sides: Iterator[Against] | Sequence[Against]) -> list[str]:
    """Return the names of all figures, each once."""
    return [*dict.fromkeys(name for side in sides for name in side.figures)]
