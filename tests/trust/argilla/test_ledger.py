"""Tests of the sync state of a dataset, and of the rows pulled from it."""

from __future__ import annotations

import pytest

from greval.errors import StoreError
from greval.runs.store.writer import StoreWriter
from greval.trust.argilla.ledger import lock_run
from greval.trust.argilla.pull import pull_from_argilla
from greval.trust.argilla.push import push_to_argilla

NOWHERE = {"url": "http://127.0.0.1:9", "key": "k"}


def test_one_push_or_pull_at_a_time(tmp_path):
    """While one is under way another of the same run is refused, before any server is spoken with."""
    run = tmp_path / "run"
    with StoreWriter.create(run):
        pass
    with lock_run(run):
        for call in (
            lambda: push_to_argilla(run, "m", dataset="d", **NOWHERE),
            lambda: pull_from_argilla(run, dataset="d", **NOWHERE),
        ):
            with pytest.raises(StoreError, match="another push or pull of this run is under way; run the same again"):
                call()
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be used"):
        lock_run(tmp_path / "file")


def test_without_a_run_no_request_is_sent(tmp_path):
    """A folder that is no run is told before any server is spoken with."""
    for call in (
        lambda: push_to_argilla(tmp_path, "m", dataset="d", **NOWHERE),
        lambda: pull_from_argilla(tmp_path, dataset="d", **NOWHERE),
    ):
        with pytest.raises(Exception, match="no run is there"):
            call()
