"""Whether labelled things are a random draw: right ones are refused as seldom as told, and chosen ones are found."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from compared_runs import write

from greval.records.annotation import Annotation
from greval.stats.random_draw import find_unlike_column
from greval.trust.estimates.api import estimate


def chosen(count, places):
    """Give which of so many rows stand at these places."""
    found = np.zeros(count, dtype=bool)
    found[list(places)] = True
    return found


@pytest.mark.parametrize("level", [0.2, 0.05, 0.01])
def test_of_all_draws_that_can_be_no_more_are_refused_than_told(level):
    """Each of the 495 ways to draw 4 of 12 rows is tested: at most the level's share is refused, and near it."""
    values = np.array([0.0, 0, 0, 0, 1, 1, 2, 2, 3, 5, 9, 20])[:, None]
    refused = sum(
        find_unlike_column(values, chosen(12, places), level=level) == 0 for places in combinations(range(12), 4)
    )
    assert 0.5 * level <= refused / comb(12, 4) <= 1.5 * level


def test_skewed_questions_are_refused_as_seldom_as_told():
    """Of 4,000 draws of 8 of 100 questions, some of them with many yes, about 1 % are refused at the level of 1 %."""
    rng = np.random.default_rng(6)
    sums = np.where(rng.random(100) < 0.1, rng.integers(3, 9, 100), 0) - 0.5
    sums -= sums.mean()
    refused = 0
    for _ in range(4000):
        places = rng.choice(100, 8, replace=False)
        refused += find_unlike_column(sums[:, None], chosen(100, places), level=0.01) is not None
    assert 20 <= refused <= 60


def test_several_columns_are_one_test():
    """The shares of several categories are tested together: not each at the level."""
    rng = np.random.default_rng(2)
    kinds = rng.integers(0, 6, 200)
    columns = np.stack([kinds == kind for kind in range(6)], axis=1).astype(float)
    refused = 0
    for _ in range(1500):
        places = rng.choice(200, 40, replace=False)
        refused += find_unlike_column(columns, chosen(200, places), level=0.05) is not None
    assert 45 <= refused <= 105
    assert find_unlike_column(columns, kinds == 4, level=0.0001) == 4


def test_a_choice_within_groups_is_found():
    """If it was fixed how many of each group are labelled, those labelled must be a random choice within the groups."""
    groups = np.repeat(np.arange(20), 5)
    values = np.tile([1.0, 1.0, 0.0, 0.0, 0.0], 20)[:, None]
    best = np.tile([True, True, False, False, False], 20)
    assert find_unlike_column(values, best, groups, level=0.001) == 0
    rng = np.random.default_rng(3)
    any_two = np.concatenate([rng.permutation(row) for row in best.reshape(20, 5)])
    assert find_unlike_column(values, any_two, groups, level=0.001) is None
    values = rng.gamma(0.5, size=(100, 1))
    refused = 0
    for _ in range(1000):
        keys = rng.random((20, 5)).argsort(axis=1).argsort(axis=1)
        few_of_each = (keys < rng.permutation(np.arange(20) % 4 + 1)[:, None]).ravel()
        refused += find_unlike_column(values, few_of_each, groups, level=0.05) is not None
    assert 25 <= refused <= 75
    uneven = (groups % 4 == 0) | (groups == 1)
    assert find_unlike_column(groups[:, None].astype(float), uneven, groups, level=0.05) is None


def test_what_cannot_be_told_is_never_refused():
    """All rows, none, equal values, and a draw of so few ways that each is likely are no reason to refuse."""
    values = np.arange(6.0)[:, None]
    assert find_unlike_column(values, chosen(6, range(6)), level=0.01) is None
    assert find_unlike_column(values, chosen(6, ()), level=0.01) is None
    assert find_unlike_column(np.ones((6, 1)), chosen(6, (0, 1)), level=0.5) is None
    assert find_unlike_column(values, chosen(6, (4, 5)), level=0.001) is None


def said(question, item, value):
    """Give an annotation of a chunk."""
    return Annotation(
        sample_id=f"q{question}", method="walk", metric="depth", annotator="ana", item=f"c{item}", value=value
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Write a run of 120 questions of 5 chunks, of which a tenth is judged far higher; give its verdicts too."""
    rng = np.random.default_rng(9)
    verdicts = np.where(rng.random((120, 1)) < 0.1, 5, 1 + (rng.random((120, 5)) < 0.3)).astype(int)
    folder = write(
        tmp_path_factory.mktemp("drawn") / "run", {("walk", "depth"): [tuple(map(int, row)) for row in verdicts]}
    )
    return folder, verdicts


@pytest.mark.nightly
def test_chosen_questions_and_chosen_chunks_are_refused(run):
    """Questions chosen by their verdicts are refused, and chunks chosen within questions that were drawn at random."""
    folder, verdicts = run
    best = np.argsort(-verdicts.sum(axis=1))[:12]
    found = estimate(folder, "depth", [said(n, item, 3) for n in best for item in range(5)])
    assert (found.drawn_by, found.rows[0].prediction_powered.value) == ("questions", None)
    assert "they are no random sample" in found.refused
    questions = np.random.default_rng(4).choice(120, 60, replace=False)
    highest = [said(n, item, 3) for n in questions for item in np.argsort(-verdicts[n], kind="stable")[:4]]
    found = estimate(folder, "depth", highest)
    assert found.drawn_by == "questions"
    assert f"and {verdicts.mean():.3g} on all" in found.refused
    lowest = [said(n, 0, 3) for n in range(120) if verdicts[n, 0] == 1]
    assert "no random sample" in estimate(folder, "depth", lowest, drawn_by="items").refused
