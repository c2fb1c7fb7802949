"""Scales: the type of the judge's answer, the text that explains it to the judge, and its conversion to a number.

A scale is a value range (integers, or another step size, described by levels), a set of categories, or, for
computed metrics only, a measure. Code that distinguishes them uses `match` with `assert_never`.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from operator import not_
from typing import Annotated, Any, Literal, NamedTuple, Self, assert_never

from pydantic import (
    Discriminator,
    Field,
    PlainValidator,
    StrictBool,
    Tag,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from greval.records.record import Label, Record, Text

MAX_CATEGORIES = 500
MAX_EXACT = 2**53
"""The largest integer that JSON readers do not round."""

MAX_ENUM_LEVELS = 11
"""Maximum number of levels of a value range that the answer schema enumerates."""

MAX_STEPPED_LEVELS = 101
"""Maximum number of levels of a value range with a step; the answer schema enumerates all of them."""

Value = int | float | str
Better = Literal["higher", "lower"]
End = Annotated[int, Field(strict=True, ge=-MAX_EXACT, le=MAX_EXACT)]
Step = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]
Limit = Annotated[float, Field(allow_inf_nan=False, strict=True)]


def _read_level(raw: object) -> int | float:
    """Read a finite level up to `MAX_EXACT`, also from the text of a JSON key; a whole number becomes an integer."""
    try:
        number = Decimal(raw if isinstance(raw, str | int) and not isinstance(raw, bool) else repr(raw))
    except ArithmeticError:
        number = Decimal("NaN")
    if not number.is_finite() or not -MAX_EXACT <= number <= MAX_EXACT:
        raise PydanticCustomError("level", "must be a number, got {given}", {"given": repr(raw)})
    return _convert_number(number)


def _convert_number(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


Level = Annotated[int | float, PlainValidator(_read_level, json_schema_input_type=int | float)]


class OffScaleError(ValueError):
    """A value is not on the scale. It is never clamped or rounded to the scale."""


class Category(Record):
    """One category: its name, its meaning, and optionally its score, the number that it counts as."""

    name: Label
    means: str = ""
    score: Annotated[float, Field(allow_inf_nan=False, strict=True)] | None = None


class CategoricalScale(Record):
    """A scale of categories, best first unless `ordered` is false.

    Example:
        >>> scale = CategoricalScale.model_validate({"categories": {"Yes": "It does.", "No": "It does not."}})
        >>> scale.names
        ('Yes', 'No')
    """

    categories: Annotated[tuple[Category, ...], Field(min_length=2, max_length=MAX_CATEGORIES)]
    ordered: StrictBool = True

    @field_validator("categories", mode="before")
    @classmethod
    def _from_mapping(cls, categories: object) -> object:
        """Read the file form, `name: text` or `name: {means, score}`."""
        if not isinstance(categories, Mapping):
            return categories
        return tuple(_read_category(name, content) for name, content in categories.items())

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Reject names that differ only in case, and scores that contradict the order."""
        faults = [
            f"categories: {first!r} and {second!r} read alike; give each its own name"
            for first, second in self._find_similar_names()
        ]
        scores = [c.score for c in self.categories if c.score is not None]
        if self.ordered and any(a < b for a, b in pairwise(scores)):
            faults.append("categories: scores must not rise, the best category comes first (or set ordered: false)")
        if faults:
            raise ValueError("\n".join(faults))
        return self

    def _find_similar_names(self) -> Iterator[tuple[str, str]]:
        """Find pairs of names that differ only in case."""
        spellings: dict[str, str] = {}
        for name in self.names:
            if name.casefold() in spellings:
                yield spellings[name.casefold()], name
            spellings.setdefault(name.casefold(), name)

    @model_serializer(mode="plain")
    def _to_mapping(self) -> dict[str, Any]:
        content = {c.name: c.model_dump(exclude={"name"}, exclude_none=True) for c in self.categories}
        return {"categories": content} if self.ordered else {"categories": content, "ordered": False}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the categories, in order."""
        return tuple(c.name for c in self.categories)

    def answer_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the value in a judge's answer."""
        return {"type": "string", "enum": list(self.names)}

    def explain(self) -> str:
        """Return the text that explains the scale to the judge, one line per category."""
        return "\n".join(f"- {c.name}: {c.means}" if c.means else f"- {c.name}" for c in self.categories)

    def allowed(self) -> str:
        """Return the allowed values as one short line."""
        return ", ".join(f'"{name}"' for name in self.names)

    def read(self, raw: object) -> str:
        """Return the category with exactly the name `raw`; raise `OffScaleError` if no category has it."""
        # Names are stored in NFC, but a judge may write an accent as a character of its own.
        name = unicodedata.normalize("NFC", raw) if isinstance(raw, str) else None
        if name is None or name not in self.names:
            raise OffScaleError(f"{raw!r} is not one of the categories {self.allowed()}")
        return name

    def number(self, value: Value) -> float | None:
        """Return the score of a category, None if it has no score."""
        return next((c.score for c in self.categories if c.name == value), None)


