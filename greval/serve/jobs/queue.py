"""Jobs on disk: their records, their folders, their locks and the queue."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, ClassVar, Literal, NamedTuple, Self, TypeVar, cast

from pydantic import Field, JsonValue, Strict, StringConstraints, ValidationError, model_validator

from greval._util.files import CloseOnExit, sync_folder, try_lock, write_atomically
from greval.records.metric import ReasonDepth
from greval.records.record import Record
from greval.runs.config.model import RunConfig
from greval.runs.progress import Progress
from greval.runs.store import FILE
from greval.serve.ids import ID_PATTERN
from greval.serve.problems import DISK_FULL_ERRORS
from greval.serve.schemas.requests import INTEGRAL, MethodName, MetricName, ShortText, StrictRequest
from greval.serve.state.whole_folders import create_folder
from greval.stats.interval import LEVEL
from greval.trust.alignment.api import DEFAULT_CHOOSING, DEFAULT_FOLDS, WAYS, AlignOptions
from greval.trust.alignment.records import AlignStrategy
from greval.trust.probing.api import DEFAULT_LIMIT, DEFAULT_MUTANTS, DEFAULT_REPEATS
from greval.trust.probing.stages import ProbeOptions

JobStatus = Literal["queued", "running", "finished", "stopped", "failed"]
JobKind = Literal["run", "duel", "probe", "alignment"]
PlainName = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
SampleIds = Annotated[
    tuple[Annotated[str, StringConstraints(min_length=1, max_length=1000)], ...],
    Strict(strict=False),
    Field(min_length=1, max_length=100_000),
]
PositiveCount = Annotated[int, Field(ge=1, le=1_000_000_000), INTEGRAL]
ACTIVE: frozenset[JobStatus] = frozenset({"queued", "running"})


class CallRequest(StrictRequest):
    """What every job may be asked for; see `RunRequest`."""

    judge: ShortText | None = None
    name: PlainName | None = None
    concurrency: Annotated[int, Field(ge=1, le=256), INTEGRAL] | None = None
    reason_depth: ReasonDepth | None = None
    max_calls: PositiveCount | None = None
    max_cost: Annotated[float, Field(gt=0, le=1_000_000)] | None = None


class JudgingRequest(CallRequest):
    """What runs and duels may be asked for; see `RunRequest`."""

    metrics: Annotated[tuple[MetricName, ...], Strict(strict=False), Field(min_length=1, max_length=100)]
    repeats: Annotated[int, Field(ge=1, le=25), INTEGRAL] = 1
    limit: PositiveCount | None = None
    store_calls: bool = True

    def build_config(self) -> RunConfig:
        """Build the configuration of the run from the keys that the request sets.

        The data, the metrics, the judge and the methods of a duel are those of the server.
        """
        keys = RunConfig.model_fields.keys() & type(self).model_fields.keys() - {"metrics", "judge", "methods"}
        return RunConfig(**self.model_dump(include=keys, exclude_unset=True))


class RunRequest(JudgingRequest):
    """A run over a data set.

    `metrics` are names; those that they build on are added. `repeats` is how often each case is judged. `sample_ids`
    takes the cases with these ids only, `limit` the first cases only. `store_calls` is whether the prompt and the raw
    reply of each call are stored. `judge` is the name of one of the server's judges, the first by default.
    `concurrency` is the most calls of the run in flight. `reason_depth` is how much the judge writes for each verdict;
    it overrides the metrics' own setting. The run stops in order after `max_calls` calls of the judge or before
    `max_cost` US dollars.
    """

    kind: ClassVar[JobKind] = "run"
    dataset: PlainName
    sample_ids: SampleIds | None = None


class DuelRequest(JudgingRequest):
    """A duel: the answers of each two methods to the same question are judged by preferences.

    `run` is the run whose answers are compared, or `dataset` a data set with the answers of several methods; name one
    of them. `metrics` are preferences. `methods` are those to compare, by default all. `limit` takes the first
    questions only that at least two of them answered. The other fields are those of a run.
    """

    kind: ClassVar[JobKind] = "duel"
    run: PlainName | None = None
    dataset: PlainName | None = None
    methods: Annotated[tuple[MethodName, ...], Strict(strict=False), Field(max_length=50)] = ()

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if (self.run is None) == (self.dataset is None):
            raise ValueError("name either a run or a dataset")
        return self


class ProbeRequest(CallRequest):
    """A probe: planted faults that the judge should catch on one metric.

    `dataset` has the cases, by default those that ship with greval. `checks` are names, by default all that fit the
    metric; `limit` is the number of cases, `mutants` that of variants of each case for each check, `repeats` how often
    the unchanged cases are judged. The other fields are those of a run.
    """

    kind: ClassVar[JobKind] = "probe"
    metric: MetricName
    dataset: PlainName | None = None
    checks: Annotated[tuple[MetricName, ...], Strict(strict=False), Field(max_length=20)] = ()
    limit: Annotated[int, Field(ge=1, le=1_000), INTEGRAL] = DEFAULT_LIMIT
    mutants: Annotated[int, Field(ge=1, le=100), INTEGRAL] = DEFAULT_MUTANTS
    repeats: Annotated[int, Field(ge=1, le=25), INTEGRAL] = DEFAULT_REPEATS

    def list_options(self) -> ProbeOptions:
        """List the options of a probe that the request has."""
        return cast("ProbeOptions", self.model_dump(include={"checks", "limit", "mutants", "repeats"}))


class AlignRequest(CallRequest):
    """An alignment: a metric is changed by its disagreements with people, and kept if held-out labels show a gain.

    `run` is the run that people annotated, `writer` the judge that writes texts and reasons, by default the judge.
    `ways` are the strategies, `folds` the number of folds for the labels, `choosing` the most labels that choose
    between the ways in each fold. `limit` labelled items are used at most, `seed` draws them and the folds, `level` is
    that of the intervals. The other fields are those of a run.
    """

    kind: ClassVar[JobKind] = "alignment"
    run: PlainName
    metric: MetricName
    writer: ShortText | None = None
    ways: Annotated[tuple[AlignStrategy, ...], Strict(strict=False), Field(min_length=1, max_length=len(WAYS))] = WAYS
    folds: Annotated[int, Field(ge=2, le=100), INTEGRAL] = DEFAULT_FOLDS
    choosing: PositiveCount = DEFAULT_CHOOSING
    limit: PositiveCount | None = None
    seed: Annotated[int, Field(ge=0, le=2**32 - 1), INTEGRAL] = 0
    level: Annotated[float, Field(gt=0, lt=1)] = LEVEL

    def list_options(self) -> AlignOptions:
        """List the options of an alignment that the request has."""
        return cast("AlignOptions", self.model_dump(include={"ways", "folds", "choosing", "limit", "seed", "level"}))


JobRequest = RunRequest | DuelRequest | ProbeRequest | AlignRequest
"""What a job may be; no request of one kind is valid as one of another."""


class ResumeRequest(StrictRequest):
    """New caps for a resumed run: `max_calls` and `max_cost` include what it spent before.

    A run that reached a cap goes on only with a higher one.
    """

    max_calls: PositiveCount | None = None
    max_cost: Annotated[float, Field(gt=0, le=1_000_000)] | None = None


class JobHead(Record):
    """What clients see of a job; it is read often, and so kept apart from the rest, which may be large.

    `dataset` is the id of the data set that the job reads, and `run` that of the run, if it reads one.
    `reason_depth` is for replays only.
    """

    id: str
    tenant: str
    name: str
    kind: JobKind
    created: datetime
    judge: str | None
    metrics: tuple[str, ...]
    dataset: str | None = None
    run: str | None = None
    reason_depth: ReasonDepth | None = None


class JobSpec(JobHead):
    """What a job needs to be resumed after any interruption; stored in its folder before it starts.

    `definitions` are the metrics as they were at the start, computed ones by name.
    """

    definitions: tuple[JsonValue, ...]
    asked: JobRequest


class JobState(Record):
    """The state of a job; `why` it was stopped or failed, `methods` once it ended."""

    status: JobStatus
    why: str | None = None
    progress: Progress | None = None
    methods: tuple[str, ...] | None = None


class RunInfo(Record):
    """A run, as clients see it.

    `kind` is what the server was asked for: a run over a data set, a duel, a probe or an alignment. `why` is the reason
    why it was stopped or failed. `judge` is the server's name of the judge, or the model of a command-line run.
    `methods` and `progress` are null if they are not known yet; a pair is not a method. `resumable` is whether the
    server can resume it: the data set or the run that it reads exists, and it is not running.
    """

    id: str
    name: str
    kind: JobKind = "run"
    status: JobStatus
    why: str | None = None
    judge: str | None = None
    metrics: tuple[str, ...] = ()
    methods: tuple[str, ...] | None = None
    dataset: str | None = None
    created: datetime
    progress: Progress | None = None
    resumable: bool = False


RESULT_FILES: Mapping[JobKind, str] = {"probe": "probe.json", "alignment": "alignment.json"}
"""The files of results in the folders of jobs."""
SPEC_FILE = "request.json"
HEAD_FILE = "head.json"
STATE_FILE = "state.json"
CANCEL_FILE = "cancel"
LOCK_FILE = ".claim"
CANCELLED = "it was cancelled"
"""Why a cancelled run was stopped."""
QUEUE_FOLDER = ".queue"
ORPHAN_SECONDS = 60.0
"""The age in seconds after which a queue entry without a folder is removed: its start was killed."""
T = TypeVar("T", bound=Record)


def read_job_spec(folder: Path) -> JobSpec | None:
    """Read what was requested; return None if the server did not start the run."""
    return _read_record(folder / SPEC_FILE, JobSpec)


def read_job_head(folder: Path) -> JobHead | None:
    """Read what clients see of a job; return None if the server did not start the run."""
    return _read_record(folder / HEAD_FILE, JobHead)


def read_job_state(folder: Path) -> JobState | None:
    """Read the state that the worker process wrote last; return None if the server did not start the run."""
    return _read_record(folder / STATE_FILE, JobState)


def write_job_state(folder: Path, state: JobState) -> None:
    """Write the state of a job. On a full disk it replaces the old one in place, for which no room is needed."""
    file, text = folder / STATE_FILE, state.model_dump_json()
    try:
        write_atomically(file, text)
    except OSError as error:
        if error.errno not in DISK_FULL_ERRORS:
            raise
        with file.open("r+b") as old:
            old.write(text.encode())
            old.truncate()


def write_job_spec(folder: Path, spec: JobSpec) -> None:
    """Write what was requested, replacing an earlier request."""
    write_atomically(folder / SPEC_FILE, spec.model_dump_json())
    write_atomically(folder / HEAD_FILE, spec.model_dump_json(include={*JobHead.model_fields}))


def is_run_folder(folder: Path) -> bool:
    """Return whether a folder holds a run, started by the server or on the command line."""
    return (folder / FILE).is_file() or (folder / SPEC_FILE).is_file()


def create_run_folder(folder: Path, spec: JobSpec) -> None:
    """Create the folder of a new run, atomically."""
    with create_folder(folder) as new:
        write_job_spec(new, spec)
        write_job_state(new, JobState(status="queued"))


class JobLock(CloseOnExit):
    """A lock that lets one process work on a run; it is released when the process ends, for whatever reason."""

    def __init__(self, file: IO[bytes]) -> None:
        self._held = file

    @classmethod
    def try_acquire(cls, folder: Path) -> Self | None:
        """Acquire the lock; return None if another process holds it or the folder is gone."""
        try:
            file = (folder / LOCK_FILE).open("wb")
        except FileNotFoundError:
            return None
        if try_lock(file.fileno()):
            return cls(file)
        file.close()
        return None

    @property
    def descriptor(self) -> int:
        """The descriptor of the locked file, which another process may inherit with the lock."""
        return self._held.fileno()

    def close(self) -> None:
        """Release the lock."""
        self._held.close()


class QueueEntry(NamedTuple):
    """A job in the queue: its file in the queue and the folder of its run."""

    path: Path
    folder: Path

    @property
    def created(self) -> float:
        """When the job was added, in seconds since 1970."""
        return int(self.path.name.partition("-")[0]) / 1e9


class JobQueue:
    """The waiting and running jobs of all tenants, in the order of their requests.

    The folder of runs holds the queue, which all processes of the server share.
    """

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._folder = runs / QUEUE_FOLDER

    def add(self, folder: Path) -> None:
        """Append a run and flush it to disk."""
        self._folder.mkdir(parents=True, exist_ok=True)
        # The time comes first, so that the names of files sort by it.
        write_atomically(self._folder / f"{time.time_ns()}-{folder.name}", str(folder.relative_to(self._runs)))
        sync_folder(self._folder)

    def count_jobs(self, runs: Path) -> int:
        """Return the number of waiting and running jobs of a tenant's folder."""
        return sum(entry.folder.parent == runs for entry in self.list_entries())

    def list_entries(self) -> list[QueueEntry]:
        """List the jobs, oldest first; entries of killed starts are removed."""
        entries = []
        for path in sorted(self._folder.glob("[!.]*"), key=lambda path: path.name):
            try:
                folder = self._runs / path.read_text(encoding="utf-8")
                forgotten = not folder.is_dir() and time.time() - path.stat().st_mtime > ORPHAN_SECONDS
            except FileNotFoundError:
                # Another process has finished it.
                continue
            if forgotten:
                path.unlink(missing_ok=True)
            else:
                entries.append(QueueEntry(path, folder))
        return entries


def _read_record(path: Path, kind: type[T]) -> T | None:
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
