"""A matplotlib figure that notebooks show as SVG without a plotting backend."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from greval.report.plot_style import format_svg, use_style


class SvgFigure(Figure):
    """A figure that is shown as SVG when it is the last expression of a notebook cell."""

    def savefig(self, fname: Any, **how: Any) -> None:  # noqa: ANN401 - as in matplotlib
        """Save the figure. The text of an SVG file stays text, and the same figures give the same bytes."""
        if how.get("format", str(fname).rpartition(".")[2]) == "svg":
            # matplotlib writes the time otherwise, so that equal figures would differ.
            how = {"metadata": {"Date": None}, **how}
        with use_style():
            super().savefig(fname, **how)

    def _repr_svg_(self) -> str:
        """Return the figure as SVG on a white background."""
        return format_svg(self)
