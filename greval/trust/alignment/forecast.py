"""Forecast of the calls, tokens and cost of an alignment, made without calling a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Unpack

from greval.errors import DataError
from greval.judging.metric_judge import MetricJudge
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.result import Usage
from greval.runs.forecast import forecast
from greval.runs.options import get_prices
from greval.trust.alignment.few_shot import MAX_EXAMPLES
from greval.trust.alignment.labelled_items import LabelledItem
from greval.trust.alignment.preparation import DEFAULT_CHOOSING, AlignOptions, PreparedAlignment, prepare_alignment
from greval.trust.alignment.records import AlignmentForecast
from greval.trust.alignment.rewrite import MAX_TRIES
from greval.trust.annotations.files import AnnotationSource

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

MAX_WRITER_CALLS = {"examples": MAX_EXAMPLES, "rewrite": MAX_TRIES}
"""The maximum number of writer calls per definition."""


def forecast_align(
    run: str | Path | Run,
    metric: str | Path | Metric,
    judge: Judge,
    annotations: AnnotationSource = None,
    **options: Unpack[AlignOptions],
) -> AlignmentForecast:
    """Count the maximum number of calls that `align` would make with the same arguments, without making any.

    The count assumes that nothing is cached and that every fold accepts a changed definition, so that all
    held-out items are judged. Retries after malformed answers are not included. The cost assumes that every
    call costs as much as one of the unchanged metric.

    Args:
        run: As in `align`.
        metric: The metric, by name or file.
        judge: The model that judges.
        annotations: As in `align`.
        **options: As in `align`.

    Raises:
        DataError: If there are too few labels.
        DefinitionError: If the metric does not exist or is computed.
        JudgeError: If the judge cannot be used at all.
        StoreError: If the folder is not a run.

    Example:
        >>> import tempfile
        >>> from greval import Annotation, evaluate, load
        >>> from greval.testing import ScriptedJudge
        >>> cases = [{"id": f"q{n}", "question": f"{n}?", "expected_answer": "1", "answer": "1"} for n in range(20)]
        >>> judge = ScriptedJudge([{"reason": "The same.", "value": 1}])
        >>> run = evaluate(cases, [load("correctness")], judge, out=tempfile.mkdtemp())
        >>> said = [Annotation(sample_id=f"q{n}", metric="correctness", annotator="ana", value=0) for n in range(20)]
        >>> found = foresee(run, "correctness", judge, said, folds=2, ways=["examples"])
        >>> found.before, found.written
        (0, 18)
    """
    start = prepare_alignment(run, metric, judge, annotations, options)
    asked = start.metric.model_copy(update={"uses": {}})
    cases = {_get_case_key(point.case): point.case for point in start.found.points}
    with TemporaryDirectory() as empty:
        once = forecast(cases.values(), [asked], judge, out=Path(empty) / "run").expected[0]
    asking = MetricJudge(asked, JudgeClient(judge))
    calls = {place: _count_calls(asking, case) for place, case in cases.items()}
    rounds = [
        _count_round(start, calls, fold, options.get("choosing", DEFAULT_CHOOSING)) for fold in (*_list_folds(start), 0)
    ]
    before = 0 if start.reused else len(cases)
    made = (0 if start.reused else sum(calls.values())) + sum(made for _, made in rounds)
    tokens = round(once.input_tokens / max(1, once.calls) * made)
    output = round(once.output_tokens / max(1, once.calls) * made)
    return AlignmentForecast(
        metric=start.metric.name,
        judge=JudgeClient(judge).label,
        labels=len(start.found.points),
        questions=len(start.fold_of),
        before=before,
        learned=sum(judged for judged, _ in rounds),
        calls=made,
        written=sum(MAX_WRITER_CALLS[way] for way in start.ways) * len(rounds),
        input_tokens=tokens,
        cost=get_prices({"prices": options.get("prices")}).cost(
            JudgeClient(judge).label, Usage(calls=made, input_tokens=tokens, output_tokens=output)
        ),
    )


foresee = forecast_align  # the earlier name


def _list_folds(start: PreparedAlignment) -> list[int]:
    return sorted({*start.fold_of.values()})


def _count_round(
    start: PreparedAlignment, calls: dict[tuple[str, str], int], fold: int, choosing: int
) -> tuple[int, int]:
    """Count the cases and calls of one round: the deciding items once per strategy, and the held-out items once."""
    rest = [point for point in start.found.points if start.fold_of[point.question] != fold]
    held = [] if fold == 0 else [point for point in start.found.points if start.fold_of[point.question] == fold]
    choose = sorted(_list_calls(rest, calls), reverse=True)[: min(choosing, len(rest) // 2)]
    back = _list_calls(held, calls)
    ways = len(start.ways)
    return len(choose) * ways + len(back), sum(choose) * ways + sum(back)


def _list_calls(points: Sequence[LabelledItem], calls: dict[tuple[str, str], int]) -> list[int]:
    return [calls[place] for place in {_get_case_key(point.case) for point in points}]


def _get_case_key(case: Case) -> tuple[str, str]:
    return case.id, case.method


def _count_calls(asking: MetricJudge, case: Case) -> int:
    try:
        return len(asking.split_batches(case))
    except DataError:
        return 0
