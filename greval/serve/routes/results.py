"""Routes that list the results and the cases of a run, page by page, also while it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from greval.records.case import Case
from greval.records.judge_call import JudgeCall
from greval.records.record import Record
from greval.records.result import Result
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.runs.store.pages import CaseLine, find_case, read_call_page, read_case_page, read_result_page
from greval.serve.child_routes import in_child
from greval.serve.jobs.info import JudgedFolder
from greval.serve.problems import ServeError, describe_errors
from greval.serve.schemas.cursors import Cursor, Limit, decode_row_cursor, encode_cursor
from greval.serve.state.run_paths import hide_paths_in_errors

router = APIRouter(prefix="/v1/runs", tags=["runs"])

OutcomeStatus = Annotated[Literal["scored", "skipped", "failed"] | None, Query(description="how the metric ended")]
OnlyName = Annotated[str | None, Query(min_length=1, max_length=200, description="only these")]
MethodName = Annotated[str | None, Query(max_length=1000, description="only this method; empty for cases without one")]
ValueText = Annotated[str | None, Query(min_length=1, max_length=200, description="only with this value or category")]
Tag = Annotated[
    str | None, Query(pattern=r"^[^:]+:", max_length=1000, description="only with this tag, as `name:value`")
]
MethodOfCase = Annotated[str, Query(max_length=1000, description="the method; empty if the cases name none")]
OnlySample = Annotated[str | None, Query(max_length=1000, description="only this sample")]
SampleId = Annotated[str, Query(max_length=1000, description="the id of the sample")]


class ResultPage(Record):
    """The newest result of each sample, method and metric, in the order in which they were written."""

    results: tuple[Result, ...]
    next: str | None


class CasePage(Record):
    """The cases of a run, with the outcome of each of their metrics."""

    cases: tuple[CaseLine, ...]
    next: str | None


class CallPage(Record):
    """The calls of the judge, in the order of their results, and for each result in the order of time."""

    calls: tuple[JudgeCall, ...]
    next: str | None


class CaseDetail(Record):
    """A case as it was judged, with all of its results."""

    case: Case
    results: tuple[Result, ...]


@router.get("/{id}/results", responses=describe_errors(404, 409), response_model=ResultPage)
@in_child
def list_results(  # noqa: PLR0913 - what one may ask for
    folder: JudgedFolder,
    *,
    metric: OnlyName = None,
    method: MethodName = None,
    status: OutcomeStatus = None,
    value: ValueText = None,
    tag: Tag = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> str:
    """List the results of a run page by page, also while it runs.

    A result that is judged again meanwhile appears once more on a later page and replaces the older one.
    """
    name, _, of_tag = (tag or "").partition(":")
    result_filter = ResultFilter(
        method=method,
        metrics=(metric,) if metric else (),
        status=status,
        value=value,
        tags=((name, of_tag),) if tag else (),
    )
    with _open_run(folder) as store:
        lines, following = read_result_page(store, result_filter, after=decode_row_cursor(cursor), limit=limit)
    # As they are stored: parsing and serialising them would cost more than the rest of the request.
    return f'{{"results":[{",".join(lines)}],"next":{json.dumps(encode_cursor(following))}}}'


@router.get("/{id}/calls", responses=describe_errors(404, 409))
@in_child
def list_calls(
    folder: JudgedFolder,
    *,
    sample_id: OnlySample = None,
    method: MethodName = None,
    metric: OnlyName = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> CallPage:
    """List the calls of the judge for the results of a run page by page: what it was sent, and what it replied.

    Each attempt is a call of its own, also one whose reply could not be read. A page ends after a whole result, so that
    it may have a few calls more than `limit`. Results of computed metrics and of a run that does not store calls have
    none.
    """
    result_filter = ResultFilter(sample_id=sample_id, method=method, metrics=(metric,) if metric else ())
    with _open_run(folder) as store:
        calls, following = read_call_page(store, result_filter, after=decode_row_cursor(cursor), limit=limit)
    return CallPage(calls=tuple(calls), next=encode_cursor(following))


@router.get("/{id}/cases", responses=describe_errors(404, 409))
@in_child
def list_cases(folder: JudgedFolder, cursor: Cursor = None, limit: Limit = 100) -> CasePage:
    """List the cases of a run page by page, with the outcome of each of their metrics."""
    with _open_run(folder) as store:
        cases, following = read_case_page(store, after=decode_row_cursor(cursor), limit=limit)
    return CasePage(cases=tuple(cases), next=encode_cursor(following))


@router.get("/{id}/case", responses=describe_errors(404, 409), response_model=CaseDetail)
@in_child
def show_case(folder: JudgedFolder, sample_id: SampleId, method: MethodOfCase = "") -> str:
    """Show a case as it was judged, with all of its results."""
    case = read_case(folder, sample_id, method)
    with _open_run(folder) as store:
        lines, _ = read_result_page(store, ResultFilter(sample_id=sample_id, method=method), limit=1000)
    return f'{{"case":{case.model_dump_json()},"results":[{",".join(lines)}]}}'


def read_case(folder: Path, sample_id: str, method: str) -> Case:
    """Return a case of a run as it was judged last, or raise `ServeError` (404)."""
    with _open_run(folder) as store:
        case = find_case(store, sample_id, method)
    if case is None:
        message = f"run {folder.name!r}: holds no case {sample_id[:64]!r} of the method {method[:64]!r}"
        raise ServeError("case_not_found", message)
    return case


@contextmanager
def _open_run(folder: Path) -> Iterator[Store]:
    """Open a run for reading; errors name the run, not a path of this machine."""
    with hide_paths_in_errors(folder), Store.open(folder) as store:
        yield store
