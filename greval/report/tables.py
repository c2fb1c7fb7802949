"""Cells and tables of the terminal reports: figures, intervals and names as text, and how a report is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Column as RichColumn
from rich.table import Table
from rich.text import Text

from greval._util.wording import escape_control_characters
from greval.stats.interval import Distance, Interval, Measured, MeasuredValue, Undefined

MAX_NAME = 64
"""The maximum length of a printed name: that of a 256-bit hash in hexadecimal, which is printed in full."""
ELLIPSIS = "..."
UNLIMITED_WIDTH = 10_000
COLUMN_GAP = 2
"""The number of spaces between two columns."""
MIN_FOLDED_WIDTH = 12
"""The minimum width of a column whose words may be broken, such as ids."""
MIN_TEXT_WIDTH = 20
MAX_KEY_WIDTH = 31
"""The width up to which the names in the first column of a table in parts stay in one line."""
NO_INTERVAL = "[no interval]"
NAMES = {
    "kappa": "Cohen's kappa (unweighted)",
    "kappa linear": "kappa, linear weights",
    "kappa quadratic": "kappa, quadratic weights",
    "ac1": "Gwet's AC1",
    "alpha": "Krippendorff's alpha",
    "alpha nominal": "Krippendorff's alpha (nominal)",
    "mae": "mean absolute error",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall's tau-b",
}
Cell = str | tuple[str, str]
"""The text of a cell, or the text and its style."""


class ReportConsole(Console):
    """A console for a terminal or a file that prints text unchanged and tables as wide as their numbers need.

    A table that is too wide is wrapped by the terminal; rich would omit its last columns.
    """

    def __init__(self, **how: Any) -> None:  # noqa: ANN401 - as in rich
        """Accept the arguments of `rich.console.Console`."""
        # The name of a judge such as `openai:x:` is no emoji.
        super().__init__(**how, emoji=False)

    def print(self, *objects: Any, **how: Any) -> None:  # noqa: ANN401 - as in rich
        """Print with a width that fits every table."""
        width = self.width
        try:
            self.width = max(width, *(self._measure_width(renderable) for renderable in objects), 1)
            super().print(*map(self._separate_title, objects), **how)
        finally:
            self.width = width

    def render_str(self, text: str, **how: Any) -> Text:  # noqa: ANN401 - as in rich
        """Render a text as rich does, after escaping its control characters."""
        return super().render_str(escape_control_characters(text), **how)

    def _separate_title(self, renderable: Any) -> RenderableType:  # noqa: ANN401 - as in rich
        """Return a table with its title above it. The title of a narrow table would be folded to the table's width."""
        if isinstance(renderable, Group):
            return Group(*map(self._separate_title, renderable.renderables))
        if not isinstance(renderable, Table) or renderable.title is None:
            return renderable  # type: ignore[no-any-return]
        # A copy, because the table belongs to the caller.
        untitled = copy(renderable)
        untitled.title = None
        return Group(self.render_str(str(renderable.title), style="table.title"), untitled)

    def _measure_width(self, renderable: object) -> int:
        """Return the minimum width of a table; 0 for other objects, which fit any width."""
        if isinstance(renderable, Group):
            return max(map(self._measure_width, renderable.renderables), default=0)
        return measure_width(self, renderable) if isinstance(renderable, Table) else 0


class Column(NamedTuple):
    """A column of a table: its heading, and how its cells are aligned and folded."""

    name: str
    left: bool = False
    wrap: bool = True
    min_width: int | None = None
    ratio: int | None = None
    width: int | None = None


def format_p(p: float) -> str:
    """Format a p value briefly."""
    return "<0.0001" if p < 0.0001 else f"{p:.2g}"  # noqa: PLR2004 - the usual bound


