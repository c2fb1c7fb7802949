"""A compiled metric as a LangChain runnable from a case to a result, for scripts, threads and event loops."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from copy import copy
from typing import Any, NamedTuple, Self, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, get_async_callback_manager_for_config

from greval._util.concurrency import run_sync
from greval.datasets.case_records import CaseLike, as_case
from greval.errors import DataError
from greval.judging.model.client import read_clock
from greval.records.case import Case
from greval.records.metric import Metric, Verdicts
from greval.records.metric_input import explain_missing_needs, find_method_error
from greval.records.result import Failed, Failure, Outcome, Result, Skipped, Tier, Usage

NO_USAGE = Usage()


class CaseOutcome(NamedTuple):
    """What judging a case gave: the outcome, the usage, and the models that the replies name, each once."""

    outcome: Outcome
    usage: Usage = NO_USAGE
    served_by: tuple[str, ...] = ()


JudgeFunction = Callable[[Case, RunnableConfig], Awaitable[CaseOutcome]]


class CaseRunnable(Runnable[CaseLike, Result]):
    """A runnable from a case to a result, for synchronous and asynchronous code."""

    @property
    def InputType(self) -> type[Case]:  # noqa: N802 - LangChain's name
        """The type of the input, from which schemas are made."""
        return Case

    @property
    def OutputType(self) -> type[Result]:  # noqa: N802 - LangChain's name
        """The type of the output, from which schemas are made."""
        return Result

    def invoke(self, input: CaseLike, config: RunnableConfig | None = None, **_: Any) -> Result:  # noqa: A002, ANN401
        """Judge one case from synchronous code: a script, a thread or a notebook; see `ainvoke`."""
        return run_sync(self.ainvoke(input, config))


BoundCall = Callable[["MetricRunnable", CaseLike], Coroutine[Any, Any, Result]]
"""A function that calls a runnable for a case, see `bind_config`."""


class MetricRunnable(CaseRunnable):
    """A compiled metric: a runnable from a case to a result; see `compile_metric`."""

    def __init__(
        self,
        metric: Metric,
        judging: JudgeFunction,
        *,
        judge: str,
        tier: Tier,
        mark: str,
        prepare: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """Store the compiled parts. `prepare` creates what judging needs, such as the model's client."""
        self.name = metric.name
        self.metric = metric
        self.fingerprint = mark
        self.judging = judging
        self.judge = judge
        self.tier: Tier = tier
        self.prompt_group = ""
        """The same name for metrics whose prompts for a case begin alike; empty if they do not."""
        self._prepare = prepare
        blank = Skipped(reason="")
        self._blank = Result(metric=metric.name, fingerprint=mark, judge=judge, tier=tier, outcome=blank)

    def with_judging(self, judging: JudgeFunction, prepare: Callable[[], Awaitable[object]]) -> Self:
        """Return a copy that judges by another function of the same judge, once `prepare` made what that needs."""
        other = copy(self)
        other.judging = judging
        other._prepare = prepare  # noqa: SLF001 - its own copy
        return other

    def with_verdicts(self, verdicts: Verdicts) -> MetricRunnable:  # noqa: ARG002 - those of derived metrics
        """Return the runnable that judges a case on which the metrics that this one builds on gave these verdicts."""
        return self

    def batch(
        self,
        inputs: list[CaseLike],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **_: Any,  # noqa: ANN401
    ) -> list[Result]:
        """Judge cases concurrently in one event loop, not in threads, limited by `max_concurrency` of the config."""
        return run_sync(self.abatch(inputs, config, return_exceptions=return_exceptions))

    async def abatch(
        self,
        inputs: list[CaseLike],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **_: Any,  # noqa: ANN401
    ) -> list[Result]:
        """Judge cases concurrently, limited by `max_concurrency` of the config."""
        together = self.for_batch()
        return await super(MetricRunnable, together).abatch(inputs, config, return_exceptions=return_exceptions)

    def for_batch(self) -> MetricRunnable:
        """Return the runnable that judges the cases of one batch."""
        return self

    async def ainvoke(self, input: CaseLike, config: RunnableConfig | None = None, **_: Any) -> Result:  # noqa: A002, ANN401
        """Judge one case.

        Raises:
            DataError: If the input is not a case. Errors during judging are part of the result instead.
        """
        return await bind_config(config)(self, input)

    async def judge_with_callbacks(self, given: CaseLike, config: RunnableConfig) -> Result:
        """Judge a case as a run of LangChain, and report it to the callbacks of `config`."""
        return await self._acall_with_config(self._judge_case, given, config, run_type="chain")

    async def _judge_case(self, given: CaseLike, run_manager: object, config: RunnableConfig) -> Result:  # noqa: ARG002
        """Judge a case and build its result. The callbacks of `config` already belong to this run."""
        start = read_clock()
        case = given if isinstance(given, Case) else as_case(given)
        if (error := find_method_error(self.metric, case)) is not None:
            why = f"the method gave no response: {error}"
            judged = CaseOutcome(Failed(error=Failure(kind="method", message=why)))
        elif lacks := explain_missing_needs(self.metric, case):
            judged = CaseOutcome(Skipped(reason=lacks))
        else:
            if self._prepare:
                await self._prepare()
                start = read_clock()  # the latency excludes creating the client and loading the embedded model
            try:
                judged = await self.judging(case, config)
            except DataError as error:  # it must not affect other cases
                judged = CaseOutcome(Failed(error=Failure(kind="data", message=str(error))))
        latency = read_clock() - start
        return self.row(case, judged.outcome, usage=judged.usage, latency=latency, served_by=judged.served_by)

    def row(
        self,
        case: Case,
        outcome: Outcome,
        *,
        usage: Usage | None = None,
        latency: float = 0.0,
        served_by: tuple[str, ...] = (),
    ) -> Result:
        """Build the result of a case from its outcome."""
        changes = {
            "sample_id": case.id,
            "method": case.method,
            "outcome": outcome,
            "usage": usage or NO_USAGE,
            "latency": latency,
            "served_by": served_by,
            "tags": {**case.tags},
            "tier": getattr(self.judging, "asked_tier", self.tier),
        }
        return self._blank.model_copy(update=changes)  # all parts were validated when they were made


def bind_config(config: RunnableConfig | None) -> BoundCall:
    """Return the function that calls a runnable with a config, for one case or many.

    LangChain looks up the callbacks of a config in the environment and the context, which takes longer than most
    computed metrics. Without callbacks, the function judges a case without LangChain's machinery.
    """
    complete = ensure_config(config)
    if get_async_callback_manager_for_config(complete).handlers:
        return lambda runnable, case: runnable.judge_with_callbacks(case, complete)
    silent = _strip_run_name(complete)
    return lambda runnable, case: runnable._judge_case(case, None, silent)  # noqa: SLF001 - its own


def _strip_run_name(config: RunnableConfig) -> RunnableConfig:
    """Return the config for child calls, without the name and the id of this run."""
    return cast("RunnableConfig", {key: value for key, value in config.items() if key not in {"run_name", "run_id"}})
