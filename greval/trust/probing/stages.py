"""The stages of a probe. Each is a run in a folder, and all share the same caps."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from greval.errors import StoreError
from greval.judging.model.budget import RunSpending
from greval.judging.model.judge import Judge
from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.result import Result, Usage
from greval.runs.evaluation import evaluate_async
from greval.runs.manifest import is_probe, sum_spending
from greval.runs.options import (
    CallOptions,
    EvaluateOptions,
    OnProgress,
    describe_shared_stop,
    get_prices,
    select_evaluate_options,
    share_caps,
)
from greval.runs.store import Store, is_begun
from greval.trust.probing.plan import VerdictKey


class ProbeOptions(CallOptions, total=False):
    """Options of `probe`."""

    checks: Sequence[str] | None
    limit: int
    mutants: int
    repeats: int
    retry_failed: bool
    out: str | Path | None
    built_on: Sequence[Metric]
    judges: Mapping[str, Judge | BaseChatModel] | None
    on_progress: OnProgress | None


@dataclass
class ProbeStages:
    """Runs the stages of a probe, and collects their verdicts, usage and cost.

    If a stage is stopped, `why` is the reason, and no further stage runs.
    """

    folder: Path
    judge: Judge | BaseChatModel | None
    options: ProbeOptions
    stop: asyncio.Event | None = None
    verdicts: dict[VerdictKey, Result] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    before: RunSpending = field(default_factory=RunSpending)
    why: str | None = None

    def check_folder(self) -> None:
        """Raise `StoreError` if the folder has a run that is not a probe."""
        if is_begun(self.folder):
            with Store.open(self.folder) as store:
                # Mutants in the folder of another run would change its figures.
                of_probe = is_probe(store)
            if of_probe is False:
                raise StoreError(f"{self.folder}: contains a run that is not a probe; choose another folder with -o")
        self.before = self._sum_spending()

    async def run_stage(
        self, stage: str, cases: Sequence[Case], metrics: Sequence[Metric], *, part: str = ""
    ) -> dict[str, dict[VerdictKey, Result]]:
        """Judge cases in a stage, and return the results by metric and key.

        The results of the last metric are added to `verdicts`. Several rounds of a stage are counted together if
        each has a `part` name.
        """
        if not cases or self.why is not None:
            return {}
        options = self._build_options(stage, len(cases), part) | {"judges": self.select_judges(metrics)}
        run = await evaluate_async(cases, metrics, self.judge, out=self.folder / stage, stop=self.stop, **options)
        self.usage += run.progress.usage
        if run.progress.cost is not None:
            self.cost = (self.cost or 0.0) + run.progress.cost
        self.why = run.why and describe_shared_stop(run.why, self.options, self.before)
        case_keys = {(case.id, case.method) for case in cases}
        results: dict[str, dict[VerdictKey, Result]] = {}
        for result in run.results():
            if (result.sample_id, result.method) in case_keys:
                results.setdefault(result.metric, {})[stage, result.sample_id, result.method] = result
        self.verdicts |= results.get(metrics[-1].name, {})
        return results

    def select_judges(self, metrics: Iterable[Metric]) -> dict[str, Judge | BaseChatModel]:
        """Return the judges that the options give for these metrics."""
        judges = self.options.get("judges") or {}
        return {metric.name: judges[metric.name] for metric in metrics if metric.name in judges}

    def _sum_spending(self, *, without: str | None = None) -> RunSpending:
        """Return the spending of all commands on all stages, or on all but one."""
        stages = {self.folder, *(self.folder.iterdir() if self.folder.is_dir() else ())}
        excluded = set() if without is None else {self.folder / without}
        return sum_spending(stages - excluded, get_prices({"prices": self.options.get("prices")}))

    def _build_options(self, stage: str, total: int, part: str) -> EvaluateOptions:
        """Build the options of the next run. Its caps are what the other stages left."""
        # Repeats are stages of their own, so each stage judges once.
        options = select_evaluate_options(self.options, total=total, part=part, probe=True, repeats=1)
        if self.options.get("max_calls") is not None or self.options.get("max_cost") is not None:
            options |= share_caps(self.options, self._sum_spending(without=stage))
        return options
