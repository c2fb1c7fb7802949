"""An agreement for the terminal: judge and people, people among themselves, the baselines, and the groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from greval._util.wording import counted
from greval.report.number_format import by_question, named, number, told
from greval.report.terminal import plain_table, say, say_loud, say_rest
from greval.stats.correlation import Spread
from greval.stats.measured import Figure, Undefined
from greval.trust.agreement.records import Agreement, Categorical, Group, Numeric, People

LOUD = ("MIXED", "ENRICHED")
OF_GROUPS = {"categorical": ("accuracy", "kappa", "ac1", "macro f1"), "numeric": ("mae", "bias", "pearson", "spearman")}
MOST_CATEGORIES = 12
"""A larger confusion matrix does not fit a terminal; the JSON form has it."""


def render(agreement: Agreement, console: Console) -> None:
    """Print an agreement: important warnings, the tables, their explanation, and the other warnings."""
    say_loud(console, agreement.warnings, LOUD)
    whole, *groups = agreement.groups
    say(console, _title(agreement), "italic")
    console.print()
    console.print(_figures(whole, agreement.level))
    for table in _beside(agreement, whole, groups):
        console.print()
        console.print(table)
    console.print()
    for line in legend(agreement):
        say(console, line, "dim")
    say_rest(console, agreement.warnings, LOUD)


def legend(agreement: Agreement) -> Iterator[str]:
    """Yield sentences that explain the figures."""
    whole = agreement.groups[0]
    stands = {"majority": "what most of them said", "mean": "the mean of their numbers", "each": "each value by itself"}
    yield f"People: {stands[agreement.combine]}. Intervals are {agreement.level:.0%}, by bootstrap."
    if whole.questions < whole.things:
        yield "By question: whole questions are drawn, as things of one question are not independent; the safer one."
    if isinstance(whole.judge, Categorical):
        yield "Alpha counts the judge as one more among all annotators; averages leave out what is undefined."
    yield "The floor by length is learned on other questions than it is tried on. A useful judge is well above both."
    for name, figure in whole.judge.figures.items():
        if isinstance(figure, Undefined):
            yield f"{named(name)} is undefined: {figure.reason}."
    if whole.people.why:
        yield f"People among themselves: not known, {whole.people.why}."
    for baseline in whole.baselines:
        if baseline.why:
            yield f"Floor, {baseline.name}: not known, {baseline.why}."


def _title(agreement: Agreement) -> str:
    """Format the title."""
    whole = agreement.groups[0]
    judge = f", judge {', '.join(agreement.judges)}"
    people = counted(len(agreement.annotators), "annotator")
    things = f"{counted(whole.things, 'thing')} of {counted(whole.questions, 'question')}"
    return f"{agreement.folder}: {agreement.metric}{judge} and {people} on {things}"


def _figures(group: Group, level: float) -> Table:
    """Build the table of the figures of judge and people, with the baselines."""
    clustered = any(isinstance(one, Figure) and one.clustered for one in group.judge.figures.values())
    head = "on this sample" if group.enriched else "judge and people"
    heads = [f"{head} [{level:.0%}]"]
    heads += ["by question"] if clustered else []
    heads += ["weighted"] if group.enriched else []
    floors = [baseline for baseline in group.baselines if baseline.figures]
    table = plain_table("", "n", *heads, "people among themselves", *(f"floor: {floor.name}" for floor in floors))
    for name, figure in group.judge.figures.items():
        cells = [told(figure)]
        cells += [by_question(figure)] if clustered else []
        cells += [told(group.weighted.get(name))] if group.enriched else []
        beside = [told(group.people.figures.get(name)), *(told(floor.figures.get(name)) for floor in floors)]
        table.add_row(*map(Text, (named(name), f"{figure.n:,}", *cells, *beside)))
    return table


def _beside(agreement: Agreement, whole: Group, groups: Sequence[Group]) -> Iterator[Table]:
    """Yield the other tables that have content."""
    match whole.judge:
        case Categorical() as judge:
            yield _classes(judge)
            if len(judge.classes) <= MOST_CATEGORIES:
                yield _confusion(judge)
        case Numeric(people=people, judge=numbers):
            yield _spreads(people, numbers)
    if whole.people.pairs:
        yield pairs("people among themselves", whole.people)
    if groups:
        yield _groups(agreement, groups)


def _classes(judge: Categorical) -> Table:
    """Build the classification report, with people's categories as the truth."""
    table = plain_table("category", "support", "precision", "recall", "F1")
    for one in judge.classes:
        table.add_row(*map(Text, (one.name, f"{one.support:,}", told(one.precision), told(one.recall), told(one.f1))))
    return table


def _confusion(judge: Categorical) -> Table:
    """Build the confusion matrix."""
    table = plain_table("people \\ judge", *(one.name for one in judge.classes))
    for one, row in zip(judge.classes, judge.confusion, strict=True):
        table.add_row(*map(Text, (one.name, *(f"{cell:,.0f}" for cell in row))))
    return table


def _spreads(people: Spread, judge: Spread) -> Table:
    """Build the table of the distributions of both sides' numbers."""
    table = plain_table("", "count", "mean", "median", "standard deviation", "min", "max")
    for name, side in (("people", people), ("judge", judge)):
        figures = [told(side.mean), told(side.median), told(side.sd), number(side.min), number(side.max)]
        table.add_row(*map(Text, (name, f"{side.n:,}", *figures)))
    return table


def pairs(head: str, among: People) -> Table:
    """Build a table of each pair of people or judges who valued the same items.

    Args:
        head: The heading of the pairs.
        among: Their agreement.
    """
    names = [*dict.fromkeys(name for pair in among.pairs for name in pair.figures)]
    more = f" (and {among.left_out} more pairs)" if among.left_out else ""
    table = plain_table(f"{head}{more}", "n", *map(named, names))
    for pair in among.pairs:
        figures = [told(pair.figures.get(name)) for name in names]
        table.add_row(*map(Text, (" and ".join(pair.annotators), f"{pair.n:,}", *figures)))
    return table


def _groups(agreement: Agreement, groups: Sequence[Group]) -> Table:
    """Build the table of groups, one row each."""
    names = OF_GROUPS[groups[0].judge.kind]
    table = plain_table(f"by {' · '.join(agreement.by)}", "n", *map(named, names))
    for group in groups:
        figures = [told(group.judge.figures.get(name)) for name in names]
        table.add_row(*map(Text, (group.name, f"{group.things:,}", *figures)))
    return table
