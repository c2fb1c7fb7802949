"""Routes of run analyses, which call no model: report, comparison, agreement, estimates, diagnosis and panel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import StringConstraints

import greval
from greval.analysis.comparison.api import compare
from greval.analysis.comparison.records import Comparison
from greval.analysis.diagnosis import api as diagnosis
from greval.analysis.diagnosis.records import Cause, DiagnosisTable
from greval.analysis.summary import Report, build_report
from greval.records.record import Record
from greval.report.agreement import format_verdict
from greval.report.comparison import describe_findings
from greval.report.escalation import describe_stored_escalation
from greval.report.panel import describe_panel
from greval.runs.run_summary import list_tags
from greval.runs.store import Store
from greval.serve.conditional import NOT_MODIFIED, build_etag, build_headers, is_not_modified
from greval.serve.file_response import JsonContent
from greval.serve.ids import ID_PATTERN
from greval.serve.jobs.info import JudgedFolder, find_judged_folder
from greval.serve.problems import describe_errors
from greval.serve.schemas.requests import MethodName, ShortText
from greval.serve.service import TheTasks, TheTenant
from greval.serve.state.figure_cache import FigureCache
from greval.serve.state.run_paths import dump_without_paths, hide_paths_in_errors, read_run_stamp
from greval.stats.correction import Correction
from greval.trust.agreement.api import agreement
from greval.trust.agreement.records import Agreement, TreatAs
from greval.trust.estimates.api import estimate
from greval.trust.estimates.records import Estimate
from greval.trust.panels.api import panel
from greval.trust.panels.records import CombineJudges, Panel

router = APIRouter(prefix="/v1/runs", tags=["figures"])

MAX_JUDGES = 10
By = Annotated[
    list[ShortText] | None, Query(max_length=8, description="a tag to group by, or `method`; may be given often")
]
Tags = Annotated[
    list[ShortText] | None, Query(max_length=8, description="also by each value of a tag; may be given often")
]
OneMetric = Annotated[ShortText, Query(description="the metric")]
Metrics = Annotated[list[ShortText] | None, Query(max_length=50, description="only these metrics; may be given often")]
Methods = Annotated[list[MethodName] | None, Query(max_length=50, description="only these; may be given often")]
Level = Annotated[float, Query(gt=0, lt=1, description="of the intervals")]
Baseline = Annotated[MethodName | None, Query(description="the method that the others are compared with")]
Against = Annotated[str | None, Query(pattern=ID_PATTERN, description="an earlier run")]
CorrectionName = Annotated[Correction, Query(description="how p values are corrected")]
ClusterBy = Annotated[ShortText | None, Query(description="a tag whose questions are not independent")]
TreatLevels = Annotated[TreatAs | None, Query(description="how the levels of a value scale are compared")]
OtherRuns = Annotated[
    list[Annotated[str, StringConstraints(pattern=ID_PATTERN)]],
    Query(min_length=1, max_length=MAX_JUDGES, description="a run of another judge on the same cases; may be repeated"),
]
Floors = Annotated[
    list[ShortText] | None,
    Query(max_length=20, description="a computed metric that the judge has to beat as well; may be repeated"),
]
COMMON = {304: {"description": NOT_MODIFIED}, **describe_errors(404, 409, 501)}


@dataclass
class FigureResponder:
    """Responds with analyses of a client's runs."""

    request: Request
    tasks: TheTasks

    async def respond(self, make: Callable[..., Record], *folders: Path, **options: Any) -> Response:  # noqa: ANN401 - what the function takes
        """Return an analysis of runs, computed in a child process, or cached if they are unchanged."""
        # Hashable, because they are a part of the key.
        options = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
        stamps = await self.tasks.run_in_thread(lambda: tuple(map(read_run_stamp, folders)))
        key = (make.__qualname__, stamps, tuple(options.items()))
        workers, tenant = self.tasks.service.workers, self.tasks.tenant.name
        compute = partial(workers.run_to_json, tenant, compute_figure, make, folders, options)
        # Another version may compute other figures of the same run.
        etag = build_etag((greval.__version__, key))
        if is_not_modified(self.request, etag):
            return Response(status_code=304, headers=build_headers(etag))
        content = await self._cache.get_json(key, compute)
        return JsonContent(content, headers=build_headers(etag))

    @property
    def _cache(self) -> FigureCache:
        return cast("FigureCache", self.request.app.state.figures)


TheFigures = Annotated[FigureResponder, Depends()]


