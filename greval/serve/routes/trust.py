"""Routes of probes and alignments, which are runs that test a judge and improve a metric."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request, Response

from greval.serve.conditional import NOT_MODIFIED, build_conditional_response
from greval.serve.jobs.info import RunFolder, read_run_info
from greval.serve.jobs.queue import ACTIVE, RESULT_FILES, AlignRequest, JobKind, ProbeRequest, RunInfo
from greval.serve.problems import ServeError, describe_errors
from greval.serve.routes.runs import TheJobStarter
from greval.serve.service import Tenant, TheTasks
from greval.trust.alignment.records import Alignment
from greval.trust.probing.records import Probe

router = APIRouter(prefix="/v1/runs", tags=["runs"])


@router.post("/probe", status_code=202, responses=describe_errors(404, 409, 502, 507))
async def start_probe(body: ProbeRequest, starter: TheJobStarter) -> RunInfo:
    """Start a probe: cases are judged, changed so that the right verdict is known, and judged again; no labels needed.

    It is a run: follow, cancel, resume and delete it as one. Its verdicts are results, its kill rates are at
    `/v1/runs/{id}/probe` once it has ended. `Idempotency-Key` is as for a run.
    """
    return await starter.start(body)


@router.post("/align", status_code=202, responses=describe_errors(404, 409, 502, 507))
async def start_alignment(body: AlignRequest, starter: TheJobStarter) -> RunInfo:
    """Start an alignment: a metric is improved from its disagreements with the people who annotated a run.

    It is a run: follow, cancel, resume and delete it as one. The attempts, the gain on held-out labels and the new
    definition, if there is one, are at `/v1/runs/{id}/alignment` once it has ended. `Idempotency-Key` is as for a run.
    """
    return await starter.start(body)


@router.get(
    "/{id}/probe",
    responses={304: {"description": NOT_MODIFIED}, **describe_errors(404, 409)},
    response_model=Probe,
)
async def show_probe(request: Request, tasks: TheTasks, folder: RunFolder) -> Response:
    """Show the result of a probe: the kill rate of each check, the noise of the judge, and what was not caught.

    It is there once the probe has ended, also at a cap: the figures then cover what was judged, and `why` says so.
    """
    content = await tasks.run_in_thread(_read_result, tasks.tenant, folder, "probe")
    return build_conditional_response(request, content)


@router.get(
    "/{id}/alignment",
    responses={304: {"description": NOT_MODIFIED}, **describe_errors(404, 409)},
    response_model=Alignment,
)
async def show_alignment(request: Request, tasks: TheTasks, folder: RunFolder) -> Response:
    """Show the result of an alignment: the attempts, the gain, and the text of the new metric file if it was accepted.

    It is there once the alignment has finished; one that was stopped has to be resumed.
    """
    content = await tasks.run_in_thread(_read_result, tasks.tenant, folder, "alignment")
    return build_conditional_response(request, content)


def _read_result(tenant: Tenant, folder: Path, kind: JobKind) -> bytes:
    """Return the result of a probe or an alignment, or raise `ServeError`: 404 if it is none, 409 if it has none."""
    info = read_run_info(tenant, folder)
    if info.kind != kind:
        code, name = ("probe_not_found", "probe") if kind == "probe" else ("alignment_not_found", "align")
        message = f"run {info.id!r}: is no {kind}, its kind is {info.kind}; start one with POST /v1/runs/{name}"
        raise ServeError(code, message)
    if info.status in ACTIVE:
        raise ServeError("run_active", f"run {info.id!r}: is {info.status}; ask again when it has ended")
    try:
        return (folder / RESULT_FILES[kind]).read_bytes()
    except FileNotFoundError as error:
        message = f"run {info.id!r}: ended without a result: {info.why}; resume it with POST /v1/runs/{info.id}/resume"
        raise ServeError("run_without_results", message) from error
