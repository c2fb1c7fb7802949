"""A console that collects a report of the terminal as HTML: tables become tables, lines become paragraphs.

Every renderer of `greval.report` prints to it, so that a notebook shows what the terminal shows.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from rich.console import Console, ConsoleRenderable, Group, RichCast
from rich.style import Style
from rich.table import Table
from rich.text import Text

from greval.report.markup import create_environment
from greval.report.walk_graph import NOT_DRAWABLE

WIDTH = 200
"""The width in characters that tables are chosen for, at which all their columns are shown."""
LINE = "margin: 0.2em 0"
"""The style of a line, so that lines that belong together stand together."""
REPLACEMENT = "\ufffd"


class HtmlConsole(Console):
    """A console whose `html` is what was printed to it. All text is escaped."""

    def __init__(self) -> None:
        # No emoji: `:smile:` in a name is text.
        super().__init__(file=io.StringIO(), width=WIDTH, emoji=False)
        self._items: list[tuple[Table | Text, str | None]] = []

    @property
    def html(self) -> str:
        """The HTML of all that was printed so far."""
        template = create_environment().get_template("console.html")
        functions = {"find_css": _find_css, "split_lines": _split_lines, "read_markup": read_markup}
        return template.render(items=self._items, list_rows=_list_rows, **functions)

    def print(self, *objects: Any, style: str | Style | None = None, markup: bool | None = None, **_: Any) -> None:  # noqa: ANN401 - as in rich
        """Add tables and lines of text. Other arguments, which concern terminals, have no effect."""
        for item in objects:
            self._items += self._list_items(item, style or "", markup=markup is not False)

    def _list_items(
        self, item: str | ConsoleRenderable | RichCast, style: str | Style, *, markup: bool
    ) -> Iterator[tuple[Table | Text, str | None]]:
        """Yield what is printed: tables, and lines with their style."""
        match item:
            case Group(renderables=parts):
                for part in parts:
                    yield from self._list_items(part, style, markup=markup)
            case Table():
                yield item, None
            case str() | Text():
                text = read_markup(item) if markup or isinstance(item, Text) else Text(item)
                if text.plain.strip():
                    yield text, "; ".join(filter(None, (LINE, _format_css(style))))
            case _:
                raise TypeError(f"expected a table or text to print, got {type(item).__name__}")


def read_markup(cell: object) -> Text:
    """Read a cell, whose markup is that of `build_table`: its text is escaped, and it has at most one style."""
    return cell if isinstance(cell, Text) else Text.from_markup(str(cell), emoji=False)


def _list_rows(table: Table) -> Iterator[tuple[object, ...]]:
    yield from zip(*(column.cells for column in table.columns), strict=True)


def _split_lines(text: Text) -> list[str]:
    """Return the lines of a text, without characters that HTML does not allow."""
    return NOT_DRAWABLE.sub(REPLACEMENT, text.plain).split("\n")


def _find_css(text: Text) -> str:
    styles = (_format_css(span.style) for span in text.spans if span.start < span.end)
    return "; ".join(filter(None, styles))


def _format_css(style: str | Style) -> str:
    return (style if isinstance(style, Style) else Style.parse(style)).get_html_style() if style else ""


class TableView(NamedTuple):
    """A table as plain texts; `left` has whether each column is aligned to the left."""

    title: str
    columns: tuple[str, ...]
    left: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]


def read_table(table: Table) -> TableView:
    """Return a table of a terminal report as plain texts."""
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