@dataclass
class RunFigures(FigureResponder):
    """Responds with analyses of the run that the path of a request names."""

    folder: JudgedFolder

    async def respond(self, make: Callable[..., Record], *other_folders: Path, **options: Any) -> Response:  # noqa: ANN401 - as above
        """Return an analysis of the run and others, as `FigureResponder` does."""
        return await super().respond(make, self.folder, *other_folders, **options)

    async def prepare(self, make: Callable[[Path], None]) -> None:
        """Begin to prepare the run for later requests in a child process, once for its present state."""
        stamp = await self.tasks.run_in_thread(read_run_stamp, self.folder)
        workers, tenant = self.tasks.service.workers, self.tasks.tenant.name
        self._cache.begin((make.__qualname__, stamp), partial(workers.run_to_json, tenant, make, self.folder))


TheRunFigures = Annotated[RunFigures, Depends()]


def compute_figure(make: Callable[..., Record], folders: Sequence[Path], options: Mapping[str, Any]) -> str:
    """Return an analysis of runs as JSON, without paths of this machine; the server calls it in a child process."""
    with hide_paths_in_errors(*folders):
        return dump_without_paths(make(*folders, **options), *folders)


class DescribedReport(Report):
    """A report with the names of the tags of the cases, any of which it can be grouped by.

    `findings` say in plain sentences how two judges shared the cases, if they did.
    """

    tags: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


@router.get("/{id}/report", responses=COMMON, response_model=DescribedReport)
async def report_run(
    figures: TheRunFigures,
    by: By = None,
    *,
    chance: Annotated[
        bool, Query(description="Whether to estimate what metrics that compare ids are by chance.")
    ] = False,
) -> Response:
    """Report what a run found, by metric and group: counts, means, distributions, failures by kind, cost."""
    return await figures.respond(report_folder, by=by or (), with_chance=chance)


def report_folder(folder: Path, *, by: Sequence[str], with_chance: bool = False) -> DescribedReport:
    """Report what a run found."""
    with Store.open(folder) as store:
        report = build_report(store, by=by, with_chance=with_chance)
        findings = tuple(describe_stored_escalation(report.escalation))
        return DescribedReport(**dict(report), tags=list_tags(store), findings=findings)


@dataclass
class WantedComparison:
    """A comparison that a client wants: the earlier run, if there is one, and the options of `compare`."""

    tenant: TheTenant
    baseline: Baseline = None
    against: Against = None
    metric: Metrics = None
    method: Methods = None
    by: Tags = None
    correction: CorrectionName = "bonferroni"
    cluster_by: ClusterBy = None
    level: Level = 0.95

    def list_options(self) -> dict[str, Any]:
        """List the options of `compare`."""
        return {
            "baseline": self.baseline,
            "by": self.by or (),
            "metrics": self.metric,
            "methods": self.method,
            "correction": self.correction,
            "cluster_by": self.cluster_by,
            "level": self.level,
        }

    def find_against(self) -> Path | None:
        """Return the folder of the earlier run, None without one, or raise `ServeError` (404, 409)."""
        return None if self.against is None else find_judged_folder(self.tenant, self.against)


TheWantedComparison = Annotated[WantedComparison, Depends()]


class DescribedComparison(Comparison):
    """A comparison with what it found in plain sentences, those that the command line prints."""

    findings: tuple[str, ...] = ()


@router.get("/{id}/compare", responses=COMMON, response_model=DescribedComparison)
async def compare_run(
    figures: TheRunFigures,
    comparison: TheWantedComparison,
    questions: Annotated[
        int, Query(ge=0, le=1_000_000, description="the maximum number of won and lost questions named in each row")
    ] = 20,
) -> Response:
    """Compare the methods of a run question by question, or each with itself in an earlier run (`against`)."""
    other_folders = filter(None, [comparison.find_against()])
    return await figures.respond(compare_folders, *other_folders, **comparison.list_options(), questions=questions)


def compare_folders(
    folder: Path,
    against: Path | None = None,
    *,
    questions: int | None = None,
    **options: Any,  # noqa: ANN401 - those of `compare`
) -> DescribedComparison:
    """Compare the methods of a run, or each with itself in an earlier run; name at most `questions` in each row."""
    comparison = compare(folder, against=against, **options)
    named = comparison if questions is None else comparison.name_first(questions)
    return DescribedComparison(**dict(named), findings=tuple(describe_findings(comparison)))


class DescribedAgreement(Agreement):
    """An agreement with what it means in plain sentences, those that the command line prints."""

    findings: tuple[str, ...] = ()


