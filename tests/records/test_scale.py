"""Scales: what is on them, what is off them, and what they refuse to be."""

from __future__ import annotations

import json
import sys
import unicodedata
from fractions import Fraction

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from strategies import categorical_scales, off_scale, on_scale, scales, value_scales

from greval.records.scale import (
    MAX_CATEGORIES,
    CategoricalScale,
    Category,
    MeasureScale,
    NumberRange,
    OffScaleError,
    Scale,
    ScaleDirection,
    ValueScale,
    find_direction,
    find_number_range,
)

ANY = TypeAdapter(Scale)


class TestReading:
    @given(scale=categorical_scales(), data=st.data())
    def test_category(self, scale, data):
        """Every category reads as itself, however its letters are composed, and has the author's number."""
        category = data.draw(st.sampled_from(scale.categories))
        assert scale.read(unicodedata.normalize("NFD", category.name)) == category.name
        assert scale.number(category.name) == category.score

    @given(scale=value_scales(), data=st.data())
    def test_value(self, scale, data):
        """Every level of the range reads as itself, whole ones as integers, also where JSON gave them a point."""
        value = data.draw(on_scale(scale))
        for raw in (value, float(value)):
            read = scale.read(raw)
            assert (read, type(read)) == (value, int if float(value).is_integer() else float)
        assert scale.number(value) == value
        assert scale.find_nearest(value + (scale.step or 1) * 0.4) == value

    @given(scale=value_scales(), number=st.integers(-(10**7), 10**7).map(lambda n: n / 100))
    def test_between_levels(self, scale, number):
        """A number is a level if and only if it is so many whole steps from the lower end, by exact arithmetic."""
        low, high = scale.range
        steps = (Fraction(str(number)) - low) / Fraction(str(scale.step or 1))
        if low <= number <= high and steps.denominator == 1:
            assert scale.read(number) == number
        else:
            with pytest.raises(OffScaleError):
                scale.read(number)

    @given(scale=scales(), raw=off_scale())
    def test_off_scale(self, scale, raw):
        """What is no value of the scale raises, and is never moved onto it: flags, fractions, NaN, None, lists."""
        with pytest.raises(OffScaleError):
            scale.read(raw)

    @given(scale=value_scales(), text=st.text())
    def test_text_is_no_value(self, scale, text):
        """A text is never read as a number, not even one of digits."""
        for raw in (text, str(scale.range[0])):
            with pytest.raises(OffScaleError):
                scale.read(raw)

    @given(scale=categorical_scales(), text=st.text() | st.integers())
    def test_nearly_a_category(self, scale, text):
        """A text that is not exactly a category is none: no other case, no space, no number."""
        assume(not isinstance(text, str) or unicodedata.normalize("NFC", text) not in scale.names)
        for raw in (text, f"{scale.names[0]} ", f"{scale.names[0]}."):
            assume(raw not in scale.names)
            with pytest.raises(OffScaleError):
                scale.read(raw)

    @given(number=st.floats(0, 1) | st.integers(0, 1))
    def test_measure(self, number):
        """A number of the range of a measure reads as a float."""
        read = MeasureScale(high=1).read(number)
        assert (read, type(read)) == (number, float)

    @pytest.mark.parametrize(
        "raw", [True, None, "1", -0.1, float("nan"), float("inf"), -float("inf"), 10**400, [], sys.float_info.max * 10]
    )
    def test_off_measure(self, raw):
        """A measure without an upper end reads finite numbers only."""
        with pytest.raises(OffScaleError, match="without an upper end"):
            MeasureScale().read(raw)

    @given(scale=scales(), data=st.data())
    def test_answer_schema(self, scale, data):
        """The schema given to the judge accepts exactly the values of the scale."""
        valid = jsonschema.Draft202012Validator(scale.answer_schema()).is_valid
        if isinstance(scale, CategoricalScale):
            assert valid(data.draw(st.sampled_from(scale.names)))
            assert not valid("no such category, surely")
        else:
            low, high = scale.range
            assert valid(low)
            assert valid(high)
            assert not valid(low - 1)
            assert not valid(high + 1)
            assert not valid(low + (scale.step or 1) / 2)
            assert valid(data.draw(on_scale(scale)))

    def test_half_steps(self):
        """The judge is told every half step, once as a list and once as a schema that strict servers take."""
        scale = ValueScale(range=(0, 3), step=0.5, levels={"0": "Useless.", "0.5": "Nearly so.", 3: "Perfect."})
        assert scale.values == (0, 0.5, 1, 1.5, 2, 2.5, 3)
        assert scale.size == 7
        assert scale.answer_schema() == {"type": "number", "enum": [0, 0.5, 1, 1.5, 2, 2.5, 3]}
        assert scale.allowed() == "0, 0.5, 1, 1.5, 2, 2.5, 3"
        assert scale.explain() == "- 0: Useless.\n- 0.5: Nearly so.\n- 3: Perfect.\n(higher is better)"
        with pytest.raises(OffScaleError, match=r"0.3 is not a multiple of 0.5 from 0 to 3"):
            scale.read(0.3)
        tens = ValueScale(range=(0, 100), step=10, levels={0: "None.", 100: "All."})
        assert tens.answer_schema() == {"type": "integer", "enum": [*range(0, 101, 10)]}


