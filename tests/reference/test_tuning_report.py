"""A tuning for the terminal: the choice of each fold, the gain, and what became of it."""

from __future__ import annotations

import pytest
from report_page import find_row, print_page

from greval.reference.tuning import Tuning
from greval.reference.tuning_report import render


def build(**more):
    """Return a tuning whose gain is not certain."""
    folds = [
        {"fold": 1, "questions": 20, "changes": {"alpha": 0.4}, "learned_gain": 0.048, "gain": -0.033},
        {"fold": 2, "questions": 20, "changes": {}, "learned_gain": 0, "gain": 0},
    ]
    fields = {"folder": "index", "measure": "recall@5", "search": "hybrid", "grid": {"alpha": (0.4, 0.6)}}
    fields |= {"candidates": 2, "questions": 40, "folds": folds, "before": 0.605, "gain": -0.0165, "p": 0.5}
    fields |= {"interval": {"low": -0.05, "high": 0.02, "method": "expanded percentile"}, "changes": {"alpha": 0.4}}
    fields |= {"optimistic_gain": 0.01, "detectable": 0.058, "accepted": False, "why": "there is no gain"}
    return Tuning.model_validate({**fields, **more})


def test_each_fold_has_its_choice_and_both_gains():
    """The gain on the questions that chose is beside that on the fold."""
    page = print_page(render, build())
    assert find_row(page, "1  ") == ["1", "20", "alpha=0.4", "+0.048", "-0.033"]
    assert "the current settings" in page
    assert "tried: alpha 0.4, 0.6" in page
    assert "recall@5 now: 0.605; gain of tuning: -0.017 [-0.050, +0.020] 95%, p 0.5000" in page
    assert "alpha=0.4, chosen by 1 of 2 folds" in page


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, "not written: there is no gain; with 40 questions a gain below 0.058 is seldom found"),
        ({"accepted": True, "why": "sure"}, "not written, as asked: sure"),
        ({"accepted": True, "why": "sure", "written": True}, "written to index: sure"),
        ({"interval": None}, "[no interval], p 0.5000"),
        ({"skipped": {"gold is not recorded": 3}}, "3 questions left out: gold is not recorded"),
        ({"warnings": ["1 document is lost"]}, "1 document is lost"),
    ],
)
def test_the_outcome_is_a_sentence(more, line):
    """Each outcome says whether the index was changed, and why."""
    assert line in print_page(render, build(**more))
