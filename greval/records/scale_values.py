"""Values that people or other tools wrote, parsed on the scale of a metric and never changed to fit it."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from greval.records.scale import CategoricalScale, MeasureScale, Scale, Value, ValueScale

YES, NO = frozenset({"yes", "y", "true", "t"}), frozenset({"no", "n", "false", "f"})
GOOD, BAD = frozenset({"correct", "right", "pass", "passed"}), frozenset({"incorrect", "wrong", "fail", "failed"})
NOT_GIVEN = frozenset(
    {
        *("", "-", "n/a", "#n/a", "na", "<na>", "nan", "-nan", "nat", "none", "null"),
        *("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"),
    }
)
"""Texts that stand for a missing value, unless a category has this name."""
PAIR = 2
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")


def parse_on_scale(scale: Scale, value: object) -> Value:
    """Return the value of the scale that a written value denotes.

    A category is written by its name, in any case. A number may be text, also with a decimal comma, and 1.0 is 1. On a
    scale of two values, such as 0 and 1 or Correct and Incorrect, words like yes and no, true and false, pass and fail
    denote them, and so do 1 and 0.

    Example:
        >>> parse_on_scale(ValueScale(range=(1, 5), levels={1: "Useless.", 5: "Perfect."}), "4")
        4
        >>> scale = CategoricalScale(categories={"Correct": "", "Incorrect": ""})
        >>> parse_on_scale(scale, "no"), parse_on_scale(scale, "1.0")
        ('Incorrect', 'Correct')
    """
    match scale:
        case CategoricalScale():
            return _parse_category(scale, value)
        case ValueScale():
            return scale.read(_parse_level(scale, value))
        case MeasureScale():
            return scale.read(_parse_number(value))


def is_missing_value(scale: Scale | None, value: object) -> bool:
    """Return whether a written value stands for none, such as an empty cell, NaN, infinity or "n/a".

    Without a scale, any text that is not empty may be the name of a category.
    """
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return True
    if not isinstance(value, str):
        return False
    if scale is None:
        return not value
    text = value.strip()
    return text.casefold() in NOT_GIVEN and not (isinstance(scale, CategoricalScale) and _find_category(scale, text))


def _parse_category(scale: CategoricalScale, value: object) -> str:
    """Return the category of a name, in any case, or of yes or no if there are two categories."""
    if isinstance(value, bool):
        text = "yes" if value else "no"
    else:
        text = str(value).strip() if isinstance(value, str | int | float) else ""
    return _find_category(scale, text) or _find_answer(scale, text) or scale.read(value)


def _find_category(scale: CategoricalScale, text: str) -> str | None:
    """Return the category of a name in any case, or of another text of the same number, such as 1.0 for 1."""
    exact = next((name for name in scale.names if name.casefold() == text.casefold()), None)
    number = _parse_number(text)
    if exact is not None or isinstance(number, str):
        return exact
    return next((name for name in scale.names if _parse_number(name) == number), None)


def _find_answer(scale: CategoricalScale, text: str) -> str | None:
    """Return the category that yes or no denotes: of two categories, that whose name is such a word, or 1 or 0."""
    answers = [_read_choice(name) for name in scale.names]
    answer = _read_choice(text)
    if answer is None or len(answers) != PAIR or {*answers} != {True, False}:
        return None
    return scale.names[answers.index(answer)]


def _parse_level(scale: ValueScale, value: object) -> object:
    """Return the number of a level; of two levels, the upper one if the text is yes, the lower one if it is no."""
    answer = value if isinstance(value, bool) else _read_answer(value) if isinstance(value, str) else None
    # If the lower level is the better one, words such as pass and fail could mean either.
    unclear = scale.better == "lower" and isinstance(value, str) and value.strip().casefold() in GOOD | BAD
    if answer is not None and scale.size == PAIR and not unclear:
        return scale.values[-1 if answer else 0]
    return _parse_number(value)


def _read_choice(text: str) -> bool | None:
    """Return whether a word or a number means yes (True) or no (False), None for any other text."""
    number = _parse_number(text)
    return _read_answer(text) if isinstance(number, str) else {1: True, 0: False}.get(number)


def _read_answer(text: str) -> bool | None:
    """Return whether a word means yes (True) or no (False), None for any other word."""
    word = text.strip().casefold()
    return True if word in YES | GOOD else False if word in NO | BAD else None


def _parse_number(value: object) -> Any:  # noqa: ANN401 - what is no number is left as it is
    """Parse a number given as text, also with a decimal comma; anything else is left for the scale to reject."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _DECIMAL_COMMA.fullmatch(text) and not _THOUSANDS.fullmatch(text):
        text = text.replace(",", ".")
    try:
        # float() reads 1_0 as ten.
        return int(text) if text.lstrip("+-").isdecimal() else float(text.replace("_", " "))
    except ValueError:
        return value