class ValueScale(Record):
    """A scale of numbers from the lower to the upper end of `range`, both included, with described levels.

    The numbers are integers, or multiples of `step` from the lower end, such as half steps with 0.5. Whole numbers are
    integers in either case.

    Example:
        >>> ValueScale(range=(1, 5), levels={1: "Useless.", 5: "Perfect."}).read(4)
        4
        >>> ValueScale(range=(0, 3), step=0.5, levels={0: "Useless.", 3: "Perfect."}).read(2.5)
        2.5
    """

    range: tuple[End, End]
    # Definitions from before there were steps keep their fingerprints.
    step: Annotated[Step | None, Field(exclude_if=not_)] = None
    levels: dict[Level, Text]
    better: Better = "higher"

    @field_validator("levels", mode="before")
    @classmethod
    def _reject_repeated_levels(cls, levels: object) -> object:
        """Reject a level with two spellings, such as 1 and "1"."""
        # One of the two descriptions would be lost.
        if isinstance(levels, Mapping) and len({_normalise_level(level) for level in levels}) < len(levels):
            raise ValueError("a level is given twice; describe each once")
        return levels

    @field_validator("step")
    @classmethod
    def _drop_unit_step(cls, step: float | None) -> float | None:
        # Equal scales have equal fingerprints.
        return None if step == 1 else step

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Reject a range that does not rise or is not a multiple of the step, undescribed ends, and unknown levels."""
        low, high = self.range
        if low >= high:
            raise ValueError(f"range: must rise, got {low} to {high}")
        if fault := self._find_step_fault():
            raise ValueError(f"step: {fault}")
        faults: list[str] = []
        if ends := [end for end in (low, high) if end not in self.levels]:
            faults.append(f"levels: describe at least both ends; {' and '.join(map(str, ends))} missing")
        if outside := [level for level in self.levels if not low <= level <= high]:
            faults.append(f"levels: {', '.join(map(str, outside))} outside the range {low} to {high}")
        if between := [level for level in self.levels if low <= level <= high and not self._has_level(level)]:
            advice = f"no multiple of the step {self.step:g}" if self.step else "no integer; give the scale a step"
            faults.append(f"levels: {', '.join(map(str, between))}: {advice}")
        if faults:
            raise ValueError("\n".join(faults))
        return self

    def _find_step_fault(self) -> str:
        """Return why the step does not fit the range, empty if it does."""
        if self.step is None:
            return ""
        low, high = self.range
        # Exact, because in floating point a step such as 0.1 divides no range evenly.
        steps = (high - low) / Fraction(repr(self.step))
        if steps >= MAX_STEPPED_LEVELS:
            return (
                f"makes {int(steps) + 1:,} levels of {low} to {high}; make it larger, {MAX_STEPPED_LEVELS} are the most"
            )
        if steps.denominator > 1:
            return f"must divide the range {low} to {high} evenly, got {self.step:g}"
        return ""

    def _has_level(self, number: float) -> bool:
        if self.step is None:
            return float(number).is_integer()
        return (Fraction(repr(number)) - self.range[0]) % Fraction(repr(self.step)) == 0

    @property
    def size(self) -> int:
        """The number of levels."""
        low, high = self.range
        return high - low + 1 if self.step is None else round((high - low) / self.step) + 1

    @property
    def values(self) -> tuple[int | float, ...]:
        """All levels in rising order. A range without a step may have very many, see `size`."""
        low, high = self.range
        if self.step is None:
            return tuple(range(low, high + 1))
        # In decimals, so that three steps of 0.1 are 0.3.
        return tuple(_convert_number(low + index * Decimal(repr(self.step))) for index in range(self.size))

    @property
    def _is_enumerated(self) -> bool:
        """True if the answer schema enumerates every level."""
        return self.step is not None or self.size <= MAX_ENUM_LEVELS

    def answer_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the value in a judge's answer."""
        low, high = self.range
        if not self._is_enumerated:
            return {"type": "integer", "minimum": low, "maximum": high}
        is_whole = all(isinstance(value, int) for value in self.values)
        return {"type": "integer" if is_whole else "number", "enum": [*self.values]}

    def explain(self) -> str:
        """Return the text that explains the scale to the judge, one line per described level."""
        lines = "\n".join(f"- {level}: {self.levels[level]}" for level in sorted(self.levels))
        return f"{lines}\n({self.better} is better)"

    def allowed(self) -> str:
        """Return the allowed values as one short line."""
        low, high = self.range
        return ", ".join(map(str, self.values)) if self._is_enumerated else f"an integer from {low} to {high}"

    def read(self, raw: object) -> int | float:
        """Return `raw` as a level; raise `OffScaleError` if it is none. It is never clamped or rounded."""
        low, high = self.range
        number = raw if isinstance(raw, int | float) and not isinstance(raw, bool) else None
        if number is None or not low <= number <= high or not self._has_level(number):
            what = "an integer" if self.step is None else f"a multiple of {self.step:g}"
            raise OffScaleError(f"{raw!r} is not {what} from {low} to {high}")
        return _convert_number(Decimal(repr(number)))

    def find_nearest(self, number: float) -> int | float:
        """Return the level nearest to a number, such as the mean of several annotations."""
        low, high = self.range
        step = self.step or 1
        places = round((min(max(number, low), high) - low) / step)
        return _convert_number(low + places * Decimal(repr(step)))

    def number(self, value: Value) -> float | None:
        """Return the value as a float."""
        return float(value)