def build_table(columns: Sequence[str | Column], rows: Iterable[Sequence[Cell]], *, title: str = "") -> Table:
    """Build a table without lines. Text is printed verbatim: it is neither markup, nor cut if it is too long.

    A column may be given by its heading only: then the first is left-aligned, and the others are right-aligned.
    """
    table = Table(title=escape(title) or None, title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        spec = column if isinstance(column, Column) else Column(column, left=not index)
        table.add_column(
            escape(spec.name),
            justify="left" if spec.left else "right",
            no_wrap=not spec.wrap,
            # rich cuts what does not fit unless it is told to fold it.
            overflow="fold",
            min_width=spec.min_width,
            ratio=spec.ratio,
            width=spec.width,
        )
    for row in rows:
        table.add_row(*map(_mark_up, row))
    return table


def split_table(
    console: Console, columns: Sequence[str | Column], rows: Iterable[Sequence[Cell]], *, keys: int = 1
) -> Iterator[Table]:
    """Build a table whose figures stay in one line; if it is too wide, several tables with the same first columns."""
    listed = [tuple(row) for row in rows]
    table = build_table(columns, listed)
    # rich measures within the width of the console unless it is given another one.
    wide = console.options.update(width=UNLIMITED_WIDTH, max_width=UNLIMITED_WIDTH)
    if Measurement.get(console, wide, table).maximum <= console.width:
        yield table
        return
    indices = [*range(keys)]
    for index in range(keys, len(columns)):
        wider = _select_columns(columns, listed, [*indices, index])
        # A part has one column besides the keys at least, however narrow the console is. The last one has no gap.
        if len(indices) > keys and measure_width(console, wider) - COLUMN_GAP > console.width:
            yield _select_columns(columns, _drop_empty_rows(listed, indices[keys:]), indices)
            indices = [*range(keys)]
        indices.append(index)
    # A part leaves out rows that have nothing in it; a table that is whole keeps them.
    parted = len(indices) < len(columns)
    yield _select_columns(columns, _drop_empty_rows(listed, indices[keys:]) if parted else listed, indices)


def _drop_empty_rows(rows: Sequence[Sequence[Cell]], indices: Sequence[int]) -> list[Sequence[Cell]]:
    return [row for row in rows if any(_get_text(row[index]) for index in indices)]


def _select_columns(columns: Sequence[str | Column], rows: Sequence[Sequence[Cell]], indices: Sequence[int]) -> Table:
    """Build a table of some columns, each as wide as its cells; headings and long names are folded between words."""
    chosen = []
    for index in indices:
        column = columns[index]
        spec = column if isinstance(column, Column) else Column(column, left=not index)
        widest = max((len(_get_text(row[index])) for row in rows), default=0)
        if spec.min_width is not None:
            chosen.append(spec)
        elif index:
            chosen.append(spec._replace(width=max(widest, *map(len, spec.name.split() or [""]))))
        else:
            chosen.append(spec._replace(min_width=min(widest, MAX_KEY_WIDTH)))
    return build_table(chosen, ([row[index] for index in indices] for row in rows))


def _get_text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell[0]


def _mark_up(cell: Cell) -> str:
    text, style = (cell, "") if isinstance(cell, str) else cell
    return f"[{style}]{escape(text)}[/]" if style and text else escape(text)


def build_fields(fields: Iterable[tuple[str, str]]) -> Table:
    """Build a list of names with texts, which are folded beside their names. Text is printed verbatim.

    Example:
        >>> build_fields([("question", "Who?"), ("answer", "Ada.")]).row_count
        2
    """
    table = Table(box=None, pad_edge=False, show_header=False, expand=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", min_width=MIN_TEXT_WIDTH)
    for name, text in fields:
        table.add_row(f"  {escape(name)}", escape(text))
    return table


def measure_width(console: Console, table: Table) -> int:
    """Return the minimum width of a table at which no word is broken, and no cell that must stay on one line.

    Very long words, such as ids, may be broken in columns that fold.
    """
    wide = console.options.update(width=UNLIMITED_WIDTH, max_width=UNLIMITED_WIDTH)
    return sum(_measure_column(console, wide, column) + COLUMN_GAP for column in table.columns)


def _measure_column(console: Console, wide: ConsoleOptions, column: RichColumn) -> int:
    if column.width:
        return column.width
    sizes = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
    if column.no_wrap:
        return max(size.maximum for size in sizes)
    words = MIN_FOLDED_WIDTH if column.overflow == "fold" else UNLIMITED_WIDTH
    return max(column.min_width or 0, min(words, max(size.minimum for size in sizes)))


def fit_table(console: Console, *tables: Table) -> Table:
    """Return the first table that fits the width of the console, the last one if none does."""
    return next((table for table in tables if measure_width(console, table) - COLUMN_GAP <= console.width), tables[-1])


def print_line(console: Console, line: str, style: str = "") -> None:
    """Print a line verbatim, without markup; a terminal gets it folded between words."""
    # A file gets the line in one piece, so that it can be searched.
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=not console.is_terminal)


def print_lines(console: Console, lines: Iterable[str], style: str = "") -> None:
    """Print lines verbatim, as `print_line` does."""
    for line in lines:
        print_line(console, line, style)


def print_report(
    console: Console,
    head: Sequence[str],
    tables: Iterable[Table | None],
    legend: Iterable[str],
    *,
    warnings: Iterable[str],
    loud: str | tuple[str, ...],
) -> None:
    """Print a report: important warnings, which begin with `loud`, head, tables, legend, and other warnings.

    The head is the title, then what was found in plain sentences.
    """
    important, other_warnings = split_warnings(warnings, loud)
    title, *findings = head
    print_lines(console, important, "bold red")
    print_line(console, title, "italic")
    print_lines(console, findings)
    print_tables(console, tables)
    print_lines(console, legend, "dim")
    print_lines(console, other_warnings, "yellow")


def print_tables(console: Console, tables: Iterable[Table | None]) -> None:
    """Print tables with an empty line before and after each; None stands for one that has no content."""
    for table in tables:
        if table is not None:
            console.print()
            console.print(table)
    console.print()


def split_warnings(warnings: Iterable[str], loud: str | tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the warnings that begin with one of the prefixes, which come before all figures, and the others."""
    listed = [*warnings]
    return [line for line in listed if line.startswith(loud)], [line for line in listed if not line.startswith(loud)]


def format_name(name: str, distance: Distance | None = None) -> str:
    """Return the printed name of a figure; that of alpha says which distance it has."""
    printed = NAMES.get(name, name.replace("f1", "F1"))
    return f"{printed} ({distance})" if name == "alpha" and distance else printed


def format_place(metric: str, group: str) -> str:
    """Format the name of a metric with its group, if it has one."""
    return f"{metric} ({group})" if group else metric


def format_number(value: float | None, *, digits: int = 2, size: float | None = None, sign: bool = False) -> str:
    """Format a figure with few decimals, fewer if it is large; never as -0.00, and None as a dash.

    Small figures have `digits` decimals. The number depends on `size`, by default that of the figure itself. With
    `sign` positive figures have one too.
    """
    if value is None:
        return "-"
    size = abs(value if size is None else size)
    digits = min(digits, next((places for limit, places in ((1000, 0), (100, 1), (10, 2)) if size >= limit), digits))
    # Adding zero makes 0.0 of -0.0.
    return f"{round(value, digits) + 0.0:{'+' if sign else ''},.{digits}f}"


def format_interval(interval: Interval | None, write: Callable[[float], str] = format_number) -> str:
    """Format the ends of an interval; empty without one."""
    return "" if interval is None else f"[{write(interval.low)}, {write(interval.high)}]"


def format_measured(
    figure: Measured | None, write: Callable[[float], str] = format_number, *, without: str = ""
) -> str:
    """Format a figure with its interval; a dash if it is undefined, and an empty text if it was not computed.

    `write` formats its numbers, and `without` is the text in place of an interval that is not known.
    """
    match figure:
        case None:
            return ""
        case Undefined():
            return "-"
        case MeasuredValue(value=value, interval=interval):
            return f"{write(value)} {format_interval(interval, write) or without}".rstrip()


def format_by_question(figure: Measured) -> str:
    """Format the interval that resamples whole questions; empty if each question has one item."""
    return format_interval(figure.clustered) if isinstance(figure, MeasuredValue) else "-"


def format_cost(cost: float | None) -> str:
    """Format a sum of US dollars, which is not known if the price is not."""
    return "unknown" if cost is None else f"${cost:.4f}"


def shorten_name(text: str, most: int = MAX_NAME) -> str:
    """Shorten a long name by leaving out its middle."""
    if len(text) <= most:
        return text
    # Both ends stay, because they distinguish an id from similar ones.
    half = (most - len(ELLIPSIS)) // 2
    return f"{text[:half]}{ELLIPSIS}{text[-half:]}"
