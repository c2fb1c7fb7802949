"""The model calls of an alignment: verdicts by changed definitions, texts that a model writes, and their budget.

No call is repeated: each definition judges in its own run folder, and the writer has a reply cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import ValidationError

from greval._util.files import CloseOnExit, write_atomically
from greval._util.wording import format_count
from greval.errors import JudgeError, JudgeUnavailableError, MalformedVerdictError, StoppedError
from greval.judging.metric_judge import MAX_OBJECTION_CHARS
from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.budget import CallMeter, RunGuard, RunSpending
from greval.judging.model.call_context import CallContext
from greval.judging.model.client import JudgeClient
from greval.judging.model.failures import SETUP_FAILURES, format_failure_hint
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Prices
from greval.judging.model.reply_cache import ReplyCache
from greval.judging.prompt import neutralise_control_tokens, neutralise_fences
from greval.judging.reply_json import parse_reply_object
from greval.records.metric import JudgedMetric
from greval.records.metric_input import hash_json
from greval.records.result import Usage
from greval.records.scale import CategoricalScale, Scale, Value
from greval.runs.evaluation import Run, evaluate_async
from greval.runs.judges import JudgeGroup, build_own_guard
from greval.runs.manifest import sum_spending
from greval.runs.options import (
    CallOptions,
    EvaluateOptions,
    describe_shared_stop,
    get_concurrency,
    select_evaluate_options,
    share_caps,
)
from greval.trust.alignment.labelled_items import LabelledItem

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

T = TypeVar("T")
JUDGED_FOLDER = "judged"
REPLIES_FILE = "written.sqlite"
SPENT_FILE = "spent.json"
"""The file with the spending on writing, which has no run folder."""
Verdicts = Mapping[int, Value]
"""The values by item number. Items without a verdict are left out."""


class AlignBudget:
    """The budget of an alignment. The caps hold for the work folder, over all commands."""

    def __init__(
        self, prices: Prices, work: Path, *, max_calls: int | None = None, max_cost: float | None = None
    ) -> None:
        """Start with what earlier commands spent."""
        self.cost: float | None = 0.0
        self.kept = 0
        self.usage = Usage()
        self._caps: CallOptions = {"max_calls": max_calls, "max_cost": max_cost}
        self.guard = RunGuard(max_calls=max_calls, max_cost=max_cost)
        self._prices = prices
        self._file = work / SPENT_FILE
        self._written = read_writer_spending(work)
        self.guard.before = self._written + sum_spending((work / JUDGED_FOLDER).glob("*"), prices)

    def build_writer_guard(self, model: Judge | BaseChatModel) -> RunGuard:
        """Return the guard of the calls that write, or raise `JudgeError` if their cost is capped and has no price."""
        group = JudgeGroup(model)
        if self.guard.max_cost is not None and self._prices.of(group.label) is None:
            raise JudgeError(
                f"{group.label}: no price is known to cap a cost by; give one (--prices) or cap calls (--max-calls)"
            )
        return build_own_guard(self.guard, group, partial(self._prices.cost, group.label))

    def add_run(self, usage: Usage, label: str) -> None:
        """Add the usage of a run, whose calls had a guard of their own."""
        spent = self._add(usage, label)
        self.guard.calls += spent.calls
        self.guard.spent = (self.guard.spent or 0.0) + (spent.cost or 0.0)

    def add_writer_usage(self, usage: Usage, label: str) -> None:
        """Add the usage of a call outside a run folder, and store the total for later commands."""
        self._written += self._add(usage, label)
        if usage.calls:
            write_atomically(self._file, self._written.model_dump_json())

    def _add(self, usage: Usage, label: str) -> RunSpending:
        """Add the usage and the cost of calls to those of this command, and return them."""
        cost = self._prices.cost(label, usage) if usage.calls else 0.0
        self.usage += usage
        self.cost = None if cost is None or self.cost is None else self.cost + cost
        return RunSpending(calls=usage.calls, cost=cost)

    def compute_remaining_caps(self, folder: Path) -> EvaluateOptions:
        """Return the remaining caps as options of the next run.

        The cap of a run counts what its folder has spent before, so that amount is added back.
        """
        spent, folder_spent = self.guard.total_spending, sum_spending([folder], self._prices)
        cost = max((spent.cost or 0.0) - (folder_spent.cost or 0.0), 0.0)
        elsewhere = RunSpending(calls=max(spent.calls - folder_spent.calls, 0), cost=cost)
        return {**share_caps(self._caps, elsewhere), "prices": self._prices}

    def describe_stop(self, why: str) -> str:
        """Return why a run stopped, with its cap replaced by the overall cap."""
        return describe_shared_stop(why, self._caps, self.guard.before)


def read_writer_spending(work: Path) -> RunSpending:
    """Return what all commands spent on writing, by the work folder of an alignment."""
    file = work / SPENT_FILE
    return RunSpending.model_validate_json(file.read_bytes()) if file.is_file() else RunSpending()


@dataclass
class DefinitionRunner:
    """Judges labelled items by one definition after another.

    The run has already judged the metrics that the metric builds on, and the cases are already narrowed.
    Definitions are therefore judged without their `uses`.
    """

    judge: Judge | BaseChatModel
    work: Path
    scale: Scale
    budget: AlignBudget
    calls: CallOptions = field(default_factory=CallOptions)
    stop: asyncio.Event | None = None
    on_progress: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        """Create the client of the judge."""
        self.client = JudgeClient(self.judge)
        self.width = get_concurrency(self.judge, self.calls)

    async def judge_items(self, metric: JudgedMetric, items: Sequence[LabelledItem], step: str) -> Verdicts:
        """Judge items by a definition. `step` describes it for progress and errors."""
        keys = {item.number: (*item.case_key, item.item_id) for item in items}
        cases = {item.case_key: item.case for item in items}
        alone = metric.model_copy(update={"uses": {}})
        self.on_progress(f"{step}: judging {format_count(len(cases), 'case')}")
        folder = self._get_folder(alone)
        options: EvaluateOptions = {
            **select_evaluate_options(self.calls),
            **self.budget.compute_remaining_caps(folder),
            "concurrency": self.width,
            "total": len(cases),
            "judges": {alone.name: self.judge},
        }
        run = await evaluate_async(cases.values(), [alone], self.judge, out=folder, stop=self.stop, **options)
        self.budget.add_run(run.progress.usage, self.client.label)
        self.budget.kept += run.progress.kept
        if run.why:
            raise StoppedError(self.budget.describe_stop(run.why))
        if run.progress.failed and run.progress.failed == run.progress.done:
            self._raise_if_unavailable(run, step)
        values = {
            (row.sample_id, row.method, judgement.item): self._normalise_verdict(judgement.value)
            for row in run.results()
            if (row.sample_id, row.method) in cases
            for judgement in row.judgements
        }
        return {number: values[key] for number, key in keys.items() if key in values}

    def _raise_if_unavailable(self, run: Run, step: str) -> None:
        """Raise `JudgeUnavailableError` if the judge cannot be used at all: nothing can be learned from failures."""
        failure = next((failure for row in run.results() for failure in row.failures), None)
        if failure and failure.kind in SETUP_FAILURES:
            label = self.client.label
            hint = format_failure_hint(failure.kind, label)
            raise JudgeUnavailableError(f"{step}: {label} gave no verdict: {failure.message}; {hint}")

    def _normalise_verdict(self, value: Value) -> Value:
        """Return a verdict in the form in which it is compared: the levels of a two-valued scale are category names."""
        is_level = isinstance(self.scale, CategoricalScale) and not isinstance(value, str)
        return str(int(value)) if is_level else value

    def _get_folder(self, metric: JudgedMetric) -> Path:
        """Return the folder of a definition under this judge."""
        packing = self.client.judge.max_items
        mark = hash_json({"metric": metric.model_dump_json(), "judge": dict(self.client.identity), "packing": packing})
        return self.work / JUDGED_FOLDER / mark


class DefinitionWriter(CloseOnExit):
    """A model that writes parts of definitions, with a reply cache in a file."""

    def __init__(
        self,
        model: Judge | BaseChatModel,
        work: Path,
        budget: AlignBudget,
        *,
        gate: AbstractAsyncContextManager[object] | None = None,
        meter: CallMeter | None = None,
    ) -> None:
        """Open the reply cache. `gate` is that of `JudgeClient`, and `meter` that of `CallContext`."""
        self._context = CallContext(budget.build_writer_guard(model), meter)
        self._replies = ReplyCache(work / REPLIES_FILE)
        self.client = JudgeClient(model, gate=gate, cache=self._replies)
        self._budget = budget

    @property
    def is_bounded(self) -> bool:
        """Return whether texts need a length limit."""
        return self.client.judge.local

    async def write(
        self,
        name: str,
        schema: Mapping[str, Any],
        messages: Sequence[BaseMessage],
        read: Callable[[dict[str, Any]], T],
        *,
        tries: int = 1,
    ) -> T | str:
        """Ask the model, and return its answer as parsed by `read`, or a message if it cannot be used.

        `read` raises `MalformedVerdictError` or `ValidationError` if an answer is not usable. Each retry includes
        the error of the previous answer. `StoppedError` is raised at a cap or a quota, or if the model is unusable.
        """
        form = AnswerFormat(name, schema, self.client.tier)
        prompt, fault = [*messages], "it was not asked"
        for number in range(tries):
            reply = await self.client.ask(form, prompt, self._context._replace(repeat=number))
            self._budget.add_writer_usage(reply.usage, self.client.label)
            if reply.failure and reply.failure.kind == "quota":
                raise StoppedError(reply.failure.message)
            if reply.failure:
                return f"the model did not write: {reply.failure.message}"
            try:
                written = read(parse_reply_object(reply.text, schema))
            except (MalformedVerdictError, ValidationError) as error:
                fault = str(error)
                objection = f"That cannot be used: {neutralise_fences(fault)[:MAX_OBJECTION_CHARS]}\nMend it."
                answered = AIMessage(neutralise_control_tokens(reply.text))
                prompt = [*messages, answered, HumanMessage(objection)]
                continue
            self.client.remember(reply)
            return written
        return f"what the model wrote cannot be used: {fault.splitlines()[0]}"

    def close(self) -> None:
        """Close the reply cache."""
        self._replies.close()
