"""Tasks for worker processes: what a hostile or broken request would make them do."""

from __future__ import annotations

import os
import time
from pathlib import Path

from greval.errors import DefinitionError
from greval.records.record import Record


class Point(Record):
    """A record."""

    x: int


BLOCK = 10_000_000


def add(first, second):
    """Give a sum."""
    return first + second


def refuse():
    """Raise an error with two faults."""
    raise DefinitionError("a: is wrong", "b: is wrong")


def fail():
    """Raise an error that nobody expects."""
    raise KeyError("what a client " + "sent")


def fill_memory():
    """Take memory without end."""
    held = []
    while True:
        held.append(bytearray(BLOCK))


def compute():
    """Compute without end."""
    while True:
        pass


def compute_until_priority(niceness: int) -> int:
    """Compute until the process has a priority, and give it."""
    while os.getpriority(os.PRIO_PROCESS, 0) != niceness:
        pass
    return niceness


def wait_for_priority(seconds: float) -> int:
    """Sleep, and give the priority of the process then."""
    time.sleep(seconds)
    return os.getpriority(os.PRIO_PROCESS, 0)


def list_variables() -> list[str]:
    """List the names of the variables of the environment."""
    return [*os.environ]


def add_records(first: Point, second: Point) -> Point:
    """Give a record."""
    return Point(x=first.x + second.x)


def end():
    """End the process without a word."""
    os._exit(3)


def build_text(size) -> str:
    """Give a text of this many letters."""
    return "x" * size


def wait(begun: Path, end: Path | None = None):
    """Tell in a file that the task runs, then wait for another file."""
    new = begun.with_name(f".{begun.name}")
    new.write_text(str(os.getpid()), encoding="utf-8")
    new.rename(begun)
    while not (end and end.exists()):
        time.sleep(0.01)
