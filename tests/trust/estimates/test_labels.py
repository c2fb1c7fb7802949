"""Tests of labels: one for each annotated item, with its weight."""

import pytest
from compared_runs import FAILED, write
from labelled_world import holds, said, shares

from greval.trust.estimates.api import estimate


def test_what_is_no_label_is_counted(tmp_path):
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
    found = estimate(run, "depth", annotations=labels)
    assert found.not_used.model_dump() == {
        "unfinished": 1,
        "another_text": 0,
        "off_scale": 1,
        "not_judged": 2,
        "tied": 0,
    }
    assert found.labels == 5
    assert any("2 of 7 sampled items have no label" in line for line in found.warnings)
    assert any("1 of 10 cases failed" in line for line in found.warnings)
    assert any("only 5 sampled items" in line for line in found.warnings)


def test_ties_of_categories_are_left_open(tmp_path):
    """Two people who name two categories leave the thing without a label."""
    run = shares(tmp_path, ["Fact", "Joke", "Fact", "Fact"])
    labels = [said(f"q{n}", "Fact", metric="kind") for n in range(4)]
    labels.append(said("q1", "Joke", metric="kind", annotator="bob"))
    found = estimate(run, "kind", annotations=labels)
    assert (found.not_used.tied, found.labels) == (1, 3)


def test_drawn_and_unlabelled_things_are_made_up_for(world):
    """Things that were drawn and not answered count through the labelled ones of their stratum."""
    labels = world.enriched()
    silent = {n for n, one in enumerate(labels) if one.stratum == "walk 0"}
    silent = set(list(silent)[:20])
    pending = [
        one.model_copy(update={"status": "pending", "value": None}) if n in silent else one
        for n, one in enumerate(labels)
    ]
    found = estimate(world.run, "right", annotations=pending)
    whole = estimate(world.run, "right", annotations=labels)
    assert found.rows[1].labels == whole.rows[1].labels - 20
    assert found.rows[1].labels_only.value == pytest.approx(whole.rows[1].labels_only.value, abs=0.1)
    assert holds(found.rows[1].prediction_powered, world.truth["walk"].mean())
    assert any("20 of 120 sampled items have no label" in line for line in found.warnings)
