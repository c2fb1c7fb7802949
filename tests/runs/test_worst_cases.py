"""The worst results of a run: those that a plain sort gives, however many are asked for and whatever is filtered."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from greval.records.result import Failed, Failure, Judgement, Result, Scored, Skipped
from greval.runs.run_reader import read_lines
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.runs.store.writer import StoreWriter
from greval.runs.worst_cases import find_worst_rows

CATEGORIES = {"Good": "g", "Fair": "f", "Bad": "b"}
PLACES = {name: place for place, name in enumerate(CATEGORIES)}
SCORED = {name: {"means": text, "score": PLACES[name]} for name, text in CATEGORIES.items()}
SCALES = {
    "depth": {"range": [1, 5], "levels": {1: "Shallow.", 5: "Deep."}},
    "noise": {"range": [1, 5], "levels": {1: "None.", 5: "Much."}, "better": "lower"},
    "ordered": {"categories": CATEGORIES},
    "scored": {"categories": SCORED, "ordered": False},
    "topics": {"categories": CATEGORIES, "ordered": False},
    "seconds": {"low": 0.0, "unit": "s", "better": "lower"},
}
NUMBERS = {"depth", "noise", "seconds"}


@st.composite
def results(draw):
    """Draw a result of any metric and status."""
    metric = draw(st.sampled_from([*SCALES]))

    def judge(value):
        number = float(value) if metric in NUMBERS else float(PLACES[value]) if metric == "scored" else None
        return Judgement(value=value, number=number, reason="r")

    values = st.integers(1, 5) if metric in NUMBERS else st.sampled_from([*CATEGORIES])
    scored = st.lists(values.map(judge), min_size=1, max_size=3).map(lambda found: Scored(judgements=tuple(found)))
    failed = st.just(Failed(error=Failure(kind="timeout", message="late")))
    outcome = draw(st.one_of(scored, scored, failed, st.just(Skipped(reason="no answer"))))
    return Result(
        sample_id=f"q{draw(st.integers(0, 20))}",
        metric=metric,
        fingerprint="f",
        judge="j",
        tier="schema",
        outcome=outcome,
        tags=draw(st.sampled_from([{"kind": "a"}, {"kind": "b"}, {"kind": "a\0b"}, {}])),
    )


FILTERS = st.builds(
    ResultFilter,
    metrics=st.sampled_from([(), ("depth",), ("noise", "ordered")]),
    status=st.sampled_from([None, "scored", "failed"]),
    value=st.sampled_from([None, "3", "Good"]),
    tags=st.sampled_from([(), (("kind", "a"),), (("kind", "a"), ("kind", "b")), (("kind", "a\0b"),)]),
)


def write(folder, rows):
    """Write results into a new run."""
    with StoreWriter.create(folder) as writer:
        writer.put_fact("metrics", [{"name": name, "scale": scale} for name, scale in SCALES.items()])
        for number, result in enumerate(rows):
            writer.append(str(number), result)


def rank(result):
    """Return how good a result is by its definition; None if its values have no order."""
    values = [judgement.value for judgement in result.judgements]
    if not values or result.metric == "topics":
        return None
    if result.metric in {"noise", "seconds"}:
        values = [-value for value in values]
    elif result.metric == "ordered":
        values = [-PLACES[value] for value in values]
    elif result.metric == "scored":
        values = [PLACES[value] for value in values]
    return sum(values) / len(values)


@given(st.lists(results(), max_size=25), FILTERS, st.integers(1, 6))
def test_the_worst_are_the_first_of_all_in_order(rows, wanted, count):
    """The worst are the first of a stable sort of what a filter leaves, and fewer are the begin of more."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), rows)
        with Store.open(folder) as store:
            filtered = [Result.model_validate_json(line) for line in store.lines(wanted)]
            for worst in find_worst_rows(store, count, wanted):
                ranked = [result for result in filtered if result.metric == worst.metric and rank(result) is not None]
                read = [Result.model_validate_json(line) for line in read_lines(store, worst.rows)]
                assert read == sorted(ranked, key=rank)[:count]
                assert worst.ordered == len(ranked)
                assert sum(worst.statuses.values()) == sum(result.metric == worst.metric for result in filtered)
            more = {worst.metric: worst.rows for worst in find_worst_rows(store, count + 1, wanted)}
            fewer = {worst.metric: worst.rows for worst in find_worst_rows(store, count, wanted)}
    assert fewer == {metric: rows[:count] for metric, rows in more.items()}
