"""Progress of a run on stderr: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from greval.records.result import Result
from greval.runs.progress import Progress as Snapshot

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

EVERY_SECONDS = 5.0
EVENT_SECONDS = 1.0
BAR_WIDTH = 12


class Bar:
    """Progress display on stderr, so that stdout has only the report, or as JSON events on stdout."""

    def __init__(
        self, *, quiet: bool = False, json: bool = False, also: Callable[[Result], None] | None = None
    ) -> None:
        """Choose the display: a live bar, plain lines (no terminal), nothing (`quiet`) or JSON events (`json`).

        `also` is called with each new result.
        """
        self._also = also
        self._json = json
        quiet = self._quiet = quiet or json
        self._console = Console(stderr=True)
        self._live = not quiet and sys.stderr.isatty()
        self._told = 0.0
        self._last: Snapshot | None = None
        self._said = ""
        self._bar = Progress(
            BarColumn(bar_width=BAR_WIDTH),
            TextColumn("{task.description}"),
            console=self._console,
            disable=not self._live,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        if self._last and not self._quiet and (last := line(self._last, over=True)) != self._said:
            self.say(last)

    def say(self, text: str) -> None:
        """Print a line above the bar, or emit it as an event."""
        if self._json:
            self._event("notice", text=text)
        elif not self._quiet:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def show(self, snapshot: Snapshot) -> None:
        """Show a snapshot: immediately on a terminal, every few seconds elsewhere."""
        self._last = snapshot
        if self._json:
            if snapshot.seconds - self._told >= EVENT_SECONDS:
                self._told = snapshot.seconds
                self._event("progress", **_plain(snapshot))
        elif self._live:
            self._bar.update(self._task, total=snapshot.total, completed=snapshot.done, description=line(snapshot))
        elif snapshot.seconds - self._told >= EVERY_SECONDS:
            self._told = snapshot.seconds
            self._said = line(snapshot)
            self.say(self._said)

    def result(self, result: Result) -> None:
        """Process a new result, and emit an event for each of its failures with `json`."""
        if self._also:
            self._also(result)
        if self._json:
            for failure in result.failures:
                who = result.model_dump(include={"sample_id", "method", "metric"})
                self._event("failed", **who, **failure.model_dump(mode="json", exclude={"raw"}))

    def finished(self, run: Run) -> None:
        """Emit an event for the end of the run, with the stop reason if there is one."""
        if self._json:
            self._event("finished", run=str(run.folder), why=run.why, **_plain(run.progress))

    @staticmethod
    def _event(name: str, **content: object) -> None:
        sys.stdout.write(json.dumps({"event": name, **content}) + "\n")  # escaped: one line in any encoding
        sys.stdout.flush()


def _plain(snapshot: Snapshot) -> dict[str, object]:
    return snapshot.model_dump(mode="json")


def line(snapshot: Snapshot, *, over: bool = False) -> str:
    """Format a snapshot as one line, without the time left if the run is over.

    Example:
        >>> line(Snapshot(total=10, done=4, scored=3, failed=1, seconds=8.0))
        '4/10 done, 1 failed, 0 tokens, 8 s, about 12 s left'
    """
    total = f"/{snapshot.total}" if snapshot.total is not None else ""
    kept = f" ({snapshot.kept} from before)" if snapshot.kept else ""
    usage = snapshot.usage
    tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    left = None if over else snapshot.seconds_left
    parts = [
        f"{snapshot.done}{total} done{kept}, {snapshot.failed} failed",
        *([f"{snapshot.in_flight} in flight"] if snapshot.in_flight else []),
        *([f"{snapshot.calls_per_second:.1f} calls/s"] if usage.calls and snapshot.in_flight else []),
        f"{tokens:,} tokens",
        *([f"{usage.hits} from the cache"] if usage.hits else []),
        *([f"${snapshot.cost:.4f}"] if snapshot.cost else []),
        _time(snapshot.seconds),
        *([f"about {_time(left)} left"] if left and round(left) else []),
    ]
    return ", ".join(parts)


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
