"""All cases of a run in short: each cell says what the results of its sample, metric and method say."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greval import Case, CategoricalScale, MeasureScale, Store, ValueScale
from greval.records.result import Failed, Failure, Judgement, Result, Scored, Skipped
from greval.report.case_grid import MAX_QUESTION, NONE, build_case_grid
from greval.report.html.tones import find_mean_tone, format_values
from greval.runs.manifest import store_metrics
from greval.runs.store.writer import StoreWriter
from greval.runs.worst_cases import build_rank

RIGHT = ValueScale(range=(0, 1), levels={0: "Wrong.", 1: "Right."})
TONE = CategoricalScale(categories={"Polite": {"means": "m"}, "Plain": {"means": "m"}, "Rude": {"means": "m"}})
SECONDS = MeasureScale(unit="s", better="lower")
SCALES = {"right": RIGHT, "tone": TONE, "seconds": SECONDS}
METHODS = ("local", "walk")


def judgements(name, count):
    """Make judgements of a metric."""
    if name == "tone":
        one = st.sampled_from(TONE.names).map(lambda value: Judgement(value=value, number=None, reason="r"))
    elif name == "right":
        one = st.integers(0, 1).map(lambda value: Judgement(value=value, number=float(value), reason="r"))
    else:
        one = st.floats(0, 100).map(lambda value: Judgement(value=value, number=value, reason="r"))
    return st.lists(one, min_size=1, max_size=count).map(lambda found: Scored(judgements=tuple(found)))


OUTCOMES = {
    name: st.one_of(
        judgements(name, 3),
        st.just(Skipped(reason="no answer")),
        st.just(Failed(error=Failure(kind="timeout", message="too late"))),
    )
    for name in SCALES
}
KEYS = st.tuples(st.sampled_from("abcde"), st.sampled_from(METHODS), st.sampled_from([*SCALES]))


def result(sample, method, metric, outcome, **more):
    return Result(
        sample_id=sample,
        method=method,
        metric=metric,
        fingerprint="f",
        judge="j",
        tier="schema",
        outcome=outcome,
        **more,
    )


def written(results, cases=()):
    """Write results to a run and give its grid."""
    folder = tempfile.mkdtemp()
    with StoreWriter.create(folder) as writer:
        definitions = [{"name": name, "scale": scale.model_dump(mode="json")} for name, scale in SCALES.items()]
        store_metrics(writer, definitions)
        writer.keep_cases(cases)
        for number, one in enumerate(results):
            writer.append(f"{number:032x}", one)
    with Store.open(folder) as store:
        return build_case_grid(store)


def entry(grid, sample, method, metric):
    """Give the cell of a sample, metric and method as a dictionary, None if it is empty."""
    (column,) = (one for one in grid.columns if (one.metric, one.method) == (metric, method))
    number = column.cells[grid.sample_ids.index(sample)]
    if number == NONE:
        return None
    names = ("statuses", "texts", "numbers", "ranks", "tones", "values", "notes")
    return {name: getattr(column, name)[number] for name in names}


@settings(max_examples=20)
@given(st.data(), st.sets(KEYS, min_size=1, max_size=20))
def test_cells_say_what_the_results_say(data, keys):
    """Each cell has the status, the text, the rank and the tone that other reports give its result."""
    outcomes = {key: data.draw(OUTCOMES[key[2]]) for key in sorted(keys)}
    grid = written([result(*key, outcome) for key, outcome in outcomes.items()])
    assert {(one.metric, one.method) for one in grid.columns} == {(metric, method) for _, method, metric in keys}
    for (sample, method, metric), outcome in outcomes.items():
        found = entry(grid, sample, method, metric)
        assert found["statuses"] == outcome.status
        if outcome.status != "scored":
            assert (found["numbers"], found["ranks"], found["tones"], found["values"]) == (None, None, None, {})
            continue
        values = tuple(str(one.value) for one in outcome.judgements)
        numbers = tuple(one.number for one in outcome.judgements if one.number is not None)
        rank = build_rank(SCALES[metric])(values, numbers)
        assert found["texts"] == format_values(SCALES[metric], values, numbers)
        assert found["ranks"] == (None if rank is None else pytest.approx(rank, abs=1e-6))
        assert found["tones"] == find_mean_tone(SCALES[metric], values)
        assert sum(found["values"].values()) == len(values)
    present = {(sample, method, metric) for sample, method, metric in outcomes}
    for column in grid.columns:
        for sample, number in zip(grid.sample_ids, column.cells, strict=True):
            assert (number == NONE) == ((sample, column.method, column.metric) not in present)


def test_equal_results_are_one_entry():
    """A column of many equal results holds each of them once."""
    yes, no = (Scored(judgements=(Judgement(value=n, number=float(n), reason="r"),)) for n in (1, 0))
    grid = written([result(f"q{n}", "", "right", yes if n % 3 else no) for n in range(60)])
    (column,) = grid.columns
    assert column.texts == ("0", "1")
    assert column.cells == tuple(int(bool(n % 3)) for n in range(60))


def test_repeats_are_one_cell():
    """The values of several results of one sample are counted together."""
    verdicts = [Scored(judgements=(Judgement(value=n, number=float(n), reason="r"),)) for n in (1, 0, 1)]
    grid = written([result("q", "", "right", one, repeat=number) for number, one in enumerate(verdicts)])
    found = entry(grid, "q", "", "right")
    assert (found["texts"], found["values"]) == ("0.667 n=3", {"1": 2, "0": 1})


def test_samples_have_questions_and_tags():
    """Questions stand in one line and are cut; cases that are not judged yet are there; tags are coded."""
    cases = [
        Case(id="a", question="Who\nowns it?", tags={"kind": "fact"}),
        Case(id="b", question="x" * 300, tags={"kind": "list"}),
        Case(id="c", question="Later?"),
    ]
    done = [
        result(case.id, "", "right", Skipped(reason="no answer"), tags=case.tags) for case in cases if case.id != "c"
    ]
    grid = written(done, cases)
    assert grid.sample_ids == ("a", "b", "c")
    assert grid.questions == ("Who owns it?", "x" * MAX_QUESTION, "Later?")
    assert grid.cut == (1,)
    assert [(tag.name, tag.values, tag.cells) for tag in grid.tags] == [("kind", ("fact", "list"), (0, 1, NONE))]
    assert entry(grid, "a", "", "right")["notes"] == "no answer"
    assert grid.columns[0].cells[2] == NONE


def test_items_that_failed_are_noted():
    """A cell with values says how many of its items failed, and how."""
    kept = Judgement(value=1, number=1.0, reason="r", item="c1")
    lost = Failure(kind="missing_item", message="m", item="c2")
    grid = written([result("q", "", "right", Scored(judgements=(kept,), failures=(lost,)))])
    found = entry(grid, "q", "", "right")
    assert (found["statuses"], found["texts"], found["notes"]) == ("scored", "1", "1 item failed: missing_item")
