"""The replay of a run, and what it would do, as the server responds with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from greval.records.metric import ReasonDepth
from greval.records.record import Record
from greval.runs.replay import RefusedMetric, ReplayableMetric, ReplayedMetric, preview_replay, replay
from greval.serve.settings import ServerSettings
from greval.serve.state.metric_library import MetricLibrary
from greval.serve.state.run_paths import hide_paths_in_errors


class RunReplay(Record):
    """What a replay read again, or would read again.

    `replayed` are the metrics whose results were read again; it is empty in a preview. `replayable` are those that can
    be read again, with the places at which their definitions differ from those of the run; it is filled in a preview
    only. `refused` are those for which the judge would have to be asked again, and why.
    """

    replayed: tuple[ReplayedMetric, ...] = ()
    replayable: tuple[ReplayableMetric, ...] = ()
    refused: tuple[RefusedMetric, ...] = ()


def replay_folder(
    settings: ServerSettings, folder: Path, definitions: Sequence[object], depth: ReasonDepth | None, *, preview: bool
) -> RunReplay:
    """Read a run again by these definitions, or find what that would do; the server calls it in a child process.

    Raises:
        StoreError: If the folder cannot be written, for example because a command of the command line writes to it.
    """
    library = MetricLibrary(*settings.library, metrics=settings.metrics)
    metrics = [library.restore(definition) for definition in definitions]
    with hide_paths_in_errors(folder):
        if preview:
            plan = preview_replay(folder, metrics, reason_depth=depth)
            return RunReplay(replayable=plan.replayable, refused=plan.refused)
        done = replay(folder, metrics, reason_depth=depth)
    return RunReplay(replayed=done.replayed, refused=done.refused)
