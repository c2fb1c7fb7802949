"""The run folder: what was written is there, whatever happened to the process."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from greval.case import Case
from greval.errors import StoreError
from greval.result import Failed, Failure, Judgement, Result, Scored, Skipped
from greval.store import COLUMNS, FILE, Store


def row(sample="q1", value=1, **more):
    outcome = more.pop("outcome", Scored(judgements=(Judgement(value=value, reason="r"),)))
    return Result(sample_id=sample, metric="m", fingerprint="f", judge="j", tier="schema", outcome=outcome, **more)


def test_rows_read_back_as_they_were_written(tmp_path):
    """A result is read back equal, by key and in order."""
    rows = [row("q1"), row("q2", outcome=Skipped(reason="no answer")), row("q3", tags={"język": "polski"})]
    with Store.create(tmp_path / "run") as store:
        for number, result in enumerate(rows):
            store.append(f"k{number}", result)
        assert store.get("k2") == rows[2]
        assert store.get("nobody") is None
    with Store.open(tmp_path / "run") as store:
        assert [*store.results()] == rows
        assert [json.loads(line)["sample_id"] for line in store.lines()] == ["q1", "q2", "q3"]


def test_the_newest_row_counts_and_the_older_one_stays(tmp_path):
    """A second row of the same sample, method, metric and repeat takes its place; the log keeps both."""
    failed = row(outcome=Failed(error=Failure(kind="timeout", message="late")))
    with Store.create(tmp_path) as store:
        store.append("old", failed)
        store.append("new", row(value=0))
    with Store.open(tmp_path) as store:
        assert [result.judgements[0].value for result in store.results()] == [0]
        assert store.get("old") == failed


def test_methods_and_repeats_are_rows_of_their_own(tmp_path):
    """Two methods on one sample, and two repeats, do not take each other's place."""
    with Store.create(tmp_path) as store:
        for number, result in enumerate([row(method="a"), row(method="b"), row(method="b", repeat=1)]):
            store.append(str(number), result)
        assert len([*store.results()]) == 3


def test_two_runs_do_not_share_a_folder(tmp_path):
    """A second writer is told who is in the way and what to do; a reader is let in."""
    with Store.create(tmp_path) as store:
        store.append("k", row())
        with pytest.raises(StoreError, match="another run writes to this folder"):
            Store.create(tmp_path)
        with Store.open(tmp_path) as reader:
            assert len([*reader.results()]) == 1
    Store.create(tmp_path).close()


def test_no_run_is_told_with_the_command_that_makes_one(tmp_path):
    """Opening a folder that is no run says how to make one."""
    with pytest.raises(StoreError, match="greval evaluate"):
        Store.open(tmp_path)


def test_a_file_in_the_way_is_told(tmp_path):
    """A run folder that is a file is refused with its name."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="file: cannot be used as a run folder"):
        Store.create(tmp_path / "file")


def test_a_file_that_is_no_database_is_told(tmp_path):
    """A file of another kind under the log's name is an error of ours, not SQLite's traceback."""
    (tmp_path / FILE).write_text("no database" * 1000)
    with pytest.raises(StoreError, match="is it a run folder"):
        Store.open(tmp_path)


def test_cases_are_kept_once(tmp_path):
    """What was judged is kept beside the results, once for each content."""
    case = Case(id="q1", question="Who?", chunks=["Ada."])
    with Store.create(tmp_path) as store:
        store.keep_case("a", case)
        store.keep_case("a", case)
        assert [*store.cases()] == [case]


def test_facts_are_replaced(tmp_path):
    """A fact about the run is the newest one told; what was not told is None."""
    with Store.create(tmp_path) as store:
        store.put_fact("planned", {"m": 1})
        store.put_fact("planned", {"m": 2})
        assert store.fact("planned") == {"m": 2}
        assert store.fact("nothing") is None


def test_the_frame_has_a_row_for_each_judgement_failure_and_skip(tmp_path):
    """No outcome is missing from the table, and a failure has no value in it."""
    part = Scored(
        judgements=(Judgement(value="Yes", reason="r", item="c1", number=1.0),),
        failures=(Failure(kind="missing_item", message="none", item="c2"),),
    )
    with Store.create(tmp_path) as store:
        store.append("1", row(outcome=part))
        store.append("2", row("q2", outcome=Skipped(reason="no answer")))
        frame = store.frame()
    assert [*frame.columns] == [*COLUMNS]
    assert [*frame["status"]] == ["scored", "failed", "skipped"]
    assert frame["value"].isna().tolist() == [False, True, True]


WRITER = """
    import sys
    from pathlib import Path
    from greval.result import Judgement, Result, Scored
    from greval.store import Store
    store = Store.create(Path(sys.argv[1]))
    for number in range(100000):
        outcome = Scored(judgements=(Judgement(value=1, reason="r"),))
        store.append(str(number), Result(sample_id=str(number), metric="m", fingerprint="f", judge="j",
                                         tier="schema", outcome=outcome))
        print(number, flush=True)
"""


def test_kill_9_loses_no_row_that_was_written(tmp_path):
    """Every row that was acknowledged before kill -9 is there afterwards, and the folder is free again."""
    writer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    for _ in range(300):
        told = int(writer.stdout.readline())
    os.kill(writer.pid, signal.SIGKILL)
    told = max([told, *(int(line) for line in writer.stdout if line.strip().isdigit())])
    writer.wait()
    writer.stdout.close()
    with Store.create(tmp_path) as store:
        assert len([*store.results()]) >= told + 1
        assert store.get(str(told)) is not None


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_told_and_nothing_written_before_is_lost(tmp_path):
    """On a full disk the error says what to do, and the log opens again with all rows before it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], check=False).returncode:
        pytest.fail("a small disk could not be mounted")
    try:
        written = 0
        store = Store.create(disk / "run")
        with pytest.raises(StoreError, match="free some space"):  # noqa: PT012 - it fills up somewhere in the loop
            for written in range(100000):
                store.append(str(written), row(str(written), outcome=Skipped(reason="x" * 2000)))
        store._db.close()
        store._lock.close()
        with Store.open(disk / "run") as again:
            assert len([*again.results()]) == written
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
