"""Idempotency keys: a request that is sent again starts nothing again."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from served_runs import ended, rows, serving, uploaded

from greval.serve.jobs.idempotency import FOLDER, KEPT_SECONDS, hold_key
from greval.serve.jobs.queue import RunRequest
from greval.serve.problems import ServeError

ASKED = RunRequest(dataset="d", metrics=("exact",))


def start(client, dataset, key, headers=None, **more):
    """Ask for a run with a key."""
    body = {"dataset": dataset, "metrics": ["token_f1"], **more}
    return client.post("/v1/runs", json=body, headers={"Idempotency-Key": key, **(headers or {})})


def test_a_repeated_request_gives_the_same_run(tmp_path):
    """The same key and body give the run of the first request, also when it has ended; another key gives another."""
    with serving(tmp_path / "runs") as client:
        dataset = uploaded(client, rows(2))
        first = start(client, dataset, "k1")
        run = first.json()["id"]
        ended(client, run)
        repeated = start(client, dataset, "k1")
        assert (repeated.status_code, repeated.json()["id"]) == (202, run)
        assert repeated.headers["location"] == first.headers["location"]
        assert repeated.json()["status"] == "finished"
        second_run = start(client, dataset, "k2").json()["id"]
        assert second_run != run
        assert {info["id"] for info in client.get("/v1/runs").json()["runs"]} == {run, second_run}
    with serving(tmp_path / "runs") as client:  # the key is on disk
        assert start(client, dataset, "k1").json()["id"] == run
        ended(client, second_run)


@pytest.mark.nightly
def test_a_key_belongs_to_one_request(client):
    """Another body with the same key is refused, and starts nothing; a refused request leaves its key free."""
    dataset = uploaded(client, rows(2))
    assert start(client, "none", "k1").status_code == 404
    ended(client, start(client, dataset, "k1").json()["id"])
    refused = start(client, dataset, "k1", limit=1)
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_key_reused")
    assert len(client.get("/v1/runs").json()["runs"]) == 1
    assert start(client, dataset, "x" * 256).status_code == 422


@pytest.mark.nightly
def test_requests_at_once_start_one_run(client):
    """Requests with one key that come together get one run."""
    dataset = uploaded(client, rows(2))
    with ThreadPoolExecutor(8) as threads:
        answers = [*threads.map(lambda _: start(client, dataset, "k1"), range(8))]
    assert {answer.status_code for answer in answers} <= {202, 409}
    (run,) = {answer.json()["id"] for answer in answers if answer.status_code == 202}
    ended(client, run)
    assert len(client.get("/v1/runs").json()["runs"]) == 1


def test_a_start_that_was_killed_is_made_up_for_once(tmp_path):
    """If the server was killed before the run was there, the next attempt has the same id; a day later another."""

    def attempt(run_id):
        with hold_key(tmp_path, "k", ASKED, run_id) as held_id:
            return held_id

    assert [attempt("first-id"), attempt("second-id")] == ["first-id"] * 2
    (file,) = (tmp_path / FOLDER).glob("[!.]*")
    file.write_bytes(b'{"asked"')  # killed while it was written
    assert attempt("third-id") == "third-id"
    (file,) = (tmp_path / FOLDER).glob("[!.]*")
    old = time.time() - KEPT_SECONDS - 1
    os.utime(file, (old, old))
    assert attempt("fourth-id") == "fourth-id"


def test_another_request_with_the_key_is_waited_for_a_while(tmp_path):
    """While a request with the key is in progress, another is refused in the end, for now."""
    second = hold_key(tmp_path, "k", ASKED, "second-id")
    with hold_key(tmp_path, "k", ASKED, "first-id"), pytest.raises(ServeError) as caught:
        second.__enter__()
    assert (caught.value.code, caught.value.headers) == ("idempotency_key_in_use", {"Retry-After": "1"})
