"""Values as people and tools write them, parsed on a scale: read as what they mean, or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.records.scale import CategoricalScale, MeasureScale, OffScaleError, ValueScale
from greval.records.scale_values import is_missing_value, parse_on_scale

DEPTH = ValueScale(range=(-2, 5), levels={-2: "Shallow.", 5: "Deep."})
HALF = ValueScale(range=(0, 3), step=0.5, levels={0: "None.", 3: "All."})
FLAWED = ValueScale(range=(0, 1), levels={0: "Sound.", 1: "Flawed."}, better="lower")
RIGHT = ValueScale(range=(0, 1), levels={0: "Wrong.", 1: "Right."})
SHARE = MeasureScale(low=0.0, high=1.0)
TONE = CategoricalScale.model_validate({"categories": {"Polite": "", "Rude": ""}})
VERDICT = CategoricalScale.model_validate({"categories": {"Correct": "", "Incorrect": ""}})
GRADED = CategoricalScale.model_validate({"categories": {"Correct": "", "Partly": "", "Incorrect": ""}})
BINARY = CategoricalScale.model_validate({"categories": {"1": "", "0": ""}})
STARS = CategoricalScale.model_validate({"categories": {"3": "", "2": "", "1": ""}})


@given(st.integers(-2, 5))
def test_a_level_is_read_from_a_number_or_its_text(level):
    """A table holds texts only, so a number may be one."""
    assert parse_on_scale(DEPTH, level) == parse_on_scale(DEPTH, str(level)) == parse_on_scale(DEPTH, f"{level}.0")


@given(st.integers(max_value=-3) | st.integers(min_value=6) | st.sampled_from(["", "x", "4 or 5", "nan", "inf", "yes"]))
def test_a_value_off_the_scale_is_refused(value):
    """It is never moved to the nearest level, and yes is no level of eight."""
    with pytest.raises(OffScaleError):
        parse_on_scale(DEPTH, value)


@pytest.mark.parametrize(
    ("scale", "given", "expected"),
    [
        (VERDICT, "Yes", "Correct"),
        (VERDICT, "FALSE", "Incorrect"),
        (VERDICT, True, "Correct"),
        (VERDICT, 0, "Incorrect"),
        (VERDICT, 1.0, "Correct"),
        (VERDICT, "incorrect ", "Incorrect"),
        (VERDICT, "1.0", "Correct"),
        (VERDICT, "0,0", "Incorrect"),
        (VERDICT, "Yes ", "Correct"),
        (BINARY, "1.0", "1"),
        (BINARY, 0.0, "0"),
        (BINARY, True, "1"),
        (STARS, "2.0", "2"),
        (RIGHT, "1.0", 1),
        (TONE, "rude", "Rude"),
        (RIGHT, "yes", 1),
        (RIGHT, "fail", 0),
        (RIGHT, False, 0),
        (FLAWED, "yes", 1),
        (HALF, "2,5", 2.5),
        (SHARE, "0.83", 0.83),
        (SHARE, "0,83", 0.83),
    ],
)
def test_words_and_numbers_mean_what_people_mean(scale, given, expected):
    """Categories count in any case, yes, no, 1 and 0 denote one of two values, and a number may be any text of it."""
    assert parse_on_scale(scale, given) == expected


@pytest.mark.parametrize(
    ("scale", "given"),
    [
        (TONE, "yes"),
        (TONE, 1),
        (GRADED, "yes"),
        (FLAWED, "pass"),
        (RIGHT, "maybe"),
        (RIGHT, 0.5),
        (HALF, "1,000"),
        (SHARE, "1,000"),
        (SHARE, True),
        (SHARE, "83 %"),
        (VERDICT, ["Correct"]),
        (VERDICT, "0.5"),
        (STARS, "yes"),
        (DEPTH, "1_0"),
    ],
)
def test_what_could_mean_something_else_is_refused(scale, given):
    """Yes of three categories, pass where less is better, and a comma that may separate thousands are no value."""
    with pytest.raises(OffScaleError):
        parse_on_scale(scale, given)


def test_missing_values_are_known():
    """Empty cells, NaN, infinity and n/a are no verdict on any scale; a category of such a name is one."""
    for value in (None, "", " ", "NaN", "n/a", "<NA>", "inf", "-Infinity", float("nan"), float("-inf")):
        for scale in (DEPTH, VERDICT, SHARE):
            assert is_missing_value(scale, value)
    assert not is_missing_value(DEPTH, 0)
    assert is_missing_value(None, float("nan"))
    assert not is_missing_value(None, "none")
    assert not is_missing_value(CategoricalScale.model_validate({"categories": {"Some": "", "None": ""}}), "none")
