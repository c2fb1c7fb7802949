"""Tests of the pool of child processes: limits, turns, cancellation, and no process that stays."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
from raw_sockets import connect, format_post
from serving import server_process
from waiting import until
from worker_tasks import (
    Point,
    add,
    add_records,
    build_text,
    compute,
    compute_until_priority,
    end,
    fail,
    fill_memory,
    list_variables,
    refuse,
    wait,
    wait_for_priority,
)

from greval.serve.problems import ServeError
from greval.serve.settings import MEGABYTE, ServerLimits, ServerSettings
from greval.serve.workers import pool as pool_module
from greval.serve.workers.child import MAX_RESULT_BYTES, NICENESS, hide_secrets, list_secrets
from greval.serve.workers.pool import LONG_NICENESS, TaskLimitError, WorkerPool, blame_file_for_limits
from greval.serve.workers.preload import MODULES


@pytest.fixture
def pool(monkeypatch):
    # A busy machine may take long for a short task.
    monkeypatch.setattr(pool_module, "LONG_SECONDS", 3600)
    return WorkerPool(ServerSettings())


@pytest.fixture
def limited():
    """A pool whose tasks may take 50 MB and 1 s."""
    return WorkerPool(ServerSettings(limits=ServerLimits(worker_memory=50 * MEGABYTE, worker_seconds=1)))


async def test_a_value_or_an_error_comes_back(pool):
    """What a function returns or refuses comes back whole."""
    assert await pool.run("ana", add, 1, 2) == 3
    assert await pool.run("ana", add_records, Point(x=1), Point(x=2)) == Point(x=3)
    assert await pool.run_to_json("ana", add_records, Point(x=1), Point(x=2)) == b'{"x":3}'
    with pytest.raises(ServeError) as error:
        await pool.run("ana", refuse)
    assert (error.value.code, [fault.place for fault in error.value.faults]) == ("invalid_metric", ["a", "b"])


@pytest.mark.parametrize(
    ("task", "status", "limit"), [(fill_memory, 503, "50 MB of memory"), (compute, 504, "1 s of CPU time")]
)
async def test_a_task_has_no_more_than_its_limits(limited, task, status, limit):
    """A task that takes too much memory or time is ended; for a file, that is a fault of the file."""
    with pytest.raises(TaskLimitError, match="ask the operator to raise --worker-") as error:
        await limited.run("ana", task)
    assert (error.value.status, error.value.limit) == (status, limit)
    with pytest.raises(ServeError, match=limit) as error, blame_file_for_limits():
        await limited.run("ana", task)
    assert error.value.status == 422
    assert await limited.run("ana", add, 1, 2) == 3


async def test_a_task_ends_with_its_time(tmp_path):
    """A task that waits without computing is ended at the timeout of a request."""
    pool = WorkerPool(ServerSettings(limits=ServerLimits(seconds=0.5)))
    with pytest.raises(TaskLimitError, match=r"more than 0\.5 s") as error:
        await pool.run("ana", wait, tmp_path / "begun")
    assert error.value.status == 504


async def test_a_result_is_not_larger_than_the_server_may_hold(pool):
    """A large result comes back whole, one that is too large is refused before it is sent."""
    assert len(await pool.run("ana", build_text, MAX_RESULT_BYTES // 2)) == MAX_RESULT_BYTES // 2
    with pytest.raises(ServeError, match="larger than 32 MB"):
        await pool.run("ana", build_text, MAX_RESULT_BYTES + 1)


async def test_a_lost_process_is_a_503(pool):
    """A process that ends without a word is an answer with what to do."""
    with pytest.raises(ServeError, match="send the request again") as error:
        await pool.run("ana", end)
    assert error.value.status == 503


async def test_an_unexpected_error_is_logged_without_what_a_client_sent(pool, caplog):
    """The log has the place in the code and the type of the error, not its message."""
    with caplog.at_level(logging.ERROR), pytest.raises(RuntimeError):
        await pool.run("ana", fail)
    (record,) = caplog.records
    assert "worker_tasks.py" in record.fields["trace"]
    assert record.fields["trace"].endswith("KeyError")
    assert "what a client sent" not in record.fields["trace"]


async def test_cancelled_tasks_end_or_never_begin(pool, tmp_path):
    """A running task is killed when its request is cancelled; a waiting one is never begun."""
    running = [asyncio.create_task(pool.run("ana", wait, tmp_path / f"{n}")) for n in range(pool.width)]
    await asyncio.to_thread(until, lambda: _count(tmp_path) == pool.width)
    waiting = asyncio.create_task(pool.run("ana", wait, tmp_path / "late"))
    await asyncio.sleep(0)
    pids = await asyncio.to_thread(_read_pids, tmp_path)
    for task in (waiting, *running):
        task.cancel()
    await asyncio.wait({waiting, *running})
    assert not any(map(psutil.pid_exists, pids))
    assert await pool.run("ana", add, 1, 2) == 3
    assert not (tmp_path / "late").exists()


class Evil:
    """What runs code where a pickle of it is loaded."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)


async def test_what_a_process_writes_runs_no_code(pool, tmp_path):
    """A process that a client has taken over answers by text: the server loads no pickle."""
    for content in (pickle.dumps(Evil(tmp_path / "loaded")), b'{"kind":"returned"}\n' + pickle.dumps(Evil(tmp_path))):
        with pytest.raises(ValueError, match="json"):
            pool_module._build_adapter(add_records).validate_json(pool._read_outcome(content, 0)[0])
    assert not (tmp_path / "loaded").exists()


