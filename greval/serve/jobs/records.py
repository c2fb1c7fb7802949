"""Records of a job: the request, the stored specification, the state, and the information that clients see."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from greval.records.metric import ReasonDepth
from greval.records.record import Record
from greval.runs.progress import Progress
from greval.serve.ids import ID_PATTERN

JobStatus = Literal["queued", "running", "finished", "stopped", "failed"]
PlainName = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
MetricName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
PositiveCount = Annotated[int, Field(ge=1, le=1_000_000_000)]
ACTIVE: frozenset[JobStatus] = frozenset({"queued", "running"})


class RunRequest(Record):
    """A run over a data set.

    `metrics` are names; those that they build on are added. `judge` is the name of one of the server's judges, the
    first by default. `concurrency` is the most calls of the run in flight, `repeats` how often each case is judged.
    `reason_depth` is how much the judge writes for each verdict; it overrides the metrics' own setting. The run stops
    in order after `max_calls` calls of the judge or before `max_cost` US dollars. `limit` takes the first cases only.
    """

    dataset: PlainName
    metrics: Annotated[tuple[MetricName, ...], Field(min_length=1, max_length=100)]
    judge: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    name: PlainName | None = None
    concurrency: Annotated[int, Field(ge=1, le=256)] | None = None
    repeats: Annotated[int, Field(ge=1, le=25)] = 1
    reason_depth: ReasonDepth | None = None
    max_calls: PositiveCount | None = None
    max_cost: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    limit: PositiveCount | None = None


class ResumeRequest(Record):
    """New caps for a resumed run: `max_calls` and `max_cost` include what it spent before.

    A run that reached a cap goes on only with a higher one.
    """

    max_calls: PositiveCount | None = None
    max_cost: Annotated[float, Field(gt=0, le=1_000_000)] | None = None


class JobSpec(Record):
    """What a job needs to be resumed after any interruption; stored in its folder before it starts.

    `definitions` are the metrics as they were at the start, computed ones by name.
    """

    id: str
    tenant: str
    name: str
    created: datetime
    judge: str | None
    metrics: tuple[str, ...]
    definitions: tuple[JsonValue, ...]
    asked: RunRequest


class JobState(Record):
    """The state of a job; `why` it was stopped or failed, `methods` once it ended."""

    status: JobStatus
    why: str | None = None
    progress: Progress | None = None
    methods: tuple[str, ...] | None = None


class RunInfo(Record):
    """A run, as clients see it.

    `why` is the reason why it was stopped or failed. `judge` is the server's name of the judge, or the model of a
    command-line run. `methods` and `progress` are null if they are not known yet. `resumable` is whether the server can
    resume it: its data set exists, and it is not running.
    """

    id: str
    name: str
    status: JobStatus
    why: str | None = None
    judge: str | None = None
    metrics: tuple[str, ...] = ()
    methods: tuple[str, ...] | None = None
    dataset: str | None = None
    created: datetime
    progress: Progress | None = None
    resumable: bool = False
