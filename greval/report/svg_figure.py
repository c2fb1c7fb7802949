"""A matplotlib figure that notebooks show as SVG without a plotting backend."""

from __future__ import annotations

from matplotlib.figure import Figure

from greval.report.plots import format_svg


class SvgFigure(Figure):
    """A figure that is shown as SVG when it is the last expression of a notebook cell."""

    def _repr_svg_(self) -> str:
        """Return the figure as SVG on a white background."""
        return format_svg(self)
