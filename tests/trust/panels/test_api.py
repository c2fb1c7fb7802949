"""Panels of judges: figures as those of other packages, who is apart, people, and what cannot be told."""

from __future__ import annotations

import json

import numpy as np
import pytest
import typer
from agreed_runs import FAILED, GRADED, METRICS, RELEVANT, said, write, write_chunks
from judge_panels import most, noisy, runs, value
from night import at_night
from sklearn.metrics import accuracy_score, cohen_kappa_score
from typer.testing import CliRunner

from greval import ComputedMetric, Judgement, ValueScale, evaluate, load_metric
from greval.cli.panel import panel as command
from greval.errors import DataError
from greval.metrics.computed import COMPUTED_METRICS
from greval.runs.store.writer import StoreWriter
from greval.stats.measured import Undefined
from greval.testing import ScriptedJudge
from greval.trust.annotations.files import keep_annotations, read_annotations
from greval.trust.panels.api import panel, panel_annotations
from greval.trust.panels.records import Panel

app = typer.Typer()
app.command("panel")(command)


def test_items_that_do_not_meet_are_named(tmp_path):
    """Runs of which no item meets are refused with an id of each; few common items are the first warning."""
    metric = COMPUTED_METRICS["latency"]

    def judge(name, ids):
        return evaluate(
            [{"id": one, "question": "?", "usage": {"latency": 1}} for one in ids], [metric], out=tmp_path / name
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
    found = panel(folders, "graded").groups[0]
    assert (found.things, found.questions) == (60, 15)
    for figure in (found.among.figures["alpha"], found.unanimous):
        assert figure.interval
        assert figure.clustered
        assert figure.clustered.low < figure.value < figure.clustered.high
    assert {judge.name for judge in found.judges} == {"j (a)", "j (b)"}


def test_only_what_all_judged_counts_and_the_rest_is_told(tmp_path):
    """Failed and missing verdicts of any judge leave a thing out; each run says how many."""
    one = write(tmp_path / "one", "graded", ["Relevant", "Partly", FAILED, "Partly"], judges=["a"] * 4)
    two = write(tmp_path / "two", "graded", ["Relevant", "Relevant", "Partly"], judges=["b"] * 3)
    assert panel([two, one], "graded").groups[0].things == 2
    found = panel([one, two], "graded")
    assert found.groups[0].things == 2
    assert not any("different texts" in line for line in found.warnings)
    assert [(one.verdicts, one.failed, one.missing) for one in found.runs] == [(3, 1, 1), (3, 0, 1)]


def test_other_texts_are_other_things(tmp_path):
    """Where the runs judged different answers under one name, these things are left out and named."""
    one = write(tmp_path / "one", "graded", ["Relevant", "Partly"], texts=["a", "b"], judges=["a"] * 2)
    two = write(tmp_path / "two", "graded", ["Relevant", "Partly"], texts=["a", "c"], judges=["b"] * 2)
    found = panel([one, two], "graded")
    assert found.groups[0].things == 1
    assert any("1 left out, as the runs judged different texts: q1" in line for line in found.warnings)
    with pytest.raises(
        DataError, match="no item was judged by every judge of the panel: a 1 verdicts, b 1 verdicts; 1 of them"
    ):
        panel(
            [
                write(tmp_path / "three", "graded", ["Partly"], texts=["x"], judges=["a"]),
                write(tmp_path / "four", "graded", ["Partly"], texts=["y"], judges=["b"]),
            ],
            "graded",
        )


@pytest.mark.parametrize("judges", [2, 3])
def test_one_case_and_equal_verdicts_are_defined_or_told(tmp_path, judges):
    """A panel on one case, or one that always says the same, gives figures or reasons, never NaN."""
    found = panel(runs(tmp_path / "one", "graded", *[["Partly"]] * judges), "graded")
    assert found.groups[0].unanimous.value == 1
    assert found.groups[0].among.figures["alpha"].reason == "all values are equal"
    same = panel(runs(tmp_path / "same", "graded", *[["Partly"] * 9] * judges), "graded")
    assert same.groups[0].judges[0].others.figures["accuracy"].value == 1
    assert isinstance(same.groups[0].judges[0].others.figures["kappa"], Undefined)
    assert same.outlier is None
    for one in (found, same):
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
    found = panel(folders[:2], "right")
    assert [(run.name, run.judges, run.verdicts) for run in found.runs] == [("gpt4", (), 4), ("bem", (), 4)]
    assert [judge.name for judge in found.groups[0].judges] == ["gpt4", "bem"]
    assert found.groups[0].unanimous.value == 0.5
    assert [run.name for run in panel(folders[:3], "right").runs] == [
        "gpt4",
        *(f"bem ({folder})" for folder in folders[1:3]),
    ]
    write(folders[3], "passed", [FAILED])
    with pytest.raises(DataError, match=r"gpt4 .*, no verdict 0 verdicts"):
        panel([write(tmp_path / "gpt4 too", "passed", [1], judges=["gpt4"]), folders[3]], "passed")


def test_judges_who_are_always_tied_are_told(tmp_path):
    """Where the others never have a verdict the figures against them are missing with the reason."""
    found = panel(runs(tmp_path, "graded", ["Relevant"] * 4, ["Partly"] * 4, ["Irrelevant"] * 4), "graded")
    assert found.groups[0].ties == 4
    assert {judge.others.why for judge in found.groups[0].judges} == {"no verdict to compare with: all are tied"}
    assert "undefined" in found.why_none


def test_people_stand_beside_the_judges(tmp_path):
    """The panel and each judge are held against people on the same things; ties of either are left out."""
    truth = np.random.default_rng(5).choice(RELEVANT, 40).tolist()
    judges = [noisy(truth, 0.4, seed) for seed in range(3)]
    folders = runs(tmp_path, "graded", *judges)
    keep_annotations(folders[1], [*said("graded", "ana", truth), *said("graded", "bob", [*truth[:39], "Relevant"])])
    found = panel(folders, "graded")
    whole = found.groups[0]
    verdicts = [most([judge[n] for judge in judges]) for n in range(40)]
    tied = truth[39] != "Relevant"
    used = [n for n in range(40) if verdicts[n] is not None and not (tied and n == 39)]
    expected = cohen_kappa_score([truth[n] for n in used], [verdicts[n] for n in used])
    assert value(whole.people.figures["kappa"]) == pytest.approx(expected)
    assert whole.people.n == len(used)
    for judge, given in zip(whole.judges, judges, strict=True):
        assert judge.people.n == len(used)
        expected = accuracy_score([truth[n] for n in used], [given[n] for n in used])
        assert value(judge.people.figures["accuracy"]) == pytest.approx(expected)
    assert found.annotators == ("ana", "bob")
    given_file = panel(folders, "graded", annotations=said("graded", "eve", truth[:5])).groups[0]
    assert given_file.people.n <= 5


def test_a_text_that_came_back_is_the_same_text(tmp_path):
    """Where a case was changed, judged, changed back and judged, the runs judged the same text."""
    folders = [tmp_path / "one", tmp_path / "two"]
    judge = ScriptedJudge([{"reason": "So it is.", "value": 1}])

    def given(answer):
        return [{"id": f"q{n}", "question": "?", "expected_answer": "1", "answer": f"{answer} {n}"} for n in range(3)]

    for answer in ("old", "new", "old"):
        evaluate(given(answer), [load_metric("correctness")], judge, out=folders[0])
    evaluate(given("old"), [load_metric("correctness")], judge, out=folders[1])
    assert panel(folders, "correctness").groups[0].things == 3
    evaluate(given("new"), [load_metric("correctness")], judge, out=folders[1])
    with pytest.raises(DataError, match="3 of them judged another text than the rest"):
        panel(folders, "correctness")


def test_labels_that_do_not_count_or_lean_are_told(tmp_path):
    """Labels off the scale or of no verdict, seen verdicts and uneven samples are named beside the figures."""
    truth = np.random.default_rng(5).choice(RELEVANT, 12).tolist()
    folders = runs(tmp_path, "graded", *(noisy(truth, 0.4, seed) for seed in range(3)))
    rows = said("graded", "ana", truth)
    rows[0] = rows[0].model_copy(update={"suggested": True, "weight": 3.0})
    rows[1] = rows[1].model_copy(update={"value": "Marvellous"})
    rows[2] = rows[2].model_copy(update={"sample_id": "q99"})
    found = panel(folders, "graded", annotations=rows)
    assert found.groups[0].people.n <= 10
    text = "\n".join(found.warnings)
    assert "ENRICHED SAMPLE: the annotated items were sampled with different probabilities" in text
    assert "1 of 10 items annotated by people who saw the judge's verdict" in text
    assert "1 annotated item not in the run: q99" in text
    assert "1 row cannot be read:" in text
    assert "Marvellous" in text


def test_groups_are_by_tag(tmp_path):
    """Each value of a tag has its own figures, after those of all; an unknown tag is told."""
    tags = [{"kind": "single" if n % 2 else "multi"} for n in range(20)]
    truth = np.random.default_rng(5).choice(RELEVANT, 20).tolist()
    folders = runs(tmp_path, "graded", *(noisy(truth, 0.4, seed) for seed in range(3)), tags=tags)
    found = panel(folders, "graded", by="kind")
    assert [(group.name, group.things) for group in found.groups] == [("", 20), ("multi", 10), ("single", 10)]
    with pytest.raises(DataError, match="no tag 'knd' is there; did you mean kind"):
        panel(folders, "graded", by="knd")


def test_levels_are_categories_or_numbers(tmp_path):
    """Two levels are categories by default and may be numbers; what does not fit is refused."""
    folders = runs(tmp_path, "passed", [0, 1, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0])
    assert panel(folders, "passed").treat_as == "categories"
    assert panel(folders, "passed", treat_as="numbers").combine == "median"
    with pytest.raises(DataError, match="categories have no median or mean, not mean"):
        panel(folders, "passed", combine="mean")
    with pytest.raises(DataError, match="numbers are combined by median or mean, not majority"):
        panel(folders, "passed", treat_as="numbers", combine="majority")


def test_what_is_no_panel_is_refused(tmp_path):
    """One run, the same twice, another scale and a metric that is not there are told in a line."""
    one, two = runs(tmp_path, "graded", ["Partly"], ["Partly"])
    for folders in ([one], [one, one]):
        with pytest.raises(DataError, match="needs two runs or more, each given once"):
            panel(folders, "graded")
    with pytest.raises(DataError, match="no metric 'gradd' is there; did you mean graded"):
        panel([one, two], "gradd")
    with StoreWriter.create(two) as writer:
        other = METRICS["right"].model_dump(mode="json") | {"name": "graded"}
        writer.put_fact("metrics", [other])
    with pytest.raises(DataError, match="has another scale than in"):
        panel([one, two], "graded")
    with pytest.raises(DataError, match="a number between 0 and 1"):
        panel(runs(tmp_path / "b", "graded", ["Partly"], ["Partly"]), "graded", level=1.0)


def test_a_mixed_run_is_told_first(tmp_path):
    """A run with verdicts of two judges is no single judge, and the page begins with that."""
    one = write(tmp_path / "one", "graded", ["Partly"] * 2, judges=["a", "b"])
    two = write(tmp_path / "two", "graded", ["Partly"] * 2, judges=["c", "c"])
    assert panel([one, two], "graded").warnings[0].startswith("MIXED: ")
    assert told(one, two, "-m", "graded").startswith("MIXED: ")


def told(*words, width=160):
    """Run the command and give what it printed."""
    done = CliRunner(env={"COLUMNS": str(width)}).invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


@pytest.mark.parametrize("width", [80, *at_night(120, 160)])
def test_the_tables_tell_all(tmp_path, width):
    """Runs, all judges, each against the others, pairs, people and groups stand in tables of which nothing is cut."""
    truth = np.random.default_rng(5).choice(RELEVANT, 40).tolist()
    tags = [{"kind": "single" if n % 2 else "multi"} for n in range(40)]
    folders = runs(tmp_path, "graded", *(noisy(truth, 0.3, seed) for seed in range(3)), tags=tags)
    keep_annotations(folders[0], said("graded", "ana", truth))
    text = told(*folders, "-m", "graded", "--by", "kind", width=width)
    for word in (
        "3 judges on 40 things",
        "Krippendorff's",
        "unanimous",
        "j0 and j1",
        "the panel",
        "multi",
        "Outlier: ",
    ):
        assert " ".join(word.split()) in " ".join(text.split()), word
    assert "…" not in text
    assert text.count("[") == text.count("]")


def test_json_is_the_panel(tmp_path):
    """The JSON form is the whole record."""
    folders = runs(tmp_path, "depth", [1, 2, 3], [2, 2, 3], [1, 3, 3])
    found = Panel.model_validate_json(told(*folders, "-m", "depth", "--format", "json", "--combine", "mean"))
    assert found == panel(folders, "depth", combine="mean")


def test_verdicts_are_written_as_annotations(tmp_path):
    """The file has the panel's verdicts in the shape of annotations; ties and numbers between levels are pending."""
    folders = runs(tmp_path, "graded", ["Partly", "Partly"], ["Partly", "Relevant"])
    told(*folders, "-m", "graded", "--out", tmp_path / "panel.jsonl")
    rows = read_annotations(tmp_path / "panel.jsonl", {"graded": GRADED.scale}).annotations
    assert [(row.annotator, row.value, row.status) for row in rows] == [
        ("panel", "Partly", "submitted"),
        ("panel", None, "pending"),
    ]
    assert rows[1].comment == "j0: Partly; j1: Relevant"
    assert json.loads((tmp_path / "panel.jsonl").read_text().splitlines()[0])["sample_id"] == "q0"
    numbers = runs(tmp_path / "n", "depth", [1, 2], [2, 4])
    assert [row.value for row in panel_annotations(numbers, "depth")] == [None, 3]
    levels = runs(tmp_path / "p", "passed", [1, 0], [1, 1], [1, 0])
    assert [row.value for row in panel_annotations(levels, "passed")] == [1, 0]
