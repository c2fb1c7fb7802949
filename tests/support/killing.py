"""Calls in a process of their own that is killed with -9 at a chosen moment."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from itertools import count

from proxy import DROP, PASS
from waiting import SECONDS

BEFORE, AFTER = "before", "after"
"""Kill before the server sees the call, or when it has done it."""
CONTEXT = multiprocessing.get_context("forkserver")  # a fresh interpreter takes a second, this one has all at hand
CONTEXT.set_forkserver_preload(["greval.trust.argilla.pull", "greval.trust.argilla.push"])


def killed_at_call(proxy, wanted, when, call, *args, **more):
    """Kill at the first call to the server for which `wanted(n, method, path)` is true; give whether it came so far."""
    started = threading.Event()
    process = CONTEXT.Process(target=call, args=args, kwargs={**more, "url": proxy.url})

    def kill():
        started.wait(SECONDS)
        os.kill(process.pid, signal.SIGKILL)

    def plan(n, method, path):
        if not wanted(n, method, path):
            return PASS
        if when == AFTER:
            return kill
        kill()
        return DROP

    proxy.reset(plan)
    process.start()
    started.set()
    found = _end(process)
    proxy.reset()
    return found


def killed_at_write(number, call, *args, **more):
    """Kill where the file number so and so (from 1) is about to be put in place; give whether it came so far."""
    process = CONTEXT.Process(target=_dying, args=(number, call, args, more))
    process.start()
    return _end(process)


def _end(process):
    process.join(SECONDS)
    code = process.exitcode
    if code is None:
        process.kill()
        process.join()
    process.close()
    return code == -signal.SIGKILL


def _dying(number, call, args, more):
    """Make a call in this process, which ends itself when it is about to put a file in place."""
    renamed = count(1)

    def hook(event, _):
        if event == "os.rename" and next(renamed) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    call(*args, **more)
