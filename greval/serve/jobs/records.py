"""What a run of the server is made of: what was asked for, how it stands, and what clients see of it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from greval.records.metric import ReasonDepth
from greval.records.record import Record
from greval.runs.progress import Progress
from greval.serve.ids import PATTERN

Status = Literal["queued", "running", "finished", "stopped", "failed"]
PlainName = Annotated[str, StringConstraints(pattern=PATTERN)]
MetricName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Whole = Annotated[int, Field(ge=1, le=1_000_000_000)]
ACTIVE: frozenset[Status] = frozenset({"queued", "running"})


class RunRequest(Record):
    """A run over a data set.

    `metrics` are names; those that they build on are added. `judge` is the name of one of the server's judges,
    the first where none is named. `concurrency` is how many calls of the run are in flight at most, `repeats` how
    often each case is judged. `reason_depth` is how much the judge writes for each verdict, in place of what the
    metrics say. The run stops in order after `max_calls` calls of the judge or before `max_cost` US
    dollars. `limit` takes the first cases only.
    """

    dataset: PlainName
    metrics: Annotated[tuple[MetricName, ...], Field(min_length=1, max_length=100)]
    judge: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    name: PlainName | None = None
    concurrency: Annotated[int, Field(ge=1, le=256)] | None = None
    repeats: Annotated[int, Field(ge=1, le=25)] = 1
    reason_depth: ReasonDepth | None = None
    max_calls: Whole | None = None
    max_cost: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    limit: Whole | None = None


class ResumeRequest(Record):
    """Other caps for a run that goes on: `max_calls` and `max_cost` count what it spent before.

    A run that reached a cap goes on only with a higher one.
    """

    max_calls: Whole | None = None
    max_cost: Annotated[float, Field(gt=0, le=1_000_000)] | None = None


class Order(Record):
    """What a run needs to go on after any end: kept in its folder before it starts.

    `definitions` are the metrics as they were, those that are computed by their names.
    """

    id: str
    tenant: str
    name: str
    created: datetime
    judge: str | None
    metrics: tuple[str, ...]
    definitions: tuple[JsonValue, ...]
    asked: RunRequest


class State(Record):
    """How a run stands; `why` it was stopped or failed, `methods` once it came to an end."""

    status: Status
    why: str | None = None
    progress: Progress | None = None
    methods: tuple[str, ...] | None = None


class RunInfo(Record):
    """A run, as clients see it.

    `why` says why it was stopped or failed. `judge` is the name that the server gives to the judge, or the model
    of a run of the command line. `methods` and `progress` are null where they are not known yet. `resumable` tells
    whether the server can let it go on: its data set is there, and it does not run.
    """

    id: str
    name: str
    status: Status
    why: str | None = None
    judge: str | None = None
    metrics: tuple[str, ...] = ()
    methods: tuple[str, ...] | None = None
    dataset: str | None = None
    created: datetime
    progress: Progress | None = None
    resumable: bool = False
