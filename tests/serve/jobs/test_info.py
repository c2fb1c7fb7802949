"""Tests of runs as clients see them, and of their events."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from datetime import UTC, datetime
from itertools import pairwise

from served_runs import YES, all_results, rows, serving, slow, started, uploaded

import greval
from greval.runs.progress import Progress
from greval.runs.store.writer import StoreWriter
from greval.serve.jobs.info import POLL_SECONDS, RunWatch, stream_events
from greval.serve.jobs.queue import JobSpec, JobState, RunInfo, RunRequest, write_job_spec, write_job_state
from greval.serve.problems import ServeError
from greval.serve.service import Tenant
from greval.testing import ScriptedJudge


def test_a_run_is_followed_to_its_end(tmp_path):
    """Events tell growing progress and the run itself at its end; on a busy machine heartbeats stand between them."""
    with serving(tmp_path / "runs", judges=slow()) as client:
        run = started(client, uploaded(client, rows(60)), concurrency=4)
        with client.stream("GET", f"/v1/runs/{run}/events", headers={"Last-Event-ID": "7"}) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            text = "".join(stream.iter_text())
    blocks = [block.split("\n") for block in text.split("\n\n") if block and not block.startswith(":")]
    names = [name.removeprefix("event: ") for name, _ in blocks]
    *progress, end = [json.loads(data.removeprefix("data: ")) for _, data in blocks]
    done = [snapshot["done"] for snapshot in progress]
    assert (names[-1], end["status"], end["id"]) == ("end", "finished", run)
    assert set(names[:-1]) == {"progress"}
    assert done == sorted(done)
    assert all(snapshot != following for snapshot, following in pairwise(progress))
    assert len(done) >= 2
    assert done[-1] == 60


async def test_a_stream_sends_changes_only():
    """While nothing is new no event is sent; a run that is taken away ends the stream."""
    info = RunInfo(id="a", name="a", status="running", created=datetime.now(UTC), progress=Progress(total=2, done=1))
    looks = iter([info, info, info])

    async def look():
        if next_info := next(looks, None):
            return next_info
        raise ServeError("run_not_found", "gone")

    events = [(event.event, event.data) async for event in stream_events(look)]
    assert events == [("progress", info.progress)]


async def test_streams_of_a_run_read_it_once(tmp_path):
    """However many streams follow a run, it is read once in a while; a deleted run is not found by any."""
    folder, watch = tmp_path / "runs" / "mine", RunWatch()
    greval.evaluate(rows(1), [greval.load_metric("exact_match")], out=folder)
    tenant = Tenant("", folder.parent)
    infos = await asyncio.gather(*(watch.read(tenant, folder, 0.0) for _ in range(50)))
    assert len({id(info) for info in infos}) == 1
    assert infos[0].status == "finished"
    shutil.rmtree(folder)
    await asyncio.sleep(POLL_SECONDS)
    errors = await asyncio.gather(*(watch.read(tenant, folder, 0.0) for _ in range(3)), return_exceptions=True)
    assert [type(error) for error in errors] == [ServeError] * 3


async def test_a_resumed_run_is_not_taken_for_ended(tmp_path):
    """A stream that begins right after a run was resumed follows it, though its end was read a moment before."""
    folder, watch = tmp_path / "runs" / "mine", RunWatch()
    folder.mkdir(parents=True)
    request = RunRequest(dataset="data", metrics=("exact_match",))
    fields = {"kind": "run", "dataset": "data", "metrics": ("exact_match",), "definitions": ("exact_match",)}
    spec = JobSpec(id="mine", tenant="", name="mine", created=datetime.now(UTC), judge=None, asked=request, **fields)
    write_job_spec(folder, spec)
    tenant = Tenant("", folder.parent)
    for status in ("stopped", "queued", "running", "finished", "queued"):
        write_job_state(folder, JobState(status=status))
        assert (await watch.read(tenant, folder, time.monotonic())).status == status


def test_runs_of_the_command_line_are_there_too(client, runs):
    """A run that the command line made in the same folder is listed and read, and goes on there only."""
    greval.evaluate(rows(2), [greval.load_metric("exact_match")], out=runs / "mine")
    greval.evaluate(rows(3), [greval.load_metric("correctness")], ScriptedJudge([YES]), out=runs / "cut", max_calls=1)
    for folder in ("no run", "broken"):
        (runs / folder).mkdir()
    (runs / "broken" / "results.sqlite").write_text("no log")
    for path in ("results", "cases", "report"):
        answer = client.get(f"/v1/runs/broken/{path}")
        assert (answer.status_code, str(runs) in answer.text) == (409, False)
    infos = {info["id"]: info for info in client.get("/v1/runs").json()["runs"]}
    assert {name: info["status"] for name, info in infos.items()} == {
        "mine": "finished",
        "cut": "stopped",
        "broken": "failed",
    }
    assert (infos["mine"]["metrics"], infos["mine"]["resumable"]) == (["exact_match"], False)
    assert (infos["cut"]["judge"], str(runs) in infos["broken"]["why"]) == ("ScriptedJudge", False)
    assert len(all_results(client, "mine")) == 2
    assert client.get("/v1/runs/mine/report").json()["summaries"][0]["scored"] == 2
    assert {client.post(f"/v1/runs/mine/{action}").status_code for action in ("cancel", "resume")} == {409}
    with StoreWriter.create(runs / "cut"):
        assert client.get("/v1/runs/cut").json()["status"] == "running"
        assert client.delete("/v1/runs/cut").status_code == 409
    assert client.delete("/v1/runs/cut").status_code == 204
    assert not (runs / "cut").exists()
