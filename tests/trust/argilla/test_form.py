"""Tests of the annotation form: question, guidelines, parts, and answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import CategoricalMetric, ManyCategoricalMetric, ValueMetric
from greval.errors import ArgillaError
from greval.records.scale import ValueScale
from greval.trust.annotations.rendering import list_titles
from greval.trust.argilla.form import (
    JUDGE_FIELD,
    MAX_GUIDELINES,
    build_parts,
    build_question,
    format_guidelines,
    hash_form,
)

texts = st.text(st.characters(codec="utf-8"), max_size=60)


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


@pytest.mark.parametrize(
    ("low", "high", "kind", "count"),
    [(0, 10, "rating", 11), (1, 5, "rating", 5), (-2, 2, "label_selection", 5), (1, 11, "label_selection", 11)],
)
def test_the_question_fits_the_range(low, high, kind, count):
    """Integers within 0 to 10 are rated, others are labels."""
    settings = build_question(valued(low, high))["settings"]
    assert (settings["type"], len(settings["options"])) == (kind, count)


def test_half_steps_are_labels():
    """What is no integer is asked for as a label."""
    scale = ValueScale(range=(0, 1), step=0.5, levels={0: "No.", 0.5: "In part.", 1: "Yes."})
    metric = ValueMetric(name="m", description="d", needs=("answer",), steps=["s"], scale=scale)
    settings = build_question(metric)["settings"]
    assert settings["type"] == "label_selection"
    assert settings["options"][1] == {"value": "0.5", "text": "0.5", "description": "In part."}
    tens = ValueMetric(name="m", description="d", needs=("answer",), steps=["s"], range=(0, 10), step=5,
                       levels={0: "No.", 10: "Yes."})  # fmt: skip
    assert build_question(tens)["settings"]["options"] == [{"value": 0}, {"value": 5}, {"value": 10}]


def test_a_range_with_too_many_values_is_refused():
    """A range that no list of labels takes is told, with another way."""
    assert len(build_question(valued(0, 499))["settings"]["options"]) == 500
    with pytest.raises(ArgillaError, match=r"501 values, and Argilla takes 500.*CSV"):
        build_question(valued(0, 500))


def test_categories_are_labels_in_order_with_their_meaning():
    """Each category is a label with what it means; a label that reads as a number stays text."""
    metric = CategoricalMetric(
        name="m", description="d", needs=("answer",), steps=["s"], categories={"1": "First.", "0": ""}
    )
    options = build_question(metric)["settings"]["options"]
    assert options == [{"value": "1", "text": "1", "description": "First."}, {"value": "0", "text": "0"}]


@given(texts, texts)
def test_guidelines_stay_within_what_argilla_takes(one, other):
    """However long a definition is, its guidelines fit; those of another definition are told apart."""
    metric = valued(0, 1).model_copy(update={"description": one + "d" * 9_990, "instructions": other * 99})
    assert 1 <= len(format_guidelines([metric])) <= MAX_GUIDELINES
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
    names = [part["name"] for some in build_parts([metric]).values() for part in some]
    assert len(names) == len(set(names))
    assert not [name for name in names if "." in name or " " in name]
    assert [*list_titles(metric).values()][-3:] == ["a b", "x", "Chunk to judge"]


def test_the_judge_field_exists_only_with_suggestions():
    """A blind form is as it was without the judge's words; one with verdicts has a field for them at the end."""
    metric = valued(0, 1)
    blind, told = (
        [field["name"] for field in build_parts([metric], suggested=shows)["fields"]] for shows in (False, True)
    )
    assert told == [*blind, JUDGE_FIELD]
    assert JUDGE_FIELD not in list_titles(metric)
