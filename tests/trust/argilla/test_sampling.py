"""Argilla without a server: what is drawn with which weights, the form made of a metric, and what is shown."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import ArgillaError
from greval.trust.argilla.sampling import SampleCandidate, SamplingPlan

candidates = st.lists(
    st.tuples(st.sampled_from(["Yes", "No", "Perhaps"]), st.none() | st.floats(0, 1)), min_size=1, max_size=60
).map(lambda rows: [SampleCandidate(str(n), *row) for n, row in enumerate(rows)])
known = candidates.filter(lambda rows: any(row.uncertainty is not None for row in rows))


@given(candidates, st.integers(1, 80), st.integers(0, 9))
def test_weights_of_a_random_sample_stand_for_all(rows, size, seed):
    """As many are drawn as wanted, and their weights add up to the number of all."""
    drawn = SamplingPlan(kind="random", size=size).draw(rows, seed)
    assert len(drawn) == min(size, len(rows))
    assert sum(row.weight for row in drawn.values()) == pytest.approx(len(rows))


@given(candidates, st.integers(1, 80), st.integers(0, 9))
def test_weights_of_a_stratified_sample_stand_for_each_verdict(rows, size, seed):
    """Each verdict is drawn from, and within each the weights add up to the number of all that have it."""
    drawn = SamplingPlan(kind="stratified", size=size).draw(rows, seed)
    values = Counter(row.value for row in rows)
    assert len(drawn) == min(max(size, len(values)), len(rows))
    for value, count in values.items():
        part = [row.weight for key, row in drawn.items() if row.stratum == value]
        assert sum(part) == pytest.approx(count)
        assert {row.value for row in rows if row.key in drawn and drawn[row.key].stratum == value} == {value}


@given(known, st.integers(1, 80), st.integers(0, 9))
def test_a_sample_does_not_hang_on_the_order(rows, size, seed):
    """The same things in another order give the same sample."""
    for kind in ("random", "stratified", "uncertain"):
        sample = SamplingPlan(kind=kind, size=size)
        assert sample.draw(rows, seed) == sample.draw(rows[::-1], seed)


def test_the_uncertain_are_drawn_by_their_chance():
    """Each thing is drawn as often as its weight says, the uncertain more often, and always as many as wanted."""
    rows = [SampleCandidate(str(n), "Yes", n / 20) for n in range(20)]
    counts, weights = Counter(), {}
    for seed in range(3000):
        drawn = SamplingPlan(kind="uncertain", size=6).draw(rows, seed)
        assert len(drawn) == 6
        counts.update(drawn.keys())
        weights |= {key: one.weight for key, one in drawn.items()}
    assert weights["19"] < weights["10"] < weights["0"]
    assert all(counts[key] / 3000 == pytest.approx(1 / weight, abs=0.035) for key, weight in weights.items())


def test_uncertain_needs_to_know_how_certain_the_judge_was():
    """Where neither confidence nor flips are known, the message says what to do."""
    with pytest.raises(ArgillaError, match="confidence or 3 repeats"):
        SamplingPlan(kind="uncertain", size=1).draw([SampleCandidate("1", "Yes", None)], 0)


@pytest.mark.parametrize("text", ["random", "random:0", "some:5", "random:-1", "200", "random:1.5"])
def test_a_wrong_sample_is_refused(text):
    """What is no sample is refused with the ways to write one."""
    with pytest.raises(ArgillaError, match="random:200, stratified:200 or uncertain:200"):
        SamplingPlan.parse(text)
