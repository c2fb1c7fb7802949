"""A repair keeps every row that is whole, and the same command judges the rest again."""

from __future__ import annotations

import os
import sqlite3
import struct
from contextlib import closing
from shutil import copytree

import pytest
from tone_metrics import PASSAGES, TONE, by_metric, cases

from greval import Case, Store, evaluate
from greval.errors import StoreError
from greval.runs.store.disk import FILE, PAGE_BYTES, WAL_FILE, connect_log, find_damage
from greval.runs.store.repair import DAMAGE_STOP, DAMAGED_PREFIX, LEAF_KIND, find_whole_rows, repair_log
from greval.runs.store.writer import StoreWriter
from greval.testing import ScriptedJudge

METRICS = [TONE, PASSAGES]
CASES = [*cases(30), Case(id="long", question="Why?", answer="Because. " * 5_000, chunks=["a"])]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Make a run with calls, one of whose cases is longer than a page of the file."""
    folder = tmp_path_factory.mktemp("judged") / "run"
    evaluate(CASES, METRICS, ScriptedJudge(by_metric), out=folder)
    return folder


@pytest.fixture
def folder(judged, tmp_path):
    """Copy the run."""
    return copytree(judged, tmp_path / "run")


def count_rows(folder):
    """Count the results that a run counts."""
    with Store.open(folder) as store:
        return store.count()


def change(folder, place, content):
    """Overwrite bytes of the log."""
    with (folder / FILE).open("r+b") as file:
        file.seek(place)
        file.write(content)


def list_leaves(folder):
    """List where pages with several rows begin."""
    content = (folder / FILE).read_bytes()
    pages = range(PAGE_BYTES, len(content), PAGE_BYTES)
    return [at for at in pages if content[at] == LEAF_KIND and struct.unpack_from(">H", content, at + 3)[0] > 1]


def test_all_rows_of_a_sound_log_are_found(folder):
    """Rows are read from the bytes of the file as SQLite reads them, long ones and those of all tables."""
    found = {(row.table, row.number): row.values for row in find_whole_rows(folder)}
    with closing(connect_log(folder)) as log:
        for table in {table for table, _ in found}:
            for number, *values in log.execute(f"SELECT rowid, * FROM {table}"):  # noqa: S608 - a table of the log
                assert found.pop((table, number)) == tuple(values[:-1])
    assert not found
    assert repair_log(folder) is None


@pytest.mark.parametrize(
    ("place", "byte"),
    [
        (0, 0x05),
        (3, 0xEE),
        *(
            pytest.param(place, byte, marks=pytest.mark.nightly)
            for place, byte in [(0, 0xEE), (0, 0x0A), *((place, 0xEE) for place in (1, 4, 5, 8, 9))]
        ),
    ],
)
def test_a_damaged_list_of_rows_loses_none(folder, place, byte):
    """Each row is found by its own bytes if the kind of its page or its list of rows has changed."""
    for at in list_leaves(folder):
        change(folder, at + place, bytes([byte]))
    repair = repair_log(folder)
    assert repair
    assert (repair.lost, repair.kept["results"], repair.kept["cases"]) == ({}, 62, 31)
    assert count_rows(folder) == 62


def test_what_was_lost_is_judged_again(folder):
    """A changed row is lost, the report says so, and the same command asks for it alone."""
    content = (folder / FILE).read_bytes()
    change(folder, content.index(b'"value":"Polite"'), b'"value":"Police"')
    with pytest.raises(StoreError, match=f"greval repair {folder}"):
        count_rows(folder)
    repair = repair_log(folder)
    assert repair
    assert (repair.lost, repair.is_short) == ({"results": 1}, True)
    assert repair.describe() == "61 results, 31 cases, 62 calls are whole; lost: 1 result"
    assert (folder / f"{DAMAGED_PREFIX}{FILE}").read_bytes() != content
    with Store.open(folder) as store:
        assert {plan.stopped for plan in store.plans()} == {DAMAGE_STOP}
    judge = ScriptedJudge(by_metric)
    run = evaluate(CASES, METRICS, judge, out=folder)
    assert (len(judge.calls), len([*run.results()])) == (1, 62)
    with Store.open(folder) as store:
        assert {plan.stopped for plan in store.plans()} == {None}


@pytest.mark.parametrize("table", ["plans", "sources", "facts", "call_forms", "cases"])
def test_a_lost_table(folder, table):
    """Results count without the rows that say how they were planned, and are judged by the same command."""
    with closing(sqlite3.connect(folder / FILE)) as log:
        (page,) = log.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    change(folder, (page - 1) * PAGE_BYTES, bytes(PAGE_BYTES))
    repair = repair_log(folder)
    assert repair
    assert (repair.kept["results"], count_rows(folder)) == (62, 62)
    judge = ScriptedJudge(by_metric)
    run = evaluate(CASES, METRICS, judge, out=folder)
    assert (len(judge.calls), len([*run.results()])) == (0, 62)


def test_files_of_two_moments(tmp_path):
    """A copy whose files are of different moments has the rows of both, up to a moment."""
    copies = []
    with StoreWriter.create(tmp_path / "run") as writer:
        writer.plans.claim_plan("tone", "")
        for number in range(3):
            for key in range(40):
                writer.put_fact(f"{number}-{key}", "x" * 200)
            writer.flush()
            copies.append({name: (tmp_path / "run" / name).read_bytes() for name in (FILE, WAL_FILE)})
    torn = tmp_path / "torn"
    torn.mkdir()
    (torn / FILE).write_bytes(copies[0][FILE])
    (torn / WAL_FILE).write_bytes(copies[2][WAL_FILE])
    repair_log(torn)
    with Store.open(torn) as store:
        names = {name for (name,) in store.query("SELECT name FROM facts WHERE name LIKE '%-%'")}
    assert {f"0-{key}" for key in range(40)} | {f"2-{key}" for key in range(40)} <= names


def test_a_log_that_is_cut_off(folder):
    """Rows after the cut leave no trace but in the plan, and are judged again."""
    content = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(content[: len(content) // 2])
    repair = repair_log(folder)
    assert repair
    assert repair.is_short
    assert 0 < repair.kept["results"] < 62
    with closing(connect_log(folder)) as log:
        assert find_damage(log) is None


def test_what_cannot_be_repaired(folder, tmp_path, monkeypatch):
    """Nothing is changed where no row is whole, no run is, or nothing can be written, and the message says why."""
    with pytest.raises(StoreError, match="no run is there; name a run folder"):
        repair_log(tmp_path / "nothing")
    content = bytes(3 * PAGE_BYTES)
    (folder / FILE).write_bytes(content)
    with pytest.raises(StoreError, match="no result of this version of greval is whole; choose another run"):
        repair_log(folder)
    assert (folder / FILE).read_bytes() == content
    assert {path.name for path in folder.iterdir()} <= {FILE, "lock", "replies.sqlite"}
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StoreError, match="copy it, and repair the copy"):
        repair_log(folder)
