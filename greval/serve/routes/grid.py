"""Routes of a run's cases: all of them in short, and a search in their texts."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import StringConstraints

from greval.report.case_grid import CaseGrid, build_case_grid
from greval.runs.store import Store
from greval.runs.text_search import FoundSamples, build_text_index, search_text_index, search_texts
from greval.serve.routes.figures import COMMON, TheRunFigures
from greval.serve.state.run_paths import read_run_stamp

router = APIRouter(prefix="/v1/runs", tags=["runs"])

TEXT_INDEX = "text-index.sqlite"
"""The file in a run's folder by which the server searches its texts; it can be deleted at any time."""
SearchWords = Annotated[
    str,
    StringConstraints(min_length=1, max_length=500),
    Query(description="words, all of which a case or a verdict has in its texts, in any case of letters"),
]


@router.get("/{id}/grid", responses=COMMON, response_model=CaseGrid)
async def show_grid(figures: TheRunFigures) -> Response:
    """Show all cases of a run in short: questions, tags, and the outcome of each metric for each method.

    The texts of answers and the reasons are left out; `GET /v1/runs/{id}/case` has them.
    """
    response = await figures.respond(build_folder_grid)
    # Whoever sees the cases may search them.
    await figures.prepare(index_folder)
    return response


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
