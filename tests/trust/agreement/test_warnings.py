"""Tests of the warnings about an agreement."""

import pytest
from agreed_runs import FAILED, MOSTLY, said, write

from greval.trust.agreement.api import agreement


def test_an_enriched_sample_is_reported_and_weighted(run):
    """Where weights differ the raw figures are called those of the sample, and weighted ones stand beside them."""
    rows = [
        one.model_copy(update={"weight": 1.0 if n < 10 else 9.0}) for n, one in enumerate(said("right", "a", MOSTLY))
    ]
    result = agreement(run, "right", rows)
    overall = result.groups[0]
    assert overall.enriched
    assert result.warnings[0].startswith("ENRICHED SAMPLE")
    assert overall.judge.figures["accuracy"].value == pytest.approx(18 / 20)
    assert overall.weighted["accuracy"].value == pytest.approx((10 + 8 * 9) / (10 + 10 * 9))
    even = agreement(run, "right", said("right", "ana", MOSTLY, weight=4.0)).groups[0]
    assert not even.enriched
    assert even.weighted == {}


def test_ignored_annotations_are_reported(tmp_path):
    """Verdicts seen while annotating, mixed judges, unjudged and strange things and bad rows are warned of."""
    run = write(tmp_path / "run", "right", ["Yes", "No", FAILED, "No"], judges=["j", "k", "k", "k"])
    rows = said("right", "ana", ["Yes", "Maybe", "Yes", "No", "No"], suggested=True)
    told = "\n".join(agreement(run, "right", rows).warnings)
    for part in (
        "MIXED: these verdicts are of 2 judges",
        "2 of 2 items",
        "1 annotated item not in the run: q4",
        "q2",
        "'Maybe'",
    ):
        assert part in told