def _normalise_level(level: object) -> object:
    """Convert a level to a number if possible, so that 1 and "1" are equal."""
    try:
        return _read_level(level.strip() if isinstance(level, str) else level)
    except PydanticCustomError:
        return level


class MeasureScale(Record):
    """A scale of real numbers for computed metrics only; `high` None means without an upper end."""

    low: Limit = 0.0
    high: Limit | None = None
    unit: str = ""
    better: Better = "higher"

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Reject limits that do not rise."""
        if self.high is not None and self.low >= self.high:
            raise ValueError(f"high: must be above low, got {self.low} to {self.high}")
        return self

    def read(self, raw: object) -> float:
        """Return `raw` as a float; raise `OffScaleError` if it is not a finite number within the range."""
        if isinstance(raw, int | float) and not isinstance(raw, bool) and self._is_in_range(raw):
            return float(raw)
        upper = "without an upper end" if self.high is None else f"to {self.high}"
        raise OffScaleError(f"{raw!r} is not a number from {self.low} {upper}")

    def _is_in_range(self, number: float) -> bool:
        """Return whether a number is within the range and can be represented as a float."""
        # An int may be larger than any float.
        return self.low <= number <= (sys.float_info.max if self.high is None else self.high)

    def number(self, value: Value) -> float | None:
        """Return the value as a float."""
        return float(value)


def _read_category(name: object, content: object) -> object:
    """Read one category of the file form; faults of its content are left to validation."""
    if isinstance(content, Category):
        content = {**content.model_dump(exclude={"name"}), **({} if content.name == name else {"name": content.name})}
    if isinstance(content, Mapping) and "name" in content:
        raise ValueError(f"{name!r} holds the name {content['name']!r}; a category is named by its key only")
    if content is None or isinstance(content, str):
        return {"name": str(name), "means": content or ""}
    return {"name": str(name), **content} if isinstance(content, Mapping) else {"name": str(name), "means": content}


def has_field(record: object, key: str) -> bool:
    """Return whether a record, or the mapping that it is read from, has a field; used to discriminate unions."""
    return key in record if isinstance(record, Mapping) else hasattr(record, key)


def _find_scale_kind(scale: object) -> str:
    if has_field(scale, "categories"):
        return "categorical"
    return "measure" if has_field(scale, "unit") and not has_field(scale, "range") else "value"


JudgedScale = Annotated[
    Annotated[ValueScale, Tag("value")] | Annotated[CategoricalScale, Tag("categorical")],
    Discriminator(_find_scale_kind),
]
Scale = Annotated[
    Annotated[ValueScale, Tag("value")]
    | Annotated[CategoricalScale, Tag("categorical")]
    | Annotated[MeasureScale, Tag("measure")],
    Discriminator(_find_scale_kind),
]


class NumberRange(NamedTuple):
    """The lowest and the highest number that a scale can give, if any, and whether there is no third one."""

    low: float
    high: float | None
    binary: bool = False

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends, or None without an upper end."""
        return None if self.high is None else (self.low, self.high)

    def contains(self, lowest: float, highest: float) -> bool:
        """Return whether the lowest and the highest observed number are within the ends."""
        return self.low <= lowest and (self.high is None or highest <= self.high)


def find_number_range(scale: Scale) -> NumberRange | None:
    """Return the range of a scale; None for categories of which at most one has a score."""
    match scale:
        case CategoricalScale(categories=categories):
            scores = {category.score for category in categories if category.score is not None}
            return NumberRange(min(scores), max(scores), len(scores) == 2) if len(scores) > 1 else None  # noqa: PLR2004 - binary
        case ValueScale(range=(low, high), size=size):
            return NumberRange(float(low), float(high), size == 2)  # noqa: PLR2004 - binary
        case MeasureScale(low=low, high=high):
            return NumberRange(low, high)
        case _:
            assert_never(scale)


class ScaleDirection(NamedTuple):
    """Which figures are better, and the lowest and highest possible ones; `known` is false if this is a default.

    `computed` is true if the metric needs no judge. `unit` is that of a measure, such as s; empty for other scales.
    """

    better: Better = "higher"
    low: float | None = None
    high: float | None = None
    known: bool = True
    computed: bool = False
    unit: str = ""

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends, or None if one is missing."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def difference_ends(self) -> tuple[float, float] | None:
        """The lowest and highest possible difference of two figures, or None if an end is missing."""
        return (self.ends[0] - self.ends[1], self.ends[1] - self.ends[0]) if self.ends else None


def find_direction(scale: Scale) -> ScaleDirection:
    """Return the direction and ends of a scale."""
    numbers = find_number_range(scale)
    better = "higher" if isinstance(scale, CategoricalScale) else scale.better
    unit = (scale.unit or "") if isinstance(scale, MeasureScale) else ""
    return (
        ScaleDirection(better, numbers.low, numbers.high, unit=unit) if numbers else ScaleDirection(better, unit=unit)
    )
