"""Tests of received files: size limits, long lines, and a full disk."""

from __future__ import annotations

import errno
from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.serve.problems import DISK_FULL_ERRORS, ServeError, report_full_disk
from greval.serve.state.file_receiver import MAX_LINE_BYTES, MAX_WHOLE_FILE_BYTES, receive_file


async def parts_of(*parts):
    """Yield the parts of a body."""
    for part in parts:
        yield part


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=6))
async def test_the_file_is_what_was_sent(tmp_path_factory, content, cuts):
    """However a body is cut into parts, the file, its size and its hash are those of the whole."""
    edges = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    path = tmp_path_factory.mktemp("sent") / "cases.jsonl"
    received = await receive_file(parts_of(*(content[a:b] for a, b in pairwise(edges))), path, 1_000)
    assert path.read_bytes() == content
    assert (received.bytes, received.sha256) == (len(content), sha256(content).hexdigest())


@pytest.mark.parametrize(("size", "refused"), [(100, False), (101, True)])
async def test_the_most_bytes_are_allowed(tmp_path, size, refused):
    """A file of exactly the limit is accepted, one byte more is not."""
    sending = receive_file(parts_of(b"a\n" * 30, b"a" * (size - 60)), tmp_path / "cases.csv", 100)
    if not refused:
        assert (await sending).bytes == 100
        return
    with pytest.raises(ServeError, match="more than 100 bytes") as caught:
        await sending
    assert caught.value.status == 413


HALF = b"a" * (MAX_LINE_BYTES // 2 + 1)


@pytest.mark.parametrize(
    ("name", "parts", "refused"),
    [
        ("a.jsonl", [b"x\n" + HALF, HALF], True),
        ("a.csv", [b"x\n" + HALF, HALF], True),
        ("a.parquet", [b"x\n" + HALF, HALF], False),
        ("a.jsonl", [HALF + b"\n"] * 3, False),
    ],
)
async def test_long_lines_are_refused(tmp_path, name, parts, refused):
    """A line counts over the borders of parts up to its break; files without lines have no such limit."""
    sending = receive_file(parts_of(*parts), tmp_path / name, 1 << 40)
    if refused:
        with pytest.raises(ServeError, match="line of more than"):
            await sending
    else:
        assert (await sending).bytes == sum(map(len, parts))


async def test_a_json_file_has_its_own_limit(tmp_path):
    """A JSON file is read at once, so its limit is lower, and the message says how to avoid it."""
    with pytest.raises(ServeError, match="application/jsonl"):
        await receive_file(parts_of(b" " * (MAX_WHOLE_FILE_BYTES + 1)), tmp_path / "a.json", 1 << 40)


@pytest.mark.parametrize("number", [*sorted(DISK_FULL_ERRORS), errno.EACCES])
def test_a_full_disk_is_507(number):
    """Each form of a full disk is reported as such; a missing right is an error of the server."""
    with pytest.raises((ServeError, PermissionError)) as caught, report_full_disk():
        raise OSError(number, "no")
    assert getattr(caught.value, "status", None) == (None if number == errno.EACCES else 507)
