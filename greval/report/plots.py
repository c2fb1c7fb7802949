"""Plots of figures with their intervals, as matplotlib figures and as SVG.

A plot is data first: each `PlotAxis` has its points, and `draw_intervals` draws them below each other. Names from
the data are drawn verbatim: they are neither formulas of matplotlib nor markup.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from greval.errors import MissingExtraError
from greval.report.tables import shorten
from greval.report.walk_graph import clean_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PointTone = Literal["neutral", "better", "worse", "muted"]
COLOURS: dict[PointTone, str] = {"neutral": "#2563a8", "better": "#1a7f43", "worse": "#c0392b", "muted": "#8a8f98"}
"""The colours of points, readable on a white and on a dark page."""
INK = "#30343b"
"""The colour of texts and axes."""
MAX_POINTS = 60
"""The maximum number of points of one axis."""
MAX_LABEL = 44
MAX_TITLE = 90
WIDTH = 7.2
"""The width of a figure in inches."""
POINT_HEIGHT = 0.3
AXIS_HEIGHT = 0.75
"""The height in inches of an axis without its points: its title and its scale."""
UNWANTED_SVG = re.compile(r"\s*<metadata>.*?</metadata>|\s*<style .*?</style>| id=\"[a-z.\d]+_\d+\"", re.DOTALL)
"""What several drawings on one page would share: rules for the whole page, and ids that count from 1 in each."""
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be selected, searched and read aloud
    "svg.hashsalt": "greval",  # the same figures give the same bytes
    "font.family": "sans-serif",
    "font.size": 9.0,
    "text.parse_math": False,  # `$` in a name begins no formula
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}


class PlotPoint(NamedTuple):
    """A figure with the ends of its interval, None if it has none; `value` is None if the figure is undefined."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    tone: PointTone = "neutral"


class PlotAxis(NamedTuple):
    """An axis and the points below each other on it.

    Args:
        title: What the axis shows, such as the name of a metric.
        points: The figures, from top to bottom.
        reference: The position of a vertical line, such as 0 for differences.
        limits: The lowest and the highest possible figure, None for an end that is not known.
    """

    title: str
    points: Sequence[PlotPoint]
    reference: float | None = None
    limits: tuple[float | None, float | None] = (None, None)


def draw_intervals(axes: Sequence[PlotAxis]) -> Figure:
    """Draw axes with their points below each other.

    Raises:
        MissingExtraError: If matplotlib is not installed.

    Example:
        >>> figure = draw_intervals([PlotAxis("tone", [PlotPoint("walk", 0.7, 0.6, 0.8)], limits=(0, 1))])
        >>> [axes.get_title(loc="left") for axes in figure.axes]
        ['tone']
    """
    with use_style():
        from greval.report.svg_figure import SvgFigure

        shown = [axis._replace(points=axis.points[:MAX_POINTS]) for axis in axes]
        heights = [AXIS_HEIGHT + POINT_HEIGHT * max(1, len(axis.points)) for axis in shown]
        figure = SvgFigure(figsize=(WIDTH, sum(heights) or AXIS_HEIGHT), layout="constrained")
        if shown:
            grid = figure.subplots(len(shown), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
            for place, axis, whole in zip(grid[:, 0], shown, axes, strict=True):
                _draw_axis(place, axis, left_out=len(whole.points) - len(axis.points))
    return figure


def format_svg(figure: Figure) -> str:
    """Format a figure as an SVG element, without XML declaration and without any address."""
    file = io.StringIO()
    figure.savefig(file, format="svg")
    text = file.getvalue()
    return UNWANTED_SVG.sub("", text[text.index("<svg") :])


@contextmanager
def use_style() -> Iterator[None]:
    """Apply the style within a block, without warnings about characters that the font of the layout lacks."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError("plots", "matplotlib") from error
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def _draw_axis(axes: Axes, plot: PlotAxis, *, left_out: int) -> None:
    """Draw one axis with its points."""
    more = f" ({len(plot.points)} of {len(plot.points) + left_out} shown)" if left_out else ""
    axes.set_title(_format_label(plot.title, MAX_TITLE) + more, loc="left", fontsize=10, fontweight="bold")
    for place, point in enumerate(plot.points):
        _draw_point(axes, place, point)
    if plot.reference is not None:
        axes.axvline(plot.reference, color=INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    axes.set_yticks(range(len(plot.points)), [_format_label(point.label) for point in plot.points])
    axes.set_ylim(len(plot.points) - 0.4, -0.6)
    _limit_axis(axes, plot.limits)
    axes.grid(axis="x", color=COLOURS["muted"], alpha=0.25, linewidth=0.6)
    axes.tick_params(length=0)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)


def _draw_point(axes: Axes, place: int, point: PlotPoint) -> None:
    colour = COLOURS[point.tone]
    if point.low is not None and point.high is not None:
        axes.plot((point.low, point.high), (place, place), color=colour, linewidth=2, solid_capstyle="butt")
    if point.value is not None:
        axes.plot(point.value, place, "o", color=colour, markersize=5)
    else:
        axes.annotate(
            "undefined", (0, place), xycoords=("axes fraction", "data"), va="center", color=COLOURS["muted"], fontsize=8
        )


def _limit_axis(axes: Axes, limits: tuple[float | None, float | None]) -> None:
    """Extend the axis to the ends of the scale, with a margin so that points at an end are drawn whole."""
    low, high = axes.get_xlim()
    low, high = (limits[0] if limits[0] is not None else low), (limits[1] if limits[1] is not None else high)
    margin = (high - low) * 0.02
    axes.set_xlim(low - margin, high + margin)


def _format_label(name: str, most: int = MAX_LABEL) -> str:
    """Return a name as a label: on one line, shortened, and without characters that XML does not allow."""
    return shorten(clean_name(name), most)
