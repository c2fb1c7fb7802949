"""The files of the log: who writes it, which tables it has, and what an error of the disk says."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing
from functools import partial
from shutil import copytree
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tone_metrics import PASSAGES, TONE, by_metric, cases

from greval import Store, evaluate
from greval.errors import StoreError
from greval.runs.store import disk
from greval.runs.store.disk import (
    FILE,
    LAYOUT_VERSION,
    STATEMENTS,
    WAL_FILE,
    LogSync,
    add_sql_functions,
    connect_log,
    describe_system_error,
    find_damage,
    is_begun,
    lock_folder,
    prepare_tables,
    translate_errors,
)
from greval.runs.store.writer import StoreWriter
from greval.testing import ScriptedJudge


def connect(folder):
    """Open the database of a folder."""
    database = sqlite3.connect(folder / FILE, isolation_level=None)
    add_sql_functions(database)
    return database


class TestLockFolder:
    """One process writes to a folder at a time."""

    def test_the_second_writer_is_refused_until_the_first_ends(self, tmp_path):
        """The message names the folder and the way out; the end of the first writer frees the folder."""
        with lock_folder(tmp_path):
            with pytest.raises(StoreError) as refused:
                lock_folder(tmp_path)
            assert str(tmp_path) in str(refused.value)
            assert "another run writes to this folder; wait for it or choose another with out=..." in str(refused.value)
        lock_folder(tmp_path).close()

    def test_a_file_in_the_way(self, tmp_path):
        """A file is no run folder, and the message says to choose another."""
        (tmp_path / "run").touch()
        with pytest.raises(StoreError, match=r"cannot be used as a run folder: .*; choose another with out=\.\.\."):
            lock_folder(tmp_path / "run")


class TestTables:
    """`prepare_tables` creates the tables once and reads no others."""

    def test_tables_are_created_once(self, tmp_path):
        """A new log has the current version, and preparing it again keeps its rows."""
        database = connect(tmp_path)
        prepare_tables(database, tmp_path, write=True)
        database.execute("INSERT INTO facts (name, content) VALUES ('a', '1')")
        prepare_tables(database, tmp_path, write=True)
        prepare_tables(database, tmp_path, write=False)
        assert database.execute("PRAGMA user_version").fetchone() == (LAYOUT_VERSION,)
        assert database.execute("SELECT name, content FROM facts").fetchall() == [("a", "1")]

    @given(st.integers(1, 2**31 - 1).filter(lambda version: version != LAYOUT_VERSION))
    def test_tables_of_another_version_are_refused(self, tmp_path_factory, version):
        """Neither a reader nor a writer uses tables that it does not know; both versions are in the message."""
        folder = tmp_path_factory.mktemp("run")
        database = connect(folder)
        database.executescript(f"CREATE TABLE results (row TEXT); PRAGMA user_version={version}")
        for write in (True, False):
            with pytest.raises(StoreError, match=f"layout {version}, this one reads {LAYOUT_VERSION}"):
                prepare_tables(database, folder, write=write)
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("results",)]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Make a run of some cases, with the calls of the judge."""
    folder = tmp_path_factory.mktemp("judged") / "run"
    evaluate(cases(6), [TONE, PASSAGES], ScriptedJudge(by_metric), out=folder)
    return folder


@pytest.fixture
def folder(judged, tmp_path):
    """Copy the run."""
    return copytree(judged, tmp_path / "run")


@pytest.fixture
def killed(judged, tmp_path):
    """Copy the run as a killed writer leaves it: all that is new is in the "-wal" file."""
    with StoreWriter.create(copytree(judged, tmp_path / "going-on")) as writer:
        for number in range(3):
            writer.put_fact("note", number)
        return copytree(writer.folder, tmp_path / "killed")


