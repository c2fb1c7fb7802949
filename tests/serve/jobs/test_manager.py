"""Tests of the job manager: its queue, its limits, the turns of tenants, and several processes."""

from __future__ import annotations

import asyncio
import errno
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from served_runs import all_results, build_spec, ended, over_http, rows, serving, slow, started, uploaded, waited
from waiting import until

from greval.serve.call_limit import FairCallLimit
from greval.serve.jobs import manager
from greval.serve.jobs.manager import (
    MAX_JOBS,
    MAX_TENANT_JOBS,
    TURN_SECONDS,
    JobManager,
    choose_next_run,
    choose_run_to_stop,
)
from greval.serve.jobs.queue import JobQueue, JobState, create_run_folder, read_job_state, write_job_state
from greval.serve.middleware.api_keys import add_key
from greval.serve.problems import ServeError
from greval.serve.service import Service
from greval.serve.settings import ServerSettings

ANA, BEN, EVE, ZOE, KAI = (Path(name) for name in ("ana", "ben", "eve", "zoe", "kai"))
RUNS = st.lists(st.builds(lambda tenant, n: tenant / str(n), st.sampled_from([ANA, BEN, EVE]), st.integers(0, 9)))


def list_runs(tenant, *numbers):
    return [tenant / str(number) for number in numbers]


def test_the_tenant_with_the_fewest_runs_is_next():
    """Runs of other processes count too; of equals the longest without a turn is next, then the older run."""
    waiting = [*list_runs(ANA, 2, 3), *list_runs(BEN, 1)]
    assert choose_next_run(waiting, list_runs(ANA, 1), [], {}) == BEN / "1"
    assert choose_next_run(waiting, list_runs(ANA, 1), list_runs(BEN, 5, 6), {}) == ANA / "2"
    assert choose_next_run(waiting, [], [], {ANA: 2.0, BEN: 1.0}) == BEN / "1"
    assert choose_next_run(waiting, [], [], {ANA: 2.0}) == BEN / "1"
    assert choose_next_run(waiting, [], [], {}) == ANA / "2"


@given(RUNS, RUNS)
def test_no_tenant_and_no_process_has_more_than_its_most(waiting, others):
    """Started as long as there is a next run, each tenant and all together keep to the limit, and no place is left."""
    started = []
    waiting = [*dict.fromkeys(waiting)]
    while run := choose_next_run(waiting, started, others, {}):
        waiting.remove(run)
        started.append(run)
    counts = Counter(run.parent for run in started)
    assert len(started) <= MAX_JOBS
    assert all(count <= MAX_TENANT_JOBS for count in counts.values())
    assert len(started) == MAX_JOBS or all(counts[run.parent] == MAX_TENANT_JOBS for run in waiting)


def test_the_longest_run_of_the_tenant_with_most_gives_way():
    """Only for a tenant without a run, only if there is no place, and one for each such tenant."""
    full = {ANA / "1": 5.0, ANA / "2": 9.0, BEN / "1": 7.0, EVE / "1": 99.0}
    assert choose_run_to_stop(list_runs(ZOE, 1), full, [], []) == ANA / "2"
    assert choose_run_to_stop(list_runs(ZOE, 1), full, list_runs(ANA, 2), []) is None
    assert choose_run_to_stop([*list_runs(ZOE, 1), *list_runs(KAI, 1)], full, list_runs(ANA, 2), []) == EVE / "1"
    assert choose_run_to_stop(list_runs(ZOE, 1), full, [], list_runs(ZOE, 2)) is None
    assert choose_run_to_stop(list_runs(BEN, 2), full, [], []) is None
    assert choose_run_to_stop(list_runs(ZOE, 1), {ANA / "1": 1.0, ANA / "2": 2.0}, [], []) is None
    assert choose_run_to_stop([], full, [], []) is None


def test_an_only_run_has_its_turn_first():
    """Where each tenant has one run, the one that has run longest gives way, but not before its time."""
    early = {tenant / "1": TURN_SECONDS - 1 - n for n, tenant in enumerate((ANA, BEN, EVE, ZOE))}
    assert choose_run_to_stop(list_runs(KAI, 1), early, [], []) is None
    late = {run: seconds + 2 for run, seconds in early.items()}
    assert choose_run_to_stop(list_runs(KAI, 1), late, [], []) == ANA / "1"


async def test_a_run_whose_end_was_not_written_has_stopped_once_it_can_be(tmp_path, monkeypatch):
    """On a full disk it waits; then it has stopped, is in the queue no more, and can be resumed."""
    queue, folder, writes = JobQueue(tmp_path), tmp_path / "r1", []
    create_run_folder(folder, build_spec())
    queue.add(folder)
    (entry,) = queue.list_entries()

    def write(*arguments):
        writes.append(arguments)
        if len(writes) < 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_job_state(*arguments)

    monkeypatch.setattr(manager, "write_job_state", write)
    monkeypatch.setattr(manager, "POLL_SECONDS", 0)
    await manager.end_unwritten_run(entry, asyncio.Event())
    assert (read_job_state(folder).status, read_job_state(folder).why) == ("stopped", manager.UNWRITTEN)
    assert (len(writes), queue.list_entries()) == (3, [])


async def test_a_locked_run_is_refused_at_once(tmp_path, monkeypatch):
    """Nobody waits for the lock of a run that another request works on; only its own process is about to release it."""
    folder = tmp_path / "r1"
    create_run_folder(folder, build_spec())
    write_job_state(folder, JobState(status="finished"))
    runs = JobManager(Service(ServerSettings(runs=tmp_path), {}, FairCallLimit(1)))
    monkeypatch.setattr(manager, "RELEASE_SECONDS", 3600)
    with await runs.lock_ended_run(folder, "is worked on"):
        with pytest.raises(ServeError, match="is worked on") as refused:
            await runs.lock_ended_run(folder, "is worked on")
        assert refused.value.status == 409
        monkeypatch.setattr(manager, "RELEASE_SECONDS", 0.001)
        runs._jobs[folder] = None
        waiting = asyncio.create_task(runs.lock_ended_run(folder, "is worked on"))
        await asyncio.sleep(0.01)
        assert not waiting.done()
    (await waiting).close()


