"""Routes of run analyses: report, comparison, agreement, estimates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, cast

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from pydantic import StringConstraints

from greval.analysis.comparison.records import Comparison
from greval.analysis.summary import Report, build_report
from greval.records.record import Record
from greval.runs.store import Store
from greval.serve.ids import ID_PATTERN, Id
from greval.serve.jobs.info import find_judged_folder
from greval.serve.problems import describe_errors
from greval.serve.service import TheTenant
from greval.serve.state.figure_cache import FigureCache, dump_without_paths, hide_paths_in_errors, read_run_stamp
from greval.stats.correction import Correction
from greval.trust.agreement.records import Agreement
from greval.trust.estimates.records import Estimate


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    figuring = app.state.figuring = FigureCache()
    yield
    figuring.close()


router = APIRouter(prefix="/v1/runs", tags=["figures"], lifespan=_lifespan)

Text = Annotated[str, StringConstraints(min_length=1, max_length=200)]
By = Annotated[list[Text] | None, Query(max_length=8, description="a tag to group by, or `method`; may be given often")]
Tags = Annotated[list[Text] | None, Query(max_length=8, description="also by each value of a tag; may be given often")]
OneMetric = Annotated[Text, Query(description="the metric")]
Metrics = Annotated[list[Text] | None, Query(max_length=50, description="only these metrics; may be given often")]
MethodName = Annotated[str, StringConstraints(max_length=1000)]
Methods = Annotated[list[MethodName] | None, Query(max_length=50, description="only these; may be given often")]
Level = Annotated[float, Query(gt=0, lt=1, description="of the intervals")]
Baseline = Annotated[MethodName | None, Query(description="the method that the others are compared with")]
COMMON = describe_errors(404, 409, 422, 501)


def get_figure_cache(request: Request) -> FigureCache:
    """Return the cache of analysis results of this process."""
    return cast("FigureCache", request.app.state.figuring)


class RunFigures:
    """Responds with analyses of a client's runs."""

    def __init__(
        self, request: Request, tenant: TheTenant, cache: Annotated[FigureCache, Depends(get_figure_cache)]
    ) -> None:
        """Store the request and the client."""
        self._asked = request.url.path, request.url.query
        self._tenant = tenant
        self._cache = cache

    def find_folder(self, given: str) -> Path:
        """Return the folder of a run with results, or raise `ServeError` (404, 409)."""
        return find_judged_folder(self._tenant, given)

    async def respond(self, make: Callable[[], Record], *folders: Path) -> Response:
        """Return an analysis of these runs, from the cache if they are unchanged."""

        def compute_json() -> str:
            with hide_paths_in_errors(*folders):
                return dump_without_paths(make(), *folders)

        marks = await asyncio.to_thread(lambda: tuple(map(read_run_stamp, folders)))
        return Response(await self._cache.get_json((self._asked, marks), compute_json), media_type="application/json")


TheRunFigures = Annotated[RunFigures, Depends()]


@router.get("/{id}/report", responses=COMMON, response_model=Report)
async def report_run(figures: TheRunFigures, id: Id, by: By = None) -> Response:  # noqa: A002 - its name in the path
    """Report what a run found, by metric and group: counts, means, distributions, failures by kind, cost."""
    folder = figures.find_folder(id)

    def compute_report() -> Report:
        with Store.open(folder) as store:
            return build_report(store, by=by or ())

    return await figures.respond(compute_report, folder)


@router.get("/{id}/compare", responses=COMMON, response_model=Comparison)
async def compare_run(  # noqa: PLR0913 - what one may ask for
    figures: TheRunFigures,
    id: Id,  # noqa: A002 - its name in the path
    *,
    baseline: Baseline = None,
    against: Annotated[str | None, Query(pattern=ID_PATTERN, description="an earlier run")] = None,
    metric: Metrics = None,
    method: Methods = None,
    by: Tags = None,
    correction: Annotated[Correction, Query(description="how p values are corrected")] = "bonferroni",
    cluster_by: Annotated[Text | None, Query(description="a tag whose questions are not independent")] = None,
    level: Level = 0.95,
    questions: Annotated[
        int, Query(ge=0, le=1_000_000, description="the maximum number of won and lost questions named in each row")
    ] = 20,
) -> Response:
    """Compare the methods of a run question by question, or each with itself in an earlier run (`against`)."""
    folder = figures.find_folder(id)
    earlier = figures.find_folder(against) if against is not None else None

    def compute_comparison() -> Comparison:
        from greval.analysis.comparison.api import compare

        found = compare(
            folder,
            baseline=baseline,
            against=earlier,
            by=by or (),
            metrics=metric,
            methods=method,
            correction=correction,
            cluster_by=cluster_by,
            level=level,
        )
        return found.name_first(questions)

    return await figures.respond(compute_comparison, folder, *([earlier] if earlier else []))


@router.get("/{id}/agreement", responses=COMMON, response_model=Agreement)
async def agree_run(  # noqa: PLR0913 - what one may ask for
    figures: TheRunFigures,
    id: Id,  # noqa: A002 - its name in the path
    *,
    metric: OneMetric,
    by: By = None,
    people: Annotated[
        Literal["majority", "mean", "each"] | None, Query(description="what stands for several people")
    ] = None,
    treat_as: Annotated[
        Literal["categories", "numbers"] | None, Query(description="how the levels of a value scale are compared")
    ] = None,
    level: Level = 0.95,
) -> Response:
    """Measure how far the judge of a run agrees with the people whose annotations the run holds."""
    folder = figures.find_folder(id)

    def compute_agreement() -> Agreement:
        from greval.trust.agreement.api import agreement

        return agreement(folder, metric, combine=people, treat_as=treat_as, by=by or (), level=level)

    return await figures.respond(compute_agreement, folder)


@router.get("/{id}/estimate", responses=COMMON, response_model=Estimate)
async def estimate_run(  # noqa: PLR0913 - what one may ask for
    figures: TheRunFigures,
    id: Id,  # noqa: A002 - its name in the path
    *,
    metric: OneMetric,
    by: Tags = None,
    baseline: Baseline = None,
    drawn_by: Annotated[
        Literal["items", "questions"] | None, Query(description="what was drawn for annotation in one go")
    ] = None,
    new_questions: Annotated[bool, Query(description="intervals for new questions like these")] = False,
    level: Level = 0.95,
) -> Response:
    """Estimate people's verdicts on all judged items of a run, from the annotations of some of them."""
    folder = figures.find_folder(id)

    def compute_estimate() -> Estimate:
        from greval.trust.estimates.api import estimate

        estimate_by = partial(estimate, folder, metric, by=by or (), baseline=baseline, drawn_by=drawn_by)
        return estimate_by(new_questions=new_questions, level=level)

    return await figures.respond(compute_estimate, folder)