class TestDefining:
    @given(scale=scales())
    def test_round_trip(self, scale):
        """A scale that is written as JSON reads as the same scale, of the same kind."""
        written = json.loads(json.dumps(scale.model_dump(mode="json")))
        assert ANY.validate_python(written) == scale

    def test_a_step_of_one_is_none(self):
        """A definition without a step is written as before there were any, and so keeps its fingerprint."""
        plain = ValueScale(range=(0, 3), levels={0: "a", 3: "b"})
        assert ValueScale(range=(0, 3), step=1, levels={0: "a", 3: "b"}) == plain
        assert json.dumps(plain.model_dump(mode="json")) == (
            '{"range": [0, 3], "levels": {"0": "a", "3": "b"}, "better": "higher"}'
        )

    def test_category_forms(self):
        """A category may be given as text, as a mapping, as a Category or by its name alone."""
        forms = {"a": "text", "b": {"means": "text", "score": 1}, "c": Category(name="c", means="text"), "d": None}
        scale = CategoricalScale.model_validate({"categories": forms})
        assert [category.means for category in scale.categories] == ["text", "text", "text", ""]

    def test_500_categories(self):
        """A scale may have 500 categories, and no more."""
        names = {f"分類{n}": "" for n in range(MAX_CATEGORIES)}
        assert len(CategoricalScale.model_validate({"categories": names}).names) == MAX_CATEGORIES
        with pytest.raises(ValidationError, match="at most 500"):
            CategoricalScale.model_validate({"categories": {**names, "one more": ""}})

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            ({"categories": {1: "", "1": ""}}, "read alike"),
            ({"categories": [{"name": "A"}, {"name": "A"}]}, "read alike"),
            ({"categories": {"Straße": "", "STRASSE": ""}}, "read alike"),
            ({"categories": {"A": {"name": "B"}, "C": ""}}, "named by its key only"),
            ({"categories": {"A": Category(name="B"), "C": ""}}, "named by its key only"),
            ({"categories": {"A": {"score": 0}, "B": {"score": 1}}}, "scores must not rise"),
            ({"categories": {"A": {"score": True}, "B": ""}}, "valid number"),
            ({"categories": {"A": {"score": float("nan")}, "B": ""}}, "finite number"),
            ({"range": [1, 1], "levels": {1: "a"}}, "must rise, got 1 to 1"),
            ({"range": [True, 5], "levels": {1: "a", 5: "b"}}, "valid integer"),
            ({"range": [0, 2**53 + 1], "levels": {0: "a"}}, "less than or equal"),
            ({"range": [1, 5], "levels": {1: "a", 9: "b"}}, "5 missing\nlevels: 9 outside the range 1 to 5"),
            ({"range": [1, 5], "levels": {1: "a", "1": "c", 5: "b"}}, "given twice"),
            ({"range": [1, 5], "levels": {1: "a", 5: " "}}, "at least 1 character"),
            ({"range": [1, 5], "levels": {1: "a", "1.0": "c", 5: "b"}}, "given twice"),
            ({"range": [1, 5], "levels": {1: "a", "inf": "c", 5: "b"}}, "must be a number, got 'inf'"),
            ({"range": [1, 5], "levels": {1: "a", "1e999999999": "c", 5: "b"}}, "must be a number"),
            (
                {"range": [0, 3], "step": 0.7, "levels": {0: "a", 3: "b"}},
                "must divide the range 0 to 3 evenly, got 0.7",
            ),
            ({"range": [0, 3], "step": 0.01, "levels": {0: "a", 3: "b"}}, "makes 301 levels of 0 to 3; make it larger"),
            ({"range": [0, 3], "step": 0, "levels": {0: "a", 3: "b"}}, "greater than 0"),
            ({"range": [0, 3], "step": True, "levels": {0: "a", 3: "b"}}, "valid number"),
            ({"range": [0, 3], "step": float("inf"), "levels": {0: "a", 3: "b"}}, "finite number"),
            ({"range": [1, 5], "levels": {1: "a", 5: "b"}, "best": 5}, "Extra inputs"),
            ({"unit": "s", "low": 1, "high": 0}, "high: must be above low, got 1.0 to 0.0"),
            ({"unit": "s", "low": 0, "high": 0}, "high: must be above low"),
            ({"unit": "s", "low": float("nan"), "high": 1}, "finite number"),
            ({"unit": "s", "low": 0, "high": float("inf")}, "finite number"),
        ],
    )
    def test_refused(self, content, why):
        """A scale on which verdicts could not be told apart or ordered is refused with the reason."""
        with pytest.raises(ValidationError, match=why):
            ANY.validate_python(content)


