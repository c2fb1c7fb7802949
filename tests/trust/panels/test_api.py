"""Panels of judges: figures as those of other packages, who is apart, people, and what cannot be told."""

from __future__ import annotations

import numpy as np
import pytest
from agreed_runs import FAILED, RELEVANT, said, write, write_chunks
from judge_panels import most, noisy, runs, value
from sklearn.metrics import accuracy_score, cohen_kappa_score

from greval import ComputedMetric, Judgement, ValueScale, evaluate
from greval.errors import DataError
from greval.metrics.computed import COMPUTED_METRICS
from greval.stats.interval import Undefined
from greval.trust.annotations.files import keep_annotations
from greval.trust.panels.api import panel, panel_annotations
from greval.trust.panels.records import Panel


def test_items_that_do_not_meet_are_named(tmp_path):
    """Runs of which no item meets are refused with an id of each; few common items are the first warning."""
    metric = COMPUTED_METRICS["latency"]

    def judge(name, ids):
        return evaluate(
            [{"id": value, "question": "?", "usage": {"latency": 1}} for value in ids], [metric], out=tmp_path / name
        )

    one, two, three = judge("one", ["q1", "q2", "q3"]), judge("two", ["Q1", "Q2"]), judge("three", ["q1", "Q2", "Q3"])
    with pytest.raises(
        DataError, match="0 of 2 items of two met 0 of 3 items of one; 'Q1' and 'q1' differ only in case"
    ):
        panel([one, two], "latency")
    assert panel([one, three], "latency").warnings[0].startswith("FEW IDS MET: 1 of 3 items of one met 1 of 3 items of")


def test_intervals_draw_whole_questions(tmp_path):
    """Where a question has several things, alpha and the share of unanimous ones have a second interval."""
    draw = np.random.default_rng(3)
    each = [draw.choice(RELEVANT, 4).tolist() for _ in range(15)]
    folders = [write_chunks(tmp_path / name, [noisy(one, 0.3, n) for one in each]) for n, name in enumerate("ab")]
    group = panel(folders, "graded").groups[0]
    assert (group.things, group.questions) == (60, 15)
    for figure in (group.among.figures["alpha"], group.unanimous):
        assert figure.interval
        assert figure.clustered
        assert figure.clustered.low < figure.value < figure.clustered.high
    assert {judge.name for judge in group.judges} == {"j (a)", "j (b)"}


def test_other_texts_are_other_things(tmp_path):
    """Where the runs judged different answers under one name, these things are left out and named."""
    one = write(tmp_path / "one", "graded", ["Relevant", "Partly"], texts=["a", "b"], judges=["a"] * 2)
    two = write(tmp_path / "two", "graded", ["Relevant", "Partly"], texts=["a", "c"], judges=["b"] * 2)
    result = panel([one, two], "graded")
    assert result.groups[0].things == 1
    assert any("1 left out, as the runs judged different texts: q1" in line for line in result.warnings)


@pytest.mark.parametrize("judges", [2, 3])
def test_one_case_and_equal_verdicts_have_figures_or_reasons(tmp_path, judges):
    """A panel on one case, or one that always says the same, gives figures or reasons, never NaN."""
    result = panel(runs(tmp_path / "one", "graded", *[["Partly"]] * judges), "graded")
    assert result.groups[0].unanimous.value == 1
    assert result.groups[0].among.figures["alpha"].reason == "all values are equal"
    same = panel(runs(tmp_path / "same", "graded", *[["Partly"] * 9] * judges), "graded")
    assert same.groups[0].judges[0].others.figures["accuracy"].value == 1
    assert isinstance(same.groups[0].judges[0].others.figures["kappa"], Undefined)
    assert same.outlier is None
    for one in (result, same):
        assert "NaN" not in one.model_dump_json()
        assert Panel.model_validate_json(one.model_dump_json()) == one


def test_recorded_verdicts_go_by_their_folders_names(tmp_path):
    """A computed metric that repeats recorded verdicts has no judge: each run is named by its folder."""
    cases = [{"id": f"q{n}", "question": "?", "answer": "a", "tags": {"a": str(n % 2), "b": "1"}} for n in range(4)]

    def repeat(tag):
        return ComputedMetric(
            name="right",
            description="What another tool recorded.",
            needs=("answer",),
            scale=ValueScale(range=(0, 1), levels={0: "No.", 1: "Yes."}),
            compute=lambda case: (Judgement(value=int(case.tags[tag]), number=int(case.tags[tag]), reason="recorded"),),
        )

    folders = [tmp_path / "gpt4", tmp_path / "bem", tmp_path / "again" / "bem", tmp_path / "none"]
    for tag, folder in zip(("a", "b", "b"), folders, strict=False):
        evaluate(cases, [repeat(tag)], out=folder)
    result = panel(folders[:2], "right")
    assert [(run.name, run.judges, run.verdicts) for run in result.runs] == [("gpt4", (), 4), ("bem", (), 4)]
    assert [judge.name for judge in result.groups[0].judges] == ["gpt4", "bem"]
    assert result.groups[0].unanimous.value == 0.5
    assert [run.name for run in panel(folders[:3], "right").runs] == [
        "gpt4",
        *(f"bem ({folder})" for folder in folders[1:3]),
    ]
    write(folders[3], "passed", [FAILED])
    with pytest.raises(DataError, match=r"gpt4 .*, no verdict 0 verdicts"):
        panel([write(tmp_path / "gpt4 too", "passed", [1], judges=["gpt4"]), folders[3]], "passed")


