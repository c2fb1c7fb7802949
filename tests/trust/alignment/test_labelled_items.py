"""Labelled items: which belong to one question, their folds, and which are left out."""

from collections import Counter

import pytest
from aligned_runs import COUNT, SMALL, TONE, case, follower, judged, labels, tones, wrong_in
from hypothesis import given
from hypothesis import strategies as st

from greval import evaluate, parse_metric, write_metric
from greval.trust.alignment.api import align
from greval.trust.alignment.labelled_items import draw_folds, draw_questions, number_clusters


@given(st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=3), min_size=1, max_size=30))
def test_items_that_share_a_mark_are_one_cluster(marks):
    """Things with a mark in common have one number, and no two clusters share a mark."""
    numbers = number_clusters(marks)
    holders = {}
    for number, each in zip(numbers, marks, strict=True):
        for mark in each:
            assert holders.setdefault(mark, number) == number
    for number in set(numbers):
        held = [set(marks[place]) for place, one in enumerate(numbers) if one == number]
        reached, left = held[0], held[1:]
        while joined := [each for each in left if each & reached]:
            reached = reached.union(*joined)
            left = [each for each in left if each not in joined]
        assert not left


@given(st.lists(st.integers(0, 20), min_size=2, max_size=60), st.integers(2, 6), st.integers(0, 5))
def test_folds_hold_whole_clusters_and_about_as_many_things(numbers, count, seed):
    """Each cluster has one fold from 1 on; no fold is larger than another by more than a cluster."""
    fold_of = draw_folds(numbers, count, seed=seed)
    assert set(fold_of) == set(numbers)
    assert set(fold_of.values()) <= set(range(1, count + 1))
    sizes = Counter(fold_of[number] for number in numbers)
    held = [sizes.get(fold, 0) for fold in range(1, count + 1)]
    assert max(held) - min(held) <= max(Counter(numbers).values())
    assert fold_of == draw_folds(numbers, count, seed=seed)


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(0, 40))
def test_draws_hold_whole_questions_within_the_limit(numbers, most):
    """Whole clusters are drawn, at most as many things as wanted, all where they fit, and the same for a seed."""
    drawn = draw_questions(numbers, most, seed="a")
    held = [number for number in numbers if number in drawn]
    assert len(held) <= most
    assert drawn <= set(numbers)
    assert len(held) == len(numbers) if most >= len(numbers) else True
    assert drawn == draw_questions(numbers, most, seed="a")


def test_a_case_in_the_metrics_own_examples_is_left_out(better):
    """A labelled thing whose question is an example of the metric already tells nothing of it."""
    run, said, judge = better
    example = {"case": {k: v for k, v in case(3).items() if k != "id"}, "reason": "So.", "value": "Polite"}
    metric = TONE.model_copy(update={"examples": parse_metric(write_metric(TONE)).examples})
    metric = type(TONE).model_validate({**metric.model_dump(mode="json"), "examples": [example]})
    result = align(run, metric, judge, said, ways=["rewrite"], **SMALL)
    assert result.labels == COUNT - 1
    assert any("occur in the metric's examples" in line for line in result.warnings)


@pytest.mark.nightly
def test_ties_and_suggested_verdicts_are_reported(better):
    """Things on which people are tied are left out and counted; who saw the judge's verdict is told."""
    run, said, judge = better
    other = {"Polite": "Rude", "Rude": "Polite"}
    tied = [label.model_copy(update={"annotator": "bob", "value": other[label.value]}) for label in said[:5]]
    marked = [label.model_copy(update={"suggested": True}) for label in said[10:13]]
    result = align(run, TONE, judge, [*said[:10], *marked, *said[13:], *tied], **SMALL)
    assert result.labels == COUNT - 5
    assert result.annotators == ("ana",)
    assert [line.split(" left")[0] for line in result.warnings if "tied" in line] == ["5"]
    assert any("3 of 48 items annotated by people who saw the judge's verdict" in line for line in result.warnings)


@pytest.mark.nightly
def test_a_case_that_was_changed_counts_as_it_is_now(tmp_path):
    """Where a case was judged again with another answer, what is shown and judged is the new one."""
    truth = tones(COUNT)
    judge = follower(TONE, truth, wrong_in(0.4, 0.02))
    old = [{**case(n), "answer": f"It was thing {n}."} for n in truth]
    evaluate(old, [TONE], judge, out=tmp_path / "run")
    run = judged(tmp_path / "run", TONE, truth, judge)
    before = len(judge.calls)
    result = align(run, TONE, judge, labels(TONE, truth), **SMALL)
    assert result.labels == COUNT
    assert not any("It was" in message.text for messages in judge.calls[before:] for message in messages)
