"""The progress of a run on the terminal: a live bar for people, plain lines elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from greval.progress import Progress as Snapshot

EVERY_SECONDS = 5.0


class Bar:
    """Shows snapshots on stderr, so that stdout holds the report only."""

    def __init__(self, *, quiet: bool = False) -> None:
        """Choose between a live bar, plain lines (not a terminal) and nothing (quiet)."""
        self._quiet = quiet
        self._console = Console(stderr=True)
        self._live = not quiet and sys.stderr.isatty()
        self._told = 0.0
        self._last: Snapshot | None = None
        self._bar = Progress(
            BarColumn(), TextColumn("{task.description}"), console=self._console, disable=not self._live, transient=True
        )
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        if self._last and not self._quiet:
            self.say(line(self._last))

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        if not self._quiet:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def show(self, snapshot: Snapshot) -> None:
        """Show a snapshot: at once on a terminal, every few seconds elsewhere."""
        self._last = snapshot
        if self._live:
            self._bar.update(self._task, total=snapshot.total, completed=snapshot.done, description=line(snapshot))
        elif snapshot.seconds - self._told >= EVERY_SECONDS:
            self._told = snapshot.seconds
            self.say(line(snapshot))


def line(snapshot: Snapshot) -> str:
    """Give a snapshot in one line.

    Example:
        >>> line(Snapshot(total=10, done=4, scored=3, failed=1, seconds=8.0))
        '4/10 done, 1 failed, 0 tokens, 8 s, about 12 s left'
    """
    total = f"/{snapshot.total}" if snapshot.total is not None else ""
    kept = f" ({snapshot.kept} from before)" if snapshot.kept else ""
    tokens = (snapshot.usage.input_tokens or 0) + (snapshot.usage.output_tokens or 0)
    left = snapshot.seconds_left
    done = f"{snapshot.done}{total} done{kept}, {snapshot.failed} failed"
    parts = [done, f"{tokens:,} tokens", _time(snapshot.seconds), *([f"about {_time(left)} left"] if left else [])]
    return ", ".join(parts)


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