class TestDamage:
    """A log of which a byte that counts has changed is read by nobody."""

    def test_a_sound_log(self, folder):
        """What a run wrote has the checksums that SQLite computes of what it reads."""
        with closing(connect_log(folder)) as log:
            assert find_damage(log) is None

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE results SET row = replace(row, 'Polite', 'Rude')",
            "UPDATE results SET finished = 0 WHERE rowid = 2",
            "UPDATE plans SET current = 0",
            "DELETE FROM results WHERE rowid = 2",
            "DELETE FROM calls WHERE id = 1",
            "DELETE FROM plans",
            "UPDATE facts SET content = '[]'",
            "ALTER TABLE results RENAME COLUMN row TO line",
        ],
    )
    @pytest.mark.parametrize("write", [True, False])
    def test_a_changed_log_is_refused(self, folder, statement, write):
        """Neither a reader nor a writer uses it, and the message says what keeps the rest."""
        triggers = [sql for sql in STATEMENTS if sql.startswith("CREATE TRIGGER")]
        with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as log:
            # As a damage, which no trigger notices.
            for trigger in triggers:
                log.execute(f"DROP TRIGGER {trigger.split()[2]}")
            log.execute(statement)
            for trigger in triggers if "ALTER" not in statement else ():
                log.execute(trigger)
        with pytest.raises(StoreError, match=f"is damaged.*greval repair {folder} keeps every row"):
            connect_log(folder, write=write)

    def test_changed_bytes_are_refused(self, folder):
        """A byte of a value that nothing else refers to is found as well."""
        content = (folder / FILE).read_bytes()
        (folder / FILE).write_bytes(content.replace(b'"value":"Polite"', b'"value":"Polise"', 1))
        with pytest.raises(StoreError, match="1 of 12 rows of 'results' were changed"):
            connect_log(folder)

    def test_a_copy_without_its_newest_part(self, killed):
        """A log beside which the "-wal" file is missing is that of an earlier moment."""
        (killed / WAL_FILE).unlink()
        with Store.open(killed) as store:
            assert (store.count(), store.fact("note")) == (12, None)

    @pytest.mark.parametrize("place", [2, 20, 26, 41, 62, 100, -9_000])
    def test_a_damaged_newest_part(self, killed, place):
        """SQLite would end before the change without a word, and the next run would overwrite what follows."""
        content = bytearray((killed / WAL_FILE).read_bytes())
        content[place] ^= 4
        (killed / WAL_FILE).write_bytes(content)
        for write in (True, False):
            with pytest.raises(StoreError, match=f"a part of {WAL_FILE} was changed.*greval repair"):
                connect_log(killed, write=write)

    def test_an_incomplete_end_is_that_of_a_kill(self, killed):
        """The last commit is lost, and nothing is damaged."""
        content = (killed / WAL_FILE).read_bytes()
        (killed / WAL_FILE).write_bytes(content[:-100])
        with Store.open(killed) as store:
            assert store.fact("note") == 1

    def test_the_newest_part_alone_is_not_deleted(self, killed):
        """SQLite would begin a new file and delete the "-wal" file of the missing one."""
        (killed / FILE).unlink()
        for write in (True, False):
            with pytest.raises(StoreError, match=r"is missing beside its -wal file.*greval repair"):
                connect_log(killed, write=write)
        assert (killed / WAL_FILE).stat().st_size

    def test_an_empty_log_is_begun_anew(self, folder):
        """The advice of the message works."""
        (folder / FILE).write_bytes(b"")
        assert not is_begun(folder)
        with pytest.raises(StoreError, match=r"its log is empty.*run greval evaluate with -o"):
            connect_log(folder)
        run = evaluate(cases(6), [TONE], ScriptedJudge(by_metric), out=folder)
        assert len([*run.results()]) == 6


class TestReadOnly:
    """A run is read where nothing can be written: SQLite's own way needs files beside the log."""

    @pytest.fixture(autouse=True)
    def _no_file_beside(self, request):
        """Let SQLite fail to create its file beside the log, as on a read-only or full disk."""
        for name in {"folder", "killed"} & {*request.fixturenames}:
            shared = request.getfixturevalue(name) / f"{FILE}-shm"
            shared.unlink(missing_ok=True)
            shared.mkdir()

    def test_a_finished_run(self, folder):
        """The file is read as it is."""
        with Store.open(folder) as store:
            assert store.count() == 12

    def test_a_killed_run(self, killed):
        """What is in its "-wal" file is read, and stays there."""
        size = (killed / WAL_FILE).stat().st_size
        with Store.open(killed) as store:
            assert store.fact("note") == 2
        assert (killed / WAL_FILE).stat().st_size == size