@pytest.mark.nightly
def test_a_cancel_in_another_process_is_seen(runs):
    """Cancelled by a process that does not work on it, a run stops within a second."""
    with serving(runs, judges=slow()) as client:
        run = started(client, uploaded(client, rows(2_000)), concurrency=1)
        waited(client, run, lambda info: (info["progress"] or {}).get("done", 0) >= 2)
        JobManager(client.app.state.service).cancel(runs / run)
        assert ended(client, run)["why"] == "it was cancelled"


@pytest.mark.nightly
def test_two_servers_share_a_queue(tmp_path):
    """Two processes on one folder work on all runs, each on its own; every case of every run is asked about once."""
    models = slow(0.01)
    with (
        over_http(models) as judges,
        serving(tmp_path / "runs", judges=judges) as first,
        serving(tmp_path / "runs", judges=judges) as second,
    ):
        data = uploaded(first, rows(10))
        runs = [started((first, second)[n % 2], data, name=f"run{n}", concurrency=2) for n in range(10)]
        last = runs[-1]
        with second.stream("GET", f"/v1/runs/{last}/events") as stream:
            assert '"status":"finished"' in "".join(stream.iter_text())
        for n, run in enumerate(runs):
            info = ended((second, first)[n % 2], run)
            assert (info["status"], info["progress"]["scored"]) == ("finished", 10)
            assert len(all_results((second, first)[n % 2], run)) == 10
    assert len(models["slow"].calls) == 100


@pytest.mark.nightly
def test_a_run_that_waits_is_cancelled_too(tmp_path):
    """Runs beyond those at once wait in order; one that waits can be cancelled and never asks anything."""
    with serving(tmp_path / "runs", judges=slow(0.1)) as client:
        data = uploaded(client, rows(40))
        runs = [started(client, data, concurrency=1, name=f"run{n}") for n in range(MAX_TENANT_JOBS + 2)]
        first, *_, third, last = runs
        for run in runs[:MAX_TENANT_JOBS]:
            waited(client, run, lambda info: info["status"] == "running")
        assert [client.get(f"/v1/runs/{run}").json()["status"] for run in (third, last)] == ["queued", "queued"]
        client.post(f"/v1/runs/{third}/cancel")
        assert ended(client, third)["status"] == "stopped"
        assert client.get(f"/v1/runs/{first}").json()["status"] == "running"
        client.post(f"/v1/runs/{first}/cancel")
        waited(client, last, lambda info: info["status"] == "running")
        assert [info["name"] for info in client.get("/v1/runs").json()["runs"]] == ["run3", "run2", "run1", "run0"]
        assert client.get(f"/v1/runs/{third}/results").status_code == 409


@pytest.mark.nightly
def test_a_run_whose_folder_is_gone_harms_no_other(tmp_path):
    """A run whose folder is taken away by hand is not there any more, is not begun again, and the server goes on."""
    judges = slow()
    with serving(tmp_path / "runs", judges=judges) as client:
        data = uploaded(client, rows(2_000))
        run = started(client, data, concurrency=2)
        waited(client, run, lambda info: (info["progress"] or {}).get("done", 0) >= 5)
        shutil.rmtree(tmp_path / "runs" / run)
        until(lambda: tmp_path / "runs" / run not in client.app.state.runs._jobs)
        assert client.get(f"/v1/runs/{run}").status_code == 404
        assert ended(client, started(client, data, limit=3))["status"] == "finished"
    assert len(judges["slow"].calls) < 2_000


@pytest.mark.nightly
def test_long_runs_of_two_tenants_do_not_keep_a_third_waiting(tmp_path):
    """A run of a tenant with two gives way to a tenant with none; it goes on later, and nothing is asked twice."""
    keys, judges = tmp_path / "keys.json", slow(0.2)
    headers = {name: {"Authorization": f"Bearer {add_key(keys, name)}"} for name in ("ana", "ben", "eve")}

    def begin(client, name, number, count):
        cases = [{**row, "question": f"Who is {name}{number} {row['id']}?"} for row in rows(count)]
        data = uploaded(client, cases, headers=headers[name])
        return started(client, data, concurrency=1, headers=headers[name])

    def at_work(name):
        return lambda info: info["status"] == "running" and (info["progress"] or {}).get("done", 0) >= 2

    with serving(tmp_path / "runs", judges=judges, keys=keys) as client:
        long = [(name, begin(client, name, number, 3_000)) for number in (1, 2) for name in ("ana", "ben")]
        for name, run in long:
            waited(client, run, at_work(name), headers[name])
        short = begin(client, "eve", 1, 1)
        assert ended(client, short, headers["eve"])["status"] == "finished"
        for name, run in long:  # also the one that gave way, with its earlier progress
            info = waited(client, run, at_work(name), headers[name])
            assert info["progress"]["usage"]["calls"] >= 2
            client.post(f"/v1/runs/{run}/cancel", headers=headers[name])
        for name, run in long:
            info = ended(client, run, headers[name])
            assert (info["status"], info["progress"]["done"]) == ("stopped", info["progress"]["usage"]["calls"])
    asked_calls = Counter(
        str(messages[-1].content).partition("Who is ")[2].partition("?")[0] for messages in judges["slow"].calls
    )
    assert set(asked_calls.values()) == {1}
