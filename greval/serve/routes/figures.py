"""Routes of run analyses: report, comparison, agreement, estimates."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from pydantic import StringConstraints
from starlette.concurrency import run_in_threadpool

import greval
from greval.analysis.comparison.records import Comparison
from greval.analysis.summary import Report
from greval.records.record import Record
from greval.serve.conditional import NOT_MODIFIED, build_etag, build_headers, is_not_modified
from greval.serve.ids import ID_PATTERN, Id
from greval.serve.jobs.info import find_judged_folder
from greval.serve.problems import describe_errors
from greval.serve.service import TheService, TheTenant
from greval.serve.state.figure_cache import FigureCache
from greval.serve.state.run_figures import compare_folders, compute_figure, report_folder
from greval.serve.state.run_paths import read_run_stamp
from greval.stats.correction import Correction
from greval.trust.agreement.api import agreement
from greval.trust.agreement.records import Agreement
from greval.trust.estimates.api import estimate
from greval.trust.estimates.records import Estimate


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.figuring = FigureCache()
    yield


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
Against = Annotated[str | None, Query(pattern=ID_PATTERN, description="an earlier run")]
CorrectionName = Annotated[Correction, Query(description="how p values are corrected")]
ClusterBy = Annotated[Text | None, Query(description="a tag whose questions are not independent")]
COMMON = {304: {"description": NOT_MODIFIED}, **describe_errors(404, 409, 422, 501, 503, 504)}


def get_figure_cache(request: Request) -> FigureCache:
    """Return the cache of analysis results of this process."""
    return cast("FigureCache", request.app.state.figuring)


class RunFigures:
    """Responds with analyses of a client's runs."""

    def __init__(
        self,
        request: Request,
        service: TheService,
        tenant: TheTenant,
        cache: Annotated[FigureCache, Depends(get_figure_cache)],
    ) -> None:
        """Store the request and the client."""
        self._request = request
        self._workers = service.workers
        self._tenant = tenant
        self._cache = cache

    def find_folder(self, run_id: str) -> Path:
        """Return the folder of a run with results, or raise `ServeError` (404, 409)."""
        return find_judged_folder(self._tenant, run_id)

    async def respond(self, make: Callable[..., Record], *folders: Path, **options: Any) -> Response:  # noqa: ANN401 - what the function takes
        """Return an analysis of these runs, computed in a child process, or from the cache if they are unchanged."""
        # Hashable, because they are a part of the key.
        options = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
        stamps = await run_in_threadpool(lambda: tuple(map(read_run_stamp, folders)))
        key = (make.__qualname__, stamps, tuple(options.items()))
        compute = partial(self._workers.run, self._tenant.name, compute_figure, make, folders, options)
        # Another version may compute other figures of the same run.
        etag = build_etag((greval.__version__, key))
        if is_not_modified(self._request, etag):
            return Response(status_code=304, headers=build_headers(etag))
        content = await self._cache.get_json(key, compute)
        return Response(content, media_type="application/json", headers=build_headers(etag))

    async def prepare(self, make: Callable[[Path], None], folder: Path) -> None:
        """Begin to prepare a run for later requests in a child process, once for its present state."""
        stamp = await run_in_threadpool(read_run_stamp, folder)

        async def compute() -> str:
            await self._workers.run(self._tenant.name, make, folder)
            return ""

        self._cache.begin((make.__qualname__, stamp), compute)


TheRunFigures = Annotated[RunFigures, Depends()]


class WantedComparison:
    """A comparison that a client wants: the earlier run, if there is one, and the options of `compare`."""

    def __init__(  # noqa: PLR0913 - what one may ask for
        self,
        tenant: TheTenant,
        *,
        baseline: Baseline = None,
        against: Against = None,
        metric: Metrics = None,
        method: Methods = None,
        by: Tags = None,
        correction: CorrectionName = "bonferroni",
        cluster_by: ClusterBy = None,
        level: Level = 0.95,
    ) -> None:
        """Store the client and the options."""
        self._tenant, self._against = tenant, against
        self.options: dict[str, Any] = {
            "baseline": baseline,
            "by": by or (),
            "metrics": metric,
            "methods": method,
            "correction": correction,
            "cluster_by": cluster_by,
            "level": level,
        }

    def find_folders(self, run_id: str) -> list[Path]:
        """Return the folders of the run and of the earlier run, or raise `ServeError` (404, 409)."""
        return [
            find_judged_folder(self._tenant, compared_id)
            for compared_id in (run_id, self._against)
            if compared_id is not None
        ]


TheWantedComparison = Annotated[WantedComparison, Depends()]


@router.get("/{id}/report", responses=COMMON, response_model=Report)
async def report_run(figures: TheRunFigures, id: Id, by: By = None) -> Response:  # noqa: A002 - its name in the path
    """Report what a run found, by metric and group: counts, means, distributions, failures by kind, cost."""
    return await figures.respond(report_folder, figures.find_folder(id), by=by or ())


@router.get("/{id}/compare", responses=COMMON, response_model=Comparison)
async def compare_run(
    figures: TheRunFigures,
    comparison: TheWantedComparison,
    id: Id,  # noqa: A002 - its name in the path
    questions: Annotated[
        int, Query(ge=0, le=1_000_000, description="the maximum number of won and lost questions named in each row")
    ] = 20,
) -> Response:
    """Compare the methods of a run question by question, or each with itself in an earlier run (`against`)."""
    return await figures.respond(
        compare_folders, *comparison.find_folders(id), **comparison.options, questions=questions
    )


@router.get("/{id}/agreement", responses=COMMON, response_model=Agreement)
async def measure_agreement(  # noqa: PLR0913 - what one may ask for
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
    return await figures.respond(
        agreement, folder, metric=metric, combine=people, treat_as=treat_as, by=by or (), level=level
    )


@router.get("/{id}/estimate", responses=COMMON, response_model=Estimate)
async def estimate_verdicts(  # noqa: PLR0913 - what one may ask for
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
    return await figures.respond(
        estimate,
        figures.find_folder(id),
        metric=metric,
        by=by or (),
        baseline=baseline,
        drawn_by=drawn_by,
        new_questions=new_questions,
        level=level,
    )
