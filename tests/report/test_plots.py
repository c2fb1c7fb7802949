"""Plots of intervals: what is drawn where, and SVG that is the same each time."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from greval.report.plot_style import format_svg
from greval.report.plots import COLOURS, MAX_POINTS, PlotAxis, PlotPoint, draw_intervals

ONE = PlotAxis("tone", [PlotPoint("walk", 0.7, 0.6, 0.8, "better")], reference=0.5, limits=(0.0, 1.0))


def test_a_point_has_its_colour_and_its_interval():
    """The point is at the value, the line from end to end, both in the colour of the verdict."""
    (axes,) = draw_intervals([ONE]).axes
    ends, point, reference = axes.lines
    assert (tuple(ends.get_xdata()), point.get_xdata()[0]) == ((0.6, 0.8), 0.7)
    assert {ends.get_color(), point.get_color()} == {COLOURS["better"]}
    assert [*reference.get_xdata()] == [0.5, 0.5]


def test_an_axis_is_as_long_as_the_scale():
    """Both ends of the scale are on the axis; an end that is not known is that of the figures."""
    (axes,) = draw_intervals([ONE]).axes
    low, high = axes.get_xlim()
    assert low < 0.0
    assert high > 1.0
    (axes,) = draw_intervals([ONE._replace(limits=(0.0, None), reference=None)]).axes
    assert axes.get_xlim()[1] < 1.0


def test_a_figure_without_a_value_is_named_as_undefined():
    """An undefined figure has no point; a word stands in its row."""
    (axes,) = draw_intervals([PlotAxis("tone", [PlotPoint("walk", None)])]).axes
    assert [*axes.lines] == []
    assert [text.get_text() for text in axes.texts] == ["undefined"]


def test_the_points_that_are_left_out_are_counted():
    """Of very many points the first are drawn, and the title has the number of all."""
    points = [PlotPoint(f"group {n}", 0.5) for n in range(MAX_POINTS + 5)]
    (axes,) = draw_intervals([PlotAxis("tone", points)]).axes
    assert len(axes.lines) == MAX_POINTS
    assert axes.get_title(loc="left") == f"tone ({MAX_POINTS} of {MAX_POINTS + 5} shown)"


def test_svg_is_the_same_each_time_and_holds_nothing_of_the_page():
    """Equal figures give equal bytes; there is no style for the whole page, no counted id, no date and no address."""
    first, second = (format_svg(draw_intervals([ONE, ONE])) for _ in range(2))
    assert first == second
    assert ET.fromstring(first).tag.endswith("svg")  # noqa: S314 - our own
    assert re.findall(r"<style|<metadata|id=\"figure_1|\d{4}-\d\d-\d\d|https?://(?!www\.w3\.org)", first) == []


def test_characters_that_no_font_has_are_drawn_without_a_warning(tmp_path):
    """Names in any script stay text of the file, and saving them is silent."""
    figure = draw_intervals([PlotAxis("调", [PlotPoint("\U0001f600 $x$", 0.5)])])
    figure.savefig(tmp_path / "one.svg")
    figure.savefig(tmp_path / "one.png")
    assert {"调", "\U0001f600 $x$"} <= {*re.findall(r">([^<>]+)</text>", (tmp_path / "one.svg").read_text("utf-8"))}
