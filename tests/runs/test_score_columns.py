"""Tests of the scores of a run as columns."""

from __future__ import annotations

from collections import defaultdict

import pytest
from compared_runs import FAILED, MISSING, SKIPPED, write
from hypothesis import given, settings
from hypothesis import strategies as st

from greval.errors import DataError
from greval.runs import score_columns as columns
from greval.runs.score_columns import ComparisonSide, QuestionGroups, ScoreColumns, read_judged_columns
from greval.runs.store import Store

OUTCOMES = st.sampled_from([0, 1, FAILED, SKIPPED, MISSING])
TAGS = st.dictionaries(st.sampled_from(["kind", "area"]), st.sampled_from("ab"))
tables = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(OUTCOMES, min_size=n, max_size=n),
        st.lists(OUTCOMES, min_size=n, max_size=n),
        st.lists(TAGS, min_size=n, max_size=n),
    )
)


@settings(max_examples=25)
@given(tables)
def test_columns_are_the_table_that_was_written(tmp_path_factory, table):
    """Each question has the state and the value of its row, in either order of the methods."""
    walk, local, tags = table
    run = write(tmp_path_factory.mktemp("run") / "run", {("walk", "right"): walk, ("local", "right"): local}, tags=tags)
    score_columns = ScoreColumns(["kind"])
    with Store.open(run) as store:
        score_columns.add_run(store)
    for method, outcomes in (("walk", walk), ("local", local)):
        column = score_columns.columns.get("right", {}).get(ComparisonSide(method))
        if column is None:
            assert all(one is MISSING for one in outcomes)
            continue
        states = column.get_states(len(score_columns)).tolist()
        values = column.get_values(len(score_columns)).tolist()
        by_name = dict(zip(score_columns.questions, zip(states, values, strict=True), strict=True))
        for n, outcome in enumerate(outcomes):
            state, value = by_name.get(f"q{n}", (columns.MISSING, 0.0))
            expected = {FAILED: columns.FAILED, SKIPPED: columns.SKIPPED, MISSING: columns.MISSING}
            states_of_name = [number for name, number in expected.items() if outcome is name]
            assert state == (states_of_name[0] if states_of_name else columns.SCORED)
            assert value == (0.0 if states_of_name else outcome)


def test_groups_and_clusters_are_numbered_by_their_first_question():
    """A question without a tag is in a group of its own name, and in no cluster."""
    groups = QuestionGroups(["kind", "area"], "doc")
    rows = ['{"kind":"a","area":"x","doc":"d"}', '{"kind":"b"}', '{"kind":"a","area":"x"}', "{}"]
    assert [groups.number(tags) for tags in rows] == [(0, 0), (1, -1), (0, -1), (2, -1)]
    assert groups.groups == {"a · x": 0, "b · (none)": 1, "(none) · (none)": 2}
    assert groups.tags == {"kind", "area", "doc"}
    assert QuestionGroups().number('{"kind":"a"}') == (0, -1)


def test_each_question_without_a_cluster_is_a_cluster_of_its_own(tmp_path):
    """Questions of one document share a number."""
    tags = [{"doc": "d"}, {"doc": "e"}, {}, {"doc": "d"}, {}]
    score_columns = ScoreColumns(cluster_by="doc")
    with Store.open(write(tmp_path / "run", {("m", "right"): [1] * 5}, tags=tags)) as store:
        score_columns.add_run(store)
    first, second, third, fourth, fifth = score_columns.get_clusters()
    assert first == fourth
    assert len({first, second, third, fifth}) == 4
    assert ScoreColumns().get_clusters() is None


def test_several_rows_of_a_question_count_as_their_mean():
    """A failed row besides scored ones changes nothing."""
    column = columns.ScoreColumn()
    for outline in ('["scored",[["1",1.0]],[],null]', '["scored",[["0",0.0]],[],null]', '["failed",[],[],null]'):
        column.add(2, outline, "mark")
    assert column.get_values(4).tolist() == [0, 0, 0.5, 0]
    assert column.get_states(4).tolist() == [columns.MISSING, columns.MISSING, columns.SCORED, columns.MISSING]


def test_judged_items_are_columns_of_equal_length(tmp_path):
    """Only scored items are in them, and the requested ones have an index."""
    outcomes = {("walk", "right"): [1, FAILED, 0], ("local", "right"): [0, 1, MISSING]}
    run = write(tmp_path / "run", outcomes, tags=[{"kind": kind} for kind in "aba"])
    with Store.open(run) as store:
        judged = read_judged_columns(store, "right", by=["kind"], case_keys={("q0", "walk"), ("q1", "")})
    rows = defaultdict(list)
    numbers = zip(*(judged.get_numbers(name).tolist() for name in ("method", "group")), strict=True)
    for (method, group), value in zip(numbers, judged.get_verdicts().tolist(), strict=True):
        rows[[*judged.methods][method], [*judged.groups][group]].append(value)
    assert rows == {("walk", "a"): [1, 0], ("local", "a"): [0], ("local", "b"): [1]}
    assert set(judged.places) == {("q0", "walk", None), ("q1", "local", None)}
    assert [judged.values[place] for place in judged.places.values()] == [1, 1]
    assert judged.statuses == {"scored": 4, "failed": 1}


@pytest.mark.parametrize(
    ("metric", "by", "message"),
    [
        ("rigth", (), "'rigth'.*right"),
        ("right", ["kin"], "'kin'"),
        ("correctness", (), "no judgement of 'correctness'"),
    ],
)
def test_what_the_run_lacks_is_named(tmp_path, metric, by, message):
    """A predefined metric without a judgement is known, but has nothing to read."""
    run = write(tmp_path / "run", {("walk", "right"): [1, 0]}, tags=[{"kind": "a"}] * 2)
    with Store.open(run) as store, pytest.raises(DataError, match=message):
        read_judged_columns(store, metric, by=by, case_keys=())
