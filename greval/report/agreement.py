"""An agreement for the terminal: judge and people, people among themselves, the baselines, and the groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from greval._util.wording import format_count
from greval.report.number_format import format_by_question, format_measured, format_name, format_number
from greval.report.tables import build_plain_table, print_line, print_prominent, print_rest
from greval.stats.correlation import NumberSpread
from greval.stats.measured import MeasuredValue, Undefined
from greval.trust.agreement.records import (
    Agreement,
    AgreementGroup,
    CategoricalAgreement,
    NumericAgreement,
    PeopleAgreement,
)

PROMINENT = ("MIXED", "ENRICHED")
GROUP_FIGURES = {
    "categorical": ("accuracy", "kappa", "ac1", "macro f1"),
    "numeric": ("mae", "bias", "pearson", "spearman"),
}
MAX_CATEGORIES = 12
"""A larger confusion matrix does not fit a terminal; the JSON form has it."""


def render(agreement: Agreement, console: Console) -> None:
    """Print an agreement: important warnings, the tables, their explanation, and the other warnings."""
    print_prominent(console, agreement.warnings, PROMINENT)
    whole, *groups = agreement.groups
    print_line(console, _format_title(agreement), "italic")
    console.print()
    console.print(_build_figures_table(whole, agreement.level))
    for table in _build_other_tables(agreement, whole, groups):
        console.print()
        console.print(table)
    console.print()
    for line in format_legend(agreement):
        print_line(console, line, "dim")
    print_rest(console, agreement.warnings, PROMINENT)


def format_legend(agreement: Agreement) -> Iterator[str]:
    """Yield sentences that explain the figures."""
    whole = agreement.groups[0]
    stands = {"majority": "what most of them said", "mean": "the mean of their numbers", "each": "each value by itself"}
    yield f"People: {stands[agreement.combine]}. Intervals are {agreement.level:.0%}, by bootstrap."
    if whole.questions < whole.things:
        yield "By question: whole questions are drawn, as things of one question are not independent; the safer one."
    if isinstance(whole.judge, CategoricalAgreement):
        yield "Alpha counts the judge as one more among all annotators; averages leave out what is undefined."
    yield "The floor by length is learned on other questions than it is tried on. A useful judge is well above both."
    for name, figure in whole.judge.figures.items():
        if isinstance(figure, Undefined):
            yield f"{format_name(name)} is undefined: {figure.reason}."
    if whole.people.why:
        yield f"People among themselves: not known, {whole.people.why}."
    for baseline in whole.baselines:
        if baseline.why:
            yield f"Floor, {baseline.name}: not known, {baseline.why}."


def _format_title(agreement: Agreement) -> str:
    """Format the title."""
    whole = agreement.groups[0]
    judge = f", judge {', '.join(agreement.judges)}"
    people = format_count(len(agreement.annotators), "annotator")
    things = f"{format_count(whole.things, 'thing')} of {format_count(whole.questions, 'question')}"
    return f"{agreement.folder}: {agreement.metric}{judge} and {people} on {things}"


def _build_figures_table(group: AgreementGroup, level: float) -> Table:
    """Build the table of the figures of judge and people, with the baselines."""
    clustered = any(isinstance(one, MeasuredValue) and one.clustered for one in group.judge.figures.values())
    head = "on this sample" if group.enriched else "judge and people"
    heads = [f"{head} [{level:.0%}]"]
    heads += ["by question"] if clustered else []
    heads += ["weighted"] if group.enriched else []
    floors = [baseline for baseline in group.baselines if baseline.figures]
    table = build_plain_table("", "n", *heads, "people among themselves", *(f"floor: {floor.name}" for floor in floors))
    for name, figure in group.judge.figures.items():
        cells = [format_measured(figure)]
        cells += [format_by_question(figure)] if clustered else []
        cells += [format_measured(group.weighted.get(name))] if group.enriched else []
        beside = [
            format_measured(group.people.figures.get(name)),
            *(format_measured(floor.figures.get(name)) for floor in floors),
        ]
        table.add_row(*map(Text, (format_name(name), f"{figure.n:,}", *cells, *beside)))
    return table


def _build_other_tables(
    agreement: Agreement, whole: AgreementGroup, groups: Sequence[AgreementGroup]
) -> Iterator[Table]:
    """Yield the other tables that have content."""
    match whole.judge:
        case CategoricalAgreement() as judge:
            yield _build_classes_table(judge)
            if len(judge.classes) <= MAX_CATEGORIES:
                yield _build_confusion_table(judge)
        case NumericAgreement(people=people, judge=numbers):
            yield _build_spreads_table(people, numbers)
    if whole.people.pairs:
        yield build_pairs_table("people among themselves", whole.people)
    if groups:
        yield _build_groups_table(agreement, groups)


def _build_classes_table(judge: CategoricalAgreement) -> Table:
    """Build the classification report, with people's categories as the truth."""
    table = build_plain_table("category", "support", "precision", "recall", "F1")
    for one in judge.classes:
        table.add_row(
            *map(
                Text,
                (
                    one.name,
                    f"{one.support:,}",
                    format_measured(one.precision),
                    format_measured(one.recall),
                    format_measured(one.f1),
                ),
            )
        )
    return table


def _build_confusion_table(judge: CategoricalAgreement) -> Table:
    """Build the confusion matrix."""
    table = build_plain_table("people \\ judge", *(one.name for one in judge.classes))
    for one, row in zip(judge.classes, judge.confusion, strict=True):
        table.add_row(*map(Text, (one.name, *(f"{cell:,.0f}" for cell in row))))
    return table


def _build_spreads_table(people: NumberSpread, judge: NumberSpread) -> Table:
    """Build the table of the distributions of both sides' numbers."""
    table = build_plain_table("", "count", "mean", "median", "standard deviation", "min", "max")
    for name, side in (("people", people), ("judge", judge)):
        figures = [
            format_measured(side.mean),
            format_measured(side.median),
            format_measured(side.sd),
            format_number(side.min),
            format_number(side.max),
        ]
        table.add_row(*map(Text, (name, f"{side.n:,}", *figures)))
    return table


def build_pairs_table(head: str, among: PeopleAgreement) -> Table:
    """Build a table of each pair of people or judges who valued the same items.

    Args:
        head: The heading of the pairs.
        among: Their agreement.
    """
    names = [*dict.fromkeys(name for pair in among.pairs for name in pair.figures)]
    more = f" (and {among.left_out} more pairs)" if among.left_out else ""
    table = build_plain_table(f"{head}{more}", "n", *map(format_name, names))
    for pair in among.pairs:
        figures = [format_measured(pair.figures.get(name)) for name in names]
        table.add_row(*map(Text, (" and ".join(pair.annotators), f"{pair.n:,}", *figures)))
    return table


def _build_groups_table(agreement: Agreement, groups: Sequence[AgreementGroup]) -> Table:
    """Build the table of groups, one row each."""
    names = GROUP_FIGURES[groups[0].judge.kind]
    table = build_plain_table(f"by {' · '.join(agreement.by)}", "n", *map(format_name, names))
    for group in groups:
        figures = [format_measured(group.judge.figures.get(name)) for name in names]
        table.add_row(*map(Text, (group.name, f"{group.things:,}", *figures)))
    return table
