"""The context of a judgement: what its run or request decides, passed down to each of its calls."""

from __future__ import annotations

from typing import NamedTuple, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, get_async_callback_manager_for_config

from greval.judging.model.budget import CallMeter, RunGuard
from greval.judging.model.call_record import CallRecorder
from greval.records.metric import Verdicts

NO_CONFIG = RunnableConfig()
NO_VERDICTS: Verdicts = {}
NO_GUARD = RunGuard(watchful=False)
"""The guard of calls that belong to no run: it admits all of them."""


class CallContext(NamedTuple):
    """The context in which a metric judges a case.

    The first four parts are those of the run or the request. `guard` decides whether calls may be made. `meter` counts
    the calls of several runs and requests, and may refuse further ones. `config` is LangChain's, and `has_callbacks` is
    true if any of its callbacks listens.

    The others are those of a judgement. `verdicts` are what a metric that is derived from others is computed from.
    `recorder` receives the calls, None if they are not recorded. `repeat` is the number of the repeat: it is part of
    the cache key, so that each repeat is a call of its own. `one_of_many` is true if the judgement takes several calls,
    so that their replies are kept in the journal.
    """

    guard: RunGuard = NO_GUARD
    meter: CallMeter | None = None
    config: RunnableConfig = NO_CONFIG
    has_callbacks: bool = False
    verdicts: Verdicts = NO_VERDICTS
    recorder: CallRecorder | None = None
    repeat: int = 0
    one_of_many: bool = False


NO_RUN = CallContext()
"""The context of calls that belong to no run."""


def build_context(
    config: RunnableConfig | None, *, guard: RunGuard = NO_GUARD, meter: CallMeter | None = None
) -> CallContext:
    """Build the context of all judgements with a config of LangChain."""
    # LangChain looks up callbacks in the environment and in context variables, which takes longer than most computed
    # metrics.
    complete = ensure_config(config)
    if get_async_callback_manager_for_config(complete).handlers:
        return CallContext(guard, meter, complete, has_callbacks=True)
    # no run of LangChain is begun, and the calls of the judge must not take its name and its id
    inherited = {key: setting for key, setting in complete.items() if key not in {"run_name", "run_id"}}
    return CallContext(guard, meter, cast("RunnableConfig", inherited))
