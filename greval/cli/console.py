"""The page that reports are printed on: no figure is cut, and no text of the data can steer the terminal."""

from __future__ import annotations

import re
from typing import Any

from rich.console import Console, Group
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

ANY_WIDTH = 10_000
GAP = 2
"""Between two columns."""
FOLDED = 12
"""What is enough of a column whose words may be broken, such as ids."""
PICTURES = 0x2400
"""Where Unicode has a picture of each control character."""
DELETE = 0x7F
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and newline, and those that turn the direction of what follows."""


def visible(text: str) -> str:
    r"""Give a text whose control characters are seen and do nothing: an id may hold what recolours a terminal.

    Example:
        >>> visible("\x1b[31mq1\x00")
        '␛[31mq1␀'
    """
    return _CONTROL.sub(lambda found: _picture(ord(found[0])), text)


def _picture(code: int) -> str:
    if code == DELETE:
        return "\u2421"
    return chr(PICTURES + code) if code < DELETE else f"\\u{code:04x}"


class Page(Console):
    """A terminal or a file: texts stand there as they are, and a table is as wide as its figures need.

    A table that is wider than the terminal is broken by the terminal; rich would leave its last columns out.
    """

    def __init__(self, **how: Any) -> None:  # noqa: ANN401 - as rich has them
        """Take what `rich.console.Console` takes."""
        super().__init__(**how, emoji=False)  # `openai:x:` is no emoji

    def print(self, *objects: Any, **how: Any) -> None:  # noqa: ANN401 - as rich has them
        """Print, on a page that is wide enough."""
        width = self.width
        try:
            self.width = max(width, *(self._needed(one) for one in objects), 1)
            super().print(*objects, **how)
        finally:
            self.width = width

    def render_str(self, text: str, **how: Any) -> Text:  # noqa: ANN401 - as rich has them
        """Read a text as rich does, with its control characters made visible."""
        return super().render_str(visible(text), **how)

    def _needed(self, one: object) -> int:
        """Give how wide a table must be at least; other things fit everywhere."""
        if isinstance(one, Group):
            return max(map(self._needed, one.renderables), default=0)
        return sum(self._needed_by(column) + GAP for column in one.columns) if isinstance(one, Table) else 0

    def _needed_by(self, column: Column) -> int:
        """Give how wide a column must be: no word is broken, and no figure that belongs on one line."""
        wide = self.options.update(width=ANY_WIDTH)
        sizes = [Measurement.get(self, wide, cell) for cell in (column.header, *column.cells)]
        if column.no_wrap:
            return max(size.maximum for size in sizes)
        words = FOLDED if column.overflow == "fold" else ANY_WIDTH
        return max(column.min_width or 0, min(words, max(size.minimum for size in sizes)))
