"""The server's side of a run: it starts the run's process, grants its call slots, and counts its results."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Self, cast

from greval.serve.call_limit import GrantedSlots
from greval.serve.jobs.messages import (
    MAX_LINE_BYTES,
    SHUTDOWN_SECONDS,
    JobMessage,
    JobOrder,
    ServerMessage,
    encode_message,
)
from greval.serve.jobs.queue import JobHead, JobLock, QueueEntry
from greval.serve.prometheus import FOLDER_VARIABLE
from greval.serve.service import Service, Tenant, start_local_judges

CHILD_COMMAND = (sys.executable, "-P", "-m", "greval.serve.jobs.child")
"""The command of a run's process. Python must not import from the working folder what it finds there (`-P`)."""
STOP_SECONDS = 660.0
"""The seconds that a run has to stop in order: longer than the timeout of a call, also of the embedded model."""
KILL_SECONDS = SHUTDOWN_SECONDS + 2.0
log = logging.getLogger(__name__)


class RunningJob:
    """A run whose process this server started."""

    def __init__(self, entry: QueueEntry, process: Process, service: Service, tenant: Tenant) -> None:
        self.folder = entry.folder
        self.stopping = False
        self._has_called = False
        self.started = asyncio.get_running_loop().time()
        self._process = process
        self._stdin = cast("asyncio.StreamWriter", process.stdin)
        self._stdout = cast("asyncio.StreamReader", process.stdout)
        self._service = service
        self._slots = GrantedSlots(
            partial(service.get_call_slot, tenant), partial(self._send, ServerMessage(granted=1))
        )

    @classmethod
    async def start(cls, entry: QueueEntry, head: JobHead, lock: JobLock, service: Service) -> Self:
        """Start the process of a run; it inherits the run's lock, which is released when the process ends.

        It uses the embedded models of this process, and loads none.
        """
        with lock:
            shared = await start_local_judges(service.models.values() if head.judge is not None else ())
            process = await asyncio.create_subprocess_exec(
                *CHILD_COMMAND,
                stdin=PIPE,
                stdout=PIPE,
                limit=MAX_LINE_BYTES,
                # The lock belongs to the open file, so that it lasts until the process ends.
                pass_fds=(lock.descriptor,),
                # Ctrl-C in the server's terminal must not reach it.
                start_new_session=True,
                env=_build_environment(shared),
            )
            job = cls(entry, process, service, Tenant(head.tenant, entry.folder.parent))
            order = JobOrder(
                settings=service.child_settings, folder=entry.folder, entry=entry.path, lock=lock.descriptor
            )
            job._send(order)
        return job

    async def serve_to_end(self) -> int:
        """Serve the requests of the process until it ends, and return its exit code, negative if a signal ended it."""
        try:
            async for line in self._stdout:
                self._receive(JobMessage.model_validate_json(line))
        finally:
            await self._slots.close()
        return await self._process.wait()

    def stop(self) -> None:
        """Stop making calls; calls in flight are finished and stored."""
        if not self.stopping and self._process.returncode is None:
            self.stopping = True
            self._send(ServerMessage(stop=True))
            asyncio.get_running_loop().call_later(STOP_SECONDS, self._kill)

    def close(self) -> None:
        """Stop because the server ends: calls in flight have some seconds left."""
        self.stopping = True
        if not self._has_called:
            # It may still be starting, and nothing that it has done was paid for.
            self._kill()
        self._stdin.close()
        asyncio.get_running_loop().call_later(KILL_SECONDS, self._kill)

    def _receive(self, message: JobMessage) -> None:
        self._has_called |= message.asked > 0
        self._slots.receive(message.asked, message.returned)
        self._service.counters.add_counts(message.counts)

    def _send(self, message: JobOrder | ServerMessage) -> None:
        if not self._stdin.is_closing():
            self._stdin.write(encode_message(message))

    def _kill(self) -> None:
        # It may have ended.
        with suppress(ProcessLookupError):
            self._process.kill()


def _build_environment(shared: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a run's process: the server's, with its import path and its embedded models.

    The files of counters are the server's own.
    """
    return {
        **{name: value for name, value in os.environ.items() if name != FOLDER_VARIABLE},
        # Under `-P` the process finds only what is on this path.
        "PYTHONPATH": os.pathsep.join(sys.path),
        **shared,
    }
