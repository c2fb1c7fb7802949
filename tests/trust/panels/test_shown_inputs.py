"""Tests of whether the judges of a panel were shown the same."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from claim_judge import make_judge

from greval import evaluate, load_metric
from greval.metrics.library import add_dependencies
from greval.runs.importing.api import import_verdicts
from greval.runs.run_reader import read_metric
from greval.runs.store import Store
from greval.testing import ScriptedJudge
from greval.trust.panels.shown_inputs import find_differing_cases

RIGHT = load_metric("correctness")
CASES = [(f"q{n}", "") for n in range(4)]


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
    stored = []
    for folder in folders:
        with Store.open(folder) as store:
            stored.append((folder, read_metric(store, metric)))
    shown = find_differing_cases(stored, [(*case, None) for case in items])
    return sorted(shown.differing), [sorted(missing) for missing in shown.missing]


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
def test_what_a_run_does_not_store_is_not_compared(tmp_path, with_cases):
    """Imported verdicts may come without cases; then it is not known what was shown."""
    rows = [{"id": f"q{n}", "value": n % 2} for n in range(4)]
    cases = build_cases("a") if with_cases else None
    import_verdicts(rows, [RIGHT], out=tmp_path / "imported", judge="x", cases=cases)
    other = judge_answers(tmp_path / "other", "b")
    differing, missing = compare(tmp_path / "imported", other)
    assert (differing, missing) == ((CASES, [[], []]) if with_cases else ([], [CASES, []]))
