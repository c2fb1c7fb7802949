"""Tests of what the runs of a panel showed, as hashes."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from greval import Case, evaluate, load_metric
from greval._util.row_index import hash_key
from greval.records.metric_input import hash_json, select_metric_input
from greval.records.result import Result
from greval.runs.importing.api import import_verdicts
from greval.runs.run_reader import read_judged_cases, read_metric
from greval.runs.store import Store
from greval.runs.store.filters import ResultFilter
from greval.runs.store.writer import StoreWriter
from greval.testing import ScriptedJudge
from greval.trust.panels.runs import PanelNumbers, read_run
from greval.trust.panels.shown_inputs import UNKNOWN, hash_inputs

RIGHT = load_metric("correctness")


def build_cases(answer, count=4, **more):
    return [
        {"id": f"q{n}", "question": "?", "expected_answer": "1", "answer": f"{answer} {n}", **more}
        for n in range(count)
    ]


def read_shown(metric, *folders):
    """Give for each run the hash of what was shown of each case that a run has a result of."""
    numbers = PanelNumbers()
    inputs = [read_run(folder, metric, numbers).inputs for folder in folders]
    return [
        {case: column[number] for case, number in numbers.cases.items()}
        for column in hash_inputs(inputs, numbers.cases)
    ]


def hash_plainly(folder, metric):
    """Give the same by finding the version of each case that has a result."""
    with Store.open(folder) as store:
        stored = read_metric(store, metric)
        return {
            (one.whole.id, one.whole.method): hash_key(hash_json(select_metric_input(stored.describe(), one.whole)))
            for one in read_judged_cases(store, stored.judged)
        }


def test_hashes_are_those_of_the_versions_that_were_judged(tmp_path):
    """Of cases that were changed and judged again, the version counts that has the verdict, in each run."""
    judge = ScriptedJudge([{"reason": "So it is.", "value": 1}])
    runs = {"one": ["old", "new"], "two": ["new", "old"], "three": ["old", "new", "old"]}
    for name, answers in runs.items():
        for answer in answers:
            evaluate(build_cases(answer), [RIGHT], judge, out=tmp_path / name)
    every = read_shown(RIGHT.name, *(tmp_path / name for name in runs))
    for (name, answers), found in zip(runs.items(), every, strict=True):
        assert found == hash_plainly(tmp_path / name, RIGHT.name)
        assert found["q0", ""] == hash_key(
            hash_json({"question": "?", "expected_answer": "1", "answer": f"{answers[-1]} 0"})
        )


def test_other_definitions_are_hashed_anew(tmp_path):
    """Cases that are parsed for one definition are not those of another, which reads other fields."""
    judge = ScriptedJudge([{"reason": "So it is.", "value": 1}])
    less = RIGHT.model_copy(update={"needs": ("question", "answer")})
    runs = {"one": RIGHT, "two": less, "three": RIGHT}
    for name, metric in runs.items():
        evaluate(build_cases("a"), [metric], judge, out=tmp_path / name)
    found = read_shown(RIGHT.name, *(tmp_path / name for name in runs))
    assert found == [hash_plainly(tmp_path / name, RIGHT.name) for name in runs]
    assert found[0] == found[2] != found[1]


def test_a_case_that_several_runs_store_is_parsed_once(tmp_path):
    """Cases of a run that another run stores too are not read again, whatever their order: here they cannot be read."""
    judge = ScriptedJudge([{"reason": "So it is.", "value": 1}])
    cases = build_cases("a")
    evaluate(cases, [RIGHT], judge, out=tmp_path / "one")
    evaluate([*cases[::-1], *build_cases("b", 1, method="other")], [RIGHT], judge, out=tmp_path / "two")
    expected = [hash_plainly(tmp_path / name, RIGHT.name) for name in ("one", "two")]
    with closing(sqlite3.connect(tmp_path / "two" / "results.sqlite")) as store, store:
        assert store.execute("UPDATE cases SET row = '' WHERE method = ''").rowcount == len(cases)
    one, two = read_shown(RIGHT.name, tmp_path / "one", tmp_path / "two")
    assert one == expected[0] | {("q0", "other"): UNKNOWN}
    assert two == expected[1]


def test_a_preference_is_hashed_without_the_other_response(tmp_path):
    """What the described metric reads is hashed, and the version is found by all that the judge was shown."""
    metric = load_metric("overall_preference")
    judge = ScriptedJudge([{"reason": "So it is.", "value": "A"}])
    cases = build_cases("a", other_response={"method": "other", "answer": "b"})
    evaluate(cases, [metric], judge, out=tmp_path / "run")
    (found,) = read_shown(metric.name, tmp_path / "run")
    assert found == hash_plainly(tmp_path / "run", metric.name)
    assert UNKNOWN not in found.values()


@pytest.mark.parametrize("with_cases", [True, False])
def test_imported_verdicts_are_found_by_their_keys(tmp_path, with_cases):
    """They have no content key; without cases it is not known what was shown."""
    rows = [{"id": f"q{n}", "value": n % 2} for n in range(4)]
    cases = build_cases("a") if with_cases else None
    import_verdicts(rows, [RIGHT], out=tmp_path / "run", judge="x", cases=cases)
    (found,) = read_shown(RIGHT.name, tmp_path / "run")
    assert len(found) == 4
    assert found == (hash_plainly(tmp_path / "run", RIGHT.name) if with_cases else dict.fromkeys(found, UNKNOWN))
    assert (UNKNOWN in found.values()) != with_cases


def test_a_stale_version_is_not_what_was_shown(tmp_path):
    """Where the stored case is not the one that has the verdict, it is not known what was shown."""
    judge = ScriptedJudge([{"reason": "So it is.", "value": 1}])
    evaluate(build_cases("old", 1), [RIGHT], judge, out=tmp_path / "run")
    with Store.open(tmp_path / "run") as store:
        line = next(store.lines(ResultFilter(metrics=(RIGHT.name,))))
    with StoreWriter.create(tmp_path / "other") as writer:
        writer.put_fact("metrics", [RIGHT.model_dump(mode="json")])
        other = Case(**build_cases("new", 1)[0]).model_dump_json(exclude_defaults=True)
        writer.append("k", Result.model_validate_json(line), content="c", case=other)
    (found,) = read_shown(RIGHT.name, tmp_path / "other")
    assert [*found.values()] == [UNKNOWN]
