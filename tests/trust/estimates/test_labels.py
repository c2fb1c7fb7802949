"""Labels: one for each annotated item with its weight, and the sampling design that they are consistent with."""

from __future__ import annotations

import pytest
from compared_runs import FAILED, write
from labelled_world import holds, said, shares

from greval.errors import DataError
from greval.trust.estimates.api import estimate


def test_ignored_annotations_are_counted(tmp_path):
    """Drafts, values off the scale, things without a judgement and ties are told, and others estimated without."""
    run = write(tmp_path, {("walk", "depth"): [3, 4, 5, 2, 3, FAILED, 4, 4, 1, 2]})
    labels = [said(f"q{n}", value, metric="depth", method="") for n, value in enumerate((3, 4, 4, 2))]
    labels += [
        said("q4", 3, metric="depth", status="draft"),
        said("q5", 3, metric="depth"),
        said("q6", 9, metric="depth"),
        said("q99", 3, metric="depth"),
        said("q7", 4, metric="depth"),
        said("q7", 3, metric="depth", annotator="bob"),
        said("q0", 1, metric="another"),
    ]
    result = estimate(run, "depth", annotations=labels)
    assert result.not_used.model_dump() == {
        "unfinished": 1,
        "another_text": 0,
        "off_scale": 1,
        "not_judged": 2,
        "tied": 0,
    }
    assert result.labels == 5
    assert any("2 of 7 sampled items have no label" in line for line in result.warnings)
    assert any("1 of 10 cases failed" in line for line in result.warnings)
    assert any("only 5 sampled items" in line for line in result.warnings)


def test_ties_of_categories_are_left_open(tmp_path):
    """Two people who name two categories leave the thing without a label."""
    run = shares(tmp_path, ["Fact", "Joke", "Fact", "Fact"])
    labels = [said(f"q{n}", "Fact", metric="kind") for n in range(4)]
    labels.append(said("q1", "Joke", metric="kind", annotator="bob"))
    result = estimate(run, "kind", annotations=labels)
    assert (result.not_used.tied, result.labels) == (1, 3)


def test_sampled_items_without_a_label_are_represented_by_their_stratum(world):
    """Things that were drawn and not answered count through the labelled ones of their stratum."""
    labels = world.enriched()
    silent = {n for n, one in enumerate(labels) if one.stratum == "walk 0"}
    silent = set(list(silent)[:20])
    pending = [
        one.model_copy(update={"status": "pending", "value": None}) if n in silent else one
        for n, one in enumerate(labels)
    ]
    result = estimate(world.run, "right", annotations=pending)
    whole = estimate(world.run, "right", annotations=labels)
    assert result.rows[1].labels == whole.rows[1].labels - 20
    assert result.rows[1].labels_only.value == pytest.approx(whole.rows[1].labels_only.value, abs=0.1)
    assert holds(result.rows[1].prediction_powered, world.truth["walk"].mean())
    assert any("20 of 120 sampled items have no label" in line for line in result.warnings)


def test_enriched_sample_without_weights_is_seen(world):
    """Labels whose verdicts are not those of the run are no random sample: no estimate, but what to mend."""
    bare = [
        label.model_copy(update={"weight": 1.0, "stratum": None})
        for label in world.enriched(60)
        if label.method == "walk"
    ]
    result = estimate(world.run, "right", annotations=bare)
    walk = result.rows[0]
    assert walk.judge.value is not None
    for figure in (walk.labels_only, walk.prediction_powered, walk.rogan_gladen):
        assert figure.value is None
        assert "they are no random sample; give each annotation its sampling weight" in figure.reason == result.refused


def test_inconsistent_weights_are_reported(world):
    """Weights with which the labelled things are still not like all the others get a warning; single labels too."""
    labels = [
        label.model_copy(update={"weight": 1.0 + n % 2 / 10, "stratum": None})
        for n, label in enumerate(world.enriched(60))
    ]
    chosen = [label for label in labels if label.method == "walk"]
    assert any("the weights may be wrong" in line for line in estimate(world.run, "right", chosen).warnings)
    alone = [*world.enriched(), world.label("walk", 3, weight=5.0, stratum="alone")]
    assert any("strata with a single label: 1;" in line for line in estimate(world.run, "right", alone).warnings)


def test_strata_without_weights_are_refused(world):
    """Labels from several strata that all have the weight 1 cannot be weighed: no estimate, but what to mend."""
    labels = [label.model_copy(update={"stratum": "ab"[n % 2]}) for n, label in enumerate(world.at_random())]
    row = estimate(world.run, "right", annotations=labels).rows[0]
    assert row.prediction_powered.value is None
    assert "several strata, and all have the weight 1" in row.prediction_powered.reason
    weighted = [label.model_copy(update={"weight": 800 / 120}) for label in labels]
    assert estimate(world.run, "right", annotations=weighted).rows[0].prediction_powered.value is not None


def test_labels_of_one_question_are_too_few(tmp_path):
    """Where whole questions were labelled, one of them tells nothing of a spread: it is said, and what to do."""
    run = write(tmp_path, {("walk", "depth"): [(1, 2, 3), (2, 2, 4)]})
    labels = [said("q0", value, metric="depth", item=f"c{item}") for item, value in enumerate((1, 3, 3))]
    with pytest.raises(DataError, match=r"all labels are of one question.*label another question.*drawn_by items"):
        estimate(run, "depth", annotations=labels)
    assert estimate(run, "depth", annotations=labels, drawn_by="items").rows[0].labels == 3
