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

from filelock import FileLock, Timeout
from pydantic import ValidationError

from greval.records.record import Record
from greval.serve.jobs.queue import JobRequest
from greval.serve.problems import ServeError

FOLDER = ".idempotency"
KEPT_SECONDS = 24 * 60 * 60.0
"""The age in seconds until which a key is known."""
LOCK_FILE = ".lock"
LOCK_SECONDS = 5.0


class KeyedRequest(Record):
    """The hash of the request that a key was sent with first, which may be large, and the id of its run."""

    request: str
    run: str


@contextmanager
def hold_key(runs: Path, key: str, request: JobRequest, new_id: str) -> Iterator[str]:
    """Hold an idempotency key, and yield the id of its run: `new_id` if the key is new."""
    folder = runs / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    try:
        # One lock for all keys of a tenant: what is done under it is short.
        with FileLock(folder / LOCK_FILE, timeout=LOCK_SECONDS):
            _remove_old_keys(folder)
            # A key is any text; its hash is always a file name.
            yield _read_run_id(folder / sha256(key.encode()).hexdigest(), request, new_id)
    except Timeout as error:
        message = "Idempotency-Key: another request with a key is in progress; ask again in a moment"
        raise ServeError("idempotency_key_in_use", message, headers={"Retry-After": "1"}) from error


def _read_run_id(file: Path, request: JobRequest, new_id: str) -> str:
    hashed = sha256(f"{request.kind} {request.model_dump_json()}".encode()).hexdigest()
    try:
        keyed = KeyedRequest.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        # It is new, or its first request was killed before it started anything.
        file.write_text(KeyedRequest(request=hashed, run=new_id).model_dump_json(), encoding="utf-8")
        return new_id
    if keyed.request != hashed:
        message = "Idempotency-Key: was sent with another request; use a new key for each run"
        raise ServeError("idempotency_key_reused", message)
    return keyed.run


def _remove_old_keys(folder: Path) -> None:
    for file in folder.glob("[!.]*"):
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > KEPT_SECONDS:
                file.unlink()
