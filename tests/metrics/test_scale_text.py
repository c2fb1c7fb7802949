"""Scales written in a line, and the metrics of which only the scale is known."""

import pytest

from greval.errors import DefinitionError
from greval.metrics.scale_text import build_scale_metric, parse_scale
from greval.records.scale import MeasureScale, ValueScale


def test_numbers_are_levels_unless_an_end_has_a_point():
    """0..3 has four levels, 0..3:0.5 seven, 0.0..1.0 any number; each says which end is the better one."""
    assert parse_scale("0..3").values == (0, 1, 2, 3)
    assert parse_scale("0..3:0.5").size == 7
    assert parse_scale("-2..2").range == (-2, 2)
    assert parse_scale("0.0..1.0") == MeasureScale(low=0.0, high=1.0)
    for text in ("0..1 lower", "0.0..1.0 lower"):
        assert parse_scale(text).better == "lower"
    assert isinstance(parse_scale("0..1"), ValueScale)


def test_categories_are_best_first_and_two_have_scores():
    """Two categories count 1 and 0; of more, only those that are given a score count."""
    assert [category.score for category in parse_scale("yes/no").categories] == [1.0, 0.0]
    assert [category.score for category in parse_scale("full=1/partly=0.5/none=0").categories] == [1.0, 0.5, 0.0]
    assert [category.score for category in parse_scale("good/fair/poor").categories] == [None, None, None]


def test_categories_without_an_order_are_named():
    """A bar stands between categories without an order: no score is made up for them, and a name may have a slash."""
    scale = parse_scale("N/A | Au|Af")
    assert (scale.names, scale.ordered) == (("N/A", "Au", "Af"), False)
    assert [category.score for category in parse_scale("yes|no").categories] == [None, None]
    assert [category.score for category in parse_scale("a=0|b=1").categories] == [0.0, 1.0]
    assert parse_scale("good/fair/poor").ordered


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a|", "expected 0..3"),
        ("0-3", "expected 0..3"),
        ("3..0", "must rise"),
        ("0..3:0.7", "must divide"),
        ("a/a", "given twice"),
        ("a=x/b", "must be a number, got 'x'"),
        ("yes/Yes", "read alike"),
        ("0.5..3:0.5", "must be a whole number"),
        ("", "expected 0..3"),
    ],
)
def test_what_is_no_scale_is_reported(text, told):
    """The message says what was expected."""
    with pytest.raises(DefinitionError, match=told):
        parse_scale(text)


def test_a_metric_of_a_scale_cannot_be_judged():
    """It has a name and a scale and no steps; a bad name is a definition error."""
    metric = build_scale_metric("quality", "1..5", over="chunks")
    assert (metric.over, metric.needs) == ("chunks", ("question", "chunks"))
    with pytest.raises(DefinitionError, match="two words: name"):
        build_scale_metric("two words", "1..5")
