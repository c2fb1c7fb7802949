"""A console that collects a report of the terminal as HTML: tables become tables, lines become paragraphs.

Every renderer of `greval.report` prints to it, so that a notebook shows what the terminal shows.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any, NamedTuple

from rich.console import Console, ConsoleRenderable, Group, RichCast
from rich.style import Style
from rich.table import Table
from rich.text import Text

from greval.report.walk_graph import NOT_DRAWABLE

WIDTH = 200
"""The width in characters that tables are chosen for, at which all their columns are shown."""
ALIGN_LEFT = "text-align: left; vertical-align: top"
ALIGN_RIGHT = "text-align: right; vertical-align: top; white-space: nowrap"
LINE = "margin: 0.2em 0"
"""The style of a line, so that lines that belong together stand together."""
REPLACEMENT = "\ufffd"


class HtmlConsole(Console):
    """A console whose `html` is what was printed to it. All text is escaped."""

    def __init__(self) -> None:
        # No emoji: `:smile:` in a name is text.
        super().__init__(file=io.StringIO(), width=WIDTH, emoji=False)
        self._parts: list[str] = []

    @property
    def html(self) -> str:
        """The HTML of all that was printed so far."""
        return "\n".join(self._parts)

    def print(self, *objects: Any, style: str | Style | None = None, markup: bool | None = None, **_: Any) -> None:  # noqa: ANN401 - as in rich
        """Add tables and lines of text. Other arguments, which concern terminals, have no effect."""
        for item in objects:
            self._parts += self._format(item, style or "", markup=markup is not False)

    def _format(self, item: str | ConsoleRenderable | RichCast, style: str | Style, *, markup: bool) -> Iterator[str]:
        """Yield the HTML of what is printed."""
        match item:
            case Group(renderables=parts):
                for part in parts:
                    yield from self._format(part, style, markup=markup)
            case Table():
                yield _format_table(item)
            case str() | Text():
                text = (
                    item if isinstance(item, Text) else (Text.from_markup(item, emoji=False) if markup else Text(item))
                )
                if text.plain.strip():
                    yield _format_element("p", text, style="; ".join(filter(None, (LINE, _format_css(style)))))
            case _:
                raise TypeError(f"expected a table or text to print, got {type(item).__name__}")


def _format_table(table: Table) -> str:
    title = f"<caption>{_format_inline(read_markup(table.title))}</caption>" if table.title else ""
    aligned = [ALIGN_RIGHT if column.justify == "right" else ALIGN_LEFT for column in table.columns]
    head = [read_markup(column.header) for column in table.columns] if table.show_header else []
    rows = zip(*(column.cells for column in table.columns), strict=True)
    # Neither classes nor scripts: the sanitisers of notebook viewers remove them.
    lines = [
        *([f"<thead>{_format_row('th', head, aligned)}</thead>"] if head else []),
        *("<tbody>", *(_format_row("td", map(read_markup, row), aligned) for row in rows), "</tbody>"),
    ]
    return "\n".join(["<table>", *([title] if title else []), *lines, "</table>"])


def _format_row(tag: str, cells: Any, aligned: list[str]) -> str:  # noqa: ANN401 - any iterable of texts
    return (
        f"<tr>{''.join(_format_element(tag, cell, style=css) for cell, css in zip(cells, aligned, strict=True))}</tr>"
    )


def read_markup(cell: object) -> Text:
    """Read a cell, whose markup is that of `build_table`: its text is escaped, and it has at most one style."""
    return cell if isinstance(cell, Text) else Text.from_markup(str(cell), emoji=False)


def _format_element(tag: str, text: Text, *, style: str) -> str:
    attribute = f' style="{escape(style)}"' if style else ""
    return f"<{tag}{attribute}>{_format_inline(text)}</{tag}>"


def _format_inline(text: Text) -> str:
    """Format a text with its style, without characters that HTML does not allow."""
    plain = escape(NOT_DRAWABLE.sub(REPLACEMENT, text.plain)).replace("\n", "<br>")
    styles = [_format_css(span.style) for span in text.spans if span.start < span.end]
    css = "; ".join(style for style in styles if style)
    return f'<span style="{escape(css)}">{plain}</span>' if css else plain


def _format_css(style: str | Style) -> str:
    """Return the CSS of a style of rich."""
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
