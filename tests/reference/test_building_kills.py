"""Indexing that is killed with -9: the same command then gives the index that an unbroken one would have given."""

from __future__ import annotations

import json
import random
import time

import pytest
from command_line import started
from killing import killed_at_write
from reference_indexes import SETTINGS, digest_index, make_documents, make_index

BEFORE, AFTER = make_documents(6), [*make_documents(8, start=2)]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """Return the digests of two indexes that were made at once: before a change of the documents, and after it."""
    return tuple(find_digest(tmp_path_factory.mktemp("whole"), documents) for documents in (BEFORE, AFTER))


def find_digest(folder, documents=None):
    """Return the digest of the index of a folder, made or brought up to date first if there are documents."""
    if documents:
        make_index(folder, documents)
    return digest_index(folder)


def list_names(folder):
    return sorted(path.name.partition("-")[0] for path in folder.iterdir())


@pytest.mark.nightly
@pytest.mark.parametrize("number", [1, 2])
def test_a_kill_before_a_build_is_in_place_leaves_the_old_index(tmp_path, unbroken, number):
    """Before the new folder has its name, and before index.json names it, the index is the old one, whole."""
    make_index(tmp_path, BEFORE)
    assert killed_at_write(number, make_index, tmp_path, AFTER)
    assert find_digest(tmp_path) == unbroken[0]
    assert find_digest(tmp_path, AFTER) == unbroken[1]
    assert list_names(tmp_path) == ["build", "index.json", "ledger.sqlite", "lock"]


@pytest.mark.nightly
def test_random_kills_change_nothing(tmp_path, unbroken):
    """Killed at random moments of the command, again and again, it is at last the index of an unbroken one."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(f"{each.model_dump_json(exclude_defaults=True)}\n" for each in AFTER))
    options = ("--embedding", "tfidf", "--chunk-chars", SETTINGS.chunk_chars)
    words = ("index", "build", rows, "-o", tmp_path / "index", *options)
    make_index(tmp_path / "index", BEFORE)
    draw, kills = random.Random(7), 0
    for _ in range(8):
        process = started(*words)
        time.sleep(draw.uniform(0.2, 2))
        process.kill()
        kills += process.wait() != 0
        process.communicate()
        assert find_digest(tmp_path / "index") in unbroken
    assert kills > 3
    process = started(*words)
    out, _ = process.communicate()
    assert process.returncode == 0, out
    assert find_digest(tmp_path / "index") == unbroken[1]
    current = json.loads((tmp_path / "index" / "index.json").read_text())["build"]
    assert [path.name for path in (tmp_path / "index").glob("build-*")] == [current]
