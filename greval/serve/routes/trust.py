"""Routes of probes and alignments, which are runs that test a judge and improve a metric."""

from __future__ import annotations

from contextlib import suppress

from fastapi import APIRouter, Request, Response

from greval.serve.conditional import NOT_MODIFIED, build_conditional_response
from greval.serve.ids import Id
from greval.serve.jobs.info import find_judged_folder, find_run_folder, read_run_info
from greval.serve.jobs.queue import ACTIVE, AlignRequest, JobKind, JobSpec, ProbeRequest, RunInfo
from greval.serve.jobs.trust_jobs import RESULT_FILES, build_align_options, build_probe_options
from greval.serve.problems import ServeError, describe_errors
from greval.serve.routes.runs import TheJobStarter
from greval.serve.service import Tenant, TheTenant
from greval.serve.state.judge_analyses import check_alignment, check_probe
from greval.serve.state.uploads import Uploads
from greval.serve.workers.pool import TaskLimitError
from greval.trust.alignment.records import Alignment
from greval.trust.probing.records import Probe

router = APIRouter(prefix="/v1/runs", tags=["runs"])


@router.post("/probe", status_code=202, responses=describe_errors(404, 409, 422, 502, 503, 504, 507))
async def start_probe(body: ProbeRequest, starter: TheJobStarter) -> RunInfo:
    """Start a probe: cases are judged, changed so that the right verdict is known, and judged again; no labels needed.

    It is a run: follow, cancel, resume and delete it as one. Its verdicts are results, its kill rates are at
    `/v1/runs/{id}/probe` once it has ended. `Idempotency-Key` is as for a run.
    """
    service, tenant = starter.service, starter.tenant

    async def check(spec: JobSpec) -> None:
        file = None if body.dataset is None else Uploads(tenant.datasets).find_file(body.dataset)
        judges = service.choose_judges(map(service.library.restore, spec.definitions), spec.judge)
        # The probe may take longer to find out.
        with suppress(TaskLimitError):
            await service.workers.run(
                tenant.name,
                check_probe,
                service.settings,
                spec.definitions,
                file,
                build_probe_options(body, judges),
            )

    return await starter.start(body, check)


@router.post("/align", status_code=202, responses=describe_errors(404, 409, 422, 502, 503, 504, 507))
async def start_alignment(body: AlignRequest, starter: TheJobStarter) -> RunInfo:
    """Start an alignment: a metric is improved from its disagreements with the people who annotated a run.

    It is a run: follow, cancel, resume and delete it as one. The attempts, the gain on held-out labels and the new
    definition, if there is one, are at `/v1/runs/{id}/alignment` once it has ended. `Idempotency-Key` is as for a run.
    """
    service, tenant = starter.service, starter.tenant

    async def check(spec: JobSpec) -> None:
        metric = service.library.restore(spec.definitions[-1])
        with suppress(TaskLimitError):
            await service.workers.run(
                tenant.name,
                check_alignment,
                service.settings,
                spec.definitions[-1],
                find_judged_folder(tenant, body.run),
                service.choose_judge(metric, spec.judge),
                build_align_options(body),
            )

    return await starter.start(body, check)


@router.get(
    "/{id}/probe",
    responses={304: {"description": NOT_MODIFIED}, **describe_errors(404, 409, 422)},
    response_model=Probe,
)
def show_probe(request: Request, tenant: TheTenant, id: Id) -> Response:  # noqa: A002 - its name in the path
    """Show the result of a probe: the kill rate of each check, the noise of the judge, and what was not caught.

    It is there once the probe has ended, also at a cap: the figures then cover what was judged, and `why` says so.
    """
    return build_conditional_response(request, _read_result(tenant, id, "probe"), "application/json")


@router.get(
    "/{id}/alignment",
    responses={304: {"description": NOT_MODIFIED}, **describe_errors(404, 409, 422)},
    response_model=Alignment,
)
def show_alignment(request: Request, tenant: TheTenant, id: Id) -> Response:  # noqa: A002 - its name in the path
    """Show the result of an alignment: the attempts, the gain, and the text of the new metric file if it was accepted.

    It is there once the alignment has finished; one that was stopped has to be resumed.
    """
    return build_conditional_response(request, _read_result(tenant, id, "alignment"), "application/json")


def _read_result(tenant: Tenant, run_id: str, kind: JobKind) -> bytes:
    """Return the result of a probe or an alignment, or raise `ServeError`: 404 if it is none, 409 if it has none."""
    folder = find_run_folder(tenant, run_id)
    info = read_run_info(tenant, folder)
    if info.kind != kind:
        code, name = ("probe_not_found", "probe") if kind == "probe" else ("alignment_not_found", "align")
        message = f"run {run_id!r}: is no {kind}, its kind is {info.kind}; start one with POST /v1/runs/{name}"
        raise ServeError(code, message)
    if info.status in ACTIVE:
        raise ServeError("run_active", f"run {run_id!r}: is {info.status}; ask again when it has ended")
    try:
        return (folder / RESULT_FILES[kind]).read_bytes()
    except FileNotFoundError as error:
        message = f"run {run_id!r}: ended without a result: {info.why}; resume it with POST /v1/runs/{run_id}/resume"
        raise ServeError("run_without_results", message) from error
