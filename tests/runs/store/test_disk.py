"""The files of the log: who writes it, which tables it has, and what an error of the disk says."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import StoreError
from greval.runs.store.disk import (
    FILE,
    LAYOUT_VERSION,
    LOCK_FILE,
    NO_SPACE,
    LogSync,
    lock_folder,
    prepare_tables,
    translate_errors,
)


def connect(folder):
    """Open the database of a folder."""
    return sqlite3.connect(folder / FILE, isolation_level=None)


class TestLockFolder:
    """One process writes to a folder at a time."""

    def test_the_second_writer_is_refused_until_the_first_ends(self, tmp_path):
        """The message names the folder and the way out; the end of the first writer frees the folder."""
        with lock_folder(tmp_path):
            with pytest.raises(StoreError) as refused:
                lock_folder(tmp_path)
            assert str(tmp_path) in str(refused.value)
            assert "another run writes to this folder; wait for it or choose another with -o" in str(refused.value)
        lock_folder(tmp_path).close()

    def test_missing_folders_are_created(self, tmp_path):
        """A folder in a folder that is not there is created for the run."""
        lock_folder(tmp_path / "a" / "b").close()
        assert (tmp_path / "a" / "b" / LOCK_FILE).is_file()

    def test_a_file_in_the_way(self, tmp_path):
        """A file is no run folder, and the message says to choose another."""
        (tmp_path / "run").touch()
        with pytest.raises(StoreError, match=r"cannot be used as a run folder: .*; choose another with -o"):
            lock_folder(tmp_path / "run")


class TestTables:
    """`prepare_tables` creates the tables once and reads no others."""

    def test_tables_are_created_once(self, tmp_path):
        """A new log has the current version, and preparing it again keeps its rows."""
        database = connect(tmp_path)
        prepare_tables(database, tmp_path, write=True)
        database.execute("INSERT INTO facts VALUES ('a', '1')")
        prepare_tables(database, tmp_path, write=True)
        prepare_tables(database, tmp_path, write=False)
        assert database.execute("PRAGMA user_version").fetchone() == (LAYOUT_VERSION,)
        assert database.execute("SELECT * FROM facts").fetchall() == [("a", "1")]

    def test_a_log_without_tables_is_no_run(self, tmp_path):
        """Reading says how to begin the run, and creates nothing."""
        with pytest.raises(StoreError, match=f"run greval evaluate with -o {tmp_path} again"):
            prepare_tables(connect(tmp_path), tmp_path, write=False)

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


def test_a_closed_log_is_synced_no_more(tmp_path):
    """`flush` and `close` after `close` do nothing, so that a flushing thread may be late."""
    database = connect(tmp_path)
    prepare_tables(database, tmp_path, write=True)
    sync = LogSync(tmp_path)
    sync.flush()
    for _ in range(2):
        sync.close()
        sync.flush()


@pytest.mark.parametrize("word", NO_SPACE)
def test_a_full_disk_asks_for_space(tmp_path, word):
    """All messages of a full disk lead to the same advice, and the cause is kept."""
    cause = sqlite3.OperationalError(f"database or disk is {word.upper()}")
    with (
        pytest.raises(StoreError, match="free some space and run the same command again") as told,
        translate_errors(tmp_path),
    ):
        raise cause
    assert told.value.__cause__ is cause


def test_other_errors_keep_their_kind(tmp_path):
    """An error of SQLite names the file; an error of the program passes through."""
    with pytest.raises(StoreError, match=f"{FILE}: malformed; is it a run folder"), translate_errors(tmp_path):
        raise sqlite3.DatabaseError("malformed")
    with pytest.raises(ZeroDivisionError), translate_errors(tmp_path):
        raise ZeroDivisionError
