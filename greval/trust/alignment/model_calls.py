"""Judging of labelled items by changed definitions, each in its own run folder so that no call is repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from greval._util.files import write_atomically
from greval.errors import JudgeUnavailableError, StoppedError
from greval.judging.model.budget import RunSpending, format_cap_reason
from greval.judging.model.client import JudgeClient
from greval.judging.model.failures import SETUP_FAILURES, format_failure_hint
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Prices
from greval.records.metric import JudgedMetric
from greval.records.metric_input import hash_json
from greval.records.result import Usage
from greval.records.scale import CategoricalScale, Scale, Value
from greval.runs.evaluation import Run, evaluate_async
from greval.runs.manifest import sum_spending
from greval.runs.options import EvaluateOptions, get_concurrency
from greval.runs.runnable import compile_metric
from greval.trust.alignment.labelled_items import LabelledItem

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

JUDGED_FOLDER = "judged"
SPENT_FILE = "spent.json"
"""The file with the spending on writing, which has no run folder."""
Verdicts = Mapping[int, Value]
"""The values by item number. Items without a verdict are left out."""


class AlignBudget:
    """The budget of an alignment. The caps hold for the work folder, over all commands."""

    def __init__(self, prices: Prices, work: Path, *, max_calls: int | None, max_cost: float | None) -> None:
        """Start with what earlier commands spent."""
        self.cost: float | None = 0.0
        self.kept = 0
        self.usage = Usage()
        self._prices = prices
        self._file = work / SPENT_FILE
        self._written = (
            RunSpending.model_validate_json(self._file.read_bytes()) if self._file.is_file() else RunSpending()
        )
        self._before = self._written + sum_spending((work / JUDGED_FOLDER).glob("*"), prices)
        self._caps = max_calls, max_cost
        self._out = 0

    def add(self, usage: Usage, label: str) -> None:
        """Add the usage and cost of calls to a model."""
        self.usage += usage
        cost = self._prices.cost(label, usage) if usage.calls else 0.0
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    def add_writer_usage(self, usage: Usage, label: str) -> None:
        """Add the usage of calls outside a run folder, and store the total for later commands."""
        self.add(usage, label)
        if usage.calls:
            self._written += RunSpending(calls=usage.calls, cost=self._prices.cost(label, usage))
            write_atomically(self._file, self._written.model_dump_json())

    @contextmanager
    def reserve_call(self) -> Iterator[None]:
        """Reserve one call while it is in flight, so that concurrent calls cannot exceed the cap on calls.

        Raises:
            StoppedError: If a cap is reached.
        """
        self.compute_remaining_caps()
        self._out += 1
        try:
            yield
        finally:
            self._out -= 1

    def compute_remaining_caps(self, folder: Path | None = None) -> EvaluateOptions:
        """Return the remaining caps as options of the next run.

        The cap of a run counts what its folder has spent before, so that amount is added back for `folder`.

        Raises:
            StoppedError: If a cap is reached.
        """
        calls, cost = self._caps
        spent = self._before + RunSpending(calls=self.usage.calls, cost=self.cost)
        if calls is not None and spent.calls + self._out >= calls:
            raise StoppedError(self.describe_stop("--max-calls"))
        if cost is not None and (spent.cost or 0.0) >= cost:
            raise StoppedError(self.describe_stop("--max-cost"))
        own = RunSpending() if folder is None else sum_spending([folder], self._prices)
        return {
            "max_calls": None if calls is None else calls - spent.calls + own.calls,
            "max_cost": None if cost is None else cost - (spent.cost or 0.0) + (own.cost or 0.0),
            "prices": self._prices,
        }

    def describe_stop(self, why: str) -> str:
        """Return why the work stopped, with the cap of a single run replaced by the overall cap."""
        calls, cost = self._caps
        if calls is not None and "--max-calls" in why:
            return format_cap_reason(self._before, max_calls=calls)
        return format_cap_reason(self._before, max_cost=cost) if cost is not None and "--max-cost" in why else why


class DefinitionRunner:
    """Judges labelled items by one definition after another.

    The run has already judged the metrics that the metric builds on, and the cases are already narrowed.
    Definitions are therefore judged without their `uses`.
    """

    def __init__(  # noqa: PLR0913 - what judging needs
        self,
        judge: Judge | BaseChatModel,
        work: Path,
        scale: Scale,
        budget: AlignBudget,
        *,
        concurrency: int | None = None,
        stop: asyncio.Event | None = None,
        on_progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Store what all definitions share."""
        self.client = JudgeClient(judge)
        self.width = get_concurrency(judge, {"concurrency": concurrency})
        self.budget = budget
        self.stop = stop
        self.on_progress = on_progress
        self._judge = judge
        self._work = work
        self._scale = scale

    async def judge_items(self, metric: JudgedMetric, points: Iterable[LabelledItem], what: str) -> Verdicts:
        """Judge items by a definition and return the values by item number. Items without a verdict are left out.

        Args:
            metric: The definition.
            points: The items.
            what: A description of the step, for progress.

        Raises:
            JudgeError: If the judge cannot be used at all.
            StoppedError: If judging was stopped early. Finished judgements are kept.
        """
        wanted = [*points]
        cases = {(point.case.id, point.case.method): point.case for point in wanted}
        asked = metric.model_copy(update={"uses": {}})
        self.on_progress(f"{what}: judging {len(cases)} cases")
        folder = self._get_folder(asked)
        options: EvaluateOptions = {
            **self.budget.compute_remaining_caps(folder),
            "concurrency": self.width,
            "total": len(cases),
        }
        run = await evaluate_async(cases.values(), [asked], self._judge, out=folder, stop=self.stop, **options)
        self.budget.add(run.progress.usage, self.client.label)
        self.budget.kept += run.progress.kept
        if run.why:
            raise StoppedError(self.budget.describe_stop(run.why))
        if run.progress.failed and run.progress.failed == run.progress.done:
            self._raise_if_unavailable(run, what)
        said = {
            (row.sample_id, row.method, one.item): one.value
            for row in run.results()
            if (row.sample_id, row.method) in cases
            for one in row.judgements
        }
        keys = {point.number: (point.case.id, point.case.method, point.item) for point in wanted}
        return {number: self.normalise_verdict(said[key]) for number, key in keys.items() if key in said}

    def _raise_if_unavailable(self, run: Run, what: str) -> None:
        """Raise if the judge cannot be used at all, since nothing could be learned from its answers.

        Raises:
            JudgeUnavailableError: With the message of the judge or its server.
        """
        failure = next((failure for row in run.results() for failure in row.failures), None)
        if failure and failure.kind in SETUP_FAILURES:
            label = self.client.label
            told = f"{what}: {label} gave no verdict: {failure.message}; {format_failure_hint(failure.kind, label)}"
            raise JudgeUnavailableError(told)

    def normalise_verdict(self, value: Value) -> Value:
        """Return a verdict in the form in which it is compared: the levels of a two-valued scale are category names."""
        named = isinstance(self._scale, CategoricalScale) and not isinstance(value, str)
        return str(int(value)) if named else value

    def _get_folder(self, metric: JudgedMetric) -> Path:
        """Return the folder of a definition under this judge."""
        packing = self.client.judge.max_items
        mark = hash_json({"metric": metric.model_dump_json(), "judge": dict(self.client.identity), "packing": packing})
        return self._work / JUDGED_FOLDER / mark


def compute_run_fingerprint(metric: JudgedMetric, judge: Judge | BaseChatModel, held: Sequence[JudgedMetric]) -> str:
    """Return the fingerprint that verdicts of this definition under this judge have in a run.

    Args:
        metric: The definition.
        judge: The judge.
        held: The metrics of the run, which are searched first for the metrics it builds on.
    """
    return compile_metric(metric, judge, built_on=held).fingerprint
