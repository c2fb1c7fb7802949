"""What the routes of metrics share beside the service: the library, and what was compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Path, Request

from greval.serve.judging import Bench
from greval.serve.library import Found, Library
from greval.serve.service import Service, Tenant, service_of, tenant_of

PathName = Annotated[
    str, Path(min_length=1, max_length=100, description="the metric's name; a computed one with any setting")
]


@dataclass(frozen=True)
class Shelf:
    """The library as one client sees it, and the bench that its metrics are judged on."""

    library: Library
    bench: Bench
    tenant: Tenant

    def find(self, name: str) -> Found:
        """Give the client's metric of a name.

        Raises:
            ServeError: Where there is none (404).
        """
        return self.library.find(self.tenant.metrics, name)

    def find_all(self, names: list[str]) -> list[Found]:
        """Give the metrics of names, with those that they build on, in order.

        Raises:
            ServeError: Where there is none of a name (404).
            DefinitionError: Where metrics do not fit together.
        """
        metrics = [self.find(name).metric for name in dict.fromkeys(names)]
        return [self.find(metric.name) for metric in self.library.resolved(self.tenant.metrics, metrics)]


async def shelf_of(request: Request) -> Shelf:
    """Give the shelf of who asks; what all share is made with the first request, in the loop, so once."""
    state = request.app.state
    if not hasattr(state, "shared"):
        service: Service = service_of(request)
        state.shared = Library(*service.settings.library), Bench(service)
    library, bench = cast("tuple[Library, Bench]", state.shared)
    return Shelf(library, bench, tenant_of(request))


TheShelf = Annotated[Shelf, Depends(shelf_of)]
