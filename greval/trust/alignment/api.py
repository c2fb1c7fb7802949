"""Align a metric with people: change it, cross-validate the changes, and accept only a gain beyond noise."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

from greval._util.arguments import check_options
from greval._util.concurrency import reduce_collections, run_sync
from greval._util.files import write_atomically
from greval.errors import StoreError
from greval.judging.model.judge import Judge
from greval.metrics.files import write_metric
from greval.records.metric import JudgedMetric, Metric
from greval.runs.options import get_prices
from greval.stats.interval import LEVEL
from greval.trust.alignment.cross_validation import AlignTask, judge_held_out, learn_definition
from greval.trust.alignment.gain import VerdictPair, compute_gain, explain_rejection
from greval.trust.alignment.model_calls import AlignBudget, DefinitionRunner, Verdicts
from greval.trust.alignment.preparation import DEFAULT_CHOOSING, AlignOptions, PreparedAlignment, prepare_alignment
from greval.trust.alignment.provenance import add_provenance, diff_definitions
from greval.trust.alignment.records import AgreementGain, AlignAttempt, Alignment
from greval.trust.alignment.writer import DefinitionWriter
from greval.trust.annotations.files import AnnotationSource

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from greval.runs.evaluation import Run


def align(
    run: str | Path | Run,
    metric: str | Path | Metric,
    judge: Judge | BaseChatModel,
    annotations: AnnotationSource = None,
    **options: Unpack[AlignOptions],
) -> Alignment:
    """Improve a metric from its disagreements with people. This is the blocking form of `align_async`.

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
    return run_sync(align_async(run, metric, judge, annotations, **options))


async def align_async(
    run: str | Path | Run,
    metric: str | Path | Metric,
    judge: Judge | BaseChatModel,
    annotations: AnnotationSource = None,
    *,
    stop: asyncio.Event | None = None,
    **options: Unpack[AlignOptions],
) -> Alignment:
    """Improve a metric from its disagreements with people, and measure whether that helped.

    The gain is cross-validated. The labelled items are assigned to folds, and all items of a question are in
    the same fold. For each fold, the metric is changed with each strategy from some items of the other folds.
    The remaining items of the other folds choose the best definition, which may be the unchanged metric. The
    fold itself then measures the gain of that definition. If the gain over all folds is beyond noise, the
    procedure runs once more on all labels, and the resulting definition is written. An example is never used
    to judge its own item or another item of the same question.

    Args:
        run: The run whose verdicts people annotated, or its folder.
        metric: The metric, by name or file. The verdicts of the run are reused if its fingerprint is the same.
        judge: The model that judges.
        annotations: Annotations, or one or more annotation files. Defaults to those in the run folder.
        stop: When set, no further call is made. Finished judgements are kept.
        **options: `out`: the file of the new definition (NAME.yaml in the work folder). `ways`: the strategies
            to try ("examples" and "rewrite"). `writer`: the model that writes (the judge). `folds`: the number
            of folds (5). `choosing`: the maximum number of items that choose between the strategies in each
            fold (60). `limit`: the maximum number of labelled items to use. `seed`: the random seed of folds
            and samples (0). `level`: the confidence level (0.95). `work`: the folder in which judgements are
            cached, so that no call is repeated (align in the run folder). `concurrency`, `max_calls`,
            `max_cost`, `prices`: as in `evaluate`. The caps hold for the work folder, over all calls of this
            function. `on_told`: a callback that receives one line of text per step.

    Returns:
        The attempts and their gain. `accepted` is true if a definition was written.

    Raises:
        DataError: If there are too few labels.
        DefinitionError: If the metric does not exist or is computed.
        JudgeError: If the judge cannot be used at all.
        StoppedError: If the call was stopped. The same call resumes it.
        StoreError: If a folder cannot be read or written.
    """
    check_options(options, AlignOptions, "align")
    start = prepare_alignment(run, metric, judge, annotations, options)
    spent = AlignBudget(
        get_prices({"prices": options.get("prices")}),
        start.work,
        max_calls=options.get("max_calls"),
        max_cost=options.get("max_cost"),
    )
    bench = DefinitionRunner(
        judge,
        start.work,
        start.found.scale,
        spent,
        concurrency=options.get("concurrency"),
        stop=stop,
        on_progress=options.get("on_told", lambda _: None),
    )
    with (
        DefinitionWriter(options.get("writer") or judge, start.work, spent, width=bench.width) as writer,
        reduce_collections(),
    ):
        task = AlignTask(
            metric=start.metric,
            scale=start.found.scale,
            before=await _judge_baseline(start, bench),
            runner=bench,
            writer=writer,
            ways=start.ways,
            choosing=options.get("choosing", DEFAULT_CHOOSING),
            seed=options.get("seed", 0),
            level=options.get("level", LEVEL),
        )
        found = await _cross_validate(start, task)
    return _write_alignment(found, start, task, options.get("out"))


