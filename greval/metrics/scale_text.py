"""Scales written in a line, such as `0..3`, and metrics of which only the scale is known."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import ValidationError

from greval.errors import DefinitionError
from greval.records.case import Over
from greval.records.metric import Metric
from greval.records.scale import Better, CategoricalScale, MeasureScale, Scale, ValueScale

FORMS = (
    "0..3 (whole numbers), 0..3:0.5 (steps of a half), 0.0..1.0 (any number between), '0..3 lower' (less is better), "
    "yes/no or full=1/partly=0.5/none=0 (categories, the best first), 'red|green|blue' (categories without an order)"
)
DESCRIPTION = "Verdicts that were imported; greval knows their scale and not what the judge was asked."
PAIR = 2
ORDERED, UNORDERED = "/", "|"
"""The characters between categories with an order, the best first, and without one."""
_NUMBERS = re.compile(r"(?P<low>-?\d+(\.\d+)?)\.\.(?P<high>-?\d+(\.\d+)?)(:(?P<step>\d+(\.\d+)?))?(?P<lower> +lower)?")


def parse_scale(text: str) -> Scale:
    """Parse a scale that is written in a line.

    Args:
        text: `0..3` for whole numbers, `0..3:0.5` for steps, `0.0..1.0` for any number between (the ends have a
            decimal point), each with ` lower` at the end if less is better; `yes/no` for categories, the best first,
            with scores as in `full=1/partly=0.5/none=0`. Of two categories without scores, the first counts 1 and the
            second 0. `red|green|blue` for categories without an order, whose names may have a slash.

    Example:
        >>> parse_scale("0..3").range, parse_scale("0.0..1.0").high, parse_scale("yes/no").names
        ((0, 3), 1.0, ('yes', 'no'))
        >>> parse_scale("red|green|blue").ordered
        False
    """
    match = _NUMBERS.fullmatch(text.strip())
    try:
        if match:
            better: Better = "lower" if match["lower"] else "higher"
            return _build_number_scale(match["low"], match["high"], match["step"], better)
        names = [name.strip() for name in text.split(UNORDERED if UNORDERED in text else ORDERED)]
        if len(names) >= PAIR and all(names):
            return _build_categories(names, ordered=UNORDERED not in text)
    except ValidationError as error:
        faults = (fault["msg"].removeprefix("Value error, ") for fault in error.errors(include_url=False))
        raise DefinitionError(f"scale {text!r}: {'; '.join(faults)}") from error
    raise DefinitionError(f"scale {text!r}: expected {FORMS}")


def build_scale_metric(name: str, scale: str | Scale, *, over: Over | None = None) -> Metric:
    """Build a metric of which only the scale is known, for verdicts that were given elsewhere.

    Nothing can be judged by it: it has no steps. To have the same question judged by greval, write a metric file.

    Args:
        name: The name of the metric.
        scale: The scale, or its text as in `parse_scale`.
        over: What is judged individually, such as `chunks` or `claims`; None if each case has one verdict.

    Raises:
        DefinitionError: If the name or the scale is invalid.

    Example:
        >>> build_scale_metric("helpfulness", "1..5").scale.allowed()
        '1, 2, 3, 4, 5'
    """
    return Metric(
        name=name,
        description=DESCRIPTION,
        over=over,
        needs=("question", *([over] if over else [])),
        scale=parse_scale(scale) if isinstance(scale, str) else scale,
    )


def _build_number_scale(low: str, high: str, step: str | None, better: Better) -> Scale:
    """Build a scale of levels, or of real numbers if an end has a decimal point and there is no step."""
    if "." in low + high and step is None:
        return MeasureScale(low=float(low), high=float(high), better=better)
    ends = (_read_whole(low), _read_whole(high))
    return ValueScale(
        range=ends,
        step=None if step is None else float(step),
        levels={ends[0]: "The lowest level.", ends[1]: "The highest level."},
        better=better,
    )


def _read_whole(text: str) -> int:
    number = float(text)
    if not number.is_integer():
        raise DefinitionError(f"scale end {text}: must be a whole number if there is a step")
    return int(number)


def _build_categories(parts: Sequence[str], *, ordered: bool) -> CategoricalScale:
    """Build a categorical scale, best first if it is ordered; scores follow an equals sign."""
    categories: dict[str, dict[str, object]] = {}
    for part in parts:
        name, mark, score = (piece.strip() for piece in part.partition("="))
        if name in categories:
            raise DefinitionError(f"scale: the category {name!r} is given twice")
        try:
            categories[name] = {"score": float(score)} if mark else {}
        except ValueError:
            raise DefinitionError(f"scale: the score of {name!r} must be a number, got {score!r}") from None
    scored = [content for content in categories.values() if content]
    if len(categories) == PAIR and ordered and not scored:
        best, worst = categories.values()
        best["score"], worst["score"] = 1.0, 0.0
    return CategoricalScale.model_validate({"categories": categories, "ordered": ordered})