def test_judges_who_are_always_tied_have_a_reason(tmp_path):
    """Where the others never have a verdict the figures against them are missing with the reason."""
    result = panel(runs(tmp_path, "graded", ["Relevant"] * 4, ["Partly"] * 4, ["Irrelevant"] * 4), "graded")
    assert result.groups[0].ties == 4
    assert {judge.others.why for judge in result.groups[0].judges} == {"no verdict to compare with: all are tied"}
    assert "undefined" in result.why_none


def test_groups_are_by_tag(tmp_path):
    """Each value of a tag has its own figures, after those of all."""
    folders = runs(tmp_path, "graded", ["Partly"] * 4, ["Partly"] * 4, tags=[{"kind": "ab"[n % 2]} for n in range(4)])
    groups = panel(folders, "graded", by="kind").groups
    assert [(group.name, group.things) for group in groups] == [("", 4), ("a", 2), ("b", 2)]


def test_people_stand_beside_the_judges(tmp_path):
    """The panel and each judge are held against people on the same things; ties of either are left out."""
    truth = np.random.default_rng(5).choice(RELEVANT, 40).tolist()
    judges = [noisy(truth, 0.4, seed) for seed in range(3)]
    folders = runs(tmp_path, "graded", *judges)
    keep_annotations(folders[1], [*said("graded", "ana", truth), *said("graded", "bob", [*truth[:39], "Relevant"])])
    result = panel(folders, "graded")
    overall = result.groups[0]
    verdicts = [most([judge[n] for judge in judges]) for n in range(40)]
    tied = truth[39] != "Relevant"
    used = [n for n in range(40) if verdicts[n] is not None and not (tied and n == 39)]
    expected = cohen_kappa_score([truth[n] for n in used], [verdicts[n] for n in used])
    assert value(overall.people.figures["kappa"]) == pytest.approx(expected)
    assert overall.people.n == len(used)
    for judge, given in zip(overall.judges, judges, strict=True):
        assert judge.people.n == len(used)
        expected = accuracy_score([truth[n] for n in used], [given[n] for n in used])
        assert value(judge.people.figures["accuracy"]) == pytest.approx(expected)
    assert result.annotators == ("ana", "bob")
    assert panel(folders, "graded", annotations=said("graded", "eve", truth[:5])).groups[0].people.n <= 5


def test_ignored_and_biased_labels_are_reported(tmp_path):
    """Labels off the scale or of no verdict, seen verdicts and uneven samples are named beside the figures."""
    truth = np.random.default_rng(5).choice(RELEVANT, 12).tolist()
    folders = runs(tmp_path, "graded", *(noisy(truth, 0.4, seed) for seed in range(3)))
    rows = said("graded", "ana", truth)
    rows[0] = rows[0].model_copy(update={"suggested": True, "weight": 3.0})
    rows[1] = rows[1].model_copy(update={"value": "Marvellous"})
    rows[2] = rows[2].model_copy(update={"sample_id": "q99"})
    result = panel(folders, "graded", annotations=rows)
    assert result.groups[0].people.n <= 10
    text = "\n".join(result.warnings)
    assert "ENRICHED SAMPLE: the annotated items were sampled with different probabilities" in text
    assert "1 of 10 items annotated by people who saw the judge's verdict" in text
    assert "1 annotated item not in the run: q99" in text
    assert "1 row cannot be read:" in text
    assert "Marvellous" in text


def test_a_mixed_run_is_the_first_warning(tmp_path):
    """A run with verdicts of two judges is no single judge, and the page begins with that."""
    one = write(tmp_path / "one", "graded", ["Partly"] * 2, judges=["a", "b"])
    two = write(tmp_path / "two", "graded", ["Partly"] * 2, judges=["c", "c"])
    assert panel([one, two], "graded").warnings[0].startswith("MIXED: ")


def test_verdicts_become_annotations(tmp_path):
    """The panel's verdicts have the shape of annotations; ties and numbers between levels are pending."""
    folders = runs(tmp_path, "graded", ["Partly", "Partly"], ["Partly", "Relevant"])
    rows = panel_annotations(folders, "graded")
    assert [(row.sample_id, row.annotator, row.value, row.status) for row in rows] == [
        ("q0", "panel", "Partly", "submitted"),
        ("q1", "panel", None, "pending"),
    ]
    assert rows[1].comment == "j0: Partly; j1: Relevant"
    numbers = runs(tmp_path / "n", "depth", [1, 2], [2, 4])
    assert [row.value for row in panel_annotations(numbers, "depth")] == [None, 3]
    levels = runs(tmp_path / "p", "passed", [1, 0], [1, 1], [1, 0])
    assert [row.value for row in panel_annotations(levels, "passed")] == [1, 0]
