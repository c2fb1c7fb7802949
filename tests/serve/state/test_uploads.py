"""Tests of uploaded data sets on disk: whole, or not there."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from hashlib import sha256

import pytest
from raw_sockets import connect, format_post
from served_runs import lines, rows, serving
from serving import served
from waiting import SECONDS, until

from greval.serve.app import create_app
from greval.serve.jobs.queue import LEFTOVER_SECONDS
from greval.serve.settings import ServerLimits, ServerSettings
from greval.serve.state.dataset_files import inspect_dataset
from greval.serve.state.uploads import Uploads

JSONL = {"Content-Type": "application/jsonl"}


def test_a_file_is_stored_as_it_was_sent(client, tmp_path):
    """What is told of a data set is its cases, its bytes and its hash; the file is kept byte for byte."""
    content = lines(rows(3))
    answer = client.post("/v1/datasets?name=mine", content=content, headers=JSONL)
    info = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/v1/datasets/{info['id']}"
    assert (info["name"], info["cases"], info["unread"]) == ("mine", 3, [])
    assert (info["bytes"], info["sha256"]) == (len(content), sha256(content.encode()).hexdigest())
    assert (tmp_path / "runs" / ".datasets" / info["id"] / "cases.jsonl").read_text() == content
    assert client.get(f"/v1/datasets/{info['id']}").json() == info
    assert client.get("/v1/datasets").json() == {"datasets": [info]}


def test_a_client_that_goes_away_leaves_nothing(tmp_path):
    """A file that stops in its middle is no data set, and its part is taken away."""
    with served(create_app(ServerSettings(runs=tmp_path / "runs"))) as server:
        with connect(server.url) as line:
            line.sendall(
                format_post("/v1/datasets?name=mine", lines(rows(9)), length=100_000, media_type="application/jsonl")
            )
            until(lambda: [*tmp_path.glob("runs/.datasets/.new-*/cases.jsonl")])
        until(lambda: not [*tmp_path.glob("runs/.datasets/*")])


async def test_a_client_that_goes_away_late_leaves_the_whole(tmp_path, monkeypatch):
    """A data set that is just being put in its place is there in full, also where its client goes away then."""
    to_disk, gone = os.fsync, threading.Event()

    def slow(file):
        if [*tmp_path.glob(".new-*/.dataset.json.*")]:
            gone.wait(SECONDS)
        to_disk(file)

    async def parts():
        yield lines(rows(9)).encode()
        monkeypatch.setattr(os, "fsync", slow)  # the disk, at the boundary: from here on it takes its time

    async def inspect(*arguments):
        return inspect_dataset(*arguments)

    uploads = Uploads(tmp_path)
    taking = asyncio.create_task(uploads.receive("mine", ".jsonl", parts(), ServerLimits(), inspect=inspect))
    await asyncio.to_thread(until, lambda: [*tmp_path.glob(".new-*/.dataset.json.*")])
    taking.cancel()
    gone.set()
    with pytest.raises(asyncio.CancelledError):
        await taking
    (dataset,) = uploads.list_datasets()
    assert len([*uploads.open_cases(dataset.id, ServerLimits())]) == 9
    assert [file.name for file in tmp_path.iterdir()] == [dataset.id]


def test_leftovers_of_a_killed_server_are_removed(runs):
    """Half a data set or run of a day ago is removed at the next start; one of now may be another process's work."""
    old = [runs / ".new-1", runs / "ana" / ".gone-2", runs / "ana" / ".datasets" / ".new-3"]
    remaining = [runs / ".new-4", runs / "run"]
    for folder in (*old, *remaining):
        folder.mkdir(parents=True)
    then = time.time() - LEFTOVER_SECONDS - 60
    for folder in (*old, runs / "run"):
        os.utime(folder, (then, then))
    with serving(runs):
        until(lambda: not any(folder.exists() for folder in old))
        assert all(folder.exists() for folder in remaining)
