"""Judgement of single cases by one judge within a process, such as those of a test run: each once, counted together.

A session keeps what it judged in memory, may keep replies in a cache file across processes, and may share a cap of
calls with other processes. What it judged is exported as rows, which `merge_rows` unites over several processes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from langchain_core.language_models import BaseChatModel
from pydantic import JsonValue

from greval._util.concurrency import run_sync
from greval._util.files import CloseOnExit
from greval.errors import JudgeError, StoppedError
from greval.judging.metric_runnable import MetricRunnable
from greval.judging.model.budget import RunGuard
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.judging.model.reply_cache import LOCK_TIMEOUT_SECONDS, ReplyCache
from greval.metrics.library import find_dependencies
from greval.records.case import Case
from greval.records.metric import JudgedMetric, Metric, needs_judge
from greval.records.metric_input import hash_json
from greval.records.result import Result, Usage, format_outline
from greval.runs.judges import JudgeGroup, JudgeModel, build_own_guard, choose_judges, format_judge_hint, is_same_judge
from greval.runs.runnable import compile_metrics
from greval.runs.worker import JudgingLoop, MemoryLog

COUNT_TABLE = "CREATE TABLE IF NOT EXISTS calls (id INTEGER PRIMARY KEY CHECK (id = 1), made INTEGER NOT NULL)"


class CallCap(CloseOnExit):
    """A `CallMeter` with a cap of calls that several processes may share by a file.

    Args:
        most: The maximum number of calls.
        path: The file of the count; without one, the cap is that of this process.
        reason: Why no further call is made when the cap is reached, and what to do.
    """

    def __init__(self, most: int, path: Path | None = None, *, reason: str) -> None:
        """Open the count."""
        self.most = most
        self.reason = reason
        # Without transactions, other processes see a call as soon as it is counted.
        self._db = sqlite3.connect(
            path or ":memory:", isolation_level=None, timeout=LOCK_TIMEOUT_SECONDS, check_same_thread=False
        )
        self._db.execute(COUNT_TABLE)
        self._db.execute("INSERT OR IGNORE INTO calls VALUES (1, 0)")

    def admit_call(self, _: str) -> str | None:
        """Count a call if it is within the cap, or return the reason why it may not be made."""
        # One statement, so that two processes cannot both take the last call.
        counted = self._db.execute("UPDATE calls SET made = made + 1 WHERE made < ?", (self.most,)).rowcount
        return None if counted else self.reason

    def withdraw_call(self, _: str) -> None:
        """Take back a call that was admitted and is not made."""
        self._db.execute("UPDATE calls SET made = made - 1")

    def record_usage(self, *_: object) -> None:
        """Do nothing: only calls are counted."""

    def close(self) -> None:
        """Close the count."""
        self._db.close()


class JudgedRow(NamedTuple):
    """What a session counts of a result: no texts, so that it can be sent to another process.

    `key` identifies the case, the method and the metric's version. `costs` are the fields of the usage in their
    order. `repeated` is the number of judgements with votes, `unsteady` how many of them are not unanimous, and `flips`
    the sum of their flip rates.
    """

    key: str
    metric: str
    judge: str
    outline: str
    costs: tuple[float | None, ...]
    repeated: int = 0
    unsteady: int = 0
    flips: float = 0.0


class JudgeSession:
    """A judge with everything that single judgements share: connections, budget, cache, and what was judged.

    Args:
        judge: Settings of a judge, a chat model, or None if all metrics are computed.
        cache: Cached replies of earlier sessions, which replace calls.
        cap: The cap of calls.
        hint: What to do if a metric is judged and `judge` is None.
    """

    def __init__(
        self,
        judge: Judge | BaseChatModel | None,
        *,
        cache: ReplyCache | None = None,
        cap: CallCap | None = None,
        hint: str = "pass a judge",
    ) -> None:
        """Store the settings. The chat model is created at the first call."""
        self.guard = RunGuard(hint=format_judge_hint(judge), model=judge.model if isinstance(judge, Judge) else "")
        self._cap = cap
        self._hint = hint
        self.rows: list[JudgedRow] = []
        self.metrics: dict[str, Metric] = {}
        self._judge = judge
        self._cache = cache
        self._clients: list[tuple[JudgeModel, JudgeClient]] = []
        self._guards: dict[JudgeClient, RunGuard] = {}
        self._log = MemoryLog()
        self._compiled: dict[str, Mapping[str, MetricRunnable]] = {}

    def judge_case(self, case: Case, metric: Metric, *, repeats: int = 1, built_on: Sequence[Metric] = ()) -> Result:
        """Judge a case. What this session has already judged is not judged again, unless it failed.

        Args:
            case: The case.
            metric: The definition.
            repeats: How often the case is judged, see `compile_metric`.
            built_on: Definitions of the metrics that it builds on; missing ones are looked up among the predefined.
        """
        runnables = self._compile(metric, repeats, built_on)
        loop = JudgingLoop(
            self._log,
            runnables,
            self.guard,
            guards=self._guards,
            meter=self._cap,
            retries_at_end=False,
            asked={metric.name},
        )
        (results,) = run_sync(loop.judge_cases([case]))
        text = case.model_dump(mode="json", exclude_defaults=True)
        self.rows += [_build_row(result, text) for result in results.values()]
        result = results.pop(metric.name, None)
        if result is None:
            raise StoppedError(self.guard.why or "no further call is made")
        return result.replace(built_on=tuple(results.values()))

    def _compile(self, metric: Metric, repeats: int, built_on: Sequence[Metric]) -> Mapping[str, MetricRunnable]:
        # The compiled metric keeps the definition alive, so that its `id` is not given to another one.
        key = f"{repeats} {id(metric)}"
        if key not in self._compiled:
            metrics = find_dependencies(metric, built_on)
            self_judged = {
                definition.name for definition in metrics if isinstance(definition, JudgedMetric) and definition.judge
            }
            if self._judge is None and needs_judge(
                definition for definition in metrics if definition.name not in self_judged
            ):
                raise JudgeError(f"{metric.name}: is judged by a model; {self._hint}")
            clients = choose_judges(metrics, self._judge).create_clients(self._get_client)
            self._compiled[key] = compile_metrics(metrics, clients, repeats=repeats)
            self.metrics.update({definition.name: definition for definition in metrics})
        return self._compiled[key]

    def _get_client(self, judge: JudgeModel) -> JudgeClient:
        """Return the client of a judge, the same one each time, because it owns connections."""
        for known_judge, client in self._clients:
            if is_same_judge(known_judge, judge):
                return client
        client = JudgeClient(judge, cache=self._cache)
        if self._judge is not None and not is_same_judge(judge, self._judge):
            self._guards[client] = build_own_guard(self.guard, JudgeGroup(judge))
        self._clients.append((judge, client))
        return client


def merge_rows(rows: Iterable[JudgedRow]) -> list[JudgedRow]:
    """Merge the rows of several sessions: each case counts once for each metric, by its last result.

    The calls and tokens of all results are added up. Replies that were used again count once.
    """
    merged: dict[str, JudgedRow] = {}
    for row in rows:
        earlier = merged.get(row.key)
        if earlier is None:
            merged[row.key] = row
            continue
        fields = tuple(Usage.model_fields)
        usage, more = (Usage(**dict(zip(fields, judged_row.costs, strict=True))) for judged_row in (earlier, row))
        if more.calls or more.input_tokens:
            total = usage + more
            row = row._replace(costs=tuple(getattr(total, name) for name in fields))  # noqa: PLW2901 - the merged row
        else:
            # A reply that was used again costs nothing, and the cost of its first use stays.
            row = row._replace(costs=earlier.costs)  # noqa: PLW2901 - as above
        merged[row.key] = row
    return [*merged.values()]


def _build_row(result: Result, case: dict[str, JsonValue]) -> JudgedRow:
    rates = [judgement.flip_rate for judgement in result.judgements if judgement.flip_rate is not None]
    return JudgedRow(
        key=hash_json([result.metric, result.fingerprint, case]),
        metric=result.metric,
        judge=result.judge,
        outline=format_outline(result),
        costs=tuple(getattr(result.usage, name) for name in Usage.model_fields),
        repeated=len(rates),
        unsteady=sum(rate > 0 for rate in rates),
        flips=sum(rates),
    )
