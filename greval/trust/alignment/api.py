"""Aligning a metric with people: change it, choose, and accept only what helps on questions it did not learn from."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

from greval._util.arguments import known_options
from greval._util.concurrency import rare_collections
from greval._util.whole_file import write_whole
from greval.errors import StoreError
from greval.judging.metric_runnable import run_sync
from greval.judging.model.judge import Judge
from greval.metrics.files import write_metric
from greval.records.metric import JudgedMetric, Metric
from greval.runs.options import prices_of
from greval.stats.interval import LEVEL
from greval.trust.alignment.cross_validation import Task, held_back, learned
from greval.trust.alignment.definition_runs import Bench, Spent, Verdicts
from greval.trust.alignment.gain import Pair, doubt, gained
from greval.trust.alignment.preparation import CHOOSING, Prepared, Wishes, prepared
from greval.trust.alignment.provenance import difference, with_provenance
from greval.trust.alignment.records import Alignment, Attempt, Gain
from greval.trust.alignment.writer import Writer
from greval.trust.annotations.sources import Source

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from greval.runs.evaluation import Run


def align(
    run: str | Path | Run,
    metric: str | Path | Metric,
    judge: Judge | BaseChatModel,
    annotations: Source = None,
    **wishes: Unpack[Wishes],
) -> Alignment:
    """Improve a metric from its disagreements with people, from a script or a notebook; see `align_async`.

    Example:
        >>> import tempfile
        >>> from greval.testing import ScriptedJudge
        >>> from greval import Annotation, evaluate, load
        >>> cases = [{"id": f"q{n}", "question": f"{n}?", "expected_answer": "1", "answer": "1"} for n in range(20)]
        >>> judge = ScriptedJudge([{"reason": "The same.", "value": 1}])
        >>> run = evaluate(cases, [load("correctness")], judge, out=tempfile.mkdtemp())
        >>> said = [Annotation(sample_id=f"q{n}", metric="correctness", annotator="ana", value=1) for n in range(20)]
        >>> align(run, "correctness", judge, said).why
        'the judge agrees with people on everything that is labelled'
    """
    return run_sync(align_async(run, metric, judge, annotations, **wishes))


async def align_async(
    run: str | Path | Run,
    metric: str | Path | Metric,
    judge: Judge | BaseChatModel,
    annotations: Source = None,
    *,
    stop: asyncio.Event | None = None,
    **wishes: Unpack[Wishes],
) -> Alignment:
    """Improve a metric from its disagreements with people, and say honestly whether that helped.

    The labelled things are dealt to folds, whole questions at a time. For each fold the metric is changed
    in each way from some things of the other folds; others of these choose the best, or the metric as it
    is; the fold itself then tells what that gained. Only where the gain over all folds is beyond noise the
    same is done with all labels, and the definition is written. An example never judges itself, nor
    another thing of its question.

    Args:
        run: The run whose verdicts people annotated, or its folder.
        metric: The metric, by name or file; its verdicts in the run count where they are of this judge.
        judge: The model that judges.
        annotations: A file of annotations, several, or annotations; without them those in the run's folder.
        stop: When set, no further call is made; what was judged is kept.
        **wishes: `out`: where the new definition is written (NAME.yaml in the work folder). `ways`:
            "examples" and "rewrite" by default. `writer`: the model that writes (the judge). `folds`: 5.
            `choosing`: how many things at most choose between the ways in each fold, 60. `limit`: use so
            many labelled things only. `seed`: 0, decides how things are dealt and drawn. `level`: 0.95.
            `work`: where judgements are kept, so that nothing is asked twice (align in the run's folder).
            `concurrency`, `max_calls`, `max_cost`, `prices`: as in `evaluate`; the caps hold for the work
            folder, over all calls. `on_told`: called with a line on each step.

    Returns:
        What was tried and what it gave; `accepted` tells whether a definition was written.

    Raises:
        DataError: Where too little is labelled.
        DefinitionError: Where the metric is not there, or is computed.
        JudgeError: Where the judge cannot be used at all.
        StoppedError: Where it was stopped; the same call goes on.
        StoreError: Where a folder cannot be read or written.
    """
    known_options(wishes, Wishes, "align")
    start = prepared(run, metric, judge, annotations, wishes)
    spent = Spent(
        prices_of({"prices": wishes.get("prices")}),
        start.work,
        max_calls=wishes.get("max_calls"),
        max_cost=wishes.get("max_cost"),
    )
    bench = Bench(
        judge,
        start.work,
        start.found.scale,
        spent,
        concurrency=wishes.get("concurrency"),
        stop=stop,
        on_told=wishes.get("on_told", lambda _: None),
    )
    with Writer(wishes.get("writer") or judge, start.work, spent, width=bench.width) as writer, rare_collections():
        task = Task(
            metric=start.metric,
            scale=start.found.scale,
            before=await _before(start, bench),
            bench=bench,
            writer=writer,
            ways=start.ways,
            choosing=wishes.get("choosing", CHOOSING),
            seed=wishes.get("seed", 0),
            level=wishes.get("level", LEVEL),
        )
        found = await _aligned(start, task)
    return _written(found, start, task, wishes.get("out"))


class _Found(NamedTuple):
    """What the folds told, and the definition that was learned from all labels where they told enough."""

    attempts: tuple[Attempt, ...]
    gain: Gain
    failed: int
    metric: JudgedMetric | None
    why: str


async def _before(start: Prepared, bench: Bench) -> Verdicts:
    """Give the verdicts of the metric as it is: the run's own where they are of this judge and definition."""
    points = start.found.points
    if start.reused:
        return {point.number: point.said.value for point in points}
    return await bench.verdicts(start.metric, points, "the metric as it is")


async def _aligned(start: Prepared, task: Task) -> _Found:
    """Ask each fold what the procedure gains, and where that is beyond noise learn from all labels."""
    points = start.found.points
    attempts: list[Attempt] = []
    pairs: list[Pair] = []
    if all(task.before.get(point.number) == point.people for point in points):
        told = gained(await held_back(task, None, points, 0), task.scale, level=task.level)
        return _Found((), told, 0, None, "the judge agrees with people on everything that is labelled")
    for fold in sorted({*start.fold_of.values()}):
        one = await learned(task, [point for point in points if start.fold_of[point.question] != fold], fold)
        attempts += one.attempts
        held = [point for point in points if start.fold_of[point.question] == fold]
        pairs += await held_back(task, one.metric, held, fold)
    gain = gained(pairs, task.scale, level=task.level)
    failed = len(points) - len(pairs)
    if why := _no_gain(attempts, gain, level=task.level):
        return _Found(tuple(attempts), gain, failed, None, why)
    last = await learned(task, points, 0)
    why = (
        "the gain is beyond noise" if last.metric else "it helped in the folds, but nothing learned from all labels did"
    )
    return _Found((*attempts, *last.attempts), gain, failed, last.metric, why)


def _no_gain(attempts: Sequence[Attempt], gain: Gain, *, level: float) -> str | None:
    """Say why nothing helped, None where something did."""
    if not any(one.chosen for one in attempts):
        return "in no fold a changed definition was better than the metric as it is"
    return doubt(gain, level=level)


def _written(found: _Found, start: Prepared, task: Task, out: str | Path | None) -> Alignment:
    """Give what came of it, and write the definition where one was accepted."""
    points = start.found.points
    alignment = Alignment(
        folder=str(start.folder),
        metric=start.metric.name,
        judge=task.bench.client.label,
        writer=task.writer.client.label,
        annotators=start.found.annotators,
        labels=len(points),
        questions=len({point.question for point in points}),
        folds=len({*start.fold_of.values()}),
        level=task.level,
        seed=task.seed,
        ways=task.ways,
        attempts=found.attempts,
        gain=found.gain,
        failed=found.failed,
        accepted=found.metric is not None,
        why=found.why,
        usage=task.bench.spent.usage,
        cost=task.bench.spent.cost,
        kept=task.bench.spent.kept,
        warnings=start.found.warnings,
    )
    if found.metric is None:
        return alignment
    path = Path(out) if out else start.work / f"{start.metric.name}.yaml"
    text = with_provenance(write_metric(found.metric), alignment)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        reason = f"{path}: the new definition cannot be written: {error.strerror}"
        raise StoreError(f"{reason}; name another file with --out, and nothing is asked again") from error
    diff = difference(start.metric, found.metric, path.name)
    return alignment.model_copy(update={"path": str(path), "written": text, "diff": diff})
