"""Estimates of a run: from annotations and verdicts to what people would say, and what cannot be said."""

import numpy as np
import pytest
from compared_runs import MISSING, write
from labelled_world import holds, said, shares

from greval.analysis.comparison.api import compare
from greval.errors import DataError, StoreError
from greval.trust.annotations.files import write_annotations
from greval.trust.estimates.api import estimate
from greval.trust.estimates.records import Estimate


def test_random_sample_of_two_methods(world):
    """Each method's rate and their difference are estimated, nearer than the labels alone, on the judged things."""
    result = estimate(world.run, "right", annotations=world.at_random(100), baseline="local")
    assert (result.enriched, result.drawn_by, result.judged, result.labels) == (False, "questions", 800, 200)
    local, walk, both = result.rows
    assert (walk.method, local.method, both.method, both.baseline) == ("walk", "local", "walk", "local")
    assert (walk.judged, walk.labels, both.judged, both.labels) == (400, 100, 800, 200)
    for row in result.rows:
        truth = (
            world.truth["walk"].mean() - world.truth["local"].mean() if row.baseline else world.truth[row.method].mean()
        )
        assert holds(row.prediction_powered, truth)
        assert holds(row.rogan_gladen, truth)
        length = {name: getattr(row, name).interval for name in ("labels_only", "prediction_powered")}
        lengths = {name: one.high - one.low for name, one in length.items()}
        assert lengths["prediction_powered"] < lengths["labels_only"]
        assert row.plain is None
        assert row.prediction_powered.labels_to_halve > row.labels
    assert walk.judge.value == pytest.approx(world.judged["walk"].mean())
    assert walk.sensitivity > 0.7
    assert Estimate.model_validate_json(result.model_dump_json()) == result


def test_a_rule_beside_the_judge_shortens_the_interval(world, tmp_path):
    """A number that tells what the judge does not is used beside it, if there are enough labels."""
    rng = np.random.default_rng(3)
    figures = {("walk", "right"): world.judged["walk"].tolist()}
    figures["walk", "latency"] = (world.truth["walk"] + rng.normal(0, 0.3, world.count)).tolist()
    run = write(tmp_path / "run", figures)
    labels = [world.label("walk", n) for n in rng.choice(world.count, 60, replace=False)]
    (row,) = estimate(run, "right", labels, floor="latency").rows
    assert holds(row.with_rule, world.truth["walk"].mean())
    lengths = [figure.interval.high - figure.interval.low for figure in (row.with_rule, row.prediction_powered)]
    assert lengths[0] < 0.8 * lengths[1]
    assert estimate(run, "right", labels[:19], floor="latency").rows[0].with_rule is None
    plain = estimate(run, "right", labels)
    assert (plain.rule, plain.rows[0].with_rule) == (None, None)


FEWEST = {"labels_only": (8, 30), "prediction_powered": (40, 60), "rogan_gladen": (40, 100)}
"""Whole questions that an interval needs, of a mean and of a difference."""


@pytest.mark.parametrize("count", [5, 7, 8, 29, 30, 39, 40, 59, 60, 99, 100])
def test_too_few_whole_questions_have_no_interval_but_the_reason(world, count):
    """A figure from fewer whole questions than hold what it says keeps its value, and says what an interval needs."""
    result = estimate(world.run, "right", annotations=world.at_random(count), baseline="local")
    for row in result.rows:
        for name, (mean, difference) in FEWEST.items():
            figure, needed = getattr(row, name), difference if row.baseline else mean
            if figure.value is None:  # labels of one value only
                assert name == "rogan_gladen"
                continue
            assert (figure.interval is not None) == (count >= needed)
            assert (figure.labels_to_halve is not None) == (count >= needed)
            told = f"no interval from {count} whole questions: it needs {needed}"
            assert (figure.reason or "").startswith("" if count >= needed else told)
            assert bool(figure.reason) == (count < needed)
    assert not any("approximate" in line for line in result.warnings)


def test_single_items_and_a_labelled_run_need_no_number_of_questions(world, tmp_path):
    """Things drawn one by one have their intervals, and a warning; where all is labelled nothing is in doubt."""
    things = [world.label("walk", n) for n in world.rng.choice(400, 12, replace=False)]
    result = estimate(world.run, "right", annotations=things, drawn_by="items")
    assert result.rows[1].prediction_powered.interval
    assert any("only 12 sampled items" in line and "approximate" in line for line in result.warnings)
    small = write(tmp_path, {("walk", "depth"): [(1, 2), (3, 5), (2, 2)]})
    every = [said(f"q{n}", 4, metric="depth", item=f"c{item}") for n in range(3) for item in range(2)]
    row = estimate(small, "depth", every, drawn_by="questions").rows[0]
    assert (row.labels_only.interval.low, row.prediction_powered.interval.high) == (4, 4)


