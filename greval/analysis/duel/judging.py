"""Judging of duels: the pairs of the answers of a run by preference metrics, all or until the win rates are known."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Unpack

from langchain_core.language_models import BaseChatModel

from greval._util.arguments import check_options
from greval._util.concurrency import run_sync
from greval.analysis.duel.schedule import PairSchedule, WidthGoal
from greval.datasets.row_faults import RowFault
from greval.errors import DataWarning
from greval.judging.model.judge import Judge
from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.result import Result
from greval.runs.duels import (
    check_preferences,
    find_duel_folder,
    find_pair_remarks,
    list_case_keys,
    list_pairs,
    read_responses,
)
from greval.runs.evaluation import Run, evaluate_async
from greval.runs.options import EvaluateOptions, select_evaluate_options
from greval.stats.interval import LEVEL


class DuelOptions(EvaluateOptions, total=False):
    """Options of a duel; see `duel`."""

    methods: Collection[str]
    limit: int | None
    out: str | Path | None
    until_width: float | None
    cluster_by: str | None
    level: float


def duel(
    run: str | Path | Run,
    metrics: Sequence[Metric],
    judge: Judge | BaseChatModel | None = None,
    **options: Unpack[DuelOptions],
) -> Run:
    """Compare the answers of several methods head to head: judge each pair of them by preference metrics.

    Each pair is judged in both orders, into the folder of the run, beside its other results. Judging again judges only
    what is missing or failed.

    Args:
        run: The run whose answers are compared, its folder, or a file of cases of several methods.
        metrics: Preference metrics.
        judge: The judge, as in `evaluate`.
        **options: `methods`: the methods to compare; all pairs by default. `limit`: only the first questions that at
            least two of the methods answered, this number of them. `out`: the folder of the results, by default that of
            the run. `until_width`: judge only until the interval of each win rate is at most this wide, questions in
            arbitrary order; by default all are judged. `cluster_by`: a tag whose questions are not independent, and
            `level`: the confidence level; both matter to `until_width` only. The others are the options of `evaluate`.

    Raises:
        DataError: If no two methods answered the same question, `run` is a file and `out` is not given, or a width or
            level is not between 0 and 1.
        DefinitionError: If no metric is given, or one is no preference.
        JudgeError: If there is no judge.
        StoreError: If the folder is no run, or cannot be written.
        TypeError: If an option does not exist.

    Example:
        >>> import tempfile
        >>> from greval import PreferenceMetric, evaluate
        >>> from greval.metrics.computed import COMPUTED_METRICS
        >>> from greval.testing import ScriptedJudge
        >>> cases = [{"id": "q1", "question": "Who?", "method": name, "answer": name, "usage": {"latency": 1}}
        ...          for name in ("walk", "local")]
        >>> run = evaluate(cases, [COMPUTED_METRICS["latency"]], out=tempfile.mkdtemp())
        >>> metric = PreferenceMetric(name="clarity", description="Which answer is clearer.",
        ...                           needs=["question", "answer"], steps=["Compare them."])
        >>> first = duel(run, [metric], ScriptedJudge([{"reason": "Clear.", "value": "A"}]))
        >>> [(result.method, result.value) for result in first.results() if result.metric == "clarity"]
        [('local vs walk', 'Tie')]
    """
    return run_sync(duel_async(run, metrics, judge, **options))


async def duel_async(
    run: str | Path | Run,
    metrics: Sequence[Metric],
    judge: Judge | BaseChatModel | None = None,
    *,
    stop: asyncio.Event | None = None,
    **options: Unpack[DuelOptions],
) -> Run:
    """Compare the answers of several methods head to head; see `duel`. `stop` stops the run, as in `evaluate_async`."""
    check_options(options, DuelOptions, "duel")
    source = run.folder if isinstance(run, Run) else Path(run)
    check_preferences(metrics)
    out = options.get("out")
    folder = find_duel_folder(source, None if out is None else Path(out))
    cases, faults = read_responses(source)
    pairs = list_pairs(cases, metrics, options.get("methods", ()), limit=options.get("limit"), source=source)
    for remark in find_pair_remarks(list_case_keys(cases), options.get("methods", ())):
        warnings.warn(remark, DataWarning, stacklevel=2)
    rows: Iterable[Case | RowFault] = [*faults, *pairs]
    evaluate_options = select_evaluate_options(options)
    if (width := options.get("until_width")) is not None:
        goal = WidthGoal(width, options.get("cluster_by"), options.get("level", LEVEL))
        schedule = PairSchedule.resume(pairs, [metric.name for metric in metrics], goal, folder)
        # An iterator, because which pair comes next depends on the verdicts so far.
        rows = chain(faults, schedule)
        on_result = options.get("on_result")

        def add_result(result: Result) -> None:
            schedule.add_result(result)
            if on_result:
                on_result(result)

        evaluate_options["on_result"] = add_result
    return await evaluate_async(rows, metrics, judge, out=folder, stop=stop, **evaluate_options)
