"""The file of responses: what survives, what is mended, and who may write."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import SECONDS

from greval import Case, read_cases
from greval.errors import StoreError
from greval.methods.collecting.response_file import ResponseFile, hash_sample, read_responses


def response(sample_id, method="walk", answer="Ada.", **fields):
    return Case(id=sample_id, question=f"{sample_id}?", method=method, answer=answer, **fields)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "responses.jsonl"


def filled(path, *cases):
    with ResponseFile.open(path) as file:
        for case in cases:
            file.append(case)
    return path


def ids(path):
    return [(case.id, case.method) for case in read_responses(path)]


def test_what_was_written_is_known_again(path):
    """A file that is opened again knows each response, whether it failed, and of which sample it is."""
    filled(path, response("q1"), response("q1", "tog", answer=None, error="KeyError: 'x'"))
    with ResponseFile.open(path) as file:
        assert not file.find("q1", "walk").failed
        assert file.find("q1", "tog").failed
        assert file.find("q1", "walk").content == hash_sample(response("q1", "other"))
        assert file.find("q1", "walk").content != hash_sample(response("q1", tags={"a": "b"}))
        assert file.find("q2", "walk") is None


def test_evaluate_reads_the_file(path):
    """Each line is a case, with nothing in it that was not recorded."""
    case = response("q1", chunks=["a"], gold={"expected_edges": [["a", "b", "c"]]}, usage={"latency": 0.1})
    filled(path, case)
    assert [*read_cases(path)] == [case]
    assert {*json.loads(path.read_text(encoding="utf-8"))} == {
        *("id", "question", "method", "answer", "chunks", "gold", "usage")
    }


@given(cut=st.integers(0, 10_000), more=st.booleans())
def test_a_line_that_was_cut_short(tmp_path_factory, cut, more):
    """Cut anywhere, as kill -9 or a power cut may, a file opens, keeps all whole lines, and can be written on."""
    path = filled(
        tmp_path_factory.mktemp("cut") / "r.jsonl", *(response(f"q{n}", answer="ä\u2028" * n) for n in range(4))
    )
    content = path.read_bytes()
    cut %= len(content) + 1
    path.write_bytes(content[:cut])
    whole_ids = [f"q{n}" for n in range(4) if len(b"".join(content.splitlines(keepends=True)[: n + 1])) <= cut + 1]
    filled(path, *([response("q9")] if more else []))
    assert ids(path) == [(name, "walk") for name in (*whole_ids, *(["q9"] if more else []))]
    assert path.read_bytes().endswith(b"\n") or not whole_ids


@pytest.mark.parametrize(
    "content",
    [
        "text without a newline",
        "a text\n",
        '{"question": "no method", "id": "q1"}\n',
        '{"method": "walk", "question": "no id"}\n',
        '[{"id": "q1"}]',
        '{"id": "q1", "question": "cut',
        '{"method":"walk","id":"q1","question":"ok"}\nnonsense\n{"method":"walk","id":"q2","question":"ok"}\n',
        "\n",
    ],
)
def test_other_files_are_not_touched(path, content):
    """A file that holds something else is refused with its line, and stays as it is."""
    path.parent.mkdir()
    path.write_text(content, encoding="utf-8")
    with pytest.raises(StoreError, match=r"responses.jsonl:\d: is not a response of a method; choose another"):
        ResponseFile.open(path)
    assert path.read_text(encoding="utf-8") == content


def test_one_writer_at_a_time(path):
    """A second writer is refused at once; when the first is done, also after putting things in order, it may."""
    with ResponseFile.open(path) as file:
        file.append(response("q2"))
        file.append(response("q1"))
        with pytest.raises(StoreError, match="another process writes to it"):
            ResponseFile.open(path)
        file.compact([("q1", "walk"), ("q2", "walk")])
        with pytest.raises(StoreError, match="another process writes to it"):
            ResponseFile.open(path)
        file.append(response("q3"))
    assert ids(path) == [("q1", "walk"), ("q2", "walk"), ("q3", "walk")]
    filled(path, response("q4"))


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("mn"), st.integers(0, 9)), max_size=12),
    st.permutations([(s, m) for s in "abc" for m in "mn"]),
    st.integers(0, 6),
)
def test_each_stands_once_in_order(tmp_path_factory, rows, order, told):
    """Put in order, the file holds the newest of each, those that were told first; what it says is the same."""
    path = tmp_path_factory.mktemp("order") / "r.jsonl"
    newest = {(s, m): str(n) for s, m, n in rows}
    with ResponseFile.open(path) as file:
        for s, m, n in rows:
            file.append(response(s, m, answer=str(n)))
        ids_before = sorted(ids(path))
        file.compact(order[:told])
        assert sorted(ids(path)) == ids_before
        file.append(response("z", "z"))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][:-1]
    assert {(line["id"], line["method"]): line["answer"] for line in lines} == newest
    keys_written = [(line["id"], line["method"]) for line in lines]
    keys_first = [key for key in order[:told] if key in newest]
    assert keys_written[: len(keys_first)] == keys_first
    assert len(keys_written) == len(newest)


def test_a_file_in_order_is_left_alone(path):
    """What is in order is not written again."""
    filled(path, response("q1"), response("q2"))
    inode = path.stat().st_ino
    with ResponseFile.open(path) as file:
        file.compact([("q1", "walk")])
    assert path.stat().st_ino == inode


def test_a_link_stays_a_link(path, tmp_path):
    """Where the name is a link, the file that it leads to is put in order."""
    real = filled(path, response("q2"), response("q1"))
    link = tmp_path / "link.jsonl"
    link.symlink_to(real)
    with ResponseFile.open(link) as file:
        file.compact([("q1", "walk")])
    assert link.is_symlink()
    assert ids(real) == [("q1", "walk"), ("q2", "walk")]


@pytest.mark.parametrize(
    ("name", "told"), [("r.json", "call the file r.jsonl"), ("folder.jsonl", "is not a regular file")]
)
def test_names_that_will_not_do(tmp_path, name, told):
    """A name that `evaluate` could not read, or a folder, is refused."""
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(StoreError, match=told):
        ResponseFile.open(tmp_path / name)


def test_a_full_disk(path):
    """Where no more can be written it is told, half a line is taken back, and what was there stays."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with ResponseFile.open(path) as file:
        file.append(response("q1"))
        size = path.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, hard))
        try:
            with pytest.raises(StoreError, match="what was written before stays"):
                file.append(response("q2", answer="x" * 1000))
            assert path.stat().st_size == size
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, handler)
        file.append(response("q3"))
    assert ids(path) == [("q1", "walk"), ("q3", "walk")]


def test_flush_may_come_late(path):
    """A flush that comes after the end does nothing."""
    with ResponseFile.open(path) as file:
        file.append(response("q1"))
        file.flush()
    file.flush()


def test_killed_while_writing(path):
    """A process that is killed after `append` loses nothing, and lets go of the file."""
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom greval import Case\n"
        "from greval.methods.collecting.response_file import ResponseFile\n"
        "file = ResponseFile.open(Path(sys.argv[1]))\n"
        "file.append(Case(id='q1', question='?', method='walk', answer='Ada.'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, os.fspath(path)], check=False, timeout=SECONDS)
    assert done.returncode == -signal.SIGKILL
    filled(path, response("q2"))
    assert ids(path) == [("q1", "walk"), ("q2", "walk")]


def test_reading_what_is_not_there(tmp_path):
    """Reading a file that is not there is told."""
    with pytest.raises(StoreError, match="cannot be read: No such file"):
        [*read_responses(tmp_path / "none.jsonl")]
