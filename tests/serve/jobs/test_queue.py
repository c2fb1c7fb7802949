"""Tests of jobs on disk: records, folders, locks and the queue."""

from __future__ import annotations

import errno
import os
import time

import pytest
from served_runs import build_spec

from greval.serve.jobs.queue import (
    ORPHAN_SECONDS,
    SPEC_FILE,
    STATE_FILE,
    AlignRequest,
    JobLock,
    JobQueue,
    JobState,
    ProbeRequest,
    create_run_folder,
    is_run_folder,
    read_job_head,
    read_job_spec,
    read_job_state,
    write_job_state,
)
from greval.serve.state.whole_folders import remove_folder


@pytest.mark.parametrize(
    "asked", [ProbeRequest(metric="m"), ProbeRequest(metric="m", dataset="d"), AlignRequest(run="r", metric="m")]
)
def test_a_request_is_read_back_as_one_of_its_kind(tmp_path, asked):
    """A job of any kind is resumed as what was requested, and only what reads a data set holds one."""
    create_run_folder(tmp_path / "r1", build_spec(asked=asked))
    spec = read_job_spec(tmp_path / "r1")
    assert (type(spec.asked), spec.asked) == (type(asked), asked)
    head = read_job_head(tmp_path / "r1")
    assert (head.kind, head.dataset) == (asked.kind, getattr(asked, "dataset", None))
    assert head.run == getattr(asked, "run", None)


def aged(path, seconds):
    """Set the time of a file or folder back."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_new_run_is_queued_and_a_removed_one_is_gone(tmp_path):
    """A folder holds what was requested and the newest state; it is not replaced, and nothing partial is beside it."""
    folder = tmp_path / "r1"
    create_run_folder(folder, build_spec())
    with pytest.raises(OSError, match="r1"):
        create_run_folder(folder, build_spec("other"))
    assert (read_job_spec(folder), read_job_state(folder)) == (build_spec(), JobState(status="queued"))
    assert is_run_folder(folder)
    write_job_state(folder, JobState(status="finished"))
    assert read_job_state(folder).status == "finished"
    assert [path.name for path in tmp_path.iterdir()] == ["r1"]
    remove_folder(folder)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"status": "asleep"}'])
def test_records_that_cannot_be_read_are_none(tmp_path, content):
    """A file of another version, or a damaged one, is as if there were none."""
    for file in (SPEC_FILE, STATE_FILE):
        (tmp_path / file).write_text(content, encoding="utf-8")
    assert read_job_spec(tmp_path) is read_job_state(tmp_path) is None


def test_a_state_is_written_on_a_full_disk(tmp_path, monkeypatch):
    """The end of a run is known although no further file can be written, and is no longer than before."""

    def refuse(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    write_job_state(tmp_path, JobState(status="running", why="x" * 100))
    monkeypatch.setattr(os, "fsync", refuse)
    write_job_state(tmp_path, JobState(status="failed", why="the disk is full"))
    assert read_job_state(tmp_path) == JobState(status="failed", why="the disk is full")
    assert [path.name for path in tmp_path.iterdir()] == [STATE_FILE]


def test_one_lock_at_a_time(tmp_path):
    """A second worker gets no lock until the first one has released it; without a folder there is none."""
    with JobLock.try_acquire(tmp_path) as lock:
        assert lock
        assert JobLock.try_acquire(tmp_path) is None
    second_lock = JobLock.try_acquire(tmp_path)
    assert second_lock
    second_lock.close()
    assert JobLock.try_acquire(tmp_path / "gone") is None


def test_the_queue_keeps_the_order_of_requests(tmp_path):
    """Jobs of all tenants are listed as they came, and counted by tenant."""
    queue = JobQueue(tmp_path)
    folders = [tmp_path / "b", tmp_path / "ana" / "c", tmp_path / "a"]
    for folder in folders:
        folder.mkdir(parents=True)
        queue.add(folder)
    assert [entry.folder for entry in JobQueue(tmp_path).list_entries()] == folders
    assert (queue.count_jobs(tmp_path), queue.count_jobs(tmp_path / "ana")) == (2, 1)


def test_entries_of_killed_starts_go_away(tmp_path):
    """An entry without a folder is a start in progress for a minute, then it is removed."""
    queue = JobQueue(tmp_path)
    queue.add(tmp_path / "lost")
    (entry,) = queue.list_entries()
    aged(entry.path, ORPHAN_SECONDS + 1)
    assert queue.list_entries() == []
    assert not entry.path.exists()
