"""Tests of the questions of datasets, also of those that greval did not create."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from strategies import metrics
from tone_metrics import BUILT, TONE

from greval.errors import ArgillaArgumentError
from greval.records.scale import ValueScale
from greval.trust.argilla.form import MAX_LABELS, build_parts, build_question
from greval.trust.argilla.questions import find_questions


def ask(name, *values, kind="label_selection"):
    """Describe a question as the server does."""
    return {
        "id": f"id-{name}",
        "name": name,
        "settings": {"type": kind, "options": [{"value": value} for value in values]},
    }


WHY = {"id": "id-why", "name": "why", "settings": {"type": "text"}}


@given(metrics())
def test_the_form_of_a_metric_has_its_question(metric):
    """The question that greval gives a metric is found, and each value is formatted and parsed as the same value."""
    scale = metric.scale
    assume(not isinstance(scale, ValueScale) or scale.size <= MAX_LABELS)
    asked = [{**part, "id": part["name"]} for part in build_parts([metric])["questions"]]
    question = find_questions([metric], asked)[metric.name]
    assert question.comment in {part["name"] for part in asked}
    options = [option["value"] for option in build_question(metric)["settings"]["options"]]
    values = [question.parse_answer(option) for option in options]
    assert values == [*(scale.values if isinstance(scale, ValueScale) else scale.names)]
    assert [question.format_answer(value) for value in values] == options


def test_the_name_decides_before_the_labels():
    """The question with the metric's name and labels is meant, although others have the labels as well."""
    asked = [ask("first", "Polite", "Rude"), ask("tone", "Polite", "Rude"), WHY]
    assert find_questions([TONE], asked)["tone"].name == "tone"
    assert find_questions([TONE], asked, {"tone": "first"})["tone"].name == "first"


def test_labels_are_read_as_values():
    """Labels in other letters, and words for two levels, are the values of the scale."""
    tone = find_questions([TONE], [ask("manners", "rude", "polite"), WHY])["tone"]
    assert (tone.parse_answer("rude"), tone.format_answer("Polite"), tone.comment) == ("Rude", "polite", None)
    built = find_questions([BUILT], [ask("right", "no", "yes")])["built"]
    assert (built.parse_answer("yes"), built.format_answer(0), built.format_answer(0.5)) == (1, "no", None)


@pytest.mark.parametrize(
    ("asked", "chosen", "message"),
    [
        ([], None, "no question with the labels of tone was found; .*: label_selection Polite, Rude; questions: none"),
        ([ask("tone", "a", "b")], None, r"questions: tone \(label_selection a, b\); build the dataset with"),
        ([ask("tone", "a", "b"), ask("other", "Polite", "Rude")], None, r"other \(label_selection Polite, Rude\)"),
        ([ask("x", "Polite", "Rude", "Unsure")], None, r"x \(label_selection Polite, Rude, Unsure\)"),
        ([ask("x", "Polite")], None, "no question with the labels"),
        ([ask("x", "Polite", "Rude", kind="multi_label_selection"), WHY], None, r"x \(multi_label.*; why \(text\)"),
        ([ask("x", "Polite", "Rude"), ask("y", "Polite", "Rude")], None, "several questions: x, y; name one with"),
        ([ask("x", "Polite", "Rude")], {"tone": "y"}, "no question 'y' with the labels of tone"),
        (
            [ask("x", "Polite", "Rude")],
            {"tune": "x"},
            "questions: names tune, which is none of the metrics; there: tone",
        ),
        ([ask("x", *map(str, range(20)))], None, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ..."),
    ],
)
def test_a_metric_without_a_question_is_refused(asked, chosen, message):
    """The error says which questions were found and which labels were expected."""
    with pytest.raises(ArgillaArgumentError, match=message):
        find_questions([TONE], asked, chosen)
