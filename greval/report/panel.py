"""A panel for the terminal: the outlier, and the agreement among the judges, with the others and with people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from greval._util.joins import JOIN_REMARKS
from greval._util.wording import format_count
from greval.report.agreement import build_pairs_tables, describe_best_floor, find_best_floor
from greval.report.tables import format_by_question, format_measured, format_name, print_report, split_table
from greval.trust.panels.records import Panel, PanelGroup, SideAgreement

PROMINENT = ("MIXED", "ENRICHED", *JOIN_REMARKS)
PAIR = 2
TableContent = tuple[Sequence[str], list[tuple[str, ...]]]
"""The headings and the rows of a table."""
VERDICTS = {"majority": "what most judges say", "median": "the median of the judges", "mean": "the mean of the judges"}


def render(panel: Panel, console: Console) -> None:
    """Print a panel: important warnings, the tables, their explanation, and the other warnings."""
    overall, *groups = panel.groups
    tables = _build_tables(panel, overall, groups, console)
    head = [_format_title(panel, overall), *describe_panel(panel)]
    print_report(console, head, tables, format_panel_legend(panel), warnings=panel.warnings, loud=PROMINENT)


def describe_panel(panel: Panel) -> Iterator[str]:
    """Yield plain sentences: how often the judges agree, whether one is an outlier, and how near people are."""
    overall = panel.groups[0]
    unanimous = format_measured(overall.unanimous)
    yield f"All {len(overall.judges)} judges give the same verdict on {unanimous} of the items."
    yield (
        f"{panel.outlier} is an outlier: it agrees with the others less than they agree with each other."
        if panel.outlier
        else f"No judge is named as an outlier: {panel.why_none}."
    )
    people = overall.people.figures if overall.people else {}
    for name, figure in [*people.items()][:1]:
        items = format_count(figure.n, "item")
        yield f"The panel's verdict and people on {items}: {format_name(name)} {format_measured(figure)}."
    if overall.people and overall.baselines:
        best = find_best_floor(overall.best_floor, overall.baselines)
        sentence = describe_best_floor(overall.standings, best, people, "the panel")
        yield f"{sentence[0].upper()}{sentence[1:]}"


def _build_tables(panel: Panel, overall: PanelGroup, groups: Sequence[PanelGroup], console: Console) -> Iterator[Table]:
    """Build the tables, each in parts if it is wider than the console."""
    yield from split_table(console, *_list_runs(panel))
    yield from split_table(console, *_list_figures(overall, panel.level))
    yield from split_table(console, *_list_judges(overall))
    if len(overall.judges) > PAIR:
        yield from build_pairs_tables("pairs of judges", overall.among, console)
    if overall.people is not None:
        yield from split_table(console, *_list_people(overall, overall.people))
    if groups:
        yield from split_table(console, *_list_groups(panel, groups))


def format_panel_legend(panel: Panel) -> Iterator[str]:
    """Yield sentences that explain the figures."""
    overall = panel.groups[0]
    yield f"The panel's verdict is {VERDICTS[panel.combine]}. Only items that every judge judged count."
    yield f"Intervals are {panel.level:.0%}, by bootstrap" + (
        "; by question, whole questions are drawn: the safer one." if overall.questions < overall.things else "."
    )
    if len(panel.groups) > 1:
        figure = "kappa" if any("kappa" in judge.others.figures for judge in overall.judges) else "mae"
        yield f"By group, the column of a judge is its {format_name(figure)} with the others."
    for judge in overall.judges:
        if judge.others.why:
            yield f"{judge.name}: {judge.others.why}."
    if overall.people and overall.people.why:
        yield f"People: {overall.people.why}."


def _format_title(panel: Panel, overall: PanelGroup) -> str:
    items, questions = format_count(overall.things, "thing"), format_count(overall.questions, "question")
    return f"{panel.metric}: {len(panel.runs)} judges on {items} of {questions}"


def _list_runs(panel: Panel) -> TableContent:
    counts = ("verdicts", "missing", "failed", "skipped")
    rows = ((run.name, *(str(getattr(run, count)) for count in counts)) for run in panel.runs)
    return ("judge", *counts), [*rows]


def _list_figures(overall: PanelGroup, level: float) -> TableContent:
    """List the figures of the agreement among all judges."""
    figures = {**overall.among.figures, "unanimous": overall.unanimous}
    rows = (
        (
            format_name(name, overall.among.distance),
            f"{figure.n:,}",
            format_measured(figure),
            format_by_question(figure),
        )
        for name, figure in figures.items()
    )
    return ("all judges", "n", f"figure [{level:.0%}]", "by question"), [*rows]


def _list_judges(overall: PanelGroup) -> TableContent:
    names = _list_names(judge.others for judge in overall.judges)
    without = any(judge.alpha_without for judge in overall.judges)
    last = [f"{format_name('alpha', overall.among.distance)} without it"] if without else []
    rows = (
        (*_format_cells(judge.name, judge.others, names), *([format_measured(judge.alpha_without)] if without else []))
        for judge in overall.judges
    )
    return ("against the others", "n", "tied", *map(format_name, names), *last), [*rows]


def _list_people(overall: PanelGroup, panel: SideAgreement) -> TableContent:
    sides = [("the panel", panel), *((judge.name, judge.people) for judge in overall.judges if judge.people)]
    names = _list_names(against for _, against in sides)
    sides += [
        (
            f"baseline: {baseline.name}",
            SideAgreement(n=next(iter(baseline.figures.values())).n, figures=baseline.figures),
        )
        for baseline in overall.baselines
        if baseline.figures
    ]
    rows = (_format_cells(name, against, names) for name, against in sides)
    return ("against people", "n", "tied", *map(format_name, names)), [*rows]


def _list_groups(panel: Panel, groups: Sequence[PanelGroup]) -> TableContent:
    names = [*groups[0].among.figures]
    judges = [judge.name for judge in groups[0].judges]
    distance = groups[0].among.distance
    figures = (format_name(name, distance) for name in names)
    columns = (f"by {' · '.join(panel.by)}", "n", *figures, "unanimous", *judges)
    return columns, [_format_group(group, names) for group in groups]


def _format_group(group: PanelGroup, names: Sequence[str]) -> tuple[str, ...]:
    """Format the row of a group; each judge is represented by one figure."""
    judges = (judge.others.figures.get("kappa") or judge.others.figures.get("mae") for judge in group.judges)
    figures = (*(group.among.figures.get(name) for name in names), group.unanimous, *judges)
    return (group.name, f"{group.things:,}", *map(format_measured, figures))


def _format_cells(name: str, against: SideAgreement, names: Sequence[str]) -> tuple[str, ...]:
    return (
        name,
        f"{against.n:,}",
        str(against.ties),
        *(format_measured(against.figures.get(figure_name)) for figure_name in names),
    )


def _list_names(sides: Iterator[SideAgreement] | Sequence[SideAgreement]) -> list[str]:
    return [*dict.fromkeys(name for side in sides for name in side.figures)]
