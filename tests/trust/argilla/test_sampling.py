"""Argilla without a server: what is drawn with which weights, the form made of a metric, and what is shown."""

from __future__ import annotations

import html
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import CategoricalMetric, ManyCategoricalMetric, ValueMetric
from greval.errors import ArgillaError, StoreError
from greval.records.case import Case
from greval.records.scale import ValueScale
from greval.runs.store import Store
from greval.trust.annotations.rendering import escape_text, format_fields, list_titles
from greval.trust.argilla.form import (
    JUDGE_FIELD,
    MAX_GUIDELINES,
    build_parts,
    build_question,
    format_answer,
    format_guidelines,
    hash_form,
    parse_answer,
)
from greval.trust.argilla.ledger import lock_run
from greval.trust.argilla.pull import pull_from_argilla
from greval.trust.argilla.push import push_to_argilla
from greval.trust.argilla.sampling import SampleCandidate, SamplingPlan

texts = st.text(st.characters(codec="utf-8"), max_size=60)
candidates = st.lists(
    st.tuples(st.sampled_from(["Yes", "No", "Perhaps"]), st.none() | st.floats(0, 1)), min_size=1, max_size=60
).map(lambda rows: [SampleCandidate(str(n), *row) for n, row in enumerate(rows)])
known = candidates.filter(lambda rows: any(one.uncertainty is not None for one in rows))


def valued(low, high, name="depth"):
    """Give a metric on a range."""
    return ValueMetric(
        name=name,
        description="d",
        needs=("answer",),
        steps=["s"],
        range=(low, high),
        levels={low: "Low.", high: "High."},
    )


@given(candidates, st.integers(1, 80), st.integers(0, 9))
def test_weights_of_a_random_sample_stand_for_all(rows, size, seed):
    """As many are drawn as wanted, and their weights add up to the number of all."""
    drawn = SamplingPlan(kind="random", size=size).draw(rows, seed)
    assert len(drawn) == min(size, len(rows))
    assert sum(one.weight for one in drawn.values()) == pytest.approx(len(rows))


@given(candidates, st.integers(1, 80), st.integers(0, 9))
def test_weights_of_a_stratified_sample_stand_for_each_verdict(rows, size, seed):
    """Each verdict is drawn from, and within each the weights add up to the number of all that have it."""
    drawn = SamplingPlan(kind="stratified", size=size).draw(rows, seed)
    values = Counter(one.value for one in rows)
    assert len(drawn) == min(max(size, len(values)), len(rows))
    for value, count in values.items():
        part = [one.weight for key, one in drawn.items() if one.stratum == value]
        assert sum(part) == pytest.approx(count)
        assert {one.value for one in rows if one.key in drawn and drawn[one.key].stratum == value} == {value}


@given(known, st.integers(1, 80), st.integers(0, 9))
def test_a_sample_does_not_hang_on_the_order(rows, size, seed):
    """The same things in another order give the same sample."""
    for kind in ("random", "stratified", "uncertain"):
        sample = SamplingPlan(kind=kind, size=size)
        assert sample.draw(rows, seed) == sample.draw(rows[::-1], seed)


def test_the_uncertain_are_drawn_by_their_chance():
    """Each thing is drawn as often as its weight says, the uncertain more often, and always as many as wanted."""
    rows = [SampleCandidate(str(n), "Yes", n / 20) for n in range(20)]
    counts, weights = Counter(), {}
    for seed in range(3000):
        drawn = SamplingPlan(kind="uncertain", size=6).draw(rows, seed)
        assert len(drawn) == 6
        counts.update(drawn.keys())
        weights |= {key: one.weight for key, one in drawn.items()}
    assert weights["19"] < weights["10"] < weights["0"]
    assert all(counts[key] / 3000 == pytest.approx(1 / weight, abs=0.035) for key, weight in weights.items())


def test_uncertain_needs_to_know_how_certain_the_judge_was():
    """Where neither confidence nor flips are known, the message says what to do."""
    with pytest.raises(ArgillaError, match=r"--confidence or --repeats 3"):
        SamplingPlan(kind="uncertain", size=1).draw([SampleCandidate("1", "Yes", None)], 0)


@pytest.mark.parametrize("text", ["random", "random:0", "some:5", "random:-1", "200", "random:1.5"])
def test_a_wrong_sample_is_refused(text):
    """What is no sample is refused with the ways to write one."""
    with pytest.raises(ArgillaError, match="random:200, stratified:200 or uncertain:200"):
        SamplingPlan.parse(text)


@pytest.mark.parametrize(
    ("low", "high", "kind", "count"),
    [(0, 10, "rating", 11), (1, 5, "rating", 5), (-2, 2, "label_selection", 5), (1, 11, "label_selection", 11)],
)
def test_the_question_fits_the_range(low, high, kind, count):
    """Integers within 0 to 10 are rated, others are labels; an answer reads as the value it was asked for."""
    metric = valued(low, high)
    settings = build_question(metric)["settings"]
    assert (settings["type"], len(settings["options"])) == (kind, count)
    for value, option in zip(range(low, high + 1), settings["options"], strict=True):
        assert format_answer(metric.scale, value) == option["value"]
        assert parse_answer(metric.scale, option["value"]) == value


