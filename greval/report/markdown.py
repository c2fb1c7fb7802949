"""A list of checks as Markdown for a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from greval.report.check_list import CheckList

CODE_ENTITIES = re.compile(r"[!-,:-<>-@\[-`{-~]")
"""ASCII punctuation but for `-./=`, written as entities in `<code>`, so that Markdown gives no character a meaning."""
NO_CODE_SPAN = re.compile(r"[`|\\]")
LABELS = {"passed": "passed", "failed": "**FAILED**", "undecided": "**UNDECIDED**"}


def format_markdown(found: CheckList) -> str:
    """Format checks as Markdown: a heading, the conditions, the figures, and the warnings.

    Every text from the data is code, so that it is shown verbatim: it is no markup, no link, and mentions no user.
    """
    return "\n".join(_yield_lines(found))


def _yield_lines(found: CheckList) -> Iterator[str]:
    yield f"### greval: {found.describe()}"
    yield from ("", format_code(found.title))
    if conditions := found.list_conditions():
        cells = ([LABELS[one.status], format_code(one.name), format_code(one.text)] for one in conditions)
        yield from _format_table(("result", "fails if", "figures"), cells)
    if found.rows:
        yield from _format_table(found.columns, (map(format_code, row) for row in found.rows))
    if found.warnings:
        yield ""
        yield from (f"- {format_code(line)}" for line in found.warnings)


def _format_table(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a table of cells that are Markdown already."""
    yield from ("", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}")
    yield from (f"| {' | '.join(cells)} |" for cells in rows)


def format_code(text: str) -> str:
    """Format a text as code on one line, which Markdown shows verbatim, also in a cell of a table.

    Example:
        >>> format_code("tone@multi_hop < 0.7"), format_code("a|b")
        ('`tone@multi_hop < 0.7`', '<code>a&#124;b</code>')
    """
    line = " ".join(text.split())
    if not line:
        return ""
    if not NO_CODE_SPAN.search(line):
        return f"`{line}`"
    return f"<code>{CODE_ENTITIES.sub(lambda found: f'&#{ord(found[0])};', line)}</code>"