class _CrossValidated(NamedTuple):
    """The cross-validated gain, and the definition learned from all labels if the gain was accepted."""

    attempts: tuple[AlignAttempt, ...]
    gain: AgreementGain
    failed: int
    metric: JudgedMetric | None
    why: str


async def _judge_baseline(start: PreparedAlignment, runner: DefinitionRunner) -> Verdicts:
    """Return the verdicts of the unchanged metric, from the run if its judge and definition are the same."""
    points = start.found.points
    if start.reused:
        return {point.number: point.judgement.value for point in points}
    return await runner.judge_items(start.metric, points, "the metric as it is")


async def _cross_validate(start: PreparedAlignment, task: AlignTask) -> _CrossValidated:
    """Cross-validate the procedure, and learn from all labels if its gain is beyond noise."""
    points = start.found.points
    attempts: list[AlignAttempt] = []
    pairs: list[VerdictPair] = []
    if all(task.before.get(point.number) == point.people for point in points):
        told = compute_gain(await judge_held_out(task, None, points, 0), task.scale, level=task.level)
        return _CrossValidated((), told, 0, None, "the judge agrees with people on everything that is labelled")
    for fold in sorted({*start.fold_of.values()}):
        one = await learn_definition(task, [point for point in points if start.fold_of[point.question] != fold], fold)
        attempts += one.attempts
        held = [point for point in points if start.fold_of[point.question] == fold]
        pairs += await judge_held_out(task, one.metric, held, fold)
    gain = compute_gain(pairs, task.scale, level=task.level)
    failed = len(points) - len(pairs)
    if why := _explain_no_gain(attempts, gain, level=task.level):
        return _CrossValidated(tuple(attempts), gain, failed, None, why)
    last = await learn_definition(task, points, 0)
    why = (
        "the gain is beyond noise" if last.metric else "it helped in the folds, but nothing learned from all labels did"
    )
    return _CrossValidated((*attempts, *last.attempts), gain, failed, last.metric, why)


def _explain_no_gain(attempts: Sequence[AlignAttempt], gain: AgreementGain, *, level: float) -> str | None:
    """Return why nothing helped, or None if something did."""
    if not any(one.chosen for one in attempts):
        return "in no fold a changed definition was better than the metric as it is"
    return explain_rejection(gain, level=level)


def _write_alignment(
    found: _CrossValidated, start: PreparedAlignment, task: AlignTask, out: str | Path | None
) -> Alignment:
    """Build the result, and write the definition if one was accepted."""
    points = start.found.points
    alignment = Alignment(
        folder=str(start.folder),
        metric=start.metric.name,
        judge=task.runner.client.label,
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
        usage=task.runner.budget.usage,
        cost=task.runner.budget.cost,
        kept=task.runner.budget.kept,
        warnings=start.found.warnings,
    )
    if found.metric is None:
        return alignment
    path = Path(out) if out else start.work / f"{start.metric.name}.yaml"
    text = add_provenance(write_metric(found.metric), alignment)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    except OSError as error:
        reason = f"{path}: the new definition cannot be written: {error.strerror}"
        raise StoreError(f"{reason}; name another file with --out, and nothing is asked again") from error
    diff = diff_definitions(start.metric, found.metric, path.name)
    return alignment.model_copy(update={"path": str(path), "written": text, "diff": diff})
