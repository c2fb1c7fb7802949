"""The run folder: what was written is there, whatever happened to the process."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from greval.datasets.file_identity import CaseSource
from greval.errors import StoreError
from greval.judging.model.call_context import CallForm, CallRecord
from greval.judging.model.reply_cache import Reply
from greval.records.result import Failed, Failure, Judgement, Result, Scored, Skipped, Usage
from greval.runs.merging import read_rows
from greval.runs.store import Store
from greval.runs.store.plans import PlannedVersion
from greval.runs.store.writer import MAX_GROUP_ROWS, StoreWriter


def row(sample="q1", value=1, **more):
    outcome = more.pop("outcome", Scored(judgements=(Judgement(value=value, reason="r"),)))
    return Result(sample_id=sample, metric="m", fingerprint="f", judge="j", tier="schema", outcome=outcome, **more)


def test_rows_read_back_as_they_were_written(tmp_path):
    """A result is read back equal, by key and in order."""
    rows = [row("q1"), row("q2", outcome=Skipped(reason="no answer")), row("q3", tags={"język": "polski"})]
    with StoreWriter.create(tmp_path / "run") as writer:
        for number, result in enumerate(rows):
            writer.append(f"k{number}", result)
        assert writer.get("k2", ("q3", "", "m")) == rows[2]
        assert writer.get("k1", ("q3", "", "m")) is None
        assert writer.get("k2", ("nobody", "", "m")) is None
    with Store.open(tmp_path / "run") as store:
        assert [*store.results()] == rows
        assert [json.loads(line)["sample_id"] for line in store.lines()] == ["q1", "q2", "q3"]


def test_the_newest_row_counts_and_the_older_one_stays(tmp_path):
    """A second row of the same sample, method, metric and repeat takes its place; the log keeps both."""
    failed = row(outcome=Failed(error=Failure(kind="timeout", message="late")))
    with StoreWriter.create(tmp_path) as writer:
        writer.append("old", failed)
        writer.append("new", row(value=0))
    with Store.open(tmp_path) as store:
        assert [result.judgements[0].value for result in store.results()] == [0]
        assert store.index.get("old", ("q1", "", "m")) is None
        assert next(read_rows(store)).result == failed


def test_the_same_content_is_found_whoever_was_judged(tmp_path):
    """The newest finished result of a content is given, before and after the folder is opened again."""
    failed = row("q3", outcome=Failed(error=Failure(kind="timeout", message="late")))
    with StoreWriter.create(tmp_path) as writer:
        writer.append("a", row("q1"), content="c")
        writer.append("b", row("q2"), content="c")
        writer.append("d", failed, content="c")
        writer.append("e", failed, content="f")
        writer.append("g", row("q4"))
        assert writer.same("c") == row("q2")
    with Store.open(tmp_path) as store, StoreWriter.create(tmp_path) as writer:
        for index in (store.index, writer):
            assert index.same("c") == row("q2")
            assert [index.same("f"), index.same("nobody"), index.same("")] == [None, None, None]
            assert index.get("e", ("q3", "", "m")) == failed


def test_another_thread_brings_the_log_to_the_disk_while_rows_are_appended(tmp_path):
    """Flushing beside appends breaks neither, and is harmless after the end."""
    done = threading.Event()
    with StoreWriter.create(tmp_path) as writer, ThreadPoolExecutor(1) as beside:

        def flush():
            flushes = 0
            while not done.is_set() or not flushes:
                writer.flush()
                flushes += 1
            return flushes

        flushing = beside.submit(flush)
        for number in range(500):
            writer.append(str(number), row(str(number)))
        done.set()
        assert flushing.result() > 0
    writer.flush()
    with Store.open(tmp_path) as store:
        assert len([*store.results()]) == 500


def test_a_writer_that_nobody_flushes_syncs_the_log_itself(tmp_path, monkeypatch):
    """The file beside the log does not grow without an end."""
    monkeypatch.setattr("greval.runs.store.writer.MAX_UNSYNCED_COMMITS", 3)
    with StoreWriter.create(tmp_path) as writer:
        sizes = []
        for number in range(6):
            writer.append(str(number), row(str(number)))
            sizes.append((tmp_path / "results.sqlite").stat().st_size)
    assert sizes[1] < sizes[2] == sizes[4] <= sizes[5]


def list_written(folder):
    """Return the sample ids that another reader of a run folder sees."""
    with Store.open(folder) as reader:
        return [result.sample_id for result in reader.results()]


@pytest.mark.parametrize("end", ["commit", "judged result", "calls", "entry"])
def test_computed_results_are_written_together_and_no_later_than_the_next_other_write(tmp_path, end):
    """Recomputable results wait for a commit or for any other write, which they never delay."""
    with StoreWriter.create(tmp_path) as writer:
        writer.append("judged", row("judged"))
        for number in range(3):
            writer.append(str(number), row(str(number)), recomputable=True)
        assert list_written(tmp_path) == ["judged"]
        assert writer.reader.index.get(None, ("2", "", "m")) == row("2")
        match end:
            case "commit":
                writer.commit()
            case "judged result":
                writer.append("last", row("last"))
            case "calls":
                writer.append_calls("0", "f", ("3", ""), ())
            case "entry":
                writer.put_fact("judge", "local")
        later_rows = ["last"] if end == "judged result" else []
        assert list_written(tmp_path) == ["judged", "0", "1", "2", *later_rows]
        writer.append("3", row("3"), recomputable=True)
    assert list_written(tmp_path) == ["judged", "0", "1", "2", *later_rows, "3"]


@pytest.mark.parametrize("count", [MAX_GROUP_ROWS - 1, MAX_GROUP_ROWS, 2 * MAX_GROUP_ROWS + 1])
def test_computed_results_are_written_by_number(tmp_path, count):
    """A full group is written with its last result, and each row has the number that the store refers to."""
    case = '{"question":"Who?"}'
    with StoreWriter.create(tmp_path) as writer:
        for number in range(count):
            name = str(number)
            writer.append(name, row(name), case=case if number % 3 else "", recomputable=True)
        assert list_written(tmp_path) == [str(number) for number in range(count // MAX_GROUP_ROWS * MAX_GROUP_ROWS)]
        for name in ("0", str(count // 2), str(count - 1)):
            assert writer.reader.index.get(None, (name, "", "m")) == row(name)
        assert writer._connection.execute("SELECT count(*) FROM cases").fetchone() == (count - -(-count // 3),)


def test_a_computed_result_that_made_calls_is_written_at_once(tmp_path):
    """Calls are paid for, so that they and their result do not wait."""
    form = CallForm({}, label="j", tier="schema", identity={}, judge={}, messages=(), answer_schema={})
    call = CallRecord(form, (("user", "Judge."),), Reply("{}", Usage(calls=1)))
    with StoreWriter.create(tmp_path) as writer:
        writer.append("0", row("0"), recomputable=True)
        writer.append("1", row("1"), content="c", calls=[call], recomputable=True)
        assert list_written(tmp_path) == ["0", "1"]


def test_a_result_that_replaces_one_of_its_group_names_its_row(tmp_path):
    """The newest row of a place counts also if both are written together."""
    with StoreWriter.create(tmp_path) as writer:
        writer.append("judged", row("judged"))
        writer.append("0", row("0"), recomputable=True)
        writer.append("1", row("0", outcome=Skipped(reason="Another.")), recomputable=True)
        assert [result.outcome for result in writer.reader.results()][1:] == [Skipped(reason="Another.")]


def test_after_a_lost_group_nothing_is_written(tmp_path):
    """If computed results could not be written, the store takes no more: they would be missing among the others."""
    with StoreWriter.create(tmp_path) as writer:
        writer.append("judged", row("judged"))
        writer.append("0", row("0"), recomputable=True)
        writer._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match="readonly"):
            writer.commit()
        writer._connection.execute("PRAGMA query_only = OFF")
        for recomputable in (False, True):
            with pytest.raises(StoreError, match="computed results were not stored; run the same command again"):
                writer.append("1", row("1"), recomputable=recomputable)
    assert list_written(tmp_path) == ["judged"]


def test_a_result_that_cannot_be_stored_leaves_its_group(tmp_path):
    """The other results are written."""
    with StoreWriter.create(tmp_path) as writer:
        writer.append("0", row("0"), recomputable=True)
        with pytest.raises(ValueError, match="surrogate"):
            writer.append("1", row("\ud800"), recomputable=True)
        writer.append("2", row("2"), recomputable=True)
    assert list_written(tmp_path) == ["0", "2"]


@pytest.mark.parametrize(
    "write",
    [
        lambda plans: plans.begin(CaseSource(label="other"), "", {"tone": PlannedVersion("f", "j")}),
        lambda plans: plans.expect_methods(),
        lambda plans: plans.claim_plan("tone", "other"),
        lambda plans: plans.end({"": 1}, None),
    ],
    ids=["begin", "expect", "claim", "end"],
)
def test_a_plan_that_cannot_be_written_is_told_with_the_folder(tmp_path, write):
    """What is wrong with the disk is told by our error from each write of a plan, as from each write of a result."""
    with StoreWriter.create(tmp_path / "run") as writer:
        writer.plans.begin(CaseSource(label="cases"), "", {"tone": PlannedVersion("f", "j")})
        writer._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match=r"run/results\.sqlite"):
            write(writer.plans)
        writer._connection.execute("PRAGMA query_only = OFF")
