"""Judging of duels: the pairs of the answers of a run by preference metrics."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Unpack

from greval._util.arguments import check_options
from greval._util.concurrency import run_sync
from greval.datasets.case_reader import CaseReader
from greval.datasets.row_faults import RowFault
from greval.errors import DataWarning
from greval.records.case import Case
from greval.records.metric import Metric
from greval.runs.duels import (
    check_preferences,
    find_duel_folder,
    find_pair_remarks,
    list_case_keys,
    list_pairs,
    name_responses,
    read_responses,
    split_method_names,
)
from greval.runs.evaluation import Run, evaluate_async
from greval.runs.judges import JudgeLike
from greval.runs.options import EvaluateOptions, select_evaluate_options


class DuelOptions(EvaluateOptions, total=False):
    """Options of a duel; see `duel`."""

    methods: Collection[str]
    limit: int | None
    out: str | Path | None


def duel(
    run: str | Path | Run | CaseReader,
    metrics: Sequence[Metric],
    judge: JudgeLike | None = None,
    **options: Unpack[DuelOptions],
) -> Run:
    """Compare the answers of several methods head to head: judge each pair of them by preference metrics.

    Each pair is judged in both orders, into the folder of the run, beside its other results. Judging again judges only
    what is missing or failed.

    Args:
        run: The run whose answers are compared, its folder, or a file of cases of several methods, also as
            `read_cases` reads it.
        metrics: Preference metrics.
        judge: The judge, as in `evaluate`.
        **options: `methods`: the methods to compare; all pairs by default. `limit`: only the first questions that at
            least two of the methods answered, this number of them. `out`: the folder of the results, by default that of
            the run. The others are the options of `evaluate`.

    Raises:
        DataError: If no two methods answered the same question, or `run` is a file and `out` is not given.
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
    run: str | Path | Run | CaseReader,
    metrics: Sequence[Metric],
    judge: JudgeLike | None = None,
    *,
    stop: asyncio.Event | None = None,
    **options: Unpack[DuelOptions],
) -> Run:
    """Compare the answers of several methods head to head; see `duel`. `stop` stops the run, as in `evaluate_async`."""
    check_options(options, DuelOptions, "duel")
    source = run.folder if isinstance(run, Run) else run if isinstance(run, CaseReader) else Path(run)
    check_preferences(metrics)
    out = options.get("out")
    folder = find_duel_folder(source, None if out is None else Path(out))
    rows, remarks = read_duel(source, metrics, options.get("methods", ()), options.get("limit"))
    for remark in remarks:
        warnings.warn(remark, DataWarning, stacklevel=2)
    return await evaluate_async(rows, metrics, judge, out=folder, stop=stop, **select_evaluate_options(options))


def read_duel(
    source: Path | CaseReader, metrics: Sequence[Metric], methods: Collection[str] = (), limit: int | None = None
) -> tuple[list[Case | RowFault], list[str]]:
    """Read the faulty rows and the pairs of a run or a file, and the remarks on methods whose samples do not pair."""
    cases, faults = read_responses(source)
    chosen = split_method_names(methods, cases)
    pairs = list_pairs(cases, metrics, chosen, limit=limit, source=name_responses(source))
    return [*faults, *pairs], find_pair_remarks(list_case_keys(cases), chosen)
