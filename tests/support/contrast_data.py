"""Scores of methods for tests of comparisons."""

from __future__ import annotations

import pytest
from compared_runs import LATENCY, defined, write
from hypothesis import strategies as st

from greval.records.metric import ValueMetric
from greval.records.scale import MeasureScale


def only(comparison, metric="right", group="", method=None):
    """Give the one comparison of a metric and a group."""
    (found,) = [
        one
        for one in comparison.contrasts
        if (one.metric, one.group) == (metric, group) and method in {None, one.method}
    ]
    return found


def edited(tmp_path, *, judged=False):
    """Write a run and one before it: of five metrics in two groups, one broke on seven of 40 questions of a group."""
    kinds = [{"kind": "x"}] * 40 + [{"kind": "y"}] * 20
    metrics = [defined(name, MeasureScale(high=1.0, unit="")) for name in ("coherence", "b", "c", "d")]
    if judged:
        metrics[0] = ValueMetric(name="coherence", description="It holds.", needs=["answer"], steps=["Read."],
                                 range=(0, 1), levels={0: "No.", 1: "Yes."})  # fmt: skip
    broken = dict.fromkeys(range(3, 38, 5), 0)
    figures = {("", metric.name): [1] * 60 for metric in metrics} | {("", "latency"): [1.0] * 60}
    before = write(tmp_path / "old", figures, tags=kinds, metrics=[*metrics, LATENCY])
    after = figures | {("", "coherence"): [broken.get(n, 1) for n in range(60)],
                       ("", "latency"): [1.5 - n % 2 for n in range(60)]}  # fmt: skip
    return write(tmp_path / "new", after, tags=kinds, metrics=[*metrics, LATENCY]), before


def write_documents(tmp_path, tags):
    """Write 40 questions in 10 documents; within a document the method is better in all or in none."""
    figures = {
        ("a", "right"): [int(n // 4 % 5 != 0) for n in range(40)],
        ("b", "right"): [int(n // 4 % 5 == 0) for n in range(40)],
    }
    return write(tmp_path, figures, tags=tags)


figures = st.one_of(
    st.sampled_from([0.0, 1.0]), st.integers(1, 5).map(float), st.floats(0, 9).map(lambda x: round(x, 2))
)


def mirrored(left, right):
    """Check that two comparisons are each other's mirror image."""
    assert (left.n, left.won, left.tied, left.lost) == (right.n, right.lost, right.tied, right.won)
    assert (left.method_left_out, left.baseline_left_out) == (right.baseline_left_out, right.method_left_out)
    assert left.verdict == {"better": "worse", "worse": "better"}.get(right.verdict, right.verdict)
    if left.test is None:
        assert left.n == 0
        return
    assert left.difference == pytest.approx(-right.difference, abs=1e-9)
    assert 0 < left.test.p <= left.test.corrected <= 1
    assert left.test.corrected == pytest.approx(right.test.corrected)
    assert left.detectable == pytest.approx(right.detectable)
    if left.interval and abs(left.difference) > 1e-9:  # of a symmetric set the mirror image is the set itself
        assert (left.interval.low, left.interval.high) == pytest.approx((-right.interval.high, -right.interval.low))


def alike(left, right):
    """Check that two comparisons are equal up to the last digits."""
    assert flat(left.model_dump()) == pytest.approx(flat(right.model_dump()), abs=1e-9)


def flat(found, prefix=""):
    """Give the fields of a record as one mapping."""
    if not isinstance(found, dict):
        return {prefix: str(found) if isinstance(found, tuple) else found}
    return {key: value for name, inner in found.items() for key, value in flat(inner, f"{prefix}.{name}").items()}
