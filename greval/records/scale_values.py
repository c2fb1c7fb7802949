"""Values that people or other tools wrote, parsed on the scale of a metric and never changed to fit it."""

from __future__ import annotations

import re
from math import isfinite

from greval.records.scale import CategoricalScale, MeasureScale, Scale, Value, ValueScale

YES, NO = frozenset({"yes", "y", "true", "t"}), frozenset({"no", "n", "false", "f"})
GOOD, BAD = frozenset({"correct", "right", "pass", "passed"}), frozenset({"incorrect", "wrong", "fail", "failed"})
NOT_GIVEN = frozenset({"", "-", "n/a", "na", "nan", "none", "null"})
"""Texts that stand for a missing value, unless a category has this name."""
PAIR = 2
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")


def parse_on_scale(scale: Scale, value: object) -> Value:
    """Return the value of the scale that a written value denotes.

    A category is written by its name, in any case. A number may be text, also with a decimal comma. On a scale of two
    values, such as 0 and 1 or Correct and Incorrect, words like yes and no, true and false, pass and fail denote them.

    Raises:
        OffScaleError: If the value is not on the scale. It is never rounded.

    Example:
        >>> parse_on_scale(ValueScale(range=(1, 5), levels={1: "Useless.", 5: "Perfect."}), "4")
        4
        >>> parse_on_scale(CategoricalScale(categories={"Correct": "", "Incorrect": ""}), "no")
        'Incorrect'
    """
    match scale:
        case CategoricalScale():
            return _parse_category(scale, value)
        case ValueScale():
            return scale.read(_parse_level(scale, value))
        case MeasureScale():
            return scale.read(_parse_number(value))


def is_missing_value(scale: Scale, value: object) -> bool:
    """Return whether a written value stands for none, such as an empty cell, NaN or "n/a".

    Example:
        >>> scale = CategoricalScale(categories={"None": "", "Some": ""})
        >>> is_missing_value(scale, "n/a"), is_missing_value(scale, "none")
        (True, False)
    """
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return True
    if not isinstance(value, str) or value.strip().casefold() not in NOT_GIVEN:
        return False
    return not (isinstance(scale, CategoricalScale) and _find_category(scale, value.strip()))


def _parse_category(scale: CategoricalScale, value: object) -> str:
    """Return the category of a name, in any case, or of yes or no if there are two categories."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool):
        text = "yes" if value else "no"
    else:
        text = str(value).strip() if isinstance(value, str | int) else ""
    return _find_category(scale, text) or _find_answer(scale, text) or scale.read(value)


def _find_category(scale: CategoricalScale, text: str) -> str | None:
    """Return the category of a name; names that differ only in case are one, because no scale holds both."""
    return next((name for name in scale.names if name.casefold() == text.casefold()), None)


def _find_answer(scale: CategoricalScale, text: str) -> str | None:
    """Return the category that yes or no denotes: of two categories, that whose name is such a word."""
    answers = [_read_answer(name) for name in scale.names]
    wanted = _read_answer(text) if text not in {"0", "1"} else text == "1"
    if wanted is None or len(answers) != PAIR or {*answers} != {True, False}:
        return None
    return scale.names[answers.index(wanted)]


def _parse_level(scale: ValueScale, value: object) -> object:
    """Return the number of a level; of two levels, the upper one if the text is yes, the lower one if it is no.

    Words such as pass and fail are refused if the lower level is the better one, because they could mean either.
    """
    answer = value if isinstance(value, bool) else _read_answer(value) if isinstance(value, str) else None
    unclear = scale.better == "lower" and isinstance(value, str) and value.strip().casefold() in GOOD | BAD
    if answer is not None and scale.size == PAIR and not unclear:
        return scale.values[-1 if answer else 0]
    return _parse_number(value)


def _read_answer(text: str) -> bool | None:
    """Return whether a word means yes (True) or no (False), None for any other word."""
    word = text.strip().casefold()
    return True if word in YES | GOOD else False if word in NO | BAD else None


def _parse_number(value: object) -> object:
    """Parse a number given as text; anything else is left for the scale to reject.

    A comma is a decimal comma unless it may separate thousands.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _DECIMAL_COMMA.fullmatch(text) and not _THOUSANDS.fullmatch(text):
        text = text.replace(",", ".")
    try:
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        return value
