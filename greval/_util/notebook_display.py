"""What a finding shows of itself in a notebook: tables as HTML, a frame of its figures, and a plot.

Findings are records of lower layers, and the modules that format them are in a higher one. So the package root names
the module that displays them, and it is imported when a notebook first shows something.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_modules: list[str] = []
"""The name of the module that displays findings, once the package root has set it."""


class DisplayModule(Protocol):
    """The functions of the module that displays findings."""

    def format_html(self, finding: object, /) -> str:
        """Format a finding as HTML."""
        ...

    def build_frame(self, finding: object, /) -> pd.DataFrame:
        """Build the frame of a finding."""
        ...

    def draw(self, finding: object, by: str | Sequence[str] = (), /) -> Figure:
        """Draw a finding, a run by groups of its cases."""
        ...


class NotebookDisplay:
    """A finding that a notebook shows as tables, and that has a frame and a plot."""

    def _repr_html_(self) -> str:
        """Return the tables of the report as HTML. All text of the data is escaped."""
        return load_display_module().format_html(self)

    def frame(self) -> pd.DataFrame:
        """Return the figures as a pandas DataFrame with the ends of their intervals; docs/notebook.md has the columns.

        Raises:
            MissingExtraError: If pandas is not installed.
        """
        return load_display_module().build_frame(self)

    def plot(self) -> Figure:
        """Return a matplotlib figure of the figures with their intervals, which notebooks show as SVG.

        Raises:
            MissingExtraError: If matplotlib is not installed.
        """
        return load_display_module().draw(self)


def set_display_module(name: str) -> None:
    """Set the module that displays findings by its name, without importing it."""
    _modules[:] = [name]


def load_display_module() -> DisplayModule:
    """Import the module that displays findings."""
    return cast("DisplayModule", import_module(_modules[0]))
