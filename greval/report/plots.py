"""Plots of figures with their intervals, as matplotlib figures and as SVG.

A plot is data first: each `PlotAxis` has its points, and `draw_intervals` draws them below each other. Names from
the data are drawn verbatim: they are neither formulas of matplotlib nor markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from greval.report.plot_style import INK, use_style
from greval.report.tables import shorten_name
from greval.report.walk_graph import clean_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PointTone = Literal["neutral", "better", "worse", "muted"]
COLOURS: dict[PointTone, str] = {"neutral": "#2563a8", "better": "#1a7f43", "worse": "#c0392b", "muted": "#8a8f98"}
"""The colours of points, readable on a white and on a dark page."""
MAX_POINTS = 60
"""The maximum number of points of one axis."""
MAX_LABEL = 44
MAX_TITLE = 90
WIDTH = 7.2
"""The width of a figure in inches."""
POINT_HEIGHT = 0.3
AXIS_HEIGHT = 0.75
"""The height in inches of an axis without its points: its title and its scale."""


class PlotPoint(NamedTuple):
    """A figure with the ends of its interval, None if it has none; `value` is None if the figure is undefined."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    tone: PointTone = "neutral"


class PlotAxis(NamedTuple):
    """An axis and the points on it, from top to bottom.

    `reference` is the position of a vertical line, such as 0 for differences. `limits` are the lowest and the highest
    possible figure, None for an end that is not known.
    """

    title: str
    points: Sequence[PlotPoint]
    reference: float | None = None
    limits: tuple[float | None, float | None] = (None, None)


def draw_intervals(axes: Sequence[PlotAxis]) -> Figure:
    """Draw axes with their points below each other.

    Raises:
        MissingExtraError: If matplotlib is not installed.
    """
    with use_style():
        from greval.report.svg_figure import SvgFigure

        limited_axes = [axis._replace(points=axis.points[:MAX_POINTS]) for axis in axes]
        heights = [AXIS_HEIGHT + POINT_HEIGHT * max(1, len(axis.points)) for axis in limited_axes]
        figure = SvgFigure(figsize=(WIDTH, sum(heights) or AXIS_HEIGHT), layout="constrained")
        if limited_axes:
            grid = figure.subplots(len(limited_axes), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
            for subplot, axis, full_axis in zip(grid[:, 0], limited_axes, axes, strict=True):
                _draw_axis(subplot, axis, hidden_count=len(full_axis.points) - len(axis.points))
    return figure


def _draw_axis(axes: Axes, plot: PlotAxis, *, hidden_count: int) -> None:
    """Draw one axis with its points."""
    more = f" ({len(plot.points)} of {len(plot.points) + hidden_count} shown)" if hidden_count else ""
    axes.set_title(_format_label(plot.title, MAX_TITLE) + more, loc="left", fontsize=10, fontweight="bold")
    for row, point in enumerate(plot.points):
        _draw_point(axes, row, point)
    if plot.reference is not None:
        axes.axvline(plot.reference, color=INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    axes.set_yticks(range(len(plot.points)), [_format_label(point.label) for point in plot.points])
    # From high to low, so that the first point is at the top.
    axes.set_ylim(len(plot.points) - 0.4, -0.6)
    _limit_axis(axes, plot.limits)
    axes.grid(axis="x", color=COLOURS["muted"], alpha=0.25, linewidth=0.6)
    axes.tick_params(length=0)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)


def _draw_point(axes: Axes, row: int, point: PlotPoint) -> None:
    colour = COLOURS[point.tone]
    if point.low is not None and point.high is not None:
        # A round cap would make the interval longer than it is.
        axes.plot((point.low, point.high), (row, row), color=colour, linewidth=2, solid_capstyle="butt")
    if point.value is not None:
        axes.plot(point.value, row, "o", color=colour, markersize=5)
    else:
        axes.annotate(
            "undefined", (0, row), xycoords=("axes fraction", "data"), va="center", color=COLOURS["muted"], fontsize=8
        )


def _limit_axis(axes: Axes, limits: tuple[float | None, float | None]) -> None:
    """Extend the axis to the ends of the scale."""
    low, high = axes.get_xlim()
    low, high = (limits[0] if limits[0] is not None else low), (limits[1] if limits[1] is not None else high)
    # Points at an end are drawn whole.
    margin = (high - low) * 0.02
    axes.set_xlim(low - margin, high + margin)


def _format_label(name: str, most: int = MAX_LABEL) -> str:
    """Return a name as a label: on one line, shortened, and without characters that XML does not allow."""
    return shorten_name(clean_name(name), most)
