"""The files of a job after a replay of its run: what it judges when it is resumed, and what its state counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from greval.runs.store import Store
from greval.serve.jobs.queue import read_job_spec, read_job_state, write_job_spec, write_job_state


def update_replayed_job(folder: Path, definitions: Mapping[str, JsonValue]) -> None:
    """Replace the definitions of replayed metrics by name, and count the results of the run again.

    A run that is resumed then judges by the definitions of its results. A run of the command line has no such files.
    """
    spec, state = read_job_spec(folder), read_job_state(folder)
    if spec is None or state is None:
        return
    known = zip(spec.metrics, spec.definitions, strict=True)
    kept = tuple(definitions.get(name, before) for name, before in known)
    write_job_spec(folder, spec.model_copy(update={"definitions": kept}))
    if state.progress is not None:
        write_job_state(folder, state.model_copy(update={"progress": state.progress.model_copy(update=_count(folder))}))


def _count(folder: Path) -> dict[str, int]:
    """Count the results of a run by their status, and the failed items of scored ones."""
    with Store.open(folder) as store:
        outlines = [json.loads(outline) for _, _, _, outline, *_ in store.outlines()]
    statuses = Counter(status for status, *_ in outlines)
    failed = sum(of_item for status, _, failures, _ in outlines if status == "scored" for _, of_item in failures)
    return {
        "done": len(outlines),
        **{status: statuses[status] for status in ("scored", "skipped", "failed")},
        "items_failed": failed,
    }
