"""Routes of a run's cases: all of them in short, and a search in their texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import StringConstraints

from greval._util.wording import shorten_text
from greval.records.record import Record
from greval.records.result import Result
from greval.report.case_grid import CaseGrid, build_case_grid
from greval.runs.run_reader import CaseFinder, read_known_scales, read_lines, read_metrics
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.runs.text_search import FoundSamples, build_text_index, search_text_index, search_texts
from greval.runs.worst_cases import build_judged_case
from greval.serve.routes.figures import COMMON, OneMetric, TheRunFigures
from greval.serve.state.run_paths import read_run_stamp

router = APIRouter(prefix="/v1/runs", tags=["runs"])

TEXT_INDEX = "text-index.sqlite"
"""The file in a run's folder by which the server searches its texts; it can be deleted at any time."""
MAX_EXCERPTS = 50
"""The most samples of which excerpts are shown at once, more than a window has rows."""
MAX_EXCERPT, MAX_READ = 240, 1_000
"""The characters of an excerpt, and those of the text of which it is made; a long answer is not read to its end."""
SampleText = Annotated[str, StringConstraints(max_length=1000)]
SearchWords = Annotated[
    str,
    StringConstraints(min_length=1, max_length=500),
    Query(description="words, all of which a case or a verdict has in its texts, in any case of letters"),
]


@router.get("/{id}/grid", responses=COMMON, response_model=CaseGrid)
async def show_grid(figures: TheRunFigures) -> Response:
    """Show all cases of a run in short: questions, tags, and the outcome of each metric for each method.

    The texts of answers and the reasons are left out; `GET /v1/runs/{id}/excerpts` has how they begin, and
    `GET /v1/runs/{id}/case` all of them.
    """
    response = await figures.respond(build_folder_grid)
    # Whoever sees the cases may search them.
    await figures.prepare(index_folder)
    return response


class CaseExcerpt(Record):
    """How an answer begins, and the reason of the worst verdict of a metric on it; either may be empty."""

    sample_id: str
    method: str
    answer: str
    reason: str


class ExcerptList(Record):
    """The excerpts of some samples, one for each method."""

    excerpts: tuple[CaseExcerpt, ...]


@router.get("/{id}/excerpts", responses=COMMON, response_model=ExcerptList)
async def show_excerpts(
    figures: TheRunFigures,
    metric: OneMetric,
    sample_id: Annotated[list[SampleText], Query(max_length=MAX_EXCERPTS, description="a sample; may be given often")],
) -> Response:
    """Show how the answers of some samples begin, and why a metric judged them so, in the order of the run."""
    return await figures.respond(build_excerpts, metric=metric, sample_ids=sample_id)


def build_excerpts(folder: Path, *, metric: str, sample_ids: Sequence[str]) -> ExcerptList:
    """Build the excerpts of some samples."""
    with Store.open(folder) as store, store.snapshot():
        scale, stored = read_known_scales(store).get(metric), read_metrics(store).get(metric)
        if scale is None:
            return ExcerptList(excerpts=())
        chosen, result_filter = {*sample_ids}, ResultFilter(metrics=(metric,))
        rows = [row for row, sample in store.select(("rowid", "sample_id"), result_filter) if sample in chosen]
        finder, judged = CaseFinder(store), stored.judged if stored else None
        cases = [
            build_judged_case(Result.model_validate_json(line), finder, scale, judged)
            for line in read_lines(store, rows)
        ]
    return ExcerptList(
        excerpts=tuple(
            CaseExcerpt(
                sample_id=case.sample_id,
                method=case.method,
                answer=shorten_text((case.answer or "")[:MAX_READ], MAX_EXCERPT),
                reason=shorten_text(case.reason[:MAX_READ], MAX_EXCERPT),
            )
            for case in cases
        )
    )


def build_folder_grid(folder: Path) -> CaseGrid:
    """Build the grid of a run's cases."""
    with Store.open(folder) as store:
        return build_case_grid(store)


def index_folder(folder: Path) -> None:
    """Build the text index of a run, unless there is one of the run as it is; without one, searches take longer."""
    stamp = _format_stamp(folder)
    if search_text_index(folder / TEXT_INDEX, stamp, "") is not None:
        return
    # Such as a full disk.
    with suppress(OSError, sqlite3.Error), Store.open(folder) as store:
        build_text_index(store, folder / TEXT_INDEX, stamp)


@router.get("/{id}/search", responses=COMMON, response_model=FoundSamples)
async def search_run(figures: TheRunFigures, q: SearchWords) -> Response:
    """Find the samples of a run by words in the full texts: question, answer, expected answer, and reasons."""
    return await figures.respond(search_folder, query=q)


def search_folder(folder: Path, *, query: str) -> FoundSamples:
    """Find the samples of a run that have words in their texts, by its text index if that is of the run as it is."""
    samples = search_text_index(folder / TEXT_INDEX, _format_stamp(folder), query)
    if samples is not None:
        return samples
    with Store.open(folder) as store:
        return search_texts(store, query)


def _format_stamp(folder: Path) -> str:
    """Return the state of a run as text, without its place."""
    return repr(read_run_stamp(folder)[1:])
