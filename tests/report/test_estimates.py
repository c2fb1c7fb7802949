"""Estimates for the terminal: a block for each mean, with the reasons of figures that are undefined."""

import pytest
from report_page import print_page

from greval.report.estimates import describe_estimates, format_estimate, format_estimate_legend, format_remark, render
from greval.trust.estimates.records import Estimate, EstimateFigure

INTERVAL = {"low": 0.1234, "high": 0.5678, "method": "t"}
FIGURE = {"value": 0.34567, "interval": INTERVAL, "labels_to_halve": 1234}


def row(**more):
    """Return a row as JSON: a mean of one method."""
    fields = {"group": "", "method": "walk", "judged": 2000, "labels": 100, "judge": FIGURE, "labels_only": FIGURE}
    rates = {"power": 0.5, "sensitivity": 0.9, "specificity": 0.8}
    return fields | rates | {"prediction_powered": FIGURE, "rogan_gladen": FIGURE} | more


def build(*rows, **more):
    """Return an estimate of these rows."""
    fields = {"folder": "runs/a", "metric": "tone", "better": "higher", "level": 0.9, "by": [], "baseline": None}
    fields |= {"drawn_by": "items", "new_questions": False, "enriched": False, "judged": 2000, "labels": 100}
    return Estimate.model_validate({**fields, "not_used": {"tied": 2}, "rows": rows or [row()], **more})


def test_a_block_has_a_line_for_each_figure():
    """The names of the block go down its first column while the figures go down the others."""
    lines = [line.split("  ") for line in print_page(render, build(row(group="hard"))).splitlines()]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert ["walk", "judge alone", "0.346 [0.123, 0.568]", "1,234", "not corrected"] in cells
    assert ["hard", "labels alone", "0.346 [0.123, 0.568]", "1,234"] in cells
    assert ["100 of 2,000 labelled", "both (PPI++)", "0.346 [0.123, 0.568]", "1,234", "power 0.50"] in cells
    assert ["Rogan-Gladen", "0.346 [0.123, 0.568]", "1,234", "sensitivity 0.90, specificity 0.80"] in cells


def test_a_name_with_more_lines_than_figures_loses_none():
    """The remaining name of a block has a line of its own; a share names its category."""
    page = print_page(render, build(row(group="hard", category="Polite", plain=FIGURE)))
    assert "share of Polite" in page
    assert "labels, plain" in page


def test_a_difference_has_signs():
    """A row with a baseline is a difference, and says of what."""
    page = print_page(render, build(row(baseline="local"), baseline="local"))
    assert "walk less local" in page
    assert "+0.346 [+0.123, +0.568]" in page


@pytest.mark.parametrize(
    ("reason", "cell", "remark"),
    [("no label", "no label", ""), ("people gave only 1: the rest is unknown", "people gave only 1", None)],
)
def test_a_reason_stands_in_place_of_a_value(reason, cell, remark):
    """A short reason is the cell itself; the whole of a longer one is the remark of its line."""
    figure = EstimateFigure(reason=reason)
    assert format_estimate(figure) == cell
    (found,) = build(row(labels_only=figure, power=None)).rows
    assert format_remark(found, "labels_only") == (reason if remark is None else remark)


def test_an_estimate_begins_with_a_plain_sentence():
    """What people would say, and whether the judge alone is outside its interval; groups are not in it."""
    rows = [
        row(),
        row(group="hard"),
        row(method="flat", category="Polite", judge=FIGURE | {"value": 0.6}),
        row(baseline="local", judge=FIGURE | {"value": 0.1}),
        row(method="new", prediction_powered={"reason": "no label"}),
    ]
    people = "people would say 0.346 [0.123, 0.568]; the judge alone says"
    assert [*describe_estimates(build(*rows))] == [
        f"walk: {people} 0.346.",
        f"flat, share of Polite: {people} 0.600, which is too high.",
        "walk less local: people would say +0.346 [+0.123, +0.568]; the judge alone says +0.100, which is too low.",
    ]
    assert f"walk: {people} 0.346." in print_page(render, build()).splitlines()


def test_a_refusal_is_said_once():
    """What is wrong with all figures comes first in full, and not again in each line."""
    why = "the sample was not drawn at random, so that it stands for nothing"
    none = EstimateFigure(reason=why)
    page = print_page(render, build(row(labels_only=none, prediction_powered=none, rogan_gladen=none), refused=why))
    assert page.count(why) == 1
    assert page.count("none") == 3


def test_the_legend_counts_annotations_without_use():
    """Only counts above 0 are named, in words."""
    assert [line for line in format_estimate_legend(build()) if "without a label" in line] == [
        "Annotations without a label: 2 tied."
    ]


def test_unread_rows_are_counted_beyond_the_first_five():
    """Five rows are listed, then the number of the others, then the warnings."""
    page = print_page(render, build(unread=[f"row {n}" for n in range(7)], warnings=["few labels"]))
    assert page.splitlines()[-3:] == ["not read: row 4", "not read: 2 more rows", "few labels"]
