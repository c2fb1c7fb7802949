"""Duels for the terminal: which methods are preferred, their ranking, the habits of the judge, and the explanation."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from greval._util.joins import JOIN_REMARKS
from greval._util.wording import format_count, format_names
from greval.analysis.duel.records import Duel, PairResult, PreferenceFindings
from greval.report.tables import (
    UNLIMITED_WIDTH,
    Column,
    build_table,
    format_measured,
    format_number,
    print_report,
    split_table,
)
from greval.stats.interval import Measured, Undefined
from greval.stats.summary import NO_VALUE

PROMINENT = (*JOIN_REMARKS, "NOT COMPARABLE", "POSITION BIAS", "LENGTH BIAS", "TIE HABIT")
PAIR_COLUMNS = (
    Column("metric", left=True),
    Column("first", left=True),
    Column("second", left=True),
    "won",
    "tied",
    "lost",
    "win rate",
    "at equal length",
    "flips",
    "p",
    Column("verdict", left=True),
)
RANK_COLUMNS = (Column("metric", left=True), "rank", Column("method", left=True), "strength")
HABIT_COLUMNS = (Column("metric", left=True), "flips", "first shown wins", "ties", "length effect")
STYLES = {"first preferred": "green", "second preferred": "red"}


def render(duel: Duel, console: Console) -> None:
    """Print the duels of a run: habits of the judge, tables, their explanation, and other warnings."""
    title = f"{duel.folder}: preferences by {format_names(findings.metric for findings in duel.metrics)}"
    print_report(
        console,
        [title, *describe_preferences(duel)],
        build_duel_tables(duel, console),
        format_duel_legend(duel),
        warnings=duel.warnings,
        loud=PROMINENT,
    )


def describe_preferences(duel: Duel) -> Iterator[str]:
    """Yield a plain sentence for each metric: which methods are preferred to which, and which pairs show nothing."""
    for findings in duel.metrics:
        preferred: list[str] = []
        others: dict[str, list[str]] = {}
        for pair in findings.pairs:
            # The winner comes first, whichever method the table lists first.
            if pair.verdict in STYLES:
                names = [*map(_name_method, (pair.first, pair.second))][
                    :: 1 if pair.verdict == "first preferred" else -1
                ]
                counts = sorted((pair.won, pair.lost), reverse=True)
                preferred.append(
                    f"{names[0]} is preferred to {names[1]} ({counts[0]} won, {pair.tied} tied, {counts[1]} lost)"
                )
            else:
                others.setdefault(pair.verdict, []).append(
                    f"{_name_method(pair.first)} and {_name_method(pair.second)}"
                )
        parts = [*preferred, *(f"{verdict} between {format_names(pairs)}" for verdict, pairs in others.items())]
        yield f"{findings.metric}: {'; '.join(parts)}."


def build_duel_tables(duel: Duel, console: Console | None = None) -> Iterator[Table]:
    """Build the tables: a row for each pair, each method, and each metric.

    A table of pairs that is wider than the console is split; without a console it is whole.
    """
    console = console or Console(width=UNLIMITED_WIDTH)
    pairs = [pair for findings in duel.metrics for pair in findings.pairs]
    yield from split_table(console, PAIR_COLUMNS, map(_format_pair, pairs), keys=3)
    if any(len(findings.ranking) > 2 for findings in duel.metrics):  # noqa: PLR2004 - a pair is its own ranking
        yield build_table(RANK_COLUMNS, [row for findings in duel.metrics for row in _format_ranking(findings)])
    yield build_table(HABIT_COLUMNS, map(_format_habits, duel.metrics))


def format_duel_legend(duel: Duel) -> Iterator[str]:
    """Yield sentences that explain the figures."""
    yield (
        f"{_describe_orders(duel)} Win rate: the share of questions that the first method won, ties as half; at equal "
        "length: by a logistic regression on the ratio of the lengths."
    )
    test = (
        "exact sign test without ties"
        if duel.cluster_by is None
        else f"sign flips of whole clusters of {duel.cluster_by}"
    )
    yield (
        f"p: {test}, corrected ({duel.correction.capitalize()}) over {format_count(duel.tests, 'test')}"
        f"{_describe_factor(duel)}. Intervals are {duel.level:.0%}, over questions."
    )
    if any(len(findings.ranking) > 2 for findings in duel.metrics):  # noqa: PLR2004 - as above
        yield "Strength: log odds by Davidson's model (Bradley and Terry's with ties); those of all methods sum to 0."
    yield (
        "First shown wins: 0.50 without position bias. Length effect: the change of the log odds of a win if an answer "
        "is e times as long as the other; 0 without length bias."
    )
    for label, figure in _list_figures(duel):
        if isinstance(figure, Undefined):
            yield f"{label} is undefined: {figure.reason}."


def _describe_orders(duel: Duel) -> str:
    """Describe in which orders the pairs were judged; imported verdicts are of one order."""
    flips = "Verdicts that differ are a tie and count as a flip."
    if not duel.one_order:
        return f"Each pair was judged in both orders. {flips}"
    verdicts = f"{duel.one_order:,} {'verdict is' if duel.one_order == 1 else 'verdicts are'}"
    return f"{verdicts} not known to be of both orders: a preference for the first response wins there. {flips}"


def _describe_factor(duel: Duel) -> str:
    """Describe by how much p is multiplied if some tests cannot reach significance."""
    if duel.counted >= duel.tests:
        return ""
    return f", of which {duel.counted} at most can reach significance: this is the factor of p (Tarone)"


def _list_figures(duel: Duel) -> Iterator[tuple[str, Measured]]:
    """Yield the figures that may be undefined, each once a metric, with their places."""
    for findings in duel.metrics:
        yield f"{findings.metric}: the length effect", findings.habits.length_effect
        yield f"{findings.metric}: the position bias", findings.habits.first_shown
        if len(findings.ranking) > 2:  # noqa: PLR2004 - as above
            yield f"{findings.metric}: the strength of methods", findings.ranking[0].strength


def _format_pair(pair: PairResult) -> tuple[str | tuple[str, str], ...]:
    figures = (pair.win_rate, pair.adjusted_win_rate, pair.flip_rate)
    return (
        *(pair.metric, _name_method(pair.first), _name_method(pair.second)),
        *(f"{count:,}" for count in (pair.won, pair.tied, pair.lost)),
        *map(format_measured, figures),
        format_number(pair.test.corrected if pair.test else None, digits=4),
        (_name_winner(pair), STYLES.get(pair.verdict, "")),
    )


def _name_winner(pair: PairResult) -> str:
    """Format the verdict with the name of the method that is preferred."""
    winner = {"first preferred": pair.first, "second preferred": pair.second}.get(pair.verdict)
    return pair.verdict if winner is None else f"{_name_method(winner)} preferred"


def _name_method(name: str) -> str:
    return name or NO_VALUE


def _format_ranking(findings: PreferenceFindings) -> Iterator[tuple[str, ...]]:
    for ranked in findings.ranking:
        yield (
            findings.metric,
            "-" if ranked.rank is None else str(ranked.rank),
            _name_method(ranked.method),
            format_measured(ranked.strength),
        )


def _format_habits(findings: PreferenceFindings) -> tuple[str, ...]:
    habits = findings.habits
    figures = (habits.flip_rate, habits.first_shown, habits.tie_share, habits.length_effect)
    return (findings.metric, *map(format_measured, figures))
