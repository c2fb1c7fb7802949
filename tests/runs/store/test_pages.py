"""Pages of a run: every row once, whatever the size of the pages, and each filter as it says."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from greval.records.case import Case, sort_methods
from greval.records.result import Failed, Failure, Judgement, Result, Scored, Skipped
from greval.runs.store import Store
from greval.runs.store import pages as module
from greval.runs.store.disk import ResultFilter
from greval.runs.store.pages import find_case, list_methods, read_case_page, read_result_page
from greval.runs.store.writer import StoreWriter

NAMES = st.sampled_from(["a", "b", 'q"1', "ü\n", "", "a\0b", "\0"])
OUTCOMES = {
    "scored": Scored(judgements=(Judgement(value="Yes", reason="r"), Judgement(value="No", reason="r"))),
    "skipped": Skipped(reason="no answer"),
    "failed": Failed(error=Failure(kind="timeout", message="late")),
}
ROWS = st.lists(st.tuples(NAMES, NAMES, st.sampled_from(["tone", "right"]), st.sampled_from([*OUTCOMES])), max_size=30)


def folder_of(rows, reason="r"):
    """Write rows, of which later ones take the place of earlier ones of their names."""
    folder = Path(tempfile.mkdtemp()) / "run"
    with StoreWriter.create(folder) as writer:
        for n, (sample_id, method, metric, status) in enumerate(rows):
            result = Result(
                sample_id=sample_id,
                method=method,
                metric=metric,
                fingerprint="f",
                judge="j",
                tier="text",
                outcome=OUTCOMES[status].model_copy(update={"reason": reason} if status == "skipped" else {}),
                tags={"kind": method, 'a"b': sample_id},
            )
            case = Case(id=sample_id, method=method, question=f"What of {sample_id}?", answer=method)
            writer.append(str(n), result, case=case.model_dump_json(exclude_defaults=True))
    return folder


def read(store, limit, **wanted):
    """Read all pages."""
    lines, after = [], 0
    while after is not None:
        page, after = read_result_page(store, ResultFilter(**wanted), after=after, limit=limit)
        assert len(page) <= limit
        lines += page
    return lines


@given(ROWS, st.integers(1, 7))
def test_pages_hold_what_the_log_holds(rows, limit):
    """Pages of any size hold the newest row of each of its names once, in the log's order."""
    folder = folder_of(rows)
    with Store.open(folder) as store:
        assert read(store, limit) == [*store.lines()]
        assert list_methods(store) == sort_methods(method for _, method, _, _ in rows)


@given(ROWS, NAMES, st.sampled_from([*OUTCOMES]), st.sampled_from(["Yes", "No", "Perhaps"]))
def test_filters_give_what_fits(rows, name, status, value):
    """Each filter, and all together, give exactly the rows that fit."""
    folder = folder_of(rows)
    fits = {
        "sample_id": (name, lambda one: one.sample_id == name),
        "method": (name, lambda one: one.method == name),
        "metrics": (("tone",), lambda one: one.metric == "tone"),
        "status": (status, lambda one: one.outcome.status == status),
        "value": (value, lambda one: value in {judgement.value for judgement in one.judgements}),
        "tags": ((('a"b', name),), lambda one: one.tags['a"b'] == name),
    }
    with Store.open(folder) as store:
        results = [*store.results()]
        for chosen in (*([one] for one in fits), [*fits]):
            expected = [one for one in results if all(fits[name][1](one) for name in chosen)]
            lines = read(store, 3, **{name: fits[name][0] for name in chosen})
            assert [Result.model_validate_json(line) for line in lines] == expected
            assert [*store.lines(ResultFilter(**{name: fits[name][0] for name in chosen}))] == lines


@given(ROWS, st.integers(1, 5))
def test_each_case_comes_once(rows, limit):
    """Pages of cases hold each case once with how its metrics ended, also where it was judged several times."""
    folder = folder_of(rows)
    with Store.open(folder) as store:
        statuses = {}
        for one in store.results():
            statuses.setdefault((one.sample_id, one.method), {})[one.metric] = one.outcome.status
        found, after = [], 0
        while after is not None:
            page, after = read_case_page(store, after=after, limit=limit)
            found += page
        assert {(one.sample_id, one.method): one.statuses for one in found} == statuses
        assert len(found) == len(statuses)
        assert all(one.question == f"What of {one.sample_id}?" for one in found)
        for sample_id, method in statuses:
            case = find_case(store, sample_id, method)
            assert (case.id, case.method, case.answer) == (sample_id, method, method)
        assert find_case(store, "nobody", "") is None


def test_a_page_of_long_rows_is_short():
    """Rows that together would fill the memory are spread over more pages, and none is lost."""
    long = "x" * (module.MAX_PAGE_CHARACTERS // 4)
    folder = folder_of([(f"q{n}", "", "tone", "skipped") for n in range(11)], reason=long)
    with Store.open(folder) as store:
        assert len(read_result_page(store, limit=100)[0]) == 4
        assert len(read(store, 100)) == 11
