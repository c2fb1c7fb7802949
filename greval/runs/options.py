"""Options of a run, and values derived from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from greval.datasets.case_reader import CaseReader
from greval.datasets.case_records import CaseRecords
from greval.datasets.file_identity import UNKNOWN_SOURCE, CaseSource
from greval.errors import DataError
from greval.judging.model.budget import CallMeter, RunSpending, format_cap_reason
from greval.judging.model.client import ReplySource
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Prices
from greval.records.metric import ReasonDepth
from greval.records.result import Result
from greval.runs.judges import JudgeLike
from greval.runs.manifest import RunCommand
from greval.runs.progress import Progress

if TYPE_CHECKING:
    from greval.records.annotation import Annotation
    from greval.runs.escalation import FirstVerdicts
    from greval.runs.shard import Shard

DEFAULT_CONCURRENCY = 8
LOCAL_CONCURRENCY = 2
"""The embedded model processes one call at a time; a second call waits in the queue."""


OnProgress = Callable[[Progress], None]


class CallOptions(TypedDict, total=False):
    """Options of everything that calls a judge: runs, probes and alignments; see `evaluate_async`."""

    concurrency: int | None
    gate: AbstractAsyncContextManager[object] | None
    meter: CallMeter | None
    max_calls: int | None
    max_cost: float | None
    prices: Prices | None
    on_result: Callable[[Result], None] | None


class EvaluateOptions(CallOptions, total=False):
    """Options of a run; see `evaluate_async`."""

    judges: Mapping[str, JudgeLike] | None
    asked: Collection[str] | None
    repeats: int
    reason_depth: ReasonDepth | None
    retry_failed: bool
    resume: bool
    deadline: float | None
    cache: bool | Path
    store_calls: bool
    shard: Shard | str | None
    probe: bool
    columns: Mapping[str, str] | None
    origin: CaseSource
    part: str
    reply_source: ReplySource | None
    command: RunCommand | None
    config: RunnableConfig | None
    total: int | None
    on_progress: OnProgress | None
    on_unread: Callable[[str], None] | None
    escalate: JudgeLike | None
    agree: float
    labels: Sequence[str | Path | Annotation] | str | Path | None
    first: FirstVerdicts | None


def select_evaluate_options(options: Mapping[str, object], **changes: Unpack[EvaluateOptions]) -> EvaluateOptions:
    """Return those options of a task that `evaluate` takes, with some of them changed."""
    names = EvaluateOptions.__annotations__
    selected = {name: option for name, option in options.items() if name in names}
    return cast("EvaluateOptions", {**selected, **changes})


def get_asked_names(given: frozenset[str], options: EvaluateOptions) -> frozenset[str]:
    """Return the names of the metrics that are judged on each case, by default those that were given.

    What only formulas read is judged when one of them needs it.
    """
    asked_names = options.get("asked")
    return given if asked_names is None else frozenset(asked_names)


def get_concurrency(judge: Judge | BaseChatModel | None, options: CallOptions) -> int:
    """Return the maximum number of concurrent calls of a judge."""
    local = isinstance(judge, Judge) and judge.local
    return options.get("concurrency") or (LOCAL_CONCURRENCY if local else DEFAULT_CONCURRENCY)


def get_total_concurrency(judges: Sequence[Judge | BaseChatModel], options: CallOptions) -> int:
    """Return the maximum number of concurrent calls of all judges: the option, or the sum of their defaults."""
    return options.get("concurrency") or sum(get_concurrency(judge, options) for judge in judges) or DEFAULT_CONCURRENCY


def count_judgements(cases: CaseRecords, options: EvaluateOptions, metrics: int) -> int | None:
    """Return the number of planned judgements, or None if it is unknown until the cases are read."""
    total = options.get("total")
    if total is None and isinstance(cases, Sized):
        total = len(cases)
    # The number of cases in a shard is known when all are read.
    return None if total is None or options.get("shard") else total * metrics


def get_shard(options: EvaluateOptions) -> Shard | None:
    """Return the shard of the cases to judge, or None for all cases."""
    shard = options.get("shard")
    if shard is None:
        return None
    from greval.runs.shard import Shard

    if isinstance(shard, str):
        return Shard.parse(shard)
    if not isinstance(shard, Shard):
        raise DataError(f"shard {shard!r}: write it as '3/16', the third of sixteen")
    return shard


def get_source(cases: CaseRecords, options: EvaluateOptions) -> CaseSource:
    """Return the source of the cases, `UNKNOWN_SOURCE` if there is no information about it."""
    origin = options.get("origin")
    if origin is None and isinstance(cases, CaseReader):
        origin = cases.identify_source()
    return origin or UNKNOWN_SOURCE


def share_caps(options: CallOptions, elsewhere: RunSpending) -> EvaluateOptions:
    """Return the caps of one of several runs that share them: what the other runs left, given what these spent."""
    calls, cost = options.get("max_calls"), options.get("max_cost")
    return {
        "max_calls": None if calls is None else max(calls - elsewhere.calls, 0),
        "max_cost": None if cost is None else max(cost - (elsewhere.cost or 0.0), 0.0),
    }


def describe_shared_stop(why: str, options: CallOptions, before: RunSpending) -> str:
    """Return why one of several runs was stopped, with its own cap replaced by the one that they share."""
    calls, cost = options.get("max_calls"), options.get("max_cost")
    if calls is not None and "--max-calls" in why:
        return format_cap_reason(before, max_calls=calls)
    if cost is not None and "--max-cost" in why:
        return format_cap_reason(before, max_cost=cost)
    return why


def get_prices(options: CallOptions) -> Prices:
    """Return the price table, by default the one shipped with greval."""
    return options.get("prices") or Prices.load()
