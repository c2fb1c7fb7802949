"""Tests of the figures of judge and people, against other packages."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from agreed_runs import DEPTH, GRADED
from hypothesis import given, settings
from hypothesis import strategies as st

from greval.stats.interval import MeasuredValue
from greval.trust.agreement.figures import (
    collect_ratings,
    compute_judge_figures,
    compute_rater_agreement,
    find_referees,
)
from greval.trust.agreement.value_pairs import pair_values
from greval.trust.annotations.matching import AnnotatedItem


def build_items(rows):
    """Build items from the judge's value and the value of each annotator."""
    return [
        AnnotatedItem(
            sample_id=f"q{n}",
            method="",
            item=None,
            tags={},
            judge=judge,
            values=people,
        )
        for n, (judge, people) in enumerate(rows)
    ]


def compare_people(things):
    return compute_rater_agreement(collect_ratings(things, GRADED.scale), GRADED.scale, level=0.95)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5)), min_size=3, max_size=15))
def test_alpha_of_numbers_counts_the_judge_as_one_more_annotator(rows):
    """It is Krippendorff's alpha for interval data of the three columns."""
    things = build_items([(judge, {"ana": first, "bob": second}) for judge, first, second in rows])
    figures = compute_judge_figures(pair_values(things, "mean"), things, DEPTH.scale, level=0.95)
    alpha = figures.figures["alpha"]
    if isinstance(alpha, MeasuredValue):
        expected = krippendorff.alpha(np.array(rows, dtype=float).T, level_of_measurement="interval")
        assert alpha.value == pytest.approx(expected)
    else:
        assert len({value for row in rows for value in row}) == 1


def test_pairs_of_annotators_need_common_items():
    """Without one the reason is given instead of figures."""
    alone = compare_people(build_items([("Relevant", {"ana": "Relevant"})]))
    assert alone.why.startswith("one annotator only")
    apart = build_items([("Relevant", {"ana": "Relevant"}), ("Partly", {"bob": "Partly"})])
    assert compare_people(apart).why.startswith("no two annotators")
    both = build_items(
        [("Relevant", {"ana": "Relevant", "bob": "Partly"}), ("Partly", {"ana": "Partly", "bob": "Partly"})]
    )
    (pair,) = compare_people(both).pairs
    assert (pair.annotators, pair.n, pair.figures["accuracy"].value) == (("ana", "bob"), 2, 0.5)


def test_only_the_most_frequent_pairs_are_listed():
    """Of 15 pairs among six annotators ten are listed."""
    people = {f"p{n}": "Relevant" for n in range(6)}
    agreement = compare_people(build_items([("Relevant", people), ("Partly", {"p0": "Partly"})]))
    assert (len(agreement.pairs), agreement.left_out) == (10, 5)


def test_a_referee_is_asked_mostly_where_others_disagree():
    """Whoever sees five items, four of them disputed, is named; with disputes everywhere nobody is."""
    agreed = [("Relevant", {"ana": "Relevant", "bob": "Relevant"})] * 20
    disputed = [("Relevant", {"ana": "Relevant", "bob": "Partly", "eve": "Partly"})] * 5
    assert [*find_referees(build_items(agreed + disputed))] == ["eve"]
    assert [*find_referees(build_items(disputed))] == []
    assert [*find_referees(build_items(agreed + disputed[:4]))] == []
