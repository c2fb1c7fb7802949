"""From a request to a queued job: everything that can be wrong is reported before the job starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from greval.analysis.duel.judging import read_duel
from greval.datasets.case_reader import CaseReader
from greval.datasets.row_faults import RowFault
from greval.errors import DataError
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Prices
from greval.records.case import Case
from greval.records.metric import Metric, needs_judge
from greval.records.metric_input import explain_missing_needs
from greval.records.result import read_outline
from greval.runs.duels import check_preferences
from greval.runs.judges import JudgeModel
from greval.runs.store import Store
from greval.serve.ids import create_id
from greval.serve.jobs.info import find_judged_folder
from greval.serve.jobs.queue import (
    ACTIVE,
    CANCEL_FILE,
    AlignRequest,
    DuelRequest,
    JobQueue,
    JobRequest,
    JobSpec,
    JobState,
    ProbeRequest,
    ResumeRequest,
    RunRequest,
    create_run_folder,
    read_job_spec,
    read_job_state,
    write_job_spec,
    write_job_state,
)
from greval.serve.problems import ServeError, build_fault
from greval.serve.service import Service, Tenant, open_service
from greval.serve.settings import ServerLimits, ServerSettings
from greval.serve.state.datasets import find_dataset, find_dataset_file, select_rows
from greval.serve.state.metric_library import dump_metrics
from greval.serve.state.run_paths import hide_paths_in_errors
from greval.serve.tenant_quotas import TenantQuotas, get_tenant_quotas
from greval.trust.alignment.api import forecast_align
from greval.trust.probing.api import forecast_probe
from greval.trust.probing.stages import ProbeOptions

MAX_QUEUED = 100
"""The most waiting and running jobs of a tenant."""
NO_FOLDER = Path("no run")
"""A forecast of a job that has no folder yet; nothing is read or written there."""


def build_job_spec(service: Service, tenant: Tenant, request: JobRequest, metrics: Sequence[Metric]) -> JobSpec:
    """Build the specification of a job; `metrics` include those that others build on, in order."""
    source = _check_source(tenant, request)
    judge = _resolve_judge(service, request, metrics)
    name = request.name or (source if request.kind == "run" else request.kind)
    return JobSpec(
        id=create_id(name),
        tenant=tenant.name,
        name=name,
        kind=request.kind,
        created=datetime.now(UTC),
        judge=judge,
        metrics=tuple(metric.name for metric in metrics),
        **request.model_dump(include={"dataset", "run", "reason_depth"}),
        definitions=tuple(dump_metrics(metrics)),
        asked=request,
    )


def list_judges(service: Service, metrics: Sequence[Metric], name: str | None, request: JobRequest) -> list[JudgeModel]:
    """List the judges of a job: that of each judged metric, and the writer of an alignment."""
    writer = request.writer if isinstance(request, AlignRequest) else None
    judges = [*service.choose_judges(metrics, name).values()]
    return judges if writer is None else [*judges, service.find_judge(writer)]


def _check_source(tenant: Tenant, request: JobRequest) -> str:
    """Return the name of what a job reads, or raise `ServeError` (404; 409 for a run without results)."""
    if isinstance(request, AlignRequest | DuelRequest) and request.run is not None:
        return find_judged_folder(tenant, request.run).name
    if request.dataset is None:
        return ""
    return find_dataset(tenant, request.dataset).name


def open_source(tenant: Tenant, spec: JobSpec, limits: ServerLimits) -> CaseReader | Path | None:
    """Open what a job reads: a data set, or the folder of a run; None if it has cases of its own."""
    if spec.dataset is not None:
        return find_dataset_file(tenant, spec.dataset).open(limits)
    return None if spec.run is None else tenant.runs / spec.run


def check_job(settings: ServerSettings, tenant: Tenant, spec: JobSpec) -> None:
    """Raise the error by which a job would end at once, or `ServeError` (409) if all of it would be skipped.

    The server calls it in a child process.
    """
    service, request = open_service(settings), spec.asked
    metrics = [service.library.restore(definition) for definition in spec.definitions]
    source = open_source(tenant, spec, settings.limits)
    with hide_paths_in_errors(*([source] if isinstance(source, Path) else [])):
        match request, source:
            case RunRequest(), CaseReader():
                requested = [metric for metric in metrics if metric.name in request.metrics]
                rows = select_rows(source, request.sample_ids, request.limit)
                is_empty = _check_needs(f"case of the data set {request.dataset!r}", requested or metrics, rows)
                if is_empty and request.sample_ids:
                    expected = f"a case with one of the ids in sample_ids, such as {request.sample_ids[0][:64]!r}"
                    raise DataError(f"{source.name}: expected {expected}; found none")
            case DuelRequest(), CaseReader() | Path():
                check_preferences(metrics)
                pairs, _ = read_duel(source, metrics, request.methods, request.limit)
                _check_needs(f"pair of {source.name!r}", metrics, pairs)
            case ProbeRequest(), CaseReader() | None:
                *built_on, metric = metrics
                options: ProbeOptions = {
                    **request.list_options(),
                    "judges": service.choose_judges(metrics, spec.judge),
                    "built_on": built_on,
                    "out": NO_FOLDER,
                }
                forecast_probe(metric, None, source, **options)
            case AlignRequest(), Path():
                judge = service.choose_judge(metrics[-1], spec.judge)
                forecast_align(source, metrics[-1], judge, **request.list_options())


def _check_needs(what: str, metrics: Sequence[Metric], rows: Iterable[Case | RowFault]) -> bool:
    """Raise `ServeError` (409) if each of the metrics is skipped for every case; return whether there is no row.

    `what` is what each row is. The reasons are those of the first case. Reading ends at the first case that is judged.
    """
    reasons: dict[str, str] = {}
    is_empty = True
    for case in rows:
        is_empty = False
        if not isinstance(case, Case):
            continue
        for metric in metrics:
            # Nothing is computed: that may take as long as the run.
            reason = None if case.error is not None else explain_missing_needs(metric, case)
            if reason is None:
                return False
            reasons.setdefault(metric.name, reason)
    if reasons:
        faults = [build_fault("body.metrics", f"{name}: {reason}") for name, reason in reasons.items()]
        lines = "; ".join(fault.message for fault in faults)
        raise ServeError("metrics_unservable", f"metrics: no {what} has what one of them needs: {lines}", faults=faults)
    return is_empty


def enqueue_job(queue: JobQueue, quotas: TenantQuotas, spec: JobSpec) -> None:
    """Create the folder of a run and queue the run."""
    _check_queue_length(queue, quotas.tenant)
    if spec.judge is not None:
        quotas.check_calls()
    folder = quotas.tenant.runs / spec.id
    with quotas.reserve("runs"):
        # First: if the process is killed in between, no run waits for ever.
        queue.add(folder)
        create_run_folder(folder, spec)


def resume_job(service: Service, queue: JobQueue, tenant: Tenant, folder: Path, request: ResumeRequest | None) -> None:
    """Add an ended run, which is locked, to the queue again, with new caps; what is missing or failed is judged."""
    spec = read_job_spec(folder)
    if spec is None:
        message = f"run {folder.name!r}: was made on the command line; go on there with greval evaluate"
        raise ServeError("run_of_command_line", message)
    _check_queue_length(queue, tenant)
    _check_source(tenant, spec.asked)
    caps = request.model_dump(exclude_none=True) if request else {}
    quotas = get_tenant_quotas(service, tenant)
    quotas.check_stored("disk")
    if spec.judge is not None:
        service.find_judge(spec.judge)
        quotas.check_calls()
    if spec.judge is not None and caps.get("max_cost") is not None:
        metrics = [service.library.restore(definition) for definition in spec.definitions]
        for judge in list_judges(service, metrics, spec.judge, spec.asked):
            _check_price(JudgeClient(judge).label, caps["max_cost"])
    state = read_job_state(folder) or JobState(status="queued")
    if state.status in ACTIVE:
        raise ServeError("run_active", f"run {folder.name!r}: is {state.status} already")
    if caps:
        write_job_spec(folder, spec.model_copy(update={"asked": spec.asked.model_copy(update=caps)}))
    (folder / CANCEL_FILE).unlink(missing_ok=True)
    # First: if the process is killed in between, no run waits for ever.
    queue.add(folder)
    write_job_state(folder, JobState(status="queued", progress=state.progress, methods=state.methods))


def update_replayed_job(folder: Path, definitions: Mapping[str, JsonValue]) -> None:
    """Replace the definitions of replayed metrics by name, and count the results of the run again.

    A run that is resumed then judges by the definitions of its results. A run of the command line has no such files.
    """
    spec, state = read_job_spec(folder), read_job_state(folder)
    if spec is None or state is None:
        return
    stored_definitions = zip(spec.metrics, spec.definitions, strict=True)
    updated = tuple(definitions.get(name, stored) for name, stored in stored_definitions)
    write_job_spec(folder, spec.model_copy(update={"definitions": updated}))
    if state.progress is not None:
        progress = state.progress.model_copy(update=_count_results(folder))
        write_job_state(folder, state.model_copy(update={"progress": progress}))


def _count_results(folder: Path) -> dict[str, int]:
    """Count the results of a run by their status, and the failed items of scored ones."""
    with Store.open(folder) as store:
        outlines = [read_outline(outline) for (outline,) in store.select(("outline",))]
    statuses = Counter(outline.status for outline in outlines)
    failed = sum(outline.items_failed for outline in outlines if outline.status == "scored")
    counts = {status: statuses[status] for status in ("scored", "skipped", "failed")}
    return {"done": len(outlines), **counts, "items_failed": failed}


def _check_queue_length(queue: JobQueue, tenant: Tenant) -> None:
    if queue.count_jobs(tenant.runs) >= MAX_QUEUED:
        message = f"runs: {MAX_QUEUED} of yours wait or are worked on, which is the most; wait for one, or cancel one"
        raise ServeError("too_many_runs", message, headers={"Retry-After": "60"})


def _resolve_judge(service: Service, request: JobRequest, metrics: Sequence[Metric]) -> str | None:
    """Return the name of the judge for the metrics that name none, or None if no metric needs one."""
    if request.judge is None and not needs_judge(metrics):
        return None
    if request.judge is not None:
        service.find_judge(request.judge)
    for judge in list_judges(service, metrics, request.judge, request):
        _check_settings(judge)
        _check_price(JudgeClient(judge).label, request.max_cost)
    return request.judge if request.judge is not None else next(iter(service.models))


def _check_settings(judge: JudgeModel) -> None:
    """Raise `ServeError` (502) for a chat model: a run is another process, to which only settings can be passed."""
    if not isinstance(judge, Judge):
        label = JudgeClient(judge).label
        message = f"judge {label}: is a chat model of the server's own process; runs need the settings of a judge"
        raise ServeError("judge_error", message)


def _check_price(label: str, max_cost: float | None) -> None:
    if max_cost is not None and Prices.load().of(label) is None:
        message = f"max_cost: no price is known for the judge {label}; cap the calls with max_calls"
        raise ServeError("price_unknown", message)
