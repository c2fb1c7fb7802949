"""Tests of the sampling design that labels are consistent with."""

import numpy as np
import pytest
from compared_runs import write

from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.trust.estimates.api import estimate


def said(sample, value, *, method="walk", metric="right", annotator="ana", **more):
    """Give an annotation."""
    return Annotation(sample_id=sample, method=method, metric=metric, annotator=annotator, value=value, **more)


class World:
    """Two methods on 400 questions: what people would say, and a judge that is wrong on every seventh answer."""

    def __init__(self, folder, count=400):
        rng = np.random.default_rng(7)
        self.truth = {name: (rng.random(count) < share).astype(int) for name, share in (("walk", 0.8), ("local", 0.6))}
        self.judged = {name: np.where(rng.random(count) < 1 / 7, 1 - one, one) for name, one in self.truth.items()}
        figures = {(name, "right"): one.tolist() for name, one in self.judged.items()}
        self.run = write(folder / "run", figures, tags=[{"area": "ab"[n % 2]} for n in range(count)])
        self.rng = rng
        self.count = count

    def label(self, method, question, **more):
        """Give the right label of an answer."""
        return said(f"q{question}", int(self.truth[method][question]), method=method, **more)

    def at_random(self, count=60):
        """Give labels of both methods on questions drawn at random."""
        return [self.label(name, n) for n in self.rng.choice(self.count, count, replace=False) for name in self.truth]

    def enriched(self, count=30):
        """Give labels of which half are of answers judged right, for each method."""
        found = []
        for name, verdicts in self.judged.items():
            for value in (0, 1):
                pool = np.flatnonzero(verdicts == value)
                more = {"weight": len(pool) / count, "stratum": f"{name} {value}"}
                found += [self.label(name, n, **more) for n in self.rng.choice(pool, count, replace=False)]
        return found


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Make the run once."""
    return World(tmp_path_factory.mktemp("estimates"))


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
