"""What pages for the terminal are made of: lines that are printed as they are, and plain tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rich.console import Console
from rich.markup import escape
from rich.table import Table

LONGEST = 64
"""Letters of a name on a page: as many as a hash of 256 bits has, which is shown whole."""
GAP = "..."


def say(console: Console, line: str, style: str = "") -> None:
    """Print a line as it is: nothing in it is markup, and it is not folded."""
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def say_loud(console: Console, warnings: Iterable[str], loud: str | tuple[str, ...]) -> None:
    """Print the warnings that come before all figures: those that begin with one of these words."""
    for line in warnings:
        if line.startswith(loud):
            say(console, line, "bold red")


def say_rest(console: Console, warnings: Iterable[str], loud: str | tuple[str, ...]) -> None:
    """Print the other warnings, which come after the figures."""
    for line in warnings:
        if not line.startswith(loud):
            say(console, line, "yellow")


def plain_table(first: str, *others: str, left: Collection[str] = ()) -> Table:
    """Give an empty table: names on the left, figures on the right.

    Args:
        first: The head of the names.
        others: The heads of the other columns.
        left: Those of them that hold words, and stand on the left too.

    Example:
        >>> [column.justify for column in plain_table("metric", "n", "verdict", left={"verdict"}).columns]
        ['left', 'right', 'left']
    """
    table = Table(box=None, pad_edge=False)
    table.add_column(escape(first), overflow="fold")
    for name in others:
        table.add_column(escape(name), justify="left" if name in left else "right", overflow="fold")
    return table


def shortened(text: str, most: int = LONGEST) -> str:
    """Leave out the middle of a name that is too long for a page: its ends tell it from its neighbours.

    Example:
        >>> shortened("chunk-0123456789", most=11)
        'chun...6789'
        >>> shortened("chunk-1")
        'chunk-1'
    """
    if len(text) <= most:
        return text
    kept = (most - len(GAP)) // 2
    return f"{text[:kept]}{GAP}{text[-kept:]}"
