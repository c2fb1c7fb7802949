"""The work of jobs that are probes or alignments, and the files of their results."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from greval._util.files import write_atomically
from greval.datasets.case_records import CaseRecords
from greval.errors import StoppedError
from greval.records.metric import Metric
from greval.runs.judges import JudgeModel
from greval.runs.options import CallOptions
from greval.serve.jobs.queue import AlignRequest, JobKind, ProbeRequest
from greval.serve.state.run_paths import dump_without_paths
from greval.trust.alignment.api import AlignOptions, align_async
from greval.trust.probing.api import probe_async
from greval.trust.probing.stages import ProbeOptions

RESULT_FILES: Mapping[JobKind, str] = {"probe": "probe.json", "alignment": "alignment.json"}
"""The files of results in the folders of jobs."""


class JobWork(NamedTuple):
    """What the work of a job needs beside its request.

    `metrics` are the metric, which is the last, and those that it builds on, `judges` those of the judged ones.
    """

    folder: Path
    metrics: Sequence[Metric]
    judges: Mapping[str, JudgeModel]
    options: CallOptions
    stop: asyncio.Event


async def run_probe(request: ProbeRequest, work: JobWork, cases: CaseRecords | None) -> str | None:
    """Probe a judge and write the result; return why it was stopped, or None."""
    *built_on, metric = work.metrics
    options: ProbeOptions = {
        **build_probe_options(request, work.judges),
        **work.options,
        "out": work.folder,
        "built_on": built_on,
    }
    probe = await probe_async(metric, None, cases, stop=work.stop, **options)
    write_atomically(work.folder / RESULT_FILES["probe"], dump_without_paths(probe, work.folder))
    return probe.why


async def run_alignment(request: AlignRequest, work: JobWork, writer: JudgeModel | None) -> str | None:
    """Align a metric and write the result; return why it was stopped, or None. A stopped alignment has no result."""
    metric, run = work.metrics[-1], work.folder.parent / request.run
    options: AlignOptions = {**build_align_options(request), **work.options, "writer": writer, "work": work.folder}
    try:
        alignment = await align_async(run, metric, work.judges[metric.name], stop=work.stop, **options)
    except StoppedError as error:
        return str(error)
    write_atomically(work.folder / RESULT_FILES["alignment"], dump_without_paths(alignment, work.folder, run))
    return None


def build_probe_options(request: ProbeRequest, judges: Mapping[str, JudgeModel]) -> ProbeOptions:
    """Build the options of a probe that its request names."""
    return {
        "checks": request.checks,
        "limit": request.limit,
        "mutants": request.mutants,
        "repeats": request.repeats,
        "judges": judges,
    }


def build_align_options(request: AlignRequest) -> AlignOptions:
    """Build the options of an alignment that its request names."""
    return {
        "ways": request.ways,
        "folds": request.folds,
        "choosing": request.choosing,
        "limit": request.limit,
        "seed": request.seed,
        "level": request.level,
    }