def test_a_closed_log_is_synced_no_more(tmp_path):
    """`flush` and `close` after `close` do nothing, so that a flushing thread may be late."""
    database = connect(tmp_path)
    prepare_tables(database, tmp_path, write=True)
    sync = LogSync(tmp_path)
    sync.flush()
    for _ in range(2):
        sync.close()
        sync.flush()


def test_a_log_is_checkpointed_only_after_a_further_commit(tmp_path, monkeypatch):
    """An emptied log that is checkpointed again may meet a commit that reuses it, which damages the file."""
    statements = []

    class Recorder(sqlite3.Connection):
        def execute(self, sql, *parameters):
            statements.append(sql)
            return super().execute(sql, *parameters)

    with closing(connect(tmp_path)) as database:
        prepare_tables(database, tmp_path, write=True)
        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Recorder))
        sync = LogSync(tmp_path)
        checkpoints = []
        for commits in (0, 1, 0, 2, 0):
            for _ in range(commits):
                database.execute("INSERT INTO kept_results (plan) VALUES (1)")
            sync.flush()
            checkpoints.append(sum("wal_checkpoint" in sql for sql in statements))
        sync.close()
    assert checkpoints == [0, 1, 1, 2, 2]


def test_no_inode_is_left(tmp_path, monkeypatch):
    """The system says that there is no space; what is missing is room for a further file."""
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_files=10, f_favail=0))
    text = describe_system_error(tmp_path, OSError(errno.ENOSPC, "No space left on device"))
    assert text == "No space left on device for a further file (no inode is left; delete files)"


def test_the_system_says_why_a_file_cannot_be_opened(tmp_path):
    """SQLite says only that it cannot."""
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"Not a directory"), translate_errors(tmp_path / "file"):
        sqlite3.connect(tmp_path / "file" / FILE)


def test_other_errors_keep_their_kind(tmp_path):
    """An error of SQLite names the file; an error of the program passes through."""
    with pytest.raises(StoreError, match=f"{FILE}: malformed; is it a run folder"), translate_errors(tmp_path):
        raise sqlite3.DatabaseError("malformed")
    with pytest.raises(ZeroDivisionError), translate_errors(tmp_path):
        raise ZeroDivisionError


def test_a_file_that_another_reader_removes_meanwhile_is_no_error(tmp_path, monkeypatch):
    """Whoever closes the log last removes the files beside it, at any time for another reader."""
    connect_log(tmp_path, write=True).close()
    wal = tmp_path / WAL_FILE
    wal.touch()
    read = os.stat

    def read_and_remove(path, **options):
        status = read(path, **options)
        if str(path) == str(wal):
            wal.unlink()
        return status

    monkeypatch.setattr(os, "stat", read_and_remove)
    with closing(connect_log(tmp_path)) as database:
        assert database.execute("SELECT count(*) FROM results").fetchone() == (0,)


def test_what_a_writer_changes_during_the_search_for_damage_is_none(tmp_path, monkeypatch):
    """The search reads the parts of the log one after another, so that what is written meanwhile does not fit."""
    with closing(connect_log(tmp_path, write=True)) as writer:

        def find_fault(_):
            writer.execute("INSERT INTO facts (name, content) VALUES (hex(randomblob(8)), '')")
            return "a row is missing"

        monkeypatch.setattr(disk, "find_damage", find_fault)
        connect_log(tmp_path).close()
        monkeypatch.setattr(disk, "find_damage", lambda _: "a row is missing")
        with pytest.raises(StoreError, match="is damaged"):
            connect_log(tmp_path)
