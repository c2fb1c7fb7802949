"""Changed texts, blanks, planted texts and content of another question."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from probed_judges import (
    METRICS,
    cases,
)

from greval.records.case import Case
from greval.trust.probing.mutations import (
    DENIALS,
    INJECTIONS,
    PADDINGS,
    blank_target,
    change_texts,
    find_foreign_case,
    find_target,
    iter_texts,
    plant_text,
    reorder_items,
    swap_target,
)


def test_a_refusal_is_nobodys_answer():
    """What is taken from another question states something of its sources; of such the most different one."""
    own, near, *_ = cases()
    refusal = near.model_copy(update={"answer": "I could not find that."})
    same = own.model_copy(update={"id": "other", "method": "m"})
    assert find_foreign_case(own, [own, same, refusal, near], "answer") is near
    assert find_foreign_case(own, [own, same], "answer") is None
    far = near.model_copy(update={"id": "far", "answer": "In Brindle it is black."})
    assert find_foreign_case(own, [near, far], "answer") is far


TARGETS = ("answer", "context", "chunks", "triples")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
CASES = st.builds(
    Case,
    id=st.just("q"),
    question=st.just("Which?"),
    answer=TEXTS,
    chunks=st.lists(TEXTS.filter(str.strip), min_size=1, max_size=4, unique=True),
    triples=st.lists(st.tuples(*[TEXTS.filter(str.strip)] * 3), min_size=1, max_size=4, unique=True),
    aggregates=st.lists(TEXTS.filter(str.strip), max_size=2),
)


@given(TEXTS, st.sampled_from([*PADDINGS.items(), *DENIALS.items(), *INJECTIONS.items()]), st.integers() | TEXTS)
def test_a_planted_text_holds_the_whole_text(text, template, value):
    """Whatever the text is, braces included, it stays whole in what is planted, and something is added."""
    name, form = template
    planted = plant_text(text, form, value)
    assert text in planted
    assert len(planted) > len(text)
    assert (json.dumps(value, ensure_ascii=False) in planted.replace(text, "", 1)) or name not in INJECTIONS


@given(TEXTS, st.integers() | TEXTS)
def test_a_planted_verdict_is_an_answer_of_the_judge(text, value):
    """The planted verdict is a JSON block with the value, whatever characters the value has."""
    block = plant_text(text, INJECTIONS["verdict"], value).removeprefix(text)
    assert json.loads(block.strip().removeprefix("```json").removesuffix("```"))["value"] == value


@given(CASES, st.sampled_from(TARGETS))
def test_changes_stay_within_the_target(case, target):
    """Texts of the target are changed each once; every other field of the case is as it was."""
    changed = change_texts(case, target, lambda text: f"{text}!")
    part = {"context": "chunks"}.get(target, target)
    assert changed.model_dump(exclude={part}) == case.model_dump(exclude={part})
    assert [*iter_texts(changed, part)] == [f"{text}!" for text in iter_texts(case, part)]


@given(CASES, st.sampled_from(TARGETS))
def test_a_blank_target_has_no_text(case, target):
    """Nothing is left to read of a blank target, but its items and their ids are there."""
    blank = blank_target(case, target)
    assert not "".join(iter_texts(blank, target)).strip()
    for name in ("chunks", "triples"):
        assert [item.id for item in getattr(blank, name)] == [item.id for item in getattr(case, name)]


@given(CASES, CASES, st.sampled_from(["chunks", "triples"]))
def test_items_of_another_case_take_the_ids(case, other, target):
    """Swapped items have the texts of the other case, repeated if they are fewer, under the ids of this one."""
    swapped = swap_target(case, other, target)
    assert [item.id for item in getattr(swapped, target)] == [item.id for item in getattr(case, target)]
    texts = [*iter_texts(other, target)]
    assert [*iter_texts(swapped, target)] == [texts[n % len(texts)] for n in range(len(getattr(case, target)))]


@given(CASES, st.sampled_from(["chunks", "triples"]))
def test_reordered_items_are_the_same_items(case, target):
    """Reversing twice gives the case back, and so does rotating as often as there are items."""
    count = len(getattr(case, target))
    assert reorder_items(reorder_items(case, target, None), target, None) == case
    turned = case
    for _ in range(count):
        turned = reorder_items(turned, target, 1)
    assert turned == case
    assert reorder_items(case, target, None) != case or count == 1


@pytest.mark.parametrize(
    ("name", "target"),
    [("right", "answer"), ("borne", "answer"), ("useful", "context"), ("chunks", "chunks"), ("triples", "triples")],
)
def test_the_target_is_what_the_metric_judges(name, target):
    """Items come before the answer, and the answer before the context."""
    (metric,) = (metric for metric in METRICS if metric.name == name)
    assert find_target(metric) == target
