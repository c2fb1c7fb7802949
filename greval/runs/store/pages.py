"""Pages of a run, also while it is being written. A page begins after the last row of the previous one.

Each page comes with the row after which the next one begins, None on the last page. Rows are in the order in which they
were written. A result that replaces another one while pages are read is returned
again at the end, so no result is missed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from pydantic import TypeAdapter

from greval.records.case import Case, sort_methods
from greval.records.judge_call import JudgeCall
from greval.records.record import Record
from greval.runs.store.disk import ANY_RESULT, ResultFilter, translate_errors
from greval.runs.store.plans import COUNTED, COUNTED_CASE
from greval.runs.store.reader import ASKED_CONTENT, IS_PAIR, JUDGED_NAMES, NEWEST, Store, parse_case_head

SELECT_CASES = f"""
SELECT rowid, key, row FROM cases WHERE rowid > ? AND {COUNTED_CASE} ORDER BY rowid LIMIT ?
"""  # noqa: S608 - a constant
SELECT_CASE = f"""
SELECT row FROM cases WHERE {COUNTED_CASE} AND instr(row, ?) AND coalesce(json_extract(row, '$.id'), '') = ?
AND coalesce(json_extract(row, '$.method'), '') = ? ORDER BY rowid DESC
"""  # noqa: S608 - a constant
MAX_PAGE_CHARACTERS = 8_000_000
"""The number of characters at which a page ends early."""
_TEXT_ADAPTER: TypeAdapter[str] = TypeAdapter(str)


class CaseLine(Record):
    """A case in a list: the first 1,000 characters of its question, and the status of each of its metrics."""

    sample_id: str
    method: str
    question: str
    statuses: dict[str, str]


def read_result_page(
    store: Store, result_filter: ResultFilter = ANY_RESULT, *, after: int = 0, limit: int = 100
) -> tuple[list[str], int | None]:
    """Return a page of the newest result of each sample, method, metric and repeat as JSON texts.

    Long results end a page before its limit, to limit memory use.
    """
    lines: list[str] = []
    last, length = after, 0
    with translate_errors(store.folder):
        for at, row in store.select(("rowid", "row"), result_filter, after=after):
            if len(lines) == limit or length > MAX_PAGE_CHARACTERS:
                return lines, last
            lines.append(row)
            last, length = at, length + len(row)
    return lines, None


def read_call_page(
    store: Store, result_filter: ResultFilter = ANY_RESULT, *, after: int = 0, limit: int = 100
) -> tuple[list[JudgeCall], int | None]:
    """Return a page of the stored calls of the judge for the results that meet a filter.

    It ends at the limit with all calls of its last result; long calls end it earlier, to limit memory use.
    """
    reader = store.call_reader
    page: list[JudgeCall] = []
    last, length = after, 0
    with translate_errors(store.folder):
        columns = ("rowid", ASKED_CONTENT, *JUDGED_NAMES)
        for at, content, *names in store.select(columns, result_filter, after=after):
            if len(page) >= limit or length > MAX_PAGE_CHARACTERS:
                return page, last
            calls = [*reader.read(content, *names)]
            page += calls
            last = at
            length += sum(len(message.text) for call in calls for message in call.messages)
    return page, None


def read_case_page(store: Store, *, after: int = 0, limit: int = 100) -> tuple[list[CaseLine], int | None]:
    """Return a page of the judged cases, each once; a case whose contents changed between two runs comes twice."""
    rows = _fetch_all(store, SELECT_CASES, after, limit + 1)
    first = _find_first_rows(store, [key for _, key, _ in rows[:limit]])
    once = [parse_case_head(case) for at, key, case in rows[:limit] if first[key] == at]
    statuses = _read_statuses(store, [(head.sample_id, head.method) for head in once])
    lines = [
        CaseLine(
            sample_id=head.sample_id,
            method=head.method,
            question=head.question,
            statuses=statuses[head.sample_id, head.method],
        )
        for head in once
    ]
    return lines, rows[limit - 1][0] if len(rows) > limit else None


def find_case(store: Store, sample_id: str, method: str) -> Case | None:
    """Return a case as it was judged last, or None if the run has no such case."""
    # Parse only rows that contain it.
    marked = _TEXT_ADAPTER.dump_json(sample_id).decode() if sample_id else ""
    values = (marked, sample_id.partition("\0")[0], method.partition("\0")[0])
    with translate_errors(store.folder), closing(store.query(SELECT_CASE, values)) as rows:
        cases = (Case.model_validate_json(row) for (row,) in rows)
        return next((case for case in cases if (case.id, case.method) == (sample_id, method)), None)


def list_methods(store: Store) -> tuple[str, ...]:
    """Return the methods of single responses, in the order of methods; a pair is not a method."""
    query = f"""
        SELECT DISTINCT method FROM results
        WHERE {COUNTED} AND method NOT IN (SELECT method FROM cases WHERE {IS_PAIR})
    """  # noqa: S608 - constants
    return sort_methods(method for (method,) in _fetch_all(store, query))


def _find_first_rows(store: Store, keys: Sequence[int]) -> dict[int, int]:
    """Return the first row of each of these cases. A case has several rows if it was judged several times."""
    marks = json.dumps([*dict.fromkeys(keys)])
    query = f"""
        SELECT key, min(rowid) FROM cases
        WHERE key IN (SELECT value FROM json_each(?)) AND {COUNTED_CASE} GROUP BY key
    """  # noqa: S608 - constants
    return dict(_fetch_all(store, query, marks))


def _read_statuses(store: Store, cases: Sequence[tuple[str, str]]) -> dict[tuple[str, str], dict[str, str]]:
    """Return the status of each metric of these cases; the last of several repeats counts."""
    ids = dict.fromkeys(sample_id for sample_id, _ in cases)
    query = f"""
        SELECT sample_id, method, metric, json_extract(outline, '$[0]') FROM results
        WHERE sample_id IN ({", ".join("?" for _ in ids)}) AND {NEWEST} AND {COUNTED} ORDER BY rowid
    """  # noqa: S608 - constants
    statuses: dict[tuple[str, str], dict[str, str]] = {case: {} for case in cases}
    for sample_id, method, metric, status in _fetch_all(store, query, *ids):
        if (sample_id, method) in statuses:
            statuses[sample_id, method][metric] = status
    return statuses


def _fetch_all(store: Store, query: str, *values: object) -> list[Any]:
    with translate_errors(store.folder):
        return store.query(query, values).fetchall()