def test_half_steps_are_labels():
    """What is no integer is asked for as a label; an answer reads as the value it was asked for."""
    scale = ValueScale(range=(0, 1), step=0.5, levels={0: "No.", 0.5: "In part.", 1: "Yes."})
    metric = ValueMetric(name="m", description="d", needs=("answer",), steps=["s"], scale=scale)
    settings = build_question(metric)["settings"]
    assert settings["type"] == "label_selection"
    assert settings["options"][1] == {"value": "0.5", "text": "0.5", "description": "In part."}
    for value, option in zip(scale.values, settings["options"], strict=True):
        assert format_answer(scale, value) == option["value"]
        assert (parse_answer(scale, option["value"]), type(parse_answer(scale, option["value"]))) == (
            value,
            type(value),
        )
    tens = ValueMetric(name="m", description="d", needs=("answer",), steps=["s"], range=(0, 10), step=5,
                       levels={0: "No.", 10: "Yes."})  # fmt: skip
    assert build_question(tens)["settings"]["options"] == [{"value": 0}, {"value": 5}, {"value": 10}]


def test_a_range_with_too_many_values_is_refused():
    """A range that no list of labels takes is told, with another way."""
    assert len(build_question(valued(0, 499))["settings"]["options"]) == 500
    with pytest.raises(ArgillaError, match=r"501 values and Argilla takes 500.*CSV"):
        build_question(valued(0, 500))


def test_categories_are_labels_in_order_with_their_meaning():
    """Each category is a label with what it means; a label that reads as a number stays text."""
    metric = CategoricalMetric(
        name="m", description="d", needs=("answer",), steps=["s"], categories={"1": "First.", "0": ""}
    )
    options = build_question(metric)["settings"]["options"]
    assert options == [{"value": "1", "text": "1", "description": "First."}, {"value": "0", "text": "0"}]
    assert parse_answer(metric.scale, "1") == "1"


@given(texts, texts)
def test_guidelines_stay_within_what_argilla_takes(one, other):
    """However long a definition is, its guidelines fit; those of another definition are told apart."""
    metric = valued(0, 1).model_copy(update={"description": one + "d" * 9_990, "instructions": other * 99})
    assert 1 <= len(format_guidelines(metric)) <= MAX_GUIDELINES
    assert hash_form(metric) != hash_form(valued(0, 1))


def test_no_two_parts_of_a_dataset_share_a_name():
    """Fields, questions and metadata share one space of names: all are different."""
    metric = ManyCategoricalMetric(
        name="m",
        description="d",
        over="chunks",
        needs=(
            "question",
            "expected_answer",
            "answer",
            "context",
            "chunks",
            "triples",
            "traversal",
            "tags.a b",
            "tags.x",
        ),
        steps=["s"],
        categories={"Yes": "", "No": ""},
    )
    names = [one["name"] for some in build_parts(metric).values() for one in some]
    assert len(names) == len(set(names))
    assert not [name for name in names if "." in name or " " in name]
    assert [*list_titles(metric).values()][-3:] == ["a b", "x", "Chunk to judge"]


@given(texts)
def test_a_page_shows_a_text_as_it_is(text):
    """Nothing of a text is markup, its lines stay, and reading the page gives the text again."""
    shown = escape_text(text)
    assert "<" not in shown.replace("<br>", "")
    read = html.unescape(shown.replace("<br>", "\n")).replace("\xa0", " ").replace("\u2003", "\t")
    plain = re.sub(r"\s", "", text.replace("\0", "\ufffd"))
    assert re.sub(r"\s", "", read) == (plain or "(empty)")


def test_what_is_shown_is_what_the_metric_needs():
    """Context lists chunks, triples and computed texts; a walk is a step a line; what is empty says so."""
    metric = CategoricalMetric(
        name="m",
        description="d",
        needs=("context", "traversal", "answer"),
        steps=["s"],
        categories={"Yes": "", "No": ""},
    )
    case = Case(
        question="?",
        answer="",
        chunks=["one", "two"],
        triples=[("a", "b", "c")],
        aggregates=("3 films",),
        traversal={"start_nodes": ["a"], "traversed_edges": [["a", "knows", "b"]], "final_nodes": ["b"]},
    )
    shown = format_fields(metric, case, None)
    assert shown["context"].split("<br>") == [
        *("Chunks", "", "[1] one", "", "[2] two", "", "Triples", "", "[1] a \u2014 b \u2014 c", ""),
        *("Computed", "", "[1] 3 films"),
    ]
    assert shown["traversal"].split("<br>") == ["start: a", "1. a \u2014 knows \u2014 b", "end: b"]
    assert shown["answer"] == "(empty)"


def test_one_push_or_pull_at_a_time(tmp_path):
    """While one is under way another of the same run is refused, before any server is spoken with."""
    run = tmp_path / "run"
    with Store.create(run):
        pass
    with lock_run(run):
        for call in (lambda: push_to_argilla(run, "m", dataset="d"), lambda: pull_from_argilla(run, dataset="d")):
            with pytest.raises(StoreError, match="another push or pull of this run is under way; run the same again"):
                call()
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be used"):
        lock_run(tmp_path / "file")


def test_without_a_run_nothing_is_asked(tmp_path):
    """A folder that is no run is told before any server is spoken with."""
    for call in (lambda: push_to_argilla(tmp_path, "m", dataset="d"), lambda: pull_from_argilla(tmp_path, dataset="d")):
        with pytest.raises(Exception, match="no run is there"):
            call()


def test_what_the_judge_wrote_has_a_field_only_with_suggestions():
    """A blind form is as it was without the judge's words; one with verdicts has a field for them at the end."""
    metric = valued(0, 1)
    blind, told = ([one["name"] for one in build_parts(metric, suggested=shows)["fields"]] for shows in (False, True))
    assert told == [*blind, JUDGE_FIELD]
    assert JUDGE_FIELD not in list_titles(metric)
    assert hash_form(metric) == hash_form(metric, suggested=False) != hash_form(metric, suggested=True)
