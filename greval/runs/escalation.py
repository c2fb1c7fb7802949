"""Escalation in a run: verdicts of a first judge stand if it is sure, and the judge of the run gives the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from greval.records.case import Case
from greval.records.metric import Metric, Verdicts
from greval.records.metric_input import compute_keys, hash_json
from greval.records.result import Result, Scored, Usage
from greval.runs.store import Store
from greval.runs.store.plans import PlannedVersion

STRATEGY = "greval.trust.escalation.api"
"""The module that chooses the thresholds. It is named, not imported: it reads labels of people, in a higher layer."""
FIRST_FOLDER = "first"
"""The folder of the first judge's run, in that of a run that escalates."""


@dataclass(frozen=True)
class FirstVerdicts:
    """The run of the first judge, and for each metric the certainty from which on its verdicts stand.

    A metric whose threshold is None has no verdict that stands. One without an entry has the same judge in both runs,
    so that every verdict stands. `why` is the reason if the first judge's run was stopped, and no threshold is known.
    """

    store: Store
    thresholds: Mapping[str, float | None]
    why: str | None = None

    def find_sure_verdict(
        self, metric: Metric, case_key: tuple[str, str], seen: Case, verdicts: Verdicts
    ) -> tuple[str, str, Result] | None:
        """Return the first judge's verdict on a case, after its keys; None if it is not sure or saw another content."""
        result_of = *case_key, metric.name
        result = self.store.index.get(None, result_of)
        if result is None or not self._stands(result):
            return None
        content, key = compute_keys(seen, metric, result.fingerprint, verdicts)
        if self.store.index.get(key, result_of) is None:
            return None
        # The run of the first judge has its cost.
        return content, key, result.replace(usage=Usage(hits=1), latency=0.0)

    def combine_version(self, metric: str, version: PlannedVersion) -> PlannedVersion:
        """Return the version of a metric that two judges share: it changes with either of them and the threshold."""
        plans = [plan for plan in self.store.plans() if plan.metric == metric]
        if metric not in self.thresholds or not plans:
            return version
        mark = hash_json([version.fingerprint, *(plan.fingerprint for plan in plans), self.thresholds[metric]])
        return PlannedVersion(mark, f"{plans[0].judge}, then {version.judge}")

    def _stands(self, result: Result) -> bool:
        """Return whether the first judge's result counts, as far as it does not depend on other metrics."""
        if result.metric not in self.thresholds:
            return result.finished and result.tier != "computed"
        threshold, certainty = self.thresholds[result.metric], compute_certainty(result)
        return threshold is not None and certainty is not None and certainty >= threshold


def compute_certainty(result: Result) -> float | None:
    """Return the certainty of the least certain verdict of a result; None if one is not known or failed."""
    if not isinstance(result.outcome, Scored) or result.failures:
        return None
    certainties = [1 - judgement.uncertainty for judgement in result.judgements if judgement.uncertainty is not None]
    return min(certainties) if len(certainties) == len(result.judgements) else None
