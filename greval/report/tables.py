"""Building blocks of the terminal reports: lines printed verbatim, and plain tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rich.console import Console
from rich.markup import escape
from rich.table import Table

MAX_NAME = 64
"""The maximum length of a printed name: that of a 256-bit hash in hexadecimal, which is printed in full."""
ELLIPSIS = "..."


def print_line(console: Console, line: str, style: str = "") -> None:
    """Print a line verbatim, without markup or folding."""
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def print_prominent(console: Console, warnings: Iterable[str], loud: str | tuple[str, ...]) -> None:
    """Print the warnings with one of these prefixes, which come before all figures."""
    for line in warnings:
        if line.startswith(loud):
            print_line(console, line, "bold red")


def print_rest(console: Console, warnings: Iterable[str], loud: str | tuple[str, ...]) -> None:
    """Print the other warnings, which come after the figures."""
    for line in warnings:
        if not line.startswith(loud):
            print_line(console, line, "yellow")


def build_plain_table(first: str, *others: str, left: Collection[str] = ()) -> Table:
    """Build an empty table with names left-aligned and figures right-aligned.

    Args:
        first: The heading of the names.
        others: The headings of the other columns.
        left: Those of them that contain words, and are left-aligned too.

    Example:
        >>> [column.justify for column in build_plain_table("metric", "n", "verdict", left={"verdict"}).columns]
        ['left', 'right', 'left']
    """
    table = Table(box=None, pad_edge=False)
    table.add_column(escape(first), overflow="fold")
    for name in others:
        table.add_column(escape(name), justify="left" if name in left else "right", overflow="fold")
    return table


def shorten(text: str, most: int = MAX_NAME) -> str:
    """Shorten a long name by leaving out its middle, because its ends distinguish it from similar names.

    Example:
        >>> shorten("chunk-0123456789", most=11)
        'chun...6789'
        >>> shorten("chunk-1")
        'chunk-1'
    """
    if len(text) <= most:
        return text
    kept = (most - len(ELLIPSIS)) // 2
    return f"{text[:kept]}{ELLIPSIS}{text[-kept:]}"
