"""What a finding shows of itself: its report as text, in a notebook as tables, a frame of its figures, and a plot.

Findings are records of lower layers, and the functions that format them are in a higher one. So the package root, which
is above all layers, registers a loader of these functions, and it is called when a finding is first shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class FindingRenderers(NamedTuple):
    """The functions that show a finding; `draw` also takes the groups of a run's cases."""

    format_text: Callable[[Any], str]
    format_html: Callable[[Any], str]
    build_frame: Callable[[Any], pd.DataFrame]
    draw: Callable[..., Figure]


_loaders: list[Callable[[], FindingRenderers]] = []
"""The loader of the renderers, once the package root has registered it."""


class PrintedFinding:
    """A finding that is printed as its report: `print` shows the text, and a notebook the tables."""

    def __str__(self) -> str:
        """Return what the command line prints."""
        return load_renderers().format_text(self)

    def _repr_html_(self) -> str:
        """Return the tables of the report as HTML. All text of the data is escaped."""
        return load_renderers().format_html(self)


class NotebookDisplay(PrintedFinding):
    """A finding that is printed, and that has a frame and a plot."""

    def frame(self) -> pd.DataFrame:
        """Return the figures as a pandas DataFrame with the ends of their intervals; docs/notebook.md has the columns.

        Raises:
            MissingExtraError: If pandas is not installed.
        """
        return load_renderers().build_frame(self)

    def plot(self) -> Figure:
        """Return a matplotlib figure of the figures with their intervals, which notebooks show as SVG.

        Raises:
            MissingExtraError: If matplotlib is not installed.
        """
        return load_renderers().draw(self)


def register_renderers(load: Callable[[], FindingRenderers]) -> Callable[[], FindingRenderers]:
    """Register the function that imports the renderers."""
    _loaders[:] = [load]
    return load


def load_renderers() -> FindingRenderers:
    """Import the renderers."""
    return _loaders[0]()