class TestTelling:
    @given(scale=categorical_scales())
    def test_categories(self, scale):
        """The text for the judge has one line a category at least, and names all of them as allowed."""
        assert all(f"- {name}" in scale.explain() for name in scale.names)
        assert all(f'"{name}"' in scale.allowed() for name in scale.names)

    @given(scale=value_scales())
    def test_values(self, scale):
        """The text for the judge tells the levels from the lower end up, and which end is better."""
        told = scale.explain()
        assert told.startswith(f"- {scale.range[0]}: ")
        assert told.endswith(f"({scale.better} is better)")
        assert str(scale.range[1]) in scale.allowed()


def test_half_steps_are_no_proportion():
    """Two levels are a choice, whatever they are called; 0, 0.5 and 1 are not."""
    halves = ValueScale(range=(0, 1), step=0.5, levels={0: "No.", 1: "Yes."})
    tens = ValueScale(range=(0, 10), step=10, levels={0: "No.", 10: "Yes."})
    assert find_number_range(halves) == NumberRange(0.0, 1.0, binary=False)
    assert find_number_range(tens) == NumberRange(0.0, 10.0, binary=True)


ENDS = st.tuples(st.integers(-50, 50), st.integers(1, 100)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(ENDS, st.sampled_from(["higher", "lower"]))
def test_a_value_scale_has_both_ends_and_its_own_direction(ends, better):
    """The ends are those of the range, and a difference reaches from one end to the other both ways."""
    low, high = ends
    direction = find_direction(ValueScale(range=ends, levels={low: "Low.", high: "High."}, better=better))
    assert direction.ends == (low, high)
    assert direction.better == better
    assert direction.difference_ends == (low - high, high - low)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5, unique=True))
def test_categories_reach_from_the_lowest_to_the_highest_score(scores):
    """Higher scores are better, whether or not the categories are listed by them."""
    content = {f"c{n}": {"score": score} for n, score in enumerate(scores)}
    scale = CategoricalScale.model_validate({"categories": content, "ordered": False})
    assert find_direction(scale) == ScaleDirection("higher", min(scores), max(scores))


def test_a_measure_without_an_upper_end_has_no_ends():
    """One known end is kept, but neither pair of ends exists."""
    direction = find_direction(MeasureScale(unit="s", better="lower"))
    assert (direction.better, direction.low, direction.high) == ("lower", 0.0, None)
    assert direction.ends is None
    assert direction.difference_ends is None


@pytest.mark.parametrize("scores", [(None, None), (1.0, None)])
def test_categories_with_fewer_than_two_scores_have_no_ends(scores):
    """A figure on such a scale does not exist."""
    content = {f"c{n}": {} if x is None else {"score": x} for n, x in enumerate(scores)}
    assert find_direction(CategoricalScale.model_validate({"categories": content})).ends is None
