"""Replies that are remembered: what was asked is found again, by any process, and a damaged file is told."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import SECONDS

from greval.errors import StoreError
from greval.judging.model.reply_cache import (
    CACHE_FILE,
    Reply,
    ReplyCache,
    compute_reply_key,
    delete_cache_file,
    find_cache_file,
)
from greval.records.result import Usage

COST = Usage(calls=2, input_tokens=100, output_tokens=20)


@pytest.mark.parametrize("paid", [False, True])
def test_a_reply_is_found_by_its_key(tmp_path, paid):
    """What was remembered comes back, also half of a surrogate pair, as a hit that is free or with what was paid."""
    reply = Reply('{"reason": "Grüße \\u2028"}', COST, tokens=[{"token": "\ud83d", "logprob": -0.5}], key="k")
    with ReplyCache(tmp_path / CACHE_FILE) as replies:
        replies.put(reply)
    with ReplyCache(tmp_path / CACHE_FILE, paid=paid) as replies:
        cached = replies.get("k")
        assert replies.get("other") is None
    assert (cached.text, [*cached.tokens], cached.failure, cached.key) == (reply.text, [*reply.tokens], None, "k")
    assert cached.usage == (COST if paid else Usage(hits=1))
    assert cached.known


def test_what_was_paid_for_is_counted_once(tmp_path):
    """Who puts a reply has counted its cost; of those who get it in a later run the first one does."""
    with ReplyCache(tmp_path / CACHE_FILE, paid=True) as replies:
        replies.put(Reply("{}", COST, key="k"))
        assert replies.get("k").usage == Usage(hits=1)
    with ReplyCache(tmp_path / CACHE_FILE, paid=True) as replies:
        assert [replies.get("k").usage for _ in range(3)] == [COST, Usage(hits=1), Usage(hits=1)]


def test_the_newest_reply_counts_and_can_be_forgotten(tmp_path):
    """A key has one reply, the last one; dropped, cleared or taken away it is gone."""
    with ReplyCache(tmp_path / CACHE_FILE) as replies:
        for text in ("old", "new"):
            replies.put(Reply(text, COST, key="k"))
        replies.put(Reply("x", COST, key="other"))
        assert replies.get("k").text == "new"
        assert replies.size().replies == 2
        assert replies.size().bytes > 0
        replies.drop("k")
        assert (replies.get("k"), replies.size().replies) == (None, 1)
        replies.clear()
        assert replies.size().replies == 0
    delete_cache_file(tmp_path / CACHE_FILE)
    assert [*tmp_path.iterdir()] == []
    delete_cache_file(tmp_path / CACHE_FILE)


@given(st.lists(st.text(st.characters()), max_size=4), st.lists(st.text(st.characters()), max_size=4))
def test_no_two_questions_share_a_key(one, other):
    """Keys are the same for the same parts only, however these are cut."""
    assert (compute_reply_key(one) == compute_reply_key(other)) == (one == other)


@pytest.mark.nightly
def test_processes_that_create_the_file_at_one_moment_all_open_it(tmp_path):
    """Changing the journal mode of a new file, for which SQLite does not wait, is tried again."""
    code = """
    import sys, time
    from pathlib import Path
    from greval.judging.model.reply_cache import ReplyCache
    while time.time() < float(sys.argv[2]):
        pass
    ReplyCache(Path(sys.argv[1])).close()
    """
    for number in range(6):
        path = str(tmp_path / f"{number}.sqlite")
        words = [sys.executable, "-c", textwrap.dedent(code), path, str(time.time() + 1.5)]
        running = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(6)]
        assert [process.communicate(timeout=SECONDS)[1] for process in running] == [""] * 6


@pytest.mark.nightly
def test_several_processes_remember_at_once(tmp_path):
    """Processes that open, write and read one file at the same time lose nothing."""
    code = """
    import sys
    from pathlib import Path
    from greval.judging.model.reply_cache import ReplyCache
    from greval.judging.model.reply_cache import Reply
    from greval.records.result import Usage
    with ReplyCache(Path(sys.argv[1])) as replies:
        for n in range(60):
            replies.put(Reply("{}", Usage(), key=f"{sys.argv[2]}-{n}"))
            assert replies.get(f"{sys.argv[2]}-{n}")
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "new" / CACHE_FILE)]
    running = [subprocess.Popen([*command, str(n)], stderr=subprocess.PIPE, text=True) for n in range(4)]
    assert [process.communicate(timeout=SECONDS)[1] for process in running] == [""] * 4
    with ReplyCache(tmp_path / "new" / CACHE_FILE) as replies:
        assert replies.size().replies == 240


def test_a_file_that_is_none_is_told(tmp_path):
    """A file of something else, or a folder, is an error that names it and says what to do."""
    (tmp_path / CACHE_FILE).write_text("I am no database. " * 100)
    with pytest.raises(StoreError, match="name another file, or go without"):
        ReplyCache(tmp_path / CACHE_FILE)
    with pytest.raises(StoreError, match="cannot be used"):
        ReplyCache(tmp_path)


def test_a_file_that_is_damaged_later_is_told(tmp_path):
    """What breaks while a run uses the file is an error of ours, in reading and in writing."""
    with ReplyCache(tmp_path / CACHE_FILE) as replies:
        replies._db.execute("DROP TABLE replies")
        for use in (lambda: replies.get("k"), lambda: replies.put(Reply("{}", COST, key="k"))):
            with pytest.raises(StoreError, match="go without the cache"):
                use()


def test_the_cache_lies_where_the_environment_says(monkeypatch, tmp_path):
    """The cache across runs is in greval's cache folder."""
    monkeypatch.setenv("GREVAL_CACHE", str(tmp_path / "cache" / "models"))
    assert find_cache_file().name == CACHE_FILE
    assert tmp_path in find_cache_file().parents
