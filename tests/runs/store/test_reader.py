"""Reading a run folder: what the last plan counts, column by column, and what is refused."""

import pytest

from greval.errors import StoreError
from greval.records.case import Case
from greval.records.result import Judgement, Result, Scored, Skipped
from greval.runs.run_reader import read_lines
from greval.runs.store import FILE, Store
from greval.runs.store.disk import ResultFilter
from greval.runs.store.writer import StoreWriter


def row(sample="q1", value=1, **more):
    outcome = more.pop("outcome", Scored(judgements=(Judgement(value=value, reason="r"),)))
    fields = {"metric": "m", "fingerprint": "f", "judge": "j", "tier": "schema", **more}
    return Result(sample_id=sample, outcome=outcome, **fields)


def test_no_run_is_told_with_the_command_that_makes_one(tmp_path):
    """Opening a folder that is no run says how to make one."""
    with pytest.raises(StoreError, match="greval evaluate"):
        Store.open(tmp_path)


def test_a_file_that_is_no_database_is_told(tmp_path):
    """A file of another kind under the log's name is an error of ours, not SQLite's traceback."""
    (tmp_path / FILE).write_text("no database" * 1000)
    with pytest.raises(StoreError, match="is damaged"):
        Store.open(tmp_path)


def test_lines_of_consecutive_cases_are_read_by_one_query(tmp_path):
    """Stored cases are read in the order of their row numbers as given, those that follow each other together."""
    with StoreWriter.create(tmp_path) as writer:
        writer.keep_cases([Case(id=f"q{n}", question="Who?") for n in range(1, 8)])
    queries: list[str] = []
    with Store.open(tmp_path) as store:
        store._connection.set_trace_callback(queries.append)
        ids = [Case.model_validate_json(line).id for line in read_lines(store, [3, 4, 5, 7, 2, 2, 1], "cases")]
        assert ids == ["q3", "q4", "q5", "q7", "q2", "q2", "q1"]
        assert len(queries) == 5
        assert not [*read_lines(store, [], "cases")]


def test_a_run_is_read_as_it_was_at_one_moment(tmp_path):
    """What is written while a report reads is not in it."""
    with StoreWriter.create(tmp_path) as writer:
        writer.append("a", row("q1"))
        with Store.open(tmp_path) as reader:
            with reader.snapshot():
                assert len([*reader.results()]) == 1
                writer.append("b", row("q2"))
                assert len([*reader.results()]) == 1
            assert len([*reader.results()]) == 2


def test_columns_are_those_of_the_newest_results_that_meet_the_filter(tmp_path):
    """A replaced row is not selected; a text that SQLite would truncate is compared as a whole."""
    with StoreWriter.create(tmp_path) as writer:
        writer.append("0", row("q1", value="Yes"))
        writer.append("1", row("q1", value="No"))
        writer.append("2", row("q2", outcome=Skipped(reason="none")))
        writer.append("3", row("q2", value="No", metric="other", tags={"kind": "a\0b"}))
        writer.append("4", row("q3", value="No", tags={"kind": "a\0c"}))
    with Store.open(tmp_path) as store:
        assert [*store.select(("sample_id", "rowid"), ResultFilter(metrics=("m",)))] == [
            ("q1", 2),
            ("q2", 3),
            ("q3", 5),
        ]
        assert [*store.select(("sample_id",), ResultFilter(tags=(("kind", "a\0b"),)))] == [("q2",)]
        assert [result.sample_id for result in store.results(ResultFilter(value="No"))] == ["q1", "q2", "q3"]
        assert [*store.lines(ResultFilter(status="skipped"))] == [*read_lines(store, [3])]


def test_a_query_sees_what_was_appended_to_the_same_log(tmp_path):
    """The reader of a writer first writes results that wait to be written together."""
    with StoreWriter.create(tmp_path) as writer:
        writer.append("0", row("q1"), recomputable=True)
        assert writer.reader.query("SELECT count(*) FROM results").fetchone() == (1,)
        with Store.open(tmp_path) as store:
            assert store.count() == 1


def test_public_methods_of_a_run_folder_are_few():
    """Projections are columns of `select`, and what one task needs is a query of its module."""
    for opened in (Store, StoreWriter):
        names = [name for name in dir(opened) if not name.startswith("_")]
        assert sum(callable(getattr(opened, name)) for name in names) <= 15
