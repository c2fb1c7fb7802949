"""Tests of the means and differences that are estimated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.records.scale import ValueScale
from greval.runs.score_columns import JudgedColumns
from greval.trust.estimates.figures import (
    EstimateCell,
    count_labels_to_halve,
    iterate_cells,
    select_items,
    sum_by_question,
)

SCALE = ValueScale(range=(0, 1), levels={0: "No.", 1: "Yes."})
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=20)


def build_columns(entries):
    """Build columns of two methods from questions, methods and values."""
    columns = JudgedColumns(SCALE, methods={"walk": 0, "local": 1}, groups={"a": 0, "b": 1})
    for question, method, value in entries:
        columns.question.append(question)
        columns.method.append(method)
        columns.group.append(question % 2)
        columns.values.append(value)
    return columns


def test_differences_follow_the_means_of_their_group():
    """All questions come first, and the baseline is not compared with itself."""
    cells = [*iterate_cells(build_columns([]), "walk", grouped=True)]
    assert [(cell.group, cell.method, cell.baseline) for cell in cells] == [
        (group, method, baseline)
        for group in ("", "a", "b")
        for method, baseline in (("walk", None), ("local", None), ("local", "walk"))
    ]
    assert len([*iterate_cells(build_columns([]), None, grouped=False)]) == 2


def test_half_an_interval_needs_four_times_the_labels_or_all():
    """Of few judged items fewer labels suffice; if new questions add a quarter of the variance, none do."""
    assert [count_labels_to_halve(100, judged) for judged in (1_000_000, 1000, 100)] == [400, 308, 100]
    assert count_labels_to_halve(100, 1000, fixed=0.5) is None


@given(rows)
def test_a_mean_has_equal_shares_of_its_items(entries):
    """The sums by question give the plain mean of the method's values."""
    columns = build_columns(entries)
    sides = select_items(columns, EstimateCell("", "walk", None, None))
    values = [value for _, method, value in entries if method == 0]
    sums, counts = sum_by_question(columns, sides, columns.get_verdicts())
    assert sides[0].shares.tolist() == [1.0] * len(values)
    assert (sums.sum(), counts.sum()) == (sum(values), len(values))


@given(rows)
def test_a_difference_is_over_the_questions_that_both_have(entries):
    """Each question counts once, however many items it has; an independent loop gives the same sums."""
    columns = build_columns(entries)
    sides = select_items(columns, EstimateCell("", "local", "walk", None))
    differences = []
    for question in range(4):
        of = [[value for q, m, value in entries if (q, m) == (question, method)] for method in (1, 0)]
        if all(of):
            differences.append(np.mean(of[0]) - np.mean(of[1]))
    sums, counts = sum_by_question(columns, sides, columns.get_verdicts())
    assert sums == pytest.approx(differences)
    assert counts.tolist() == [1] * len(differences)


def test_a_term_has_the_labelled_shares_and_the_judged_mean():
    """Items of other methods have no share."""
    columns = build_columns([(0, 0, 1), (1, 0, 0), (0, 1, 1)])
    (side,) = select_items(columns, EstimateCell("", "walk", None, None))
    term = side.build_side(columns.get_verdicts(), np.array([2, 0]), -1.0)
    assert (term.shares.tolist(), term.judged, term.sign) == ([0.0, 1.0], 0.5, -1.0)
