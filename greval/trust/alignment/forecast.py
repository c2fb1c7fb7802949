"""Forecast of the calls, tokens and cost of an alignment, made without calling a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Unpack

from greval.errors import DataError
from greval.judging.metric_judge import Asking
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.result import Usage
from greval.runs.forecast import forecast
from greval.runs.options import prices_of
from greval.trust.alignment.few_shot import MOST
from greval.trust.alignment.labelled_items import Point
from greval.trust.alignment.preparation import CHOOSING, Prepared, Wishes, prepared
from greval.trust.alignment.records import Foreseen
from greval.trust.alignment.rewrite import TRIES
from greval.trust.annotations.sources import Source

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

WRITES = {"examples": MOST, "rewrite": TRIES}
"""The maximum number of writer calls per definition."""


def foresee(
    run: str | Path | Run,
    metric: str | Path | Metric,
    judge: Judge,
    annotations: Source = None,
    **wishes: Unpack[Wishes],
) -> Foreseen:
    """Count the maximum number of calls that `align` would make with the same arguments, without making any.

    The count assumes that nothing is cached and that every fold accepts a changed definition, so that all
    held-out items are judged. Retries after malformed answers are not included. The cost assumes that every
    call costs as much as one of the unchanged metric.

    Args:
        run: As in `align`.
        metric: The metric, by name or file.
        judge: The model that judges.
        annotations: As in `align`.
        **wishes: As in `align`.

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
    start = prepared(run, metric, judge, annotations, wishes)
    asked = start.metric.model_copy(update={"uses": {}})
    cases = {_place(point.case): point.case for point in start.found.points}
    with TemporaryDirectory() as empty:
        once = forecast(cases.values(), [asked], judge, out=Path(empty) / "run").expected[0]
    asking = Asking(asked, JudgeClient(judge))
    calls = {place: _calls(asking, case) for place, case in cases.items()}
    rounds = [_learned(start, calls, fold, wishes.get("choosing", CHOOSING)) for fold in (*_folds(start), 0)]
    before = 0 if start.reused else len(cases)
    made = (0 if start.reused else sum(calls.values())) + sum(made for _, made in rounds)
    tokens = round(once.input_tokens / max(1, once.calls) * made)
    output = round(once.output_tokens / max(1, once.calls) * made)
    return Foreseen(
        metric=start.metric.name,
        judge=JudgeClient(judge).label,
        labels=len(start.found.points),
        questions=len(start.fold_of),
        before=before,
        learned=sum(judged for judged, _ in rounds),
        calls=made,
        written=sum(WRITES[way] for way in start.ways) * len(rounds),
        input_tokens=tokens,
        cost=prices_of({"prices": wishes.get("prices")}).cost(
            JudgeClient(judge).label, Usage(calls=made, input_tokens=tokens, output_tokens=output)
        ),
    )


def _folds(start: Prepared) -> list[int]:
    return sorted({*start.fold_of.values()})


def _learned(start: Prepared, calls: dict[tuple[str, str], int], fold: int, choosing: int) -> tuple[int, int]:
    """Count the cases and calls of one round: the deciding items once per strategy, and the held-out items once."""
    rest = [point for point in start.found.points if start.fold_of[point.question] != fold]
    held = [] if fold == 0 else [point for point in start.found.points if start.fold_of[point.question] == fold]
    choose = sorted(_of(rest, calls), reverse=True)[: min(choosing, len(rest) // 2)]
    back = _of(held, calls)
    ways = len(start.ways)
    return len(choose) * ways + len(back), sum(choose) * ways + sum(back)


def _of(points: Sequence[Point], calls: dict[tuple[str, str], int]) -> list[int]:
    return [calls[place] for place in {_place(point.case) for point in points}]


def _place(case: Case) -> tuple[str, str]:
    return case.id, case.method


def _calls(asking: Asking, case: Case) -> int:
    try:
        return len(asking.batches(case))
    except DataError:
        return 0