def test_a_process_inherits_no_keys(monkeypatch):
    """Variables with keys, tokens and passwords are hidden from a process that is started meanwhile."""
    for name in ("OPENAI_API_KEY", "GREVAL_TOKEN", "DB_PASSWORD"):
        monkeypatch.setenv(name, "x")
    with hide_secrets():
        command = [sys.executable, "-c", "import os; print(*os.environ)"]
        inherited = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert not {"OPENAI_API_KEY", "GREVAL_TOKEN", "DB_PASSWORD"} & {*inherited}
    assert list_secrets().items() >= {"OPENAI_API_KEY": "x", "GREVAL_TOKEN": "x", "DB_PASSWORD": "x"}.items()


async def test_a_process_has_no_keys(pool, monkeypatch):
    """Keys are those of the server, and of what judges."""
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert not [name for name in await pool.run("ana", list_variables) if "KEY" in name or "TOKEN" in name]
    judging = await pool.run_to_json("ana", list_variables, environment=list_secrets(), waits=True)
    assert "OPENAI_API_KEY" in json.loads(judging)


async def test_short_tasks_do_not_wait_for_long_ones(tmp_path, monkeypatch):
    """Where long tasks of some tenants hold all places, they move away, and the task of another one is run."""
    monkeypatch.setattr(pool_module, "LONG_SECONDS", 0.01)
    pool = WorkerPool(ServerSettings(keys=tmp_path / "keys.json"))
    long = [asyncio.create_task(pool.run(f"t{n}", wait, tmp_path / f"{n}")) for n in range(pool.width)]
    await asyncio.to_thread(until, lambda: _count(tmp_path) == pool.width)
    assert await pool.run("bob", add, 1, 2) == 3
    # A tenant has one place for long tasks; further ones hold its share of the others.
    assert not any(task.done() for task in long)
    for task in long:
        task.cancel()
    await asyncio.wait(long)
    assert await pool.run("bob", add, 1, 2) == 3


async def test_only_a_task_that_computes_for_long_has_a_lower_priority(monkeypatch):
    """It is lowered by CPU time: on a busy machine a short task takes long too."""
    monkeypatch.setattr(pool_module, "LONG_SECONDS", 0.5)
    pool = WorkerPool(ServerSettings())
    assert await pool.run("ana", wait_for_priority, 1.5) == NICENESS
    assert await pool.run("ana", compute_until_priority, LONG_NICENESS) == LONG_NICENESS


async def test_tasks_that_wait_have_places_of_their_own(pool, tmp_path):
    """As many tasks as may wait for another server leave the places for those that compute."""
    waiting = [
        asyncio.create_task(pool.run_to_json("ana", wait, tmp_path / f"{n}", waits=True))
        for n in range(pool_module.MAX_WAITING)
    ]
    assert await pool.run("ana", add, 1, 2) == 3
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)


async def test_one_key_leaves_a_place_to_others(tmp_path, monkeypatch):
    """Where one key asks for all that it can get, another one's task is run at once."""
    monkeypatch.setattr(pool_module, "LONG_SECONDS", 3600)
    pool = WorkerPool(ServerSettings(keys=tmp_path / "keys.json"))
    many = [asyncio.create_task(pool.run("ana", wait, tmp_path / f"{n}")) for n in range(20)]
    await asyncio.to_thread(until, lambda: _count(tmp_path) == pool.width - 1)
    assert await pool.run("bob", add, 1, 2) == 3
    for task in many:
        task.cancel()
    await asyncio.wait(many)
    assert _count(tmp_path) == pool.width - 1


async def test_a_server_that_stops_waits_for_no_task(pool, tmp_path):
    """Tasks are killed when the server begins to stop, and their requests are told to come again."""
    stopping = asyncio.Event()
    stop = asyncio.create_task(pool.stop_at(stopping))
    tasks = [asyncio.create_task(pool.run("ana", wait, tmp_path / f"{n}")) for n in range(pool.width + 1)]
    await asyncio.to_thread(until, lambda: _count(tmp_path) == pool.width)
    stopping.set()
    await stop
    errors = await asyncio.gather(*tasks, return_exceptions=True)
    assert {(error.status, "stopping" in str(error)) for error in errors} == {(503, True)}
    assert not any(map(psutil.pid_exists, await asyncio.to_thread(_read_pids, tmp_path)))


@pytest.mark.nightly
@pytest.mark.parametrize("killed", [True, False])
def test_no_worker_outlives_its_server(tmp_path, killed):
    """When a server is killed or stopped while it reads a file, no process stays."""
    with server_process("--worker-seconds", 3600, folder=tmp_path) as server:
        parent = psutil.Process(server.process.pid)
        content = b"x\n" * 10_000_000
        with connect(server.url) as line:
            line.sendall(format_post("/v1/datasets?name=mine", content, media_type="application/jsonl"))
            until(lambda: len(parent.children(recursive=True)) > 2)  # also the process that workers are forked from
            children = parent.children(recursive=True)
            if killed:
                parent.kill()
            else:
                server.stop()
                assert b" 503 " in line.recv(1000)
            until(lambda: not any(child.is_running() for child in children))


def _count(folder):
    return len([*folder.glob("[!.]*")])


def _read_pids(folder):
    return [int(file.read_text(encoding="utf-8")) for file in folder.glob("[!.]*")]


def test_preloaded_modules_exist():
    """A module that moved would be imported by each task again, and slow it down without a word."""
    assert all(map(find_spec, MODULES))
