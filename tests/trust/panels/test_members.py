"""Tests of the figures of a panel's members, and of its outlier."""

from __future__ import annotations

from statistics import fmean, median

import krippendorff
import numpy as np
import pytest
from agreed_runs import DEPTH, GRADED, RELEVANT
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_panels import most, noisy, runs, value
from scipy.stats import spearmanr
from sklearn.metrics import accuracy_score, cohen_kappa_score

from greval.stats.inter_rater import compute_alphas_without
from greval.stats.interval import Undefined
from greval.trust.annotations.adjudication import find_majority
from greval.trust.panels.api import panel
from greval.trust.panels.members import combine_verdicts

PLACE = {name: place for place, name in enumerate(RELEVANT)}


VERDICTS = st.integers(2, 4).flatmap(
    lambda judges: st.lists(
        st.lists(st.sampled_from(RELEVANT), min_size=judges, max_size=judges), min_size=3, max_size=20
    )
)


@settings(max_examples=6)
@given(VERDICTS)
def test_figures_of_categories_are_those_of_other_packages(tmp_path_factory, rows):
    """Alpha equals krippendorff's, accuracy and kappa against the others scikit-learn's, unanimity a plain count."""
    judges = [*map(list, zip(*rows, strict=True))]
    group = panel(runs(tmp_path_factory.mktemp("p"), "graded", *judges), "graded").groups[0]
    table = [[PLACE[value] for value in judge] for judge in judges]
    if len({place for judge in table for place in judge}) > 1:
        expected = krippendorff.alpha(table, level_of_measurement="ordinal", value_domain=[0, 1, 2])
        assert value(group.among.figures["alpha"]) == pytest.approx(expected)
    else:
        assert isinstance(group.among.figures["alpha"], Undefined)
    assert group.unanimous.value == pytest.approx(fmean(len({*row}) == 1 for row in rows))
    assert group.ties == sum(most(row) is None for row in rows)
    for number, judge in enumerate(group.judges):
        pairs = [(most(row[:number] + row[number + 1 :]), row[number]) for row in rows]
        kept = [pair for pair in pairs if pair[0] is not None]
        assert (judge.others.n, judge.others.ties) == (len(kept), len(rows) - len(kept))
        if kept:
            other, own = zip(*kept, strict=True)
            assert value(judge.others.figures["accuracy"]) == pytest.approx(accuracy_score(other, own))
            if len({*other, *own}) > 1:
                expected = cohen_kappa_score(other, own, labels=list(RELEVANT), weights="quadratic")
                assert value(judge.others.figures["kappa quadratic"]) == pytest.approx(expected)


@settings(max_examples=6)
@given(
    st.lists(st.lists(st.integers(1, 5), min_size=3, max_size=3), min_size=3, max_size=20),
    st.sampled_from(["median", "mean"]),
)
def test_figures_of_numbers_are_those_of_other_packages(tmp_path_factory, rows, combine):
    """Alpha of intervals, mean absolute error and Spearman against the middle of the others."""
    judges = [*map(list, zip(*rows, strict=True))]
    group = panel(runs(tmp_path_factory.mktemp("p"), "depth", *judges), "depth", combine=combine).groups[0]
    if len({value for row in rows for value in row}) > 1:
        expected = krippendorff.alpha(judges, level_of_measurement="interval", value_domain=[1, 2, 3, 4, 5])
        assert value(group.among.figures["alpha"]) == pytest.approx(expected)
    assert group.ties == 0
    for number, judge in enumerate(group.judges):
        others = [(median if combine == "median" else fmean)(row[:number] + row[number + 1 :]) for row in rows]
        own = judges[number]
        assert value(judge.others.figures["mae"]) == pytest.approx(np.abs(np.subtract(own, others)).mean())
        assert value(judge.others.figures["bias"]) == pytest.approx(np.subtract(own, others).mean())
        if len({*own}) > 1 and len({*others}) > 1:
            assert value(judge.others.figures["spearman"]) == pytest.approx(spearmanr(others, own).statistic)


def test_alpha_without_a_judge_is_that_of_the_rest(tmp_path):
    """The alpha without a judge equals that of a panel of the others; two judges have none."""
    draw = np.random.default_rng(1)
    judges = [draw.choice(RELEVANT, 30).tolist() for _ in range(3)]
    folders = runs(tmp_path, "graded", *judges)
    overall = panel(folders, "graded").groups[0]
    for number, judge in enumerate(overall.judges):
        rest = panel(folders[:number] + folders[number + 1 :], "graded").groups[0]
        assert value(judge.alpha_without) == pytest.approx(value(rest.among.figures["alpha"]))
        assert [judge.alpha_without for judge in rest.judges] == [None, None]


def test_judges_that_are_left_out_share_their_draws(tmp_path):
    """On a scale of numbers the alphas come from common draws."""
    table = np.random.default_rng(3).integers(1, 6, (60, 4))
    judges = panel(runs(tmp_path, "depth", *table.T.tolist()), "depth").groups[0].judges
    expected = compute_alphas_without(table.astype(float), np.arange(60), level=0.95)
    assert [judge.alpha_without for judge in judges] == expected


def test_the_outlier_is_named_where_it_is_clear(tmp_path):
    """A judge that guesses among good ones is named; judges of one kind are not told apart."""
    truth = np.random.default_rng(0).choice(RELEVANT, 120).tolist()
    good = [noisy(truth, 0.1, seed) for seed in range(3)]
    result = panel(runs(tmp_path / "a", "graded", *good, noisy(truth, 1.0, 9)), "graded")
    assert (result.outlier, result.why_none) == ("j3", None)
    alike = panel(runs(tmp_path / "b", "graded", *good), "graded")
    assert alike.outlier is None
    assert "clearly less" in alike.why_none
    far = [[2] * 60 + [3] * 60, [2] * 59 + [3] * 61, [4] * 60 + [5] * 60]
    assert panel(runs(tmp_path / "c", "depth", *far), "depth").outlier == "j2"
    two = panel(runs(tmp_path / "d", "graded", *good[:2]), "graded")
    assert two.why_none == "an outlier needs at least three judges"


@given(
    st.integers(1, 6).flatmap(
        lambda judges: st.lists(st.lists(st.integers(0, 2), min_size=judges, max_size=judges), min_size=1, max_size=9)
    ),
    st.sampled_from(["majority", "median", "mean"]),
)
def test_verdicts_are_combined_as_those_of_people_are(rows, how):
    """All rows at once give what each row gives alone, to the last digit; NaN is a tie."""
    combine = {"majority": find_majority, "median": median, "mean": fmean}[how]
    table, scale = (
        (np.array(rows, dtype=float), GRADED.scale) if how == "majority" else (np.array(rows) / 10, DEPTH.scale)
    )
    combined = [None if np.isnan(number) else number for number in combine_verdicts(table, how, scale).tolist()]
    assert combined == [combine(row) for row in table.tolist()]
    # the mean of equal numbers may differ from them by rounding
    low, high = table.min(axis=1) - 1e-12, table.max(axis=1) + 1e-12
    assert all(number is None or low[n] <= number <= high[n] for n, number in enumerate(combined))
