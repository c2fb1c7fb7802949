"""Snapshots of a run: counts of results that are added and taken back, and the time that is left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import Failed, Judgement, Result, Scored, Skipped
from greval.records import Failure, Usage
from greval.runs.progress import Progress, ProgressCounter

FAILURE = Failure(kind="timeout", message="m")


def build_result(status: str, items: int, calls: int) -> Result:
    """Build a result of a status; `items` of its items failed if it is scored."""
    judged = Scored(
        judgements=(Judgement(value=1, number=1.0, reason="r"),),
        failures=tuple(FAILURE.model_copy(update={"item": f"c{n}"}) for n in range(items)),
    )
    outcome = {"scored": judged, "skipped": Skipped(reason="r"), "failed": Failed(error=FAILURE)}[status]
    return Result(
        metric="m", fingerprint="f", judge="j", tier="schema", outcome=outcome, usage=Usage(calls=calls, input_tokens=2)
    )


STATUSES = st.sampled_from(["scored", "skipped", "failed"])
RESULTS = st.builds(build_result, STATUSES, st.integers(0, 3), st.integers(0, 4))
ROWS = st.lists(st.tuples(RESULTS, st.booleans()), max_size=12)


def count_all(rows: list[tuple[Result, bool]]) -> ProgressCounter:
    """Return the counter after all of these results."""
    counter = ProgressCounter(total=len(rows))
    for result, is_kept in rows:
        counter.add(result, stored=is_kept)
    return counter


@given(ROWS)
def test_the_counts_are_those_of_the_results(rows):
    """Each result is done and has one status; only new ones cost calls."""
    snapshot = count_all(rows).build_snapshot()
    statuses = [result.outcome.status for result, _ in rows]
    assert (snapshot.scored, snapshot.skipped, snapshot.failed) == tuple(
        map(statuses.count, ("scored", "skipped", "failed"))
    )
    assert snapshot.done == snapshot.scored + snapshot.skipped + snapshot.failed == len(rows) == snapshot.total
    assert snapshot.kept == sum(is_kept for _, is_kept in rows)
    assert snapshot.usage.calls == sum(result.usage.calls for result, is_kept in rows if not is_kept)
    assert snapshot.items_failed == sum(len(r.failures) for r, _ in rows if r.outcome.status == "scored")


@given(ROWS, RESULTS, st.data())
def test_a_replaced_result_counts_no_more_but_its_cost_does(rows, last, data):
    """Taking back any result leaves the counts of the others, and the cost of all."""
    rows = [*rows, (last, False)]
    removed = data.draw(st.integers(0, len(rows) - 1))
    counter = count_all(rows)
    counter.remove(rows[removed][0])
    snapshot, expected = counter.build_snapshot(), count_all(rows[:removed] + rows[removed + 1 :]).build_snapshot()
    counts = {"done", "scored", "skipped", "failed", "items_failed"}
    assert snapshot.model_dump(include=counts) == expected.model_dump(include=counts)
    assert snapshot.usage == count_all(rows).usage


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({"total": 10, "done": 4, "seconds": 8.0}, 12.0),
        ({"total": 10, "done": 6, "kept": 4, "seconds": 2.0}, 4.0),
        ({"total": 10, "done": 10, "seconds": 5.0}, 0.0),
        ({"total": 3, "done": 4, "seconds": 5.0}, 0.0),
        ({"total": None, "done": 4, "seconds": 8.0}, None),
        ({"total": 10, "done": 0, "seconds": 8.0}, None),
        ({"total": 10, "done": 4, "kept": 4, "seconds": 8.0}, None),
    ],
)
def test_the_time_left_is_that_of_new_judgements(fields, left):
    """Stored results took no time; without a total or a new judgement there is no estimate."""
    assert Progress(**fields).seconds_left == left


def test_calls_per_second():
    """The rate is the mean since the start, and 0 at the start."""
    assert Progress(usage=Usage(calls=6), seconds=3.0).calls_per_second == 2.0
    assert Progress(usage=Usage(calls=6)).calls_per_second == 0.0
