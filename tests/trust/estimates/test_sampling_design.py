"""Tests of the sampling design that labels are consistent with."""

import pytest
from compared_runs import write
from labelled_world import said

from greval.errors import DataError
from greval.trust.estimates.api import estimate


def test_enriched_sample_without_weights_is_seen(world):
    """Labels whose verdicts are not those of the run are no random sample: no estimate, but what to mend."""
    bare = [
        one.model_copy(update={"weight": 1.0, "stratum": None}) for one in world.enriched(60) if one.method == "walk"
    ]
    found = estimate(world.run, "right", annotations=bare)
    walk = found.rows[0]
    assert walk.judge.value is not None
    for figure in (walk.labels_only, walk.prediction_powered, walk.rogan_gladen):
        assert figure.value is None
        assert "they are no random sample; give each annotation its sampling weight" in figure.reason == found.refused


def test_weights_that_do_not_fit_are_told(world):
    """Weights with which the labelled things are still not like all the others get a warning; single labels too."""
    labels = [
        one.model_copy(update={"weight": 1.0 + n % 2 / 10, "stratum": None}) for n, one in enumerate(world.enriched(60))
    ]
    chosen = [one for one in labels if one.method == "walk"]
    assert any("the weights may be wrong" in line for line in estimate(world.run, "right", chosen).warnings)
    alone = [*world.enriched(), world.label("walk", 3, weight=5.0, stratum="alone")]
    assert any("strata with a single label: 1;" in line for line in estimate(world.run, "right", alone).warnings)


def test_strata_without_weights_are_refused(world):
    """Labels from several strata that all have the weight 1 cannot be weighed: no estimate, but what to mend."""
    labels = [one.model_copy(update={"stratum": "ab"[n % 2]}) for n, one in enumerate(world.at_random())]
    row = estimate(world.run, "right", annotations=labels).rows[0]
    assert row.prediction_powered.value is None
    assert "several strata, and all have the weight 1" in row.prediction_powered.reason
    weighted = [one.model_copy(update={"weight": 800 / 120}) for one in labels]
    assert estimate(world.run, "right", annotations=weighted).rows[0].prediction_powered.value is not None


def test_labels_of_one_question_are_too_few(tmp_path):
    """Where whole questions were labelled, one of them tells nothing of a spread: it is said, and what to do."""
    run = write(tmp_path, {("walk", "depth"): [(1, 2, 3), (2, 2, 4)]})
    labels = [said("q0", value, metric="depth", item=f"c{item}") for item, value in enumerate((1, 3, 3))]
    with pytest.raises(DataError, match=r"all labels are of one question.*label another question.*--drawn-by items"):
        estimate(run, "depth", annotations=labels)
    assert estimate(run, "depth", annotations=labels, drawn_by="items").rows[0].labels == 3
