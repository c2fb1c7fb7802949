"""Progress of a run on stderr, as a live bar on a terminal and as plain lines elsewhere, and its stop by Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from greval._util.wording import format_count
from greval.judging.model.budget import RAISE_CAP_HINT
from greval.records.result import Result
from greval.runs.progress import Progress as Snapshot

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

LINE_SECONDS = 5.0
EVENT_SECONDS = 1.0
BAR_WIDTH = 12
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class ProgressBar:
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
        self._shown_at = 0.0
        self._last: Snapshot | None = None
        self._text: str | None = None
        self._last_line = ""
        self._stage = ""
        self._bar = Progress(
            BarColumn(bar_width=BAR_WIDTH),
            TextColumn("{task.description}"),
            console=self._console,
            disable=not self._live,
            # The bar disappears at the end, where the last snapshot is printed as a line.
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
        self._print_last()

    def print_line(self, text: str) -> None:
        """Print a line above the bar, or emit it as an event."""
        if self._json:
            self._emit_event("notice", text=text)
        elif not self._quiet:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def show(self, snapshot: Snapshot, text: str | None = None, stage: str = "") -> None:
        """Show a snapshot: immediately on a terminal, every few seconds elsewhere.

        `text` describes a snapshot of something other than judgements. When another `stage` begins, its time begins
        anew, and the last snapshot of the one before is printed with its name.
        """
        if stage != self._stage:
            self._print_last(f"{self._stage}: ")
            self._stage, self._shown_at = stage, 0.0
        self._last, self._text = snapshot, text
        if self._json:
            if snapshot.seconds - self._shown_at >= EVENT_SECONDS:
                self._shown_at = snapshot.seconds
                self._emit_event("progress", **_dump_snapshot(snapshot))
        elif self._live:
            line = text or format_progress(snapshot)
            self._bar.update(self._task, total=snapshot.total, completed=snapshot.done, description=line)
        elif snapshot.seconds - self._shown_at >= LINE_SECONDS:
            self._shown_at = snapshot.seconds
            self._last_line = text or format_progress(snapshot)
            self.print_line(self._last_line)

    def _print_last(self, prefix: str = "") -> None:
        """Print the last snapshot, if it was not printed yet."""
        if self._last is None or self._quiet or self._text:
            return
        if (last := format_progress(self._last, finished=True)) != self._last_line:
            self.print_line(f"{prefix}{last}")

    def add_result(self, result: Result) -> None:
        """Process a new result, and emit an event for each of its failures with `json`."""
        if self._also:
            self._also(result)
        if self._json:
            for failure in result.failures:
                who = result.model_dump(include={"sample_id", "method", "metric"})
                self._emit_event("failed", **who, **failure.model_dump(mode="json", exclude={"raw"}))

    def emit_finished(self, run: Run) -> None:
        """Emit an event for the end of the run, with the stop reason if there is one."""
        if self._json:
            self._emit_event("finished", run=str(run.folder), why=run.why, **_dump_snapshot(run.progress))

    @staticmethod
    def _emit_event(name: str, **content: object) -> None:
        # JSON with escapes is one line in any encoding.
        sys.stdout.write(json.dumps({"event": name, **content}) + "\n")
        # A program that reads a pipe gets each event at once.
        sys.stdout.flush()


def _dump_snapshot(snapshot: Snapshot) -> dict[str, object]:
    return snapshot.model_dump(mode="json")


def format_progress(snapshot: Snapshot, *, finished: bool = False) -> str:
    """Format a snapshot as one line, without the time left if the run is over.

    Example:
        >>> format_progress(Snapshot(total=10, done=4, scored=3, failed=1, seconds=8.0))
        '4/10 done, 1 failed, 0 tokens, 8 s, about 12 s left'
    """
    total = f"/{snapshot.total}" if snapshot.total is not None else ""
    earlier = f" ({snapshot.kept} from before)" if snapshot.kept else ""
    usage = snapshot.usage
    tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    seconds_left = None if finished else snapshot.seconds_left
    parts = [
        f"{snapshot.done}{total} done{earlier}, {snapshot.failed} failed",
        *([f"{snapshot.in_flight} in flight"] if snapshot.in_flight else []),
        *([f"{snapshot.calls_per_second:.1f} calls/s"] if usage.calls and snapshot.in_flight else []),
        format_count(tokens, "token"),
        *([f"{usage.hits} reused"] if usage.hits else []),
        *([f"${snapshot.cost:.4f}{_format_estimated(snapshot.estimated_calls)}"] if snapshot.cost else []),
        format_duration(snapshot.seconds),
        *([f"about {format_duration(seconds_left)} left"] if seconds_left and round(seconds_left) else []),
        *([snapshot.waiting] if snapshot.waiting and not finished else []),
    ]
    return ", ".join(parts)


def _format_estimated(calls: int) -> str:
    return f" (estimated for {format_count(calls, 'call')} without reported tokens)" if calls else ""


def format_duration(seconds: float) -> str:
    """Format a duration in minutes and seconds.

    Example:
        >>> format_duration(8.2), format_duration(75)
        ('8 s', '1 min 15 s')
    """
    minutes, remainder = divmod(round(seconds), 60)
    return f"{minutes} min {remainder} s" if minutes else f"{remainder} s"


def stop_on_signals() -> asyncio.Event:
    """Return an event that is set on the first Ctrl-C or SIGTERM. The next one ends the command immediately."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    # It prints last, because a user who sees the line may press Ctrl-C again at once.
    def handle_first() -> None:
        stop.set()
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
            # The default handler ends the process even if the event loop hangs.
            signal.signal(number, signal.SIG_DFL)
        sys.stderr.write("stopping: calls in flight are finished and kept; press Ctrl-C again to stop immediately\n")

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, handle_first)
    return stop


def describe_stop(why: str) -> str:
    """Format why a command was stopped, and how to resume it.

    Example:
        >>> describe_stop("it was asked to stop")
        'stopped: it was asked to stop; the results so far are kept, run the same command again to go on'
    """
    hint = "" if RAISE_CAP_HINT in why else ", run the same command again to go on"
    return f"stopped: {why}; the results so far are kept{hint}"
