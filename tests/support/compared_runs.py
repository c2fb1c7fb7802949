"""Run folders of made-up figures, and the real data that comparisons are checked on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

import greval
from greval.records.metric import ComputedMetric, Metric
from greval.records.result import Failed, Failure, Judgement, Outcome, Result, Scored, Skipped
from greval.records.scale import CategoricalScale, MeasureScale, ValueScale
from greval.runs.store.writer import StoreWriter

REAL = Path(greval.__file__).parents[2] / "shared" / "data"
FAILED, SKIPPED, MISSING, UNSCORED = "failed", "skipped", "missing", "unscored"


def _never(_case):
    raise NotImplementedError


def defined(name, scale):
    """Give a definition; only its scale counts here."""
    return ComputedMetric(name=name, description="Made up.", needs=("answer",), scale=scale, compute=_never)


RIGHT = defined("right", MeasureScale(high=1.0, unit=""))
NDCG = defined("ndcg@10", MeasureScale(high=1.0, unit=""))
LATENCY = defined("latency", MeasureScale(unit="s", better="lower"))
DEPTH = defined("depth", ValueScale(range=(1, 5), levels={1: "Shallow.", 5: "Deep."}))
TONE = defined("tone", CategoricalScale.model_validate({"categories": {"Polite": "", "Rude": ""}}))
METRICS = (RIGHT, NDCG, LATENCY, DEPTH, TONE)


def outcome(figure) -> Outcome:
    """Give the outcome that a figure stands for; several figures are those of several items, a judgement is itself."""
    if isinstance(figure, Judgement):
        return Scored(judgements=(figure,))
    if figure == FAILED:
        return Failed(error=Failure(kind="timeout", message="late"))
    if figure == SKIPPED:
        return Skipped(reason="answer is not recorded")
    if figure == UNSCORED:
        return Scored(judgements=(Judgement(value="Polite", reason="r"),))
    many = figure if isinstance(figure, Sequence) else (figure,)
    return Scored(
        judgements=tuple(
            Judgement(value=one, number=float(one), reason="r", item=f"c{n}" if len(many) > 1 else None)
            for n, one in enumerate(many)
        )
    )


def write(
    folder: Path,
    figures: Mapping[tuple[str, str], Sequence[object]],
    *,
    tags: Iterable[Mapping[str, str]] | None = None,
    metrics: Sequence[Metric] = METRICS,
    judge: str = "j",
    version: str = "f",
    names: Sequence[str] | None = None,
) -> Path:
    """Write a run: for each method and metric the figure of each question, with the questions' tags."""
    length = max(len(column) for column in figures.values())
    told = [*tags] if tags is not None else [{}] * length
    with StoreWriter.create(folder) as writer:
        writer.put_fact("metrics", [metric.model_dump(mode="json") for metric in metrics])
        for question in range(length):
            for (method, metric), column in figures.items():
                if question < len(column) and column[question] != MISSING:
                    result = Result(
                        sample_id=names[question] if names else f"q{question}",
                        method=method,
                        metric=metric,
                        fingerprint=f"{version}-{metric}",
                        judge=judge,
                        tier="computed",
                        outcome=outcome(column[question]),
                        tags=dict(told[question]),
                    )
                    writer.append(f"{question}-{method}-{metric}", result)
    return folder


def real(name: str) -> Path:
    """Give a file of the real data, or skip the test where it is not there."""
    path = REAL / name
    if not path.exists():
        pytest.skip(f"the shared data is not here: {path}")
    return path


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def content(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))
