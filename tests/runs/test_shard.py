"""Shards: parts of a run that together are the whole, each case in one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tone_metrics import TONE, by_metric, cases

from greval import Store, evaluate
from greval.errors import DataError
from greval.runs.merging import merge_runs
from greval.runs.shard import Shard
from greval.runs.store.plans import count_planned
from greval.testing import ScriptedJudge


@given(st.text(st.characters()), st.integers(1, 200))
def test_each_case_is_in_one_shard(sample_id, count):
    """Whatever the id, exactly one of the parts holds it."""
    assert sum(Shard(number=n, count=count).holds(sample_id) for n in range(1, count + 1)) == 1


@given(st.integers(1, 99), st.integers(1, 99))
def test_a_shard_is_read_as_it_is_written(number, count):
    """K/N is read where K is at most N, and refused with what to write where it is not."""
    if number <= count:
        assert Shard.parse(f" {number}/{count} ") == Shard(number=number, count=count)
        assert str(Shard(number=number, count=count)) == f"{number}/{count}"
    else:
        with pytest.raises(DataError, match="write it as 3/16"):
            Shard.parse(f"{number}/{count}")
        with pytest.raises(ValidationError):
            Shard(number=number, count=count)


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "-1/4", "1/0", "a/b", "1/2/3", "1.5/2"])
def test_no_shard(text):
    """Anything else is refused."""
    with pytest.raises(DataError, match="shard"):
        Shard.parse(text)


def test_the_shards_of_a_run_are_the_run(tmp_path):
    """Judged apart and merged, every case is judged once; a part keeps and reports its own cases only."""
    given_cases = [case.model_copy(update={"method": method}) for case in cases(12) for method in ("a", "b")]
    seen, calls, folders = [], 0, []
    for number in (1, 2, 3):
        judge = ScriptedJudge(by_metric)
        folders.append(tmp_path / f"part{number}")
        run = evaluate(given_cases, [TONE], judge, out=folders[-1], shard=Shard(number=number, count=3))
        rows = [(row.sample_id, row.method) for row in run.results()]
        assert {(name, method) for name, _ in rows for method in "ab"} == {*rows}
        with Store.open(folders[-1]) as store:
            assert sorted((case.id, case.method) for case in store.cases()) == sorted(rows)
            assert count_planned(store.plans()) == {"tone": len(rows)}
        seen += rows
        calls += len(judge.calls)
    assert sorted(seen) == sorted((case.id, case.method) for case in given_cases)
    assert calls == 12
    merge_runs(tmp_path / "whole", folders)
    second_judge = ScriptedJudge(by_metric)
    assert evaluate(given_cases, [TONE], second_judge, out=tmp_path / "whole").progress.kept == 24
    assert second_judge.calls == []


def test_rows_without_an_id_are_in_the_same_part_each_time(tmp_path):
    """Such a row is named by its place in the source, in every part alike."""
    rows = [{"question": f"{n}?", "answer": "A."} for n in range(10)]
    parts = [
        evaluate(rows, [TONE], ScriptedJudge(by_metric), out=tmp_path / str(n), shard=Shard(number=n, count=2))
        for n in (1, 2)
    ]
    names = [row.sample_id for part in parts for row in part.results()]
    assert sorted(names) == sorted(f"row-{n}" for n in range(1, 11))
