"""Run folders with verdicts that people annotated too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from compared_runs import defined

from greval.records.annotation import Annotation
from greval.records.case import Case, Chunk
from greval.records.result import Failed, Failure, Judgement, Result, Scored
from greval.records.scale import CategoricalScale, MeasureScale, ValueScale
from greval.runs.store.writer import StoreWriter

RELEVANT = ("Relevant", "Partly", "Irrelevant")
YES_NO = defined("right", CategoricalScale.model_validate({"categories": {"Yes": "", "No": ""}}))
GRADED = defined("graded", CategoricalScale.model_validate({"categories": dict.fromkeys(RELEVANT, "")}))
DEPTH = defined("depth", ValueScale(range=(1, 5), levels={1: "Shallow.", 5: "Deep."}))
PASSED = defined("passed", ValueScale(range=(0, 1), levels={0: "No.", 1: "Yes."}))
HALF = defined("half", ValueScale(range=(0, 1), step=0.5, levels={0: "No.", 1: "Yes."}))
SHIFT = defined("shift", MeasureScale(low=-2.0, high=2.0, unit=""))
METRICS = {metric.name: metric for metric in (YES_NO, GRADED, DEPTH, PASSED, HALF, SHIFT)}
YES = ["Yes"] * 12 + ["No"] * 8
MOSTLY = ["Yes"] * 10 + ["No"] * 10
TEXTS = ["short"] * 10 + ["a long answer " * 5] * 10
FAILED = None
"""Stands for a verdict that the judge did not give."""


def write(
    folder: Path,
    metric: str,
    verdicts: Sequence[object],
    *,
    questions: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    tags: Sequence[dict[str, str]] | None = None,
    judges: Sequence[str] | None = None,
) -> Path:
    """Write a run of one metric: a verdict for each answer, each by a method of its own where questions repeat."""
    asked = questions or [f"q{n}" for n in range(len(verdicts))]
    with StoreWriter.create(folder) as writer:
        writer.put_fact("metrics", [METRICS[metric].model_dump(mode="json")])
        for n, verdict in enumerate(verdicts):
            failed = Failed(error=Failure(kind="malformed", message="no verdict"))
            number = verdict if isinstance(verdict, int | float) else None
            result = Result(
                sample_id=asked[n],
                method=f"m{n}" if questions else "",
                metric=metric,
                fingerprint="f",
                judge=judges[n] if judges else "j",
                tier="computed",
                outcome=failed if verdict is None else scored(verdict, number),
                tags=tags[n] if tags else {},
            )
            case = Case(id=result.sample_id, method=result.method, question="?", answer=texts[n] if texts else None)
            writer.append(str(n), result, case=case.model_dump_json(exclude_defaults=True))
    return folder


def scored(verdict, number):
    return Scored(judgements=(Judgement(value=verdict, number=number, reason="r"),))


def write_chunks(folder: Path, verdicts: Sequence[Sequence[str]]) -> Path:
    """Write a run of a metric over chunks: the verdicts of each question's chunks."""
    with StoreWriter.create(folder) as writer:
        writer.put_fact("metrics", [GRADED.model_dump(mode="json")])
        for n, each in enumerate(verdicts):
            judgements = tuple(Judgement(value=value, reason="r", item=f"c{i}") for i, value in enumerate(each))
            row = Result(
                sample_id=f"q{n}",
                metric="graded",
                fingerprint="f",
                judge="j",
                tier="computed",
                outcome=Scored(judgements=judgements),
            )
            chunks = tuple(Chunk(id=f"c{i}", text="x" * (10 + i)) for i in range(len(each)))
            case = Case(id=f"q{n}", question="?", chunks=chunks)
            writer.append(str(n), row, case=case.model_dump_json(exclude_defaults=True))
    return folder


def said(metric: str, annotator: str, values: Sequence[object], *, questions: Sequence[str] | None = None, **more):
    """Give an annotator's value of each answer; None for one that was not annotated."""
    return [
        Annotation(
            sample_id=questions[n] if questions else f"q{n}",
            method=f"m{n}" if questions else "",
            metric=metric,
            annotator=annotator,
            value=value,
            **more,
        )
        for n, value in enumerate(values)
        if value is not None
    ]


def lines_of(annotations) -> str:
    """Write one annotation a line, as JSON."""
    return "".join(f"{one.model_dump_json()}\n" for one in annotations)
