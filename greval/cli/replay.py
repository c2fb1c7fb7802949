"""`greval replay`: read the results of a run again from the stored replies of its judge, without a call."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import typer

from greval._util.wording import format_count
from greval.cli import USAGE_ERROR, print_note
from greval.cli.judge_options import Depth
from greval.cli.metric_specs import load_named_metrics
from greval.cli.options import Folders, OptionalMetricNames, RunFolder
from greval.errors import DataError
from greval.runs.replay import Replay, ReplayedMetric
from greval.runs.replay import replay as replay_run


def replay(
    run: RunFolder, *, metric: OptionalMetricNames = None, library: Folders = None, reason_depth: Depth = None
) -> None:
    """Apply edited scores to the stored replies, without a call.

    The results of a run are read again after a change of scores, shares or `pass`.

    No model is called. Without -m, all judged metrics of the run are read again by their stored definitions.
    """
    metrics = load_named_metrics(metric, library).metrics if metric else ()
    done = replay_run(run, metrics, reason_depth=reason_depth)
    for replayed in done.replayed:
        typer.echo(_describe_replayed(replayed))
    for refused in done.refused:
        print_note(f"{refused.metric}: not replayed: {refused.reason}")
    if not done.replayed and not done.refused:
        raise DataError(f"{run}: no judge was asked in this run, so there is no reply to read again")
    if done.replayed:
        typer.echo(_describe_next(run, done))
    # A refusal is an error of a metric that was named, or if nothing could be replayed.
    if any(refused.named or not done.replayed for refused in done.refused):
        raise typer.Exit(USAGE_ERROR)


def _describe_replayed(replayed: ReplayedMetric) -> str:
    parts = (
        f"{format_count(replayed.changed, 'result')} read again" if replayed.changed else "",
        f"{replayed.unchanged:,} unchanged" if replayed.unchanged else "",
        f"{replayed.missing:,} without a stored reply, not judged yet" if replayed.missing else "",
    )
    versions = f" ({replayed.source} -> {replayed.fingerprint})" if replayed.source != replayed.fingerprint else ""
    return f"{replayed.metric}: {', '.join(part for part in parts if part) or 'no results'}{versions}; 0 calls"


def _describe_next(run: Path, done: Replay) -> str:
    missing = any(replayed.missing for replayed in done.replayed)
    command = "evaluate (or duel, for a preference), which judges what is missing"
    return f"next: greval {command if missing else f'report {quote(str(run))}'}"
