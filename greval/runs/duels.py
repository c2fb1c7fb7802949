"""Duels: pairs of the responses of several methods to the same samples, judged by preference metrics into a run.

A pair is a case whose method is `A vs B`. Everything that holds for cases holds for it: results, resuming, caps, costs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Unpack, cast

from langchain_core.language_models import BaseChatModel

from greval._util.arguments import build_unknown_name_error, check_options
from greval._util.concurrency import run_sync
from greval.datasets import read_cases
from greval.datasets.case_records import read_case
from greval.errors import DataError, DefinitionError
from greval.judging.model.judge import Judge
from greval.records.case import OTHER_RESPONSE, RESPONSE_FIELDS, TAG, Case, Response
from greval.records.metric import Metric, is_preference
from greval.runs.evaluation import Run, evaluate_async
from greval.runs.options import EvaluateOptions
from greval.runs.store import Store

VERSUS = " vs "
"""The text between the names of two methods in the method of their pair."""
_CONTEXT = ("chunks", "triples", "aggregates")


def list_pairs(
    cases: Iterable[Case],
    metrics: Iterable[Metric],
    methods: Collection[str] = (),
    *,
    limit: int | None = None,
    place: object = "cases",
) -> list[Case]:
    """List the pairs of each two methods that answered the same sample, sample by sample.

    A pair holds what the metrics read, and the answers. Its methods are in the order of their names, so that neither
    the order of the cases nor that of `methods` makes another pair. Pairs among the cases are left out. If a sample has
    several cases of a method, the last counts.

    Args:
        cases: The cases of several methods.
        metrics: The preference metrics that will judge the pairs.
        methods: The methods to compare; empty for all.
        limit: The number of samples that at least two of the methods answered, the first ones; None for all.
        place: The name of the cases in messages.

    Raises:
        DataError: If a method does not exist, or no two methods answered the same sample.

    Example:
        >>> answers = {"walk": "Ada.", "local": "Bob.", "flat": "Eve."}
        >>> cases = [Case(id="q1", question="Who?", method=name, answer=text) for name, text in answers.items()]
        >>> [pair.method for pair in list_pairs(cases, [])]
        ['flat vs local', 'flat vs walk', 'local vs walk']
    """
    samples: dict[str, dict[str, Case]] = {}
    for case in cases:
        if case.other_response is None:
            samples.setdefault(case.id, {})[case.method] = case
    known = dict.fromkeys(method for found in samples.values() for method in found)
    for name in methods:
        if name not in known:
            raise build_unknown_name_error("method", name, known, Path(str(place)))
    chosen = frozenset(methods or known)
    fields = _list_fields(metrics)
    shared = [kept for found in samples.values() if len(kept := _select_cases(found, chosen)) > 1]
    pairs = [build_pair(first, second, fields) for found in shared[:limit] for first, second in combinations(found, 2)]
    if not pairs:
        raise DataError(
            f"{place}: no two methods answered the same question; expected the answers of at least two methods, "
            f"found {', '.join(name or '(none)' for name in known) or 'no case'}"
        )
    return pairs


def _select_cases(found: Mapping[str, Case], methods: Collection[str]) -> list[Case]:
    """Select the cases of these methods, in the order of the names of the methods."""
    return [found[name] for name in sorted(found) if name in methods]


def split_method_names(given: Iterable[str], cases: Iterable[Case]) -> list[str]:
    """Split lists of methods at their commas, except those that are the name of a method as a whole.

    Example:
        >>> cases = [Case(question="?", method="walk, deep"), Case(question="?", method="flat")]
        >>> split_method_names(["walk, deep", "flat,local"], cases)
        ['walk, deep', 'flat', 'local']
    """
    known = {case.method for case in cases}
    parts = [[text] if text in known else text.split(",") for text in given]
    return [name.strip() for part in parts for name in part if name.strip()]


def build_pair(first: Case, second: Case, fields: Collection[str]) -> Case:
    """Build the pair of two cases of one sample, with these fields of both."""
    kept = {name: getattr(second, name) for name in Response.model_fields.keys() & fields}
    other = Response.model_construct(**{**kept, "method": second.method, "error": second.error})
    dropped = dict.fromkeys(Response.model_fields.keys() - {*fields, "method", "error"})
    method = f"{first.method}{VERSUS}{second.method}"
    return first.model_copy(update={**dropped, "method": method, OTHER_RESPONSE: other})


def split_pair_label(case: Case | None, label: str) -> tuple[str, str]:
    """Return the names of the two methods of a pair, of which the case may be unknown.

    Example:
        >>> split_pair_label(None, "walk vs local")
        ('walk', 'local')
    """
    if case is not None and case.other_response is not None:
        second = case.other_response.method
        return label.removesuffix(f"{VERSUS}{second}"), second
    first, _, second = label.partition(VERSUS)
    return first, second


def read_responses(source: str | Path) -> list[Case]:
    """Read the cases of a run folder, or of a file.

    Raises:
        DataError: If a row of the file is no case.
        StoreError: If the folder is no run.
    """
    if Path(source).is_dir():
        with Store.open(source) as store, store.snapshot():
            return [*store.cases()]
    return [read_case(row) for row in read_cases(source)]


class DuelOptions(EvaluateOptions, total=False):
    """Options of `duel`: those of `evaluate`, and which pairs are judged."""

    methods: Collection[str]
    limit: int | None


def duel(
    run: str | Path | Run,
    metrics: Sequence[Metric],
    judge: Judge | BaseChatModel | None = None,
    *,
    out: str | Path | None = None,
    **options: Unpack[DuelOptions],
) -> Run:
    """Compare the answers of several methods head to head: judge each pair of them by preference metrics.

    Each pair is judged in both orders, into the folder of the run, beside its other results. Judging again judges only
    what is missing or failed.

    Args:
        run: The run whose answers are compared, its folder, or a file of cases of several methods.
        metrics: Preference metrics.
        judge: The judge, as in `evaluate`.
        out: The folder of the results, by default that of the run.
        **options: `methods`: the methods to compare; all pairs by default. `limit`: only the first questions that at
            least two of the methods answered, this number of them. All others are options of `evaluate`.

    Raises:
        DataError: If no two methods answered the same question, or `run` is a file and `out` is not given.
        DefinitionError: If no metric is given, or one is no preference.
        JudgeError: If there is no judge.
        StoreError: If the folder is no run, or cannot be written.
        TypeError: If an option does not exist.

    Example:
        >>> import tempfile
        >>> from greval import COMPUTED_METRICS, PreferenceMetric, evaluate
        >>> from greval.testing import ScriptedJudge
        >>> cases = [{"id": "q1", "question": "Who?", "method": name, "answer": name, "usage": {"latency": 1}}
        ...          for name in ("walk", "local")]
        >>> run = evaluate(cases, [COMPUTED_METRICS["latency"]], out=tempfile.mkdtemp())
        >>> metric = PreferenceMetric(name="clarity", description="Which answer is clearer.",
        ...                           needs=["question", "answer"], steps=["Compare them."])
        >>> first = duel(run, [metric], ScriptedJudge([{"reason": "Clear.", "value": "A"}]))
        >>> [(one.method, one.value) for one in first.results() if one.metric == "clarity"]
        [('local vs walk', 'Tie')]
    """
    return run_sync(duel_async(run, metrics, judge, out=out, **options))


async def duel_async(
    run: str | Path | Run,
    metrics: Sequence[Metric],
    judge: Judge | BaseChatModel | None = None,
    *,
    out: str | Path | None = None,
    stop: asyncio.Event | None = None,
    **options: Unpack[DuelOptions],
) -> Run:
    """Compare the answers of several methods head to head; see `duel`. `stop` stops the run, as in `evaluate_async`."""
    check_options(options, DuelOptions, "duel")
    methods, limit = options.pop("methods", ()), options.pop("limit", None)
    source = run.folder if isinstance(run, Run) else Path(run)
    check_preferences(metrics)
    folder = find_duel_folder(source, None if out is None else Path(out))
    pairs = list_pairs(read_responses(source), metrics, methods, limit=limit, place=source)
    return await evaluate_async(pairs, metrics, judge, out=folder, stop=stop, **cast("EvaluateOptions", options))


def find_duel_folder(source: Path, out: Path | None) -> Path:
    """Return the folder of the results of a duel.

    Raises:
        DataError: If there is nothing at the source, or the responses are in a file and no folder is given.
    """
    if not source.exists():
        raise DataError(f"{source}: there is nothing; expected a run folder, or a file of cases of several methods")
    if out is None and not source.is_dir():
        raise DataError(f"{source}: is no run folder; name the folder of the results with -o RUN (out in Python)")
    return out or source


def check_preferences(metrics: Iterable[Metric]) -> None:
    """Raise `DefinitionError` if there is no metric, or for the first one that is no preference."""
    given = [*metrics]
    if not given:
        raise DefinitionError("no metric is given; give a preference, such as load('comprehensiveness')")
    for metric in given:
        if not is_preference(metric):
            raise DefinitionError(
                f"{metric.name}: judges one response; a duel needs a preference between two (preference: true)"
            )


def _list_fields(metrics: Iterable[Metric]) -> frozenset[str]:
    """Return the fields of responses that metrics read, and the answer, whose length is reported."""
    needed = {need for metric in metrics for need in metric.inputs if not need.startswith(TAG)} & {*RESPONSE_FIELDS}
    return frozenset(field for need in (*needed, "answer") for field in _expand_need(need))


def _expand_need(need: str) -> Iterator[str]:
    yield from _CONTEXT if need == "context" else (need,)
