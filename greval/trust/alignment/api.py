"""Align a metric with people: change it, cross-validate the changes, and accept only a gain beyond noise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Unpack

from greval._util.arguments import check_options, resolve_run_folder
from greval._util.concurrency import reduce_collections, run_sync
from greval._util.files import write_atomically
from greval._util.wording import format_count
from greval.errors import DataError, DefinitionError, StoreError
from greval.judging.metric_judge import MetricJudge
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.metrics.files import write_metric
from greval.metrics.library import load_metric
from greval.records.case import Case
from greval.records.metric import JudgedMetric, Metric
from greval.records.result import Usage
from greval.runs.forecast import MetricForecast, forecast
from greval.runs.options import CallOptions, get_prices
from greval.runs.run_reader import CaseKey
from greval.runs.runnable import compile_metric
from greval.stats.interval import LEVEL, check_level
from greval.trust.alignment.cross_validation import (
    AlignTask,
    PreparedAlignment,
    cross_validate_changes,
)
from greval.trust.alignment.labelled_items import (
    draw_folds,
    draw_questions,
    read_labelled_items,
)
from greval.trust.alignment.model_calls import AlignBudget, DefinitionRunner, DefinitionWriter, Verdicts
from greval.trust.alignment.records import AgreementGain, AlignAttempt, Alignment, AlignmentForecast, AlignStrategy
from greval.trust.alignment.strategies import MAX_EXAMPLES, MAX_TRIES, estimate_rewrite_tokens
from greval.trust.annotations.files import AnnotationSource

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from greval.runs.evaluation import Run

WAYS: tuple[AlignStrategy, ...] = ("examples", "rewrite")
FOLDER = "align"
DEFAULT_FOLDS = 5
DEFAULT_CHOOSING = 60
MIN_LABELS = 20
"""The minimum number of labelled items. They are split for learning, choosing and measuring."""
MAX_WRITER_CALLS = {"examples": MAX_EXAMPLES, "rewrite": MAX_TRIES}
"""The maximum number of writer calls per definition."""
SCHEMA_COMMENT = "# yaml-language-server:"


class AlignOptions(CallOptions, total=False):
    """Options of `align`."""

    out: str | Path | None
    ways: Sequence[AlignStrategy]
    writer: Judge | BaseChatModel | None
    folds: int
    choosing: int
    limit: int | None
    seed: int
    level: float
    label_columns: str | Sequence[str]
    work: str | Path | None
    on_told: Callable[[str], None]


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
        >>> from greval import Annotation, evaluate, load_metric
        >>> cases = [{"id": f"q{n}", "question": f"{n}?", "expected_answer": "1", "answer": "1"} for n in range(20)]
        >>> judge = ScriptedJudge([{"reason": "The same.", "value": 1}])
        >>> run = evaluate(cases, [load_metric("correctness")], judge, out=tempfile.mkdtemp())
        >>> people = [Annotation(sample_id=f"q{n}", metric="correctness", annotator="ana", value=1) for n in range(20)]
        >>> align(run, "correctness", judge, people).why
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
            and samples (0). `level`: the confidence level (0.95). `label_columns`: the columns that hold
            labels, as in `agreement`. `work`: the folder in which judgements are
            cached, so that no call is repeated (align in the run folder). `concurrency`, `gate`, `meter`,
            `max_calls`, `max_cost`, `prices`, `on_result`: as in `evaluate`. The caps hold for the work folder,
            over all calls of this function. `on_told`: a callback that receives one line of text per step.

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
    setup = _prepare_alignment(run, metric, judge, annotations, options)
    budget = AlignBudget(
        get_prices(options), setup.work, max_calls=options.get("max_calls"), max_cost=options.get("max_cost")
    )
    runner = DefinitionRunner(
        judge,
        setup.work,
        setup.labelled.scale,
        budget,
        calls=options,
        stop=stop,
        on_progress=options.get("on_told", lambda _: None),
    )
    model = options.get("writer") or judge
    gate = options.get("gate") or asyncio.Semaphore(runner.width)
    meter = options.get("meter")
    with DefinitionWriter(model, setup.work, budget, gate=gate, meter=meter) as writer, reduce_collections():
        items = setup.labelled.items
        # The verdicts of the run are those of the unchanged metric if its judge and definition are the same.
        verdicts: Verdicts = {item.number: item.judgement.value for item in items}
        if not setup.reused:
            verdicts = await runner.judge_items(setup.metric, items, "the unchanged metric")
        task = AlignTask(setup, verdicts, runner, writer)
        attempts, gain, changed, why = await cross_validate_changes(task)
    alignment = _build_alignment(task, attempts, gain, why, accepted=changed is not None)
    path = Path(options.get("out") or setup.work / f"{setup.metric.name}.yaml")
    return alignment if changed is None else _write_definition(alignment, setup.metric, changed, path)


def forecast_align(
    run: str | Path | Run,
    metric: str | Path | Metric,
    judge: Judge | BaseChatModel,
    annotations: AnnotationSource = None,
    **options: Unpack[AlignOptions],
) -> AlignmentForecast:
    """Count the maximum number of calls that `align` would make with the same arguments, without making any.

    The count assumes that nothing is cached and that every fold accepts a changed definition, so that all
    held-out items are judged. Retries after malformed answers are not included. The cost assumes that a call of the
    judge, or of the writer for a reason, is as long as one of the unchanged metric, and that each rewrite is shown the
    longest cases.

    Example:
        >>> import tempfile
        >>> from greval import Annotation, evaluate, load_metric
        >>> from greval.testing import ScriptedJudge
        >>> cases = [{"id": f"q{n}", "question": f"{n}?", "expected_answer": "1", "answer": "1"} for n in range(20)]
        >>> judge = ScriptedJudge([{"reason": "The same.", "value": 1}])
        >>> run = evaluate(cases, [load_metric("correctness")], judge, out=tempfile.mkdtemp())
        >>> people = [Annotation(sample_id=f"q{n}", metric="correctness", annotator="ana", value=0) for n in range(20)]
        >>> expected = forecast_align(run, "correctness", judge, people, folds=2, ways=["examples"])
        >>> expected.before, expected.written
        (0, 18)
    """
    setup = _prepare_alignment(run, metric, judge, annotations, options)
    alone, items = setup.metric.model_copy(update={"uses": {}}), setup.labelled.items
    cases = {item.case_key: item.case for item in items}
    with TemporaryDirectory() as empty:
        once = forecast(cases.values(), [alone], judge, out=Path(empty) / "run").expected[0]
    metric_judge = MetricJudge(alone, JudgeClient(judge))
    calls = {key: _count_calls(metric_judge, case) for key, case in cases.items()}
    # Fold 0 is the last round, which learns from all labels and holds nothing out.
    folds = (*sorted({*setup.fold_of.values()}), 0)
    rounds = [_list_round(setup, calls, fold) for fold in folds]
    total = (0 if setup.reused else sum(calls.values())) + sum(map(sum, rounds))
    judged = _scale_usage(once, total)
    label, writer = JudgeClient(judge).label, JudgeClient(options.get("writer") or judge).label
    writing = sum((_estimate_writing(setup, once, way, len(folds)) for way in setup.ways), Usage())
    prices = get_prices(options)
    costs = prices.cost(label, judged), prices.cost(writer, writing)
    return AlignmentForecast(
        metric=setup.metric.name,
        judge=label,
        labels=len(items),
        questions=len(setup.fold_of),
        before=0 if setup.reused else len(cases),
        learned=sum(map(len, rounds)),
        calls=total,
        written=sum(MAX_WRITER_CALLS[way] for way in setup.ways) * len(folds),
        input_tokens=judged.input_tokens or 0,
        cost=None if None in costs else sum(cost or 0.0 for cost in costs),
    )


def _prepare_alignment(
    run: str | Path | Run,
    metric: str | Path | Metric,
    judge: Judge | BaseChatModel,
    annotations: AnnotationSource,
    options: AlignOptions,
) -> PreparedAlignment:
    """Read the labelled items and assign them to folds, or raise an error that `align_async` lists."""
    ways = tuple(dict.fromkeys(options.get("ways") or WAYS))
    if unknown := [way for way in ways if way not in WAYS]:
        raise DataError(f"ways: {', '.join(unknown)} is not known; choose from {', '.join(WAYS)}")
    level = check_level(options.get("level", LEVEL))
    seed, count = options.get("seed", 0), options.get("folds", DEFAULT_FOLDS)
    if count < 2:  # noqa: PLR2004 - one fold to learn from, one to measure on
        raise DataError(f"folds: expected 2 or more, got {count}; what is learned from some is measured on the others")
    folder = resolve_run_folder(run)
    defined = metric if isinstance(metric, Metric) else load_metric(metric)
    if not isinstance(defined, JudgedMetric):
        raise DefinitionError(f"{defined.name}: is computed; only what a model judges can be aligned")
    labelled = read_labelled_items(folder, defined, annotations, options.get("label_columns", ()))
    limit = options.get("limit")
    if limit is not None and len(labelled.items) > limit:
        drawn = draw_questions([item.question for item in labelled.items], limit, seed=f"limit {seed}")
        labelled = labelled._replace(items=tuple(item for item in labelled.items if item.question in drawn))
    questions = [item.question for item in labelled.items]
    if len(questions) < MIN_LABELS or len(set(questions)) < 2 * count:
        raise DataError(
            f"{folder}: {len(questions)} labelled items of {len(set(questions))} questions are too few to align "
            f"{defined.name} in {count} folds; label {MIN_LABELS} or more, of {2 * count} questions at least"
        )
    fingerprint = compile_metric(defined, judge, built_on=labelled.metrics, judges={defined.name: judge}).fingerprint
    return PreparedAlignment(
        folder=folder,
        work=Path(options.get("work") or folder / FOLDER),
        metric=defined,
        labelled=labelled,
        fold_of=draw_folds(questions, count, seed=seed),
        reused=labelled.fingerprints == (fingerprint,),
        ways=ways,
        choosing=options.get("choosing", DEFAULT_CHOOSING),
        seed=seed,
        level=level,
    )


def _build_alignment(
    task: AlignTask, attempts: Sequence[AlignAttempt], gain: AgreementGain, why: str, *, accepted: bool
) -> Alignment:
    """Build the result of an alignment, without the text of the accepted definition."""
    setup, budget = task.setup, task.runner.budget
    return Alignment(
        folder=str(setup.folder),
        metric=setup.metric.name,
        judge=task.runner.client.label,
        writer=task.writer.client.label,
        annotators=setup.labelled.annotators,
        labels=len(setup.labelled.items),
        questions=len(setup.fold_of),
        folds=len({*setup.fold_of.values()}),
        level=setup.level,
        seed=setup.seed,
        ways=setup.ways,
        attempts=tuple(attempts),
        gain=gain,
        failed=len(setup.labelled.items) - gain.things,
        accepted=accepted,
        why=why,
        usage=budget.usage,
        cost=budget.cost,
        kept=budget.kept,
        warnings=setup.labelled.warnings,
    )


def _write_definition(alignment: Alignment, metric: JudgedMetric, changed: JudgedMetric, path: Path) -> Alignment:
    """Write the accepted definition, and add its text and its difference from the original to the result."""
    text = add_provenance(write_metric(changed), alignment)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
    except OSError as error:
        reason = f"{path}: the new definition cannot be written: {error.strerror}"
        raise StoreError(f"{reason}; name another file with --out; no call is repeated") from error
    old, new = (write_metric(definition).splitlines(keepends=True) for definition in (metric, changed))
    diff = "".join(unified_diff(old, new, f"before/{path.name}", f"after/{path.name}"))
    return alignment.model_copy(update={"path": str(path), "written": text, "diff": diff})


def add_provenance(text: str, alignment: Alignment) -> str:
    """Add comments to the text of a metric file that state what it was learned from and the gain."""
    # Editors look for the schema at the start of the file.
    first, body = text.split("\n", 1) if text.startswith(SCHEMA_COMMENT) else ("", text)
    # A line break in a name would end the comment.
    printable = ("".join(c if c.isprintable() else " " for c in line) for line in _format_provenance(alignment))
    return "\n".join((*([first] if first else []), *(f"# {line}" for line in printable), body))


def _format_provenance(alignment: Alignment) -> Iterator[str]:
    """Yield the provenance of a definition, line by line."""
    gain = alignment.gain
    today = datetime.now(tz=UTC).date().isoformat()
    chosen = [attempt for attempt in alignment.attempts if attempt.fold == 0 and attempt.chosen]
    ways = ", ".join(f"{attempt.way} (from {attempt.learned} of the labels)" for attempt in chosen)
    yield f"Aligned with people by greval on {today}, from the run {Path(alignment.folder).name}: {ways}"
    people = ", ".join(alignment.annotators)
    items, questions = format_count(alignment.labels, "labelled item"), format_count(alignment.questions, "question")
    yield f"{items} of {questions}; annotators: {people}"
    yield f"judge: {alignment.judge}; writer: {alignment.writer}"
    items = format_count(gain.things, "item")
    yield (
        f"held-out folds ({alignment.folds}, seed {alignment.seed}, {items}): {gain.figure} "
        f"{_format_number(gain.before)} before, {_format_number(gain.after)} after"
    )
    ends = f"[{gain.interval.low:.3f}, {gain.interval.high:.3f}]" if gain.interval else ""
    p = _format_number(gain.p, digits=4)
    yield f"gain {_format_number(gain.gain)} {ends} ({alignment.level:.0%}), sign-flip p = {p}"


def _format_number(value: float | None, *, digits: int = 3) -> str:
    return "undefined" if value is None else f"{value:.{digits}f}"


def _list_round(setup: PreparedAlignment, calls: Mapping[CaseKey, int], fold: int) -> list[int]:
    """List the calls of each case of a round: the deciding items once per strategy, and the held-out items once."""
    learning = [item for item in setup.labelled.items if setup.fold_of[item.question] != fold]
    held_out = [item for item in setup.labelled.items if setup.fold_of[item.question] == fold]
    # Which items decide is drawn later; the count is a maximum, so those with the most calls are assumed.
    learned, measured = ([calls[key] for key in {item.case_key for item in part}] for part in (learning, held_out))
    deciding = sorted(learned, reverse=True)[: min(setup.choosing, len(learning) // 2)]
    return deciding * len(setup.ways) + measured


def _count_calls(metric_judge: MetricJudge, case: Case) -> int:
    try:
        return len(metric_judge.split_batches(case))
    except DataError:
        return 0


def _estimate_writing(setup: PreparedAlignment, once: MetricForecast, way: AlignStrategy, rounds: int) -> Usage:
    """Estimate the usage of the writer by a strategy."""
    calls = MAX_WRITER_CALLS[way] * rounds
    if way == "examples":
        return _scale_usage(once, calls)
    prompt, answer = estimate_rewrite_tokens(setup.metric, setup.labelled.items)
    # A rewrite that is refused is asked for again with its own answer in the prompt.
    return Usage(calls=calls, input_tokens=calls * (prompt + answer), output_tokens=calls * answer)


def _scale_usage(once: MetricForecast, calls: int) -> Usage:
    """Return the usage of a number of calls that are as long as the forecast ones on average."""
    mean = calls / max(1, once.calls)
    return Usage(
        calls=calls,
        input_tokens=round(once.input_tokens * mean),
        output_tokens=round(once.output_tokens * mean),
    )
