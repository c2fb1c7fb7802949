"""A compiled metric as a LangChain runnable from a case to a result, for scripts, threads and event loops."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple

from langchain_core.runnables import Runnable, RunnableConfig

from greval._util.concurrency import run_sync
from greval.datasets.case_records import CaseLike, as_case
from greval.errors import DataError
from greval.judging.model.budget import CallMeter
from greval.judging.model.call_context import CallContext, build_context
from greval.judging.model.client import JudgeClient, read_clock
from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.metric_input import explain_missing_needs, find_method_error
from greval.records.result import Failed, Failure, Outcome, Result, Skipped, Tier, Usage

NO_USAGE = Usage()


class CaseOutcome(NamedTuple):
    """What judging a case gave: the outcome, the usage, and the models that the replies name, each once."""

    outcome: Outcome
    usage: Usage = NO_USAGE
    served_by: tuple[str, ...] = ()


JudgeFunction = Callable[[Case, CallContext], Awaitable[CaseOutcome]]


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


class MetricRunnable(CaseRunnable):
    """A compiled metric: a runnable from a case to a result; see `compile_metric`."""

    def __init__(
        self,
        metric: Metric,
        judging: JudgeFunction,
        *,
        mark: str,
        client: JudgeClient | None = None,
        prompt_group: str = "",
    ) -> None:
        """Store the compiled parts. Metrics of one `prompt_group` have prompts for a case that begin alike."""
        self.name = metric.name
        self.metric = metric
        self.fingerprint = mark
        self.judging = judging
        self.client = client
        self.judge = client.label if client else ""
        self.tier: Tier = client.tier if client else "computed"
        self.meter: CallMeter | None = None
        """Counts the calls of cases that are judged outside a run."""
        self.prompt_group = prompt_group
        self._blank = Result(
            metric=metric.name, fingerprint=mark, judge=self.judge, tier=self.tier, outcome=Skipped(reason="")
        )

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
        # LangChain's own method, called on the runnable of the batch.
        return await super(MetricRunnable, together).abatch(inputs, config, return_exceptions=return_exceptions)

    def for_batch(self) -> MetricRunnable:
        """Return the runnable that judges the cases of one batch."""
        return self

    async def ainvoke(self, input: CaseLike, config: RunnableConfig | None = None, **_: Any) -> Result:  # noqa: A002, ANN401
        """Judge one case.

        Raises:
            DataError: If the input is not a case. Errors during judging are part of the result instead.
        """
        return await self.judge_case(input, build_context(config, meter=self.meter))

    def judge_case(self, case: CaseLike, context: CallContext) -> Coroutine[Any, Any, Result]:
        """Judge a case in the context of a run or a request, as a run of LangChain if callbacks listen to it."""
        # Without callbacks, a run of LangChain would only take time.
        if not context.has_callbacks:
            return self._judge(case, context)

        async def judge_reported(case: CaseLike, run_manager: object, config: RunnableConfig) -> Result:  # noqa: ARG001
            return await self._judge(case, context._replace(config=config))

        return self._acall_with_config(judge_reported, case, context.config, run_type="chain")

    async def _judge(self, fields: CaseLike, context: CallContext) -> Result:
        """Judge a case and build its result. The callbacks of the context already belong to this run."""
        start = read_clock()
        case = fields if isinstance(fields, Case) else as_case(fields)
        if (error := find_method_error(self.metric, case)) is not None:
            why = f"the method gave no response: {error}"
            judged = CaseOutcome(Failed(error=Failure(kind="method", message=why)))
        elif lacks := explain_missing_needs(self.metric, case):
            judged = CaseOutcome(Skipped(reason=lacks))
        else:
            if self.client:
                await self.client.prepare()
                # The latency excludes creating the client and loading the embedded model.
                start = read_clock()
            try:
                judged = await self.judging(case, context)
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
            "tier": self.client.select_tier(self.tier) if self.client else self.tier,
        }
        # All parts were validated when they were made.
        return self._blank.model_copy(update=changes)
