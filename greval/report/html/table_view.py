"""Tables of the terminal reports as rows of plain texts, so that a page shows the same figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich.table import Table

from greval.report.html_console import read_markup


class TableView(NamedTuple):
    """A table as plain texts; `left` has whether each column is aligned to the left."""

    title: str
    columns: tuple[str, ...]
    left: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]


def read_table(table: Table) -> TableView:
    """Return a table of a terminal report as plain texts.

    Example:
        >>> from greval.report.tables import build_table
        >>> read_table(build_table(["metric", "n"], [("<b>tone[/]", ("9", "green"))])).rows
        (('<b>tone[/]', '9'),)
    """
    cells = [[read_markup(cell).plain for cell in column.cells] for column in table.columns]
    return TableView(
        title=read_markup(table.title or "").plain,
        columns=tuple(read_markup(column.header).plain for column in table.columns),
        left=tuple(column.justify == "left" for column in table.columns),
        rows=tuple(zip(*cells, strict=True)),
    )


def read_tables(tables: Iterable[Table | None]) -> tuple[TableView, ...]:
    """Return the tables that have rows as plain texts."""
    return tuple(view for table in tables if table is not None and (view := read_table(table)).rows)
