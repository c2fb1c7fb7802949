"""The console for reports: numbers are not truncated, and control characters in the data are escaped."""

from __future__ import annotations

import re
from copy import copy
from typing import Any

import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

CONTROL_PICTURES = 0x2400
"""The first code point of the Unicode block Control Pictures."""
DELETE = 0x7F
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters except tab and newline, and characters that change the text direction."""


def escape_control_characters(text: str) -> str:
    r"""Return a text with visible substitutes for control characters, which could otherwise change the terminal.

    Example:
        >>> escape_control_characters("\x1b[31mq1\x00")
        '␛[31mq1␀'
    """
    return _CONTROL.sub(lambda match: _escape_character(ord(match[0])), text)


def _escape_character(code: int) -> str:
    if code == DELETE:
        return "\u2421"
    return chr(CONTROL_PICTURES + code) if code < DELETE else f"\\u{code:04x}"


def print_note(text: str | None) -> None:
    """Print what people should know besides the output, if there is a text."""
    if text:
        typer.echo(escape_control_characters(text), err=True)


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
        # Imported when it is needed, because errors are printed without it.
        from greval.report.tables import measure_width

        if isinstance(renderable, Group):
            return max(map(self._measure_width, renderable.renderables), default=0)
        return measure_width(self, renderable) if isinstance(renderable, Table) else 0
