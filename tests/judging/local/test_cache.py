"""The cache: where it lies and when a file in it counts as whole."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from greval.judging.local.cache import cache_dir, cached_path, hold_lock

DATA = b"GGUF model"


@pytest.fixture
def cached(model):
    """Give a model whose file was put into the cache by hand, without a marker."""
    cache_dir().mkdir(parents=True)
    (cache_dir() / "fake.gguf").write_bytes(DATA)
    digest = hashlib.sha256(DATA).hexdigest()
    return model.model_copy(update={"size": len(DATA), "sha256": digest})


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"GREVAL_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a/models"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/greval/models"),
        ({"XDG_CACHE_HOME": "b"}, "/home/me/.cache/greval/models"),
        ({"GREVAL_CACHE": ""}, "/home/me/.cache/greval/models"),
        ({"GREVAL_CACHE": "~/c"}, "/home/me/c/models"),
    ],
)
def test_folder_follows_the_environment(monkeypatch, variables, expected):
    """`GREVAL_CACHE` comes first, then the XDG folder if it is absolute, then home."""
    monkeypatch.setenv("HOME", "/home/me")
    for name in ("GREVAL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_dir() == Path(expected)


def test_file_put_there_by_hand_is_hashed_once(cached):
    """A file without a marker is verified, and the marker spares the next start."""
    path = cached_path(cached)
    assert path.read_bytes() == DATA
    assert path.with_name("fake.gguf.sha256").exists()


def test_whole_file_is_not_read_again(cached):
    """While size and time stand, the marker is believed and the file is not hashed."""
    path = cached_path(cached)
    times = path.stat()
    path.write_bytes(DATA[::-1])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert cached_path(cached) == path


@pytest.mark.parametrize("content", [DATA[::-1], DATA[:-1], b""])
def test_damaged_file_is_none(cached, content):
    """A file that changed after its verification, in size or content, is not given."""
    cached_path(cached).write_bytes(content)
    assert cached_path(cached) is None


@pytest.mark.parametrize("marker", [b"", b"{", b'{"sha256": 1}', b"\xff\xfe"])
def test_torn_marker_is_no_marker(cached, marker):
    """A marker that cannot be read costs a hash, nothing else."""
    path = cached_path(cached)
    path.with_name("fake.gguf.sha256").write_bytes(marker)
    assert cached_path(cached) == path


def test_another_version_of_a_model_is_not_believed(cached):
    """A marker of an older pinned hash does not vouch for the new one."""
    assert cached_path(cached)
    assert cached_path(cached.model_copy(update={"sha256": "0" * 64})) is None


def test_lock_dies_with_its_process(tmp_path, python):
    """A process that is killed while it holds the lock does not block the next."""
    path = tmp_path / "lock"
    code = (
        "import pathlib, sys, time\nfrom greval.judging.local.cache import hold_lock\n"
        "with hold_lock(pathlib.Path(sys.argv[1]), lambda: None):\n"
        "    print('held', flush=True)\n    time.sleep(60)\n"
    )
    process = python(code, str(path))
    assert process.stdout.readline() == "held\n"
    waited = []

    def on_wait():
        waited.append(1)
        process.kill()

    with hold_lock(path, on_wait):
        assert waited == [1]