def test_plain_figures_are_refused_on_an_enriched_sample(world):
    """Where weights differ the plain mean of the labels is not given, and why; the weighted ones hold the truth."""
    result = estimate(world.run, "right", annotations=world.enriched(), baseline="local")
    assert (result.enriched, result.drawn_by) == (True, "items")
    for row in result.rows:
        assert row.plain.value is None
        assert row.plain.reason.startswith("refused: items were sampled for annotation with different probabilities")
    assert holds(result.rows[1].prediction_powered, world.truth["walk"].mean())
    assert holds(result.rows[2].prediction_powered, world.truth["walk"].mean() - world.truth["local"].mean())


def test_measures_without_an_end(tmp_path):
    """Of a measure without an end that is alike everywhere nothing tells of a spread; labels of a group may be few."""
    run = write(tmp_path, {("walk", "latency"): [2.0] * 9}, tags=[{"area": "a" if n else "b"} for n in range(9)])
    labels = [said(f"q{n}", 2, metric="latency") for n in range(4)]
    result = estimate(run, "latency", labels, by=("method", "area"))
    assert result.by == ("area",)
    assert result.rows[0].prediction_powered.value == 2
    assert result.rows[0].prediction_powered.interval is None
    assert "the spread is unknown" in result.rows[0].prediction_powered.reason
    assert result.rows[0].judge.interval is None
    assert [(row.group, row.labels_only.reason) for row in result.rows[1:] if row.labels < 2] == [
        ("b", "one label only")
    ]


def test_a_file_of_annotations_and_methods_without_questions(tmp_path):
    """Annotations come from files too; two methods without a common question have no difference."""
    figures = {("walk", "right"): [0, 1, 1, MISSING, MISSING, MISSING], ("local", "right"): [MISSING] * 3 + [1, 1, 0]}
    run = write(tmp_path / "run", figures)
    write_annotations([said(f"q{n}", 1) for n in range(3)], tmp_path / "people.jsonl")
    row = estimate(run, "right", tmp_path / "people.jsonl", baseline="local").rows[-1]
    assert (row.judged, row.judge.reason) == (0, "no question that both have")
    assert row.prediction_powered.reason == "no judged item"


def test_groups_and_methods_without_labels(world):
    """Each value of a tag is estimated beside all questions; a method without a label says so."""
    labels = [label for label in world.at_random(80) if label.method == "walk"]
    result = estimate(world.run, "right", annotations=labels, by="area", baseline="local")
    assert [(row.group, row.method, bool(row.baseline)) for row in result.rows[:3]] == [
        ("", "local", False),
        ("", "walk", False),
        ("", "walk", True),
    ]
    assert [row.group for row in result.rows[3:]] == ["a"] * 3 + ["b"] * 3
    assert result.rows[0].prediction_powered.reason == "no label"
    assert result.rows[2].prediction_powered.reason == "one side has no label"
    assert result.rows[1].labels == 80 == result.rows[4].labels + result.rows[7].labels


def test_new_questions_are_less_sure(world):
    """For new questions like these the intervals are longer, and labels alone may not halve them."""
    labels = world.at_random()
    these = estimate(world.run, "right", annotations=labels).rows[0]
    new = estimate(world.run, "right", annotations=labels, new_questions=True).rows[0]
    for name in ("labels_only", "prediction_powered", "rogan_gladen"):
        one, other = getattr(these, name), getattr(new, name)
        assert one.value == other.value
        assert other.interval.high - other.interval.low > one.interval.high - one.interval.low
    assert new.prediction_powered.labels_to_halve is None or (
        new.prediction_powered.labels_to_halve > these.prediction_powered.labels_to_halve
    )


@pytest.mark.parametrize("level", [5e-324, 1e-17, 1 - 1e-16])
def test_every_level_has_figures(tmp_path, level):
    """At a level next to 0 the interval of a corrected rate is a point: also then it says what may halve it."""
    values = [1, 1, 0, 1, 0, 0, 1, 0]
    run = write(tmp_path, {("walk", "right"): values})
    labels = [said(f"q{n}", value, method="walk") for n, value in enumerate(values)]
    for row in estimate(run, "right", annotations=labels, level=level, new_questions=True).rows:
        for figure in (row.labels_only, row.prediction_powered, row.rogan_gladen):
            assert figure.value is not None
            assert figure.interval is None or figure.interval.low <= figure.value <= figure.interval.high


def test_numbers_and_several_items(tmp_path):
    """Numbers of a scale are estimated by their mean, over all items; Rogan-Gladen says that it is for rates."""
    rng = np.random.default_rng(2)
    truth = rng.integers(1, 6, (80, 3))
    verdicts = np.clip(truth - (rng.random((80, 3)) < 0.4), 1, 5)
    run = write(tmp_path, {("walk", "depth"): [tuple(map(int, row)) for row in verdicts]})
    labels = [
        said(f"q{n}", int(truth[n, item]), metric="depth", item=f"c{item}")
        for n in range(0, 80, 2)
        for item in range(3)
        if rng.random() < 0.4
    ]
    result = estimate(run, "depth", annotations=labels)
    (row,) = result.rows
    assert (result.drawn_by, row.judged, row.labels) == ("items", 240, len(labels))
    assert row.judge.interval.method == "wilson, effective n"
    assert holds(row.prediction_powered, truth.mean())
    assert not holds(row.judge, truth.mean())
    assert row.rogan_gladen.reason == "it is of rates only: the values are not all 0 or 1"