@router.get("/{id}/agreement", responses=COMMON, response_model=DescribedAgreement)
async def measure_agreement(  # noqa: PLR0913 - what one may ask for
    figures: TheRunFigures,
    *,
    metric: OneMetric,
    by: By = None,
    people: Annotated[
        Literal["majority", "mean", "each"] | None, Query(description="what stands for several people")
    ] = None,
    treat_as: TreatLevels = None,
    floor: Floors = None,
    level: Level = 0.95,
) -> Response:
    """Measure how far the judge of a run agrees with the people whose annotations the run holds."""
    options = {"combine": people, "treat_as": treat_as, "floors": floor or (), "level": level}
    return await figures.respond(describe_agreement, metric=metric, by=by or (), **options)


def describe_agreement(folder: Path, **options: Any) -> DescribedAgreement:  # noqa: ANN401 - those of `agreement`
    """Measure how far the judge of a run agrees with people, and describe it."""
    measured = agreement(folder, **options)
    return DescribedAgreement(**dict(measured), findings=(format_verdict(measured),))


@router.get("/{id}/estimate", responses=COMMON, response_model=Estimate)
async def estimate_verdicts(  # noqa: PLR0913 - what one may ask for
    figures: TheRunFigures,
    *,
    metric: OneMetric,
    by: Tags = None,
    baseline: Baseline = None,
    drawn_by: Annotated[
        Literal["items", "questions"] | None, Query(description="what was drawn for annotation in one go")
    ] = None,
    new_questions: Annotated[bool, Query(description="intervals for new questions like these")] = False,
    floor: Annotated[ShortText | None, Query(description="a computed metric to use beside the judge")] = None,
    level: Level = 0.95,
) -> Response:
    """Estimate people's verdicts on all judged items of a run, from the annotations of some of them."""
    options = {"drawn_by": drawn_by, "new_questions": new_questions, "floor": floor, "level": level}
    return await figures.respond(estimate, metric=metric, by=by or (), baseline=baseline, **options)


@router.get("/{id}/diagnose", responses=COMMON, response_model=DiagnosisTable)
async def diagnose_run(
    figures: TheRunFigures,
    *,
    metric: Annotated[ShortText | None, Query(description="the metric that decides which answers are right")] = None,
    by: By = None,
    cause: Annotated[
        list[Cause] | None, Query(max_length=20, description="list only these cases; may be repeated")
    ] = None,
) -> Response:
    """Find the cause of each wrong answer: the first step at which needed evidence was lost. No model is called.

    The groups count all causes, also if only the cases of some are listed in `rows`.
    """
    return await figures.respond(diagnose_folder, metric=metric, by=by or (), causes=cause or ())


def diagnose_folder(folder: Path, *, metric: str | None, by: Sequence[str], causes: Sequence[Cause]) -> DiagnosisTable:
    """Diagnose the wrong answers of a run; only the cases of these causes are listed, or all if none is named."""
    with Store.open(folder) as store, store.snapshot():
        return diagnosis.tabulate_run([*diagnosis.diagnose_run(store, metric=metric)], by, folder).select_causes(causes)


class DescribedPanel(Panel):
    """A panel with what it found in plain sentences, those that the command line prints."""

    findings: tuple[str, ...] = ()


@router.get("/{id}/panel", responses=COMMON, response_model=DescribedPanel)
async def compare_panel(  # noqa: PLR0913 - what one may ask for
    figures: TheRunFigures,
    *,
    run: OtherRuns,
    metric: OneMetric,
    by: By = None,
    combine: Annotated[CombineJudges | None, Query(description="the panel's verdict of several judges")] = None,
    treat_as: TreatLevels = None,
    floor: Floors = None,
    level: Level = 0.95,
) -> Response:
    """Compare the judges of several runs on the cases that all judged, and with people if there are annotations."""
    names = [name for name in dict.fromkeys(run) if name != figures.folder.name]
    other_folders = [find_judged_folder(figures.tasks.tenant, name) for name in names]
    options = {"combine": combine, "treat_as": treat_as, "floors": floor or (), "level": level}
    return await figures.respond(compare_judges, *other_folders, metric=metric, by=by or (), **options)


def compare_judges(*folders: Path, metric: str, **options: Any) -> DescribedPanel:  # noqa: ANN401 - those of `panel`
    """Compare the judges of several runs, and describe what was found."""
    compared = panel(folders, metric, **options)
    return DescribedPanel(**dict(compared), findings=tuple(describe_panel(compared)))
