"""An agreement for the terminal: judge and people, the people among themselves, the floor, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from greval.agreements.records import Agreement, Categorical, Group, Numeric, Pair
from greval.stats.correlation import Spread
from greval.stats.figure import Figure, Measured, Undefined
from greval.stats.interval import Interval

LOUD = ("MIXED", "ENRICHED")
NAMES = {
    "kappa": "Cohen's kappa",
    "kappa linear": "kappa, linear weights",
    "kappa quadratic": "kappa, quadratic weights",
    "ac1": "Gwet's AC1",
    "alpha": "Krippendorff's alpha",
    "mae": "mean absolute error",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall's tau-b",
}
OF_GROUPS = {"categorical": ("accuracy", "kappa", "ac1", "macro f1"), "numeric": ("mae", "bias", "pearson", "spearman")}
MOST_CATEGORIES = 12
"""A larger confusion matrix fits no terminal; the JSON form has it."""


def render(agreement: Agreement, console: Console) -> None:
    """Print an agreement: what to beware of first, then the tables, then how to read them."""
    for line in agreement.warnings:
        if line.startswith(LOUD):
            _say(console, line, "bold red")
    whole, *groups = agreement.groups
    console.print(_title(agreement), style="italic", markup=False, highlight=False, soft_wrap=True)
    console.print()
    console.print(_figures(whole, agreement.level))
    for table in _beside(agreement, whole, groups):
        console.print()
        console.print(table)
    console.print()
    for line in legend(agreement):
        _say(console, line, "dim")
    for line in agreement.warnings:
        if not line.startswith(LOUD):
            _say(console, line, "yellow")


def legend(agreement: Agreement) -> Iterator[str]:
    """Say in sentences what the figures are."""
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


def named(name: str) -> str:
    """Give the name of a figure as it is told.

    Example:
        >>> named("kappa"), named("macro f1")
        ("Cohen's kappa", 'macro F1')
    """
    return NAMES.get(name, name.replace("f1", "F1"))


def told(figure: Measured | None) -> str:
    """Give a figure with its interval; a dash where it is not defined.

    Example:
        >>> told(Figure(value=0.5, n=10)), told(Undefined(n=0, reason="nothing")), told(None)
        ('0.50', '-', '')
    """
    if figure is None:
        return ""
    return f"{_number(figure.value)}{_ends(figure.interval)}" if isinstance(figure, Figure) else "-"


def _title(agreement: Agreement) -> str:
    whole = agreement.groups[0]
    judge = f", judge {', '.join(agreement.judges)}"
    people = _count(len(agreement.annotators), "annotator")
    things = f"{_count(whole.things, 'thing')} of {_count(whole.questions, 'question')}"
    return f"{agreement.folder}: {agreement.metric}{judge} and {people} on {things}"


def _figures(group: Group, level: float) -> Table:
    """Lay out the figures of judge and people, with the floors beside them."""
    clustered = any(isinstance(one, Figure) and one.clustered for one in group.judge.figures.values())
    head = "on this sample" if group.enriched else "judge and people"
    heads = [f"{head} [{level:.0%}]"]
    heads += ["by question"] if clustered else []
    heads += ["weighted"] if group.enriched else []
    floors = [baseline for baseline in group.baselines if baseline.figures]
    table = _table("", "n", *heads, "people among themselves", *(f"floor: {floor.name}" for floor in floors))
    for name, figure in group.judge.figures.items():
        cells = [told(figure)]
        cells += [_clustered(figure)] if clustered else []
        cells += [told(group.weighted.get(name))] if group.enriched else []
        beside = [told(group.people.figures.get(name)), *(told(floor.figures.get(name)) for floor in floors)]
        table.add_row(*map(Text, (named(name), f"{figure.n:,}", *cells, *beside)))
    return table


def _beside(agreement: Agreement, whole: Group, groups: Sequence[Group]) -> Iterator[Table]:
    """Give the other tables, each where there is something to show."""
    match whole.judge:
        case Categorical() as judge:
            yield _classes(judge)
            if len(judge.classes) <= MOST_CATEGORIES:
                yield _confusion(judge)
        case Numeric(people=people, judge=numbers):
            yield _spreads(people, numbers)
    if whole.people.pairs:
        yield _pairs(whole.people.pairs, whole.people.left_out)
    if groups:
        yield _groups(agreement, groups)


def _classes(judge: Categorical) -> Table:
    """Lay out the classification report; people are taken as right."""
    table = _table("category", "support", "precision", "recall", "F1")
    for one in judge.classes:
        table.add_row(*map(Text, (one.name, f"{one.support:,}", told(one.precision), told(one.recall), told(one.f1))))
    return table


def _confusion(judge: Categorical) -> Table:
    """Lay out the confusion matrix."""
    table = _table("people \\ judge", *(one.name for one in judge.classes))
    for one, row in zip(judge.classes, judge.confusion, strict=True):
        table.add_row(*map(Text, (one.name, *(f"{count:,.0f}" for count in row))))
    return table


def _spreads(people: Spread, judge: Spread) -> Table:
    """Lay out how the numbers of both sides are spread."""
    table = _table("", "count", "mean", "median", "standard deviation", "min", "max")
    for name, side in (("people", people), ("judge", judge)):
        figures = [told(side.mean), told(side.median), told(side.sd), _number(side.min), _number(side.max)]
        table.add_row(*map(Text, (name, f"{side.n:,}", *figures)))
    return table


def _pairs(pairs: Sequence[Pair], left_out: int) -> Table:
    """Lay out each pair of annotators."""
    names = [*dict.fromkeys(name for pair in pairs for name in pair.figures)]
    more = f" (and {left_out} more pairs)" if left_out else ""
    table = _table(f"people among themselves{more}", "n", *(named(name) for name in names))
    for pair in pairs:
        figures = [told(pair.figures.get(name)) for name in names]
        table.add_row(*map(Text, (" and ".join(pair.annotators), f"{pair.n:,}", *figures)))
    return table


def _groups(agreement: Agreement, groups: Sequence[Group]) -> Table:
    """Lay out the groups, a row each."""
    names = OF_GROUPS[groups[0].judge.kind]
    table = _table(f"by {' · '.join(agreement.by)}", "n", *(named(name) for name in names))
    for group in groups:
        figures = [told(group.judge.figures.get(name)) for name in names]
        table.add_row(*map(Text, (group.name, f"{group.things:,}", *figures)))
    return table


def _table(first: str, *others: str) -> Table:
    """Give an empty table: names on the left, figures on the right."""
    table = Table(box=None, pad_edge=False)
    table.add_column(escape(first), overflow="fold")
    for name in others:
        table.add_column(escape(name), justify="right", overflow="fold")
    return table


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _clustered(figure: Measured) -> str:
    return _ends(figure.clustered).strip() if isinstance(figure, Figure) else "-"


def _ends(interval: Interval | None) -> str:
    return "" if interval is None else f" [{_number(interval.low)}, {_number(interval.high)}]"


def _number(value: float) -> str:
    """Give a figure with two digits after the point, fewer where it is large; never -0.00."""
    decimals = next((places for limit, places in ((1000, 0), (100, 1)) if abs(value) >= limit), 2)
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"


def _say(console: Console, line: str, style: str) -> None:
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)
