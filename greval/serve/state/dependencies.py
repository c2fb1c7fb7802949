"""Dependencies of the metric routes: the metric library and the metric runner, for the tenant of a request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, cast

from fastapi import Depends, Path, Request

from greval.records.metric import ReasonDepth, set_reason_depth
from greval.serve.service import Service, Tenant, get_service, get_tenant
from greval.serve.state.metric_library import LibraryMetric, MetricLibrary
from greval.serve.state.metric_runner import MAX_RUNNABLES, MetricRunner

PathName = Annotated[
    str, Path(min_length=1, max_length=100, description="the metric's name; a computed one with any setting")
]


@dataclass(frozen=True)
class TenantMetrics:
    """The metric library as one client sees it, and the runner that judges with its metrics."""

    library: MetricLibrary
    runner: MetricRunner
    tenant: Tenant

    def find(self, name: str) -> LibraryMetric:
        """Return the client's metric with a name.

        Raises:
            ServeError: If there is no such metric (404).
        """
        return self.library.find(self.tenant.metrics, name)

    def find_all(self, names: list[str], depth: ReasonDepth | None = None) -> list[LibraryMetric]:
        """Return the metrics with these names and those that they build on, in order, with this reason depth if any.

        Raises:
            ServeError: If there is no metric of a name (404).
            DefinitionError: If the metrics do not fit together.
        """
        metrics = [self.find(name).metric for name in dict.fromkeys(names)]
        resolved = self.library.resolve_dependencies(self.tenant.metrics, metrics)
        return [_apply_reason_depth(self.find(metric.name), depth) for metric in resolved]


@lru_cache(maxsize=MAX_RUNNABLES)
def _apply_reason_depth(found: LibraryMetric, depth: ReasonDepth | None) -> LibraryMetric:
    """Return a metric with this reason depth: the same object each time, because compiled metrics are cached by it."""
    (metric,) = set_reason_depth([found.metric], depth)
    return found if metric is found.metric else replace(found, metric=metric)


async def get_tenant_metrics(request: Request) -> TenantMetrics:
    """Return the metrics of the tenant.

    The first request creates the shared parts, in the event loop and therefore only once.
    """
    state = request.app.state
    if not hasattr(state, "shared"):
        service: Service = get_service(request)
        state.shared = MetricLibrary(*service.settings.library), MetricRunner(service)
    library, bench = cast("tuple[MetricLibrary, MetricRunner]", state.shared)
    return TenantMetrics(library, bench, get_tenant(request))


TheTenantMetrics = Annotated[TenantMetrics, Depends(get_tenant_metrics)]
