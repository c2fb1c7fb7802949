"""Tests of judged items: what was shown for them, and their ids."""

from __future__ import annotations

import pytest
from tone_metrics import PASSAGES, TONE, by_metric, cases

from greval import evaluate
from greval.metrics.computed import COMPUTED_METRICS
from greval.records.result import Judgement
from greval.runs.store import Store
from greval.testing import ScriptedJudge
from greval.trust.annotations.judged_items import ItemRef, JudgedItem, hash_contents, read_judged_items


@pytest.fixture
def run(tmp_path):
    """Judge three cases by two judged metrics and a computed one."""
    metrics = [TONE, PASSAGES, COMPUTED_METRICS["latency"]]
    return evaluate(cases(3), metrics, ScriptedJudge(by_metric), out=tmp_path / "run").folder


def test_each_chunk_is_an_item_with_its_own_text(run):
    """A metric over chunks has an item for each; one of answers has one a case."""
    with Store.open(run) as store:
        chunks = [*read_judged_items(store, PASSAGES)]
        answers = [*read_judged_items(store, TONE)]
        one = [*read_judged_items(store, PASSAGES, {("q1", "")})]
    assert {(thing.place.sample_id, thing.place.item, thing.fields["chunk"]) for thing in chunks} == {
        (f"q{n}", f"c{m}", text) for n in range(3) for m, text in ((1, "a"), (2, "b"))
    }
    assert [thing.place.item for thing in answers] == [None] * 3
    assert [thing for thing in chunks if thing.place.sample_id == "q1"] == one


def test_texts_of_the_judge_are_left_out_unless_wanted(run):
    """Sampling needs values only."""
    with Store.open(run) as store:
        assert {thing.judgement.reason for thing in read_judged_items(store, TONE)} == {""}
        assert {thing.judgement.reason for thing in read_judged_items(store, TONE, written=True)} == {"r"}


def test_contents_are_hashed_by_item(run):
    """Equal texts have equal hashes; a computed metric and an unknown one showed nothing."""
    with Store.open(run) as store:
        hashes = hash_contents(store, "passages")
        assert hash_contents(store, "latency") == hash_contents(store, "none") == {}
    assert set(hashes) == {(f"q{n}", "", f"c{m}") for n in range(3) for m in (1, 2)}
    assert len(set(hashes.values())) == 6


def test_the_key_of_an_item_depends_on_all_of_its_ids():
    """Any difference gives another key."""
    item = ItemRef(sample_id="q1", method="m", item="c1")
    others = [item.model_copy(update={name: "x"}) for name in ("sample_id", "method", "item")]
    assert len({each.hash_key() for each in (item, *others)}) == 4


@pytest.mark.parametrize(
    ("confidence", "flip_rate", "uncertainty"),
    [(None, None, None), (0.75, None, 0.25), (None, 0.5, 0.5), (0.75, 0.5, 0.5), (0.25, 0.5, 0.75)],
)
def test_uncertainty_is_the_larger_of_what_is_known(confidence, flip_rate, uncertainty):
    """The judge's confidence and its flip rate over repeats both tell of it."""
    judgement = Judgement(value="Yes", reason="r", confidence=confidence, flip_rate=flip_rate)
    place = ItemRef(sample_id="q1")
    thing = JudgedItem(place=place, metric="m", fields={}, judgement=judgement, judge="j", fingerprint="f", tags={})
    assert thing.judgement.uncertainty == uncertainty