def test_differences_are_those_of_the_comparison(tmp_path):
    """The judge's difference is the one that `compare` gives: paired by question, a question's items share in it."""
    figures = {
        ("walk", "depth"): [(1, 5, 5), (2, 3), 4, 5, MISSING, (1, 2)],
        ("local", "depth"): [2, (1, 4), (3, 3, 5, 1), 4, 5, 2],
    }
    run = write(tmp_path, figures)
    labels = [said(f"q{n}", 3, metric="depth", method=name) for n in (2, 3) for name in ("walk", "local")]
    labels += [said(f"q{n}", 2, metric="depth", method="local") for n in (0, 5)]
    labels += [said(f"q{n}", n + 1, metric="depth", item="c1") for n in (0, 1)]
    row = estimate(run, "depth", labels, baseline="local").rows[-1]
    (contrast,) = compare(run, baseline="local", metrics=["depth"]).contrasts
    assert row.judge.value == pytest.approx(contrast.difference)
    assert (row.judge.interval.low, row.judge.interval.high) == pytest.approx(
        (contrast.interval.low, contrast.interval.high)
    )
    assert row.judged == 9 + 9


def test_categories_without_scores_are_shares(tmp_path):
    """Of categories without scores the share of each is estimated."""
    names = ("Fact", "Opinion", "Joke")
    rng = np.random.default_rng(3)
    truth = rng.choice(3, 200, p=(0.5, 0.4, 0.1))
    verdicts = np.where(rng.random(200) < 0.1, (truth + 1) % 3, truth)
    run = shares(tmp_path / "kinds", [names[n] for n in verdicts])
    labels = [said(f"q{n}", names[truth[n]], metric="kind") for n in rng.choice(200, 80, replace=False)]
    result = estimate(run, "kind", annotations=labels)
    assert [row.category for row in result.rows] == [*names]
    for number, row in enumerate(result.rows):
        assert holds(row.prediction_powered, (truth == number).mean())
        assert row.judge.value == pytest.approx((verdicts == number).mean())


def test_no_number_is_ever_lost(tmp_path):
    """Figures are numbers or None with a reason, never NaN, for every small sample of every kind."""
    rng = np.random.default_rng(1)
    for trial in range(30):
        count = int(rng.integers(3, 12))
        figures = {(name, "right"): [int(value) for value in rng.integers(0, 2, count)] for name in ("walk", "local")}
        figures["local", "right"][0] = MISSING
        run = write(tmp_path / str(trial), figures)
        labels = [
            said(f"q{n}", int(rng.integers(0, 2)), method=name, weight=float(rng.integers(1, 4)))
            for name in ("walk", "local")
            for n in range(1, count)
            if rng.random() < 0.5
        ]
        if len(labels) < 2:
            continue
        for row in estimate(run, "right", annotations=labels, baseline="local", new_questions=bool(trial % 2)).rows:
            for name in ("judge", "labels_only", "prediction_powered", "rogan_gladen"):
                figure = getattr(row, name)
                assert figure.value is not None or figure.reason
                ends = (-1.0, 1.0) if row.baseline else (0.0, 1.0)
                for number in (figure.value, *((figure.interval.low, figure.interval.high) if figure.interval else ())):
                    assert number is None or ends[0] <= number <= ends[1]


def test_invalid_arguments_are_refused(world, tmp_path):
    """No labels, an unknown metric, method or tag, and no run: each is said in a line."""
    labels = world.at_random(10)
    with pytest.raises(DataError, match="right: an estimate needs labels of at least two judged items, got 0"):
        estimate(world.run, "right", annotations=[])
    with pytest.raises(DataError, match=r"'wolk'.*walk"):
        estimate(world.run, "right", annotations=labels, baseline="wolk")
    with pytest.raises(DataError, match=r"colour.*area"):
        estimate(world.run, "right", annotations=labels, by="colour")
    with pytest.raises(DataError, match="at least two judged items, got 1; its other annotations: 1 not judged"):
        estimate(world.run, "right", annotations=[labels[0], said("q999", 1)])
    with pytest.raises(DataError, match="level: expected a number between 0 and 1"):
        estimate(world.run, "right", annotations=labels, level=95)
    with pytest.raises(DataError, match=r"no metric .unheard"):
        estimate(world.run, "unheard", annotations=[said("q1", 1, metric="unheard")])
    with pytest.raises(DataError, match="no judgement of 'latency'"):
        estimate(world.run, "latency", annotations=[said("q1", 1, metric="latency")])
    with pytest.raises(StoreError, match="no run is there"):
        estimate(tmp_path, "right", annotations=labels)
