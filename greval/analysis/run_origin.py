"""How the results of a run came to be: the files of its cases, the judge with its settings, and the definitions."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, JsonValue

from greval.records.record import Record
from greval.runs.manifest import read_judges, read_sources
from greval.runs.run_reader import read_metrics
from greval.runs.store import Store


class JudgedVersion(Record):
    """The definition and the judge of the counted results of a metric and method; `judge` is empty if computed."""

    metric: str
    method: str
    fingerprint: str
    judge: str
    planned: int | None


class SourceFile(Record):
    """The name of a file of cases, without its folders, and the hash of its content."""

    name: str
    digest: str


class RunOrigin(Record):
    """How a run came to be.

    `judge` are the settings of the last judge that decide its answers. If the metrics have several judges, `judges` are
    those of each metric by its name; it is empty if they have one.
    """

    files: tuple[SourceFile, ...]
    judge: dict[str, JsonValue] = Field(default_factory=dict)
    judges: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    versions: tuple[JudgedVersion, ...]
    descriptions: dict[str, str]


def read_origin(store: Store) -> RunOrigin:
    """Read how a run came to be."""
    judge = store.fact("judge")
    plans = store.plans()
    judged = {plan.metric for plan in plans if plan.judge}
    judges = {name: settings for name, settings in read_judges(store).items() if name in judged}
    sources = dict.fromkeys(
        # A report is shared, and folders say whose machine it was made on.
        SourceFile(name=Path(source.path).name, digest=source.digest)
        for source in read_sources(store)
        if source.path
    )
    return RunOrigin(
        files=tuple(sources),
        judge={key: value for key, value in judge.items() if value is not None} if isinstance(judge, dict) else {},
        judges=judges if any(judge_settings != judge for judge_settings in judges.values()) else {},
        versions=tuple(
            JudgedVersion(
                metric=plan.metric,
                method=plan.method,
                fingerprint=plan.fingerprint,
                judge=plan.judge,
                planned=plan.planned,
            )
            for plan in plans
            if plan.method is not None
        ),
        descriptions={name: metric.describe().description for name, metric in read_metrics(store).items()},
    )
