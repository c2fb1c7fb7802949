"""Idempotency keys: a request that is sent again with the same key gives the run that the first one started.

A tenant's folder of runs has a file for each key, with the request and the id of its run. It is written before the run
is created, so that a server that is killed in between starts the run once, under the same id, when the client tries
again. All processes of the server share the files.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from greval._util.files import try_lock
from greval.records.record import Record
from greval.serve.jobs.queue import JobRequest
from greval.serve.problems import ServeError

FOLDER = ".idempotency"
KEPT_SECONDS = 24 * 60 * 60.0
"""The age in seconds until which a key is known."""
LOCK_ATTEMPTS = 250
LOCK_RETRY_SECONDS = 0.02


class KeyedRequest(Record):
    """The request that a key was sent with first, and the id of its run."""

    asked: JobRequest
    run: str


@contextmanager
def hold_key(runs: Path, key: str, request: JobRequest, new_id: str) -> Iterator[str]:
    """Hold an idempotency key, and yield the id of its run: `new_id` if the key is new.

    Raise `ServeError` if the key was sent with another request (422), or another request with it is in progress (409).
    """
    folder = runs / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    _remove_old_keys(folder)
    # A key is any text; its hash is always a file name.
    with (folder / sha256(key.encode()).hexdigest()).open("a+b") as file:
        _lock_file(file)
        file.seek(0)
        try:
            keyed = KeyedRequest.model_validate_json(file.read())
        except ValidationError:
            # It is new, or its first request was killed before it started anything.
            keyed = KeyedRequest(asked=request, run=new_id)
            file.truncate(0)
            file.write(keyed.model_dump_json().encode())
            file.flush()
        if keyed.asked != request:
            message = "Idempotency-Key: was sent with another request; use a new key for each run"
            raise ServeError("idempotency_key_reused", message)
        yield keyed.run


def _lock_file(file: IO[bytes]) -> None:
    for _ in range(LOCK_ATTEMPTS):
        if try_lock(file.fileno()):
            return
        time.sleep(LOCK_RETRY_SECONDS)
    message = "Idempotency-Key: another request with this key is in progress; ask again in a moment"
    raise ServeError("idempotency_key_in_use", message, headers={"Retry-After": "1"})


def _remove_old_keys(folder: Path) -> None:
    for file in folder.iterdir():
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > KEPT_SECONDS:
                file.unlink()
