"""The result of a probe: which checks are below a threshold, and whether anything was measured."""

from __future__ import annotations

from greval.stats.interval import MeasuredValue, Undefined
from greval.trust.probing.records import Probe, ProbeCheckResult


def build_probe(**rates):
    """Build a probe with a kill rate for each check, None if it is undefined."""
    checks = tuple(
        ProbeCheckResult(
            name=name,
            holds="the verdict stays",
            rate=Undefined(n=0, reason="no verdict could be used") if rate is None else MeasuredValue(value=rate, n=4),
            killed=0,
            mutants=4,
            questions=4,
        )
        for name, rate in rates.items()
    )
    return Probe(folder="runs/p", metric="m", judge="j", cases=4, checks=checks)


def test_checks_below_a_threshold_are_named():
    """A rate that equals the threshold passes it; an undefined rate is neither below nor above."""
    probe = build_probe(padded=0.5, empty=0.75, injected=1.0, contradicted=None)
    assert probe.below(0.75) == ("padded",)
    assert probe.below(0.76) == ("padded", "empty")
    assert probe.below(0.0) == ()


def test_a_probe_without_rates_measured_nothing():
    """Undefined rates are no measurement, one defined rate is, also if it is 0."""
    assert not build_probe().measured
    assert not build_probe(padded=None, empty=None).measured
    assert build_probe(padded=None, empty=0.0).measured
