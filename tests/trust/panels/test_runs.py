"""Tests of the runs of a panel: joined by item, and whether their judges were shown the same."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from agreed_runs import FAILED, write
from claim_judge import make_judge

from greval import evaluate, load_metric
from greval.errors import DataError
from greval.metrics.computed import COMPUTED_METRICS
from greval.metrics.library import add_dependencies
from greval.runs.importing.api import import_verdicts
from greval.runs.store.disk import add_sql_functions
from greval.testing import ScriptedJudge
from greval.trust.panels.runs import count_run_verdicts, find_differing_cases, read_panel_items, read_runs

RIGHT = load_metric("correctness")
CASES = [(f"q{n}", "") for n in range(4)]


def build_runs(tmp_path, *judges, metric="graded"):
    """Write a run for each judge."""
    return [
        write(tmp_path / f"r{n}", metric, verdicts, judges=[f"j{n}"] * len(verdicts))
        for n, verdicts in enumerate(judges)
    ]


def test_a_run_has_its_verdicts_and_what_is_missing(tmp_path):
    """An item that one run failed on is not common, and is counted as missing there."""
    folders = build_runs(tmp_path, ["Relevant", "Partly", FAILED], ["Relevant", "Irrelevant", "Partly"])
    items = read_panel_items(folders, "graded")
    assert [*items.runs] == ["j0", "j1"]
    assert {item.sample_id: item.values for item in items.things} == {
        "q0": {"j0": "Relevant", "j1": "Relevant"},
        "q1": {"j0": "Partly", "j1": "Irrelevant"},
    }
    assert items.differing == ()
    counts = {run.name: (run.verdicts, run.failed, run.missing) for run in count_run_verdicts(items)}
    assert counts == {"j0": (2, 1, 1), "j1": (3, 0, 0)}


def test_runs_of_one_judge_go_by_their_folders_too(tmp_path):
    """Names stay unique, also if folders have equal names."""
    folders = [write(tmp_path / name, "graded", ["Partly"]) for name in ("a/run", "b/run", "c")]
    names = [*read_runs(folders, "graded", {})]
    assert names == [f"j ({tmp_path}/a/run)", f"j ({tmp_path}/b/run)", "j (c)"]


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_runs_are_no_panel(tmp_path, count):
    """The same folder twice is one run."""
    folders = build_runs(tmp_path, ["Partly"])
    for given in (folders[:count], [*folders, tmp_path / "x" / ".." / "r0"]):
        with pytest.raises(DataError, match="a panel needs two runs or more"):
            read_runs(given, "graded", {})


def test_another_scale_is_refused(tmp_path):
    """Verdicts on different scales cannot be compared."""
    first = write(tmp_path / "first", "passed", [1, 0])
    second = evaluate(
        [{"id": "q0", "question": "?"}],
        [COMPUTED_METRICS["latency"].model_copy(update={"name": "passed"})],
        out=tmp_path / "second",
    )
    with pytest.raises(DataError, match="passed has another scale than in"):
        read_runs([first, second.folder], "passed", {})


def test_a_metric_whose_fields_are_all_optional_can_be_read(tmp_path):
    """A computed metric may need nothing, and its cases are compared by what it reads."""
    metric = COMPUTED_METRICS["latency"].model_copy(update={"needs": (), "optional": ("usage",)})
    folders = [
        evaluate(
            [{"id": "q0", "question": "?", "usage": {"latency": latency}}], [metric], out=tmp_path / f"run{number}"
        ).folder
        for number, latency in enumerate((2.0, 2.0, 3.0))
    ]
    assert len(read_panel_items(folders[:2], "latency").things) == 1
    with pytest.raises(DataError, match="1 of them judged another text"):
        read_panel_items(folders[1:], "latency")


@pytest.mark.parametrize(
    ("metric", "combine", "message"),
    [("graded", "median", "categories have no median or mean"), ("depth", "majority", "combined by median or mean")],
)
def test_verdicts_are_combined_as_their_scale_allows(tmp_path, metric, combine, message):
    """By default categories have a majority and numbers a median."""
    value = "Partly" if metric == "graded" else 2
    folders = build_runs(tmp_path, [value], [value], metric=metric)
    with pytest.raises(DataError, match=message):
        read_panel_items(folders, metric, combine=combine)
    assert read_panel_items(folders, metric).combine == ("majority" if metric == "graded" else "median")


def test_verdicts_between_two_levels_are_left_out_as_categories(tmp_path):
    """They are kept as numbers."""
    folders = build_runs(tmp_path, [1, 0.5], [1, 1], metric="passed")
    items = read_panel_items(folders, "passed")
    assert (len(items.things), items.between) == (1, 1)
    numbers = read_panel_items(folders, "passed", treat_as="numbers")
    assert (len(numbers.things), numbers.between) == (2, 0)


def build_cases(answer, count=4, **more):
    return [
        {"id": f"q{n}", "question": "?", "expected_answer": "1", "answer": f"{answer} {n}", **more}
        for n in range(count)
    ]


def judge_answers(folder, *answers, metric=RIGHT, value=1, **more):
    """Judge four cases with each of the answers, one after the other."""
    for answer in answers:
        evaluate(build_cases(answer, **more), [metric], ScriptedJudge([{"reason": "r", "value": value}]), out=folder)
    return folder


def compare(*folders, metric="correctness", items=CASES):
    """Find the cases that differ between runs, and for each run those that it does not store."""
    judged = [*read_runs(folders, metric, {}).values()]
    differing, missing = find_differing_cases(judged, [(*case, None) for case in items])
    return sorted(differing), [sorted(absent) for absent in missing]


def test_the_versions_that_were_judged_are_compared(tmp_path):
    """Of cases that were changed and judged again, the version counts that has the verdict, in each run."""
    new = judge_answers(tmp_path / "one", "old", "new")
    old = judge_answers(tmp_path / "two", "new", "old")
    again = judge_answers(tmp_path / "three", "old", "new", "old")
    assert compare(new, old) == (CASES, [[], []])
    assert compare(old, again) == ([], [[], []])
    assert compare(new, again) == (CASES, [[], []])


def test_only_what_the_metric_reads_is_compared(tmp_path):
    """Cases that differ in other fields were shown alike; a case with another answer was not."""
    one = judge_answers(tmp_path / "one", "a", tags={"kind": "x"})
    two = judge_answers(tmp_path / "two", "a", tags={"kind": "y"})
    assert compare(one, two) == ([], [[], []])
    changed = build_cases("a")
    changed[2]["answer"] = "b"
    evaluate(changed, [RIGHT], ScriptedJudge([{"reason": "r", "value": 1}]), out=tmp_path / "three")
    assert compare(one, tmp_path / "three") == ([CASES[2]], [[], []])


def test_definitions_that_read_other_fields_are_not_shown_alike(tmp_path):
    """The cases are equal, but one judge was not shown the expected answer."""
    less = RIGHT.model_copy(update={"needs": ("question", "answer")})
    one, two = judge_answers(tmp_path / "one", "a"), judge_answers(tmp_path / "two", "a", metric=less)
    assert compare(one, two) == (CASES, [[], []])


def test_equal_cases_are_not_parsed(tmp_path):
    """Cases that both runs store are compared by their keys: here they cannot be read, except for one that differs."""
    one = judge_answers(tmp_path / "one", "a")
    two = judge_answers(tmp_path / "two", "a")
    for folder in (one, two):
        with closing(sqlite3.connect(folder / "results.sqlite")) as store, store:
            add_sql_functions(store)
            statement = "UPDATE cases SET row = json_object('id', json_extract(row, '$.id'))"
            assert store.execute(statement).rowcount == len(CASES)
    assert compare(one, two) == ([], [[], []])


def test_a_preference_is_compared_with_the_other_response(tmp_path):
    """A judge of pairs is shown both responses."""
    metric = load_metric("overall_preference")
    runs = [
        judge_answers(
            tmp_path / name, "a", metric=metric, value="A", other_response={"method": "other", "answer": answer}
        )
        for name, answer in (("one", "b"), ("two", "b"), ("three", "c"))
    ]
    assert compare(*runs[:2], metric=metric.name) == ([], [[], []])
    assert compare(*runs[1:], metric=metric.name) == (CASES, [[], []])


def test_claims_that_a_run_listed_are_compared(tmp_path):
    """Equal ids of claims are of equal claims only if both runs listed the same."""
    metrics = add_dependencies([load_metric("claim_support")])
    case = {"id": "q0", "question": "Who?", "answer": "Ada wrote it. It is from 1850.", "chunks": ["Ada wrote it."]}
    runs = [tmp_path / name for name in ("one", "two", "three")]
    for run in runs[:2]:
        evaluate([case], metrics, make_judge(), out=run)
    listed = [{"id": "a1", "text": "Ada wrote it."}]
    evaluate([{**case, "claims": listed}], metrics, make_judge(), out=runs[2])
    assert compare(*runs[:2], metric="claim_support", items=CASES[:1]) == ([], [[], []])
    assert compare(*runs[1:], metric="claim_support", items=CASES[:1]) == (CASES[:1], [[], []])


@pytest.mark.parametrize("with_cases", [True, False])
def test_cases_that_a_run_does_not_store_are_not_compared(tmp_path, with_cases):
    """Imported verdicts may come without cases; then it is not known what was shown."""
    rows = [{"id": f"q{n}", "value": n % 2} for n in range(4)]
    cases = build_cases("a") if with_cases else None
    import_verdicts(rows, [RIGHT], out=tmp_path / "imported", judge="x", cases=cases)
    other = judge_answers(tmp_path / "other", "b")
    differing, missing = compare(tmp_path / "imported", other)
    assert (differing, missing) == ((CASES, [[], []]) if with_cases else ([], [CASES, []]))
