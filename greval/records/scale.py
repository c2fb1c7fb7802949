"""Scales: the type a judge must answer with, its text for the judge, and how it reads as a number.

A scale is a value range (integers, or steps of another size, described by levels), a set of categories,
or, for computed metrics only, a measure. Code that must tell them apart uses `match` with `assert_never`.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Discriminator,
    Field,
    PlainValidator,
    SerializerFunctionWrapHandler,
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
"""Beyond this, readers of JSON round integers."""

MAX_ENUM_LEVELS = 11
"""Value ranges of up to this many levels are listed one by one in the answer schema."""

MAX_STEPPED_LEVELS = 101
"""Levels of a value range with a step; all of them are listed in the answer schema."""

Value = int | float | str
Better = Literal["higher", "lower"]
End = Annotated[int, Field(strict=True, ge=-MAX_EXACT, le=MAX_EXACT)]
Limit = Annotated[float, Field(allow_inf_nan=False, strict=True)]


def _read_level(given: object) -> int | float:
    """Read the number of a level, also as the text that a key of JSON is; a whole one is an integer.

    Raises:
        PydanticCustomError: If it is no finite number.
    """
    try:
        number = Decimal(given if isinstance(given, str | int) and not isinstance(given, bool) else repr(given))
    except ArithmeticError:
        number = Decimal("NaN")
    if not number.is_finite() or not -MAX_EXACT <= number <= MAX_EXACT:
        raise PydanticCustomError("level", "must be a number, got {given}", {"given": repr(given)})
    return _plain(number)


def _plain(number: Decimal) -> int | float:
    """Return a number as an integer if it is whole."""
    return int(number) if number == number.to_integral_value() else float(number)


Level = Annotated[int | float, PlainValidator(_read_level, json_schema_input_type=int | float)]


class OffScaleError(ValueError):
    """A value is not on the scale; it is never moved onto it."""


class Category(Record):
    """One category: its name, what it means, and the number it counts as (optional)."""

    name: Label
    means: str = ""
    score: Annotated[float, Field(allow_inf_nan=False, strict=True)] | None = None


class CategoricalScale(Record):
    """Categories, best first unless `ordered` is false.

    Example:
        >>> scale = CategoricalScale.model_validate({"categories": {"Yes": "It does.", "No": "It does not."}})
        >>> scale.names
        ('Yes', 'No')
    """

    categories: Annotated[tuple[Category, ...], Field(min_length=2, max_length=MAX_CATEGORIES)]
    ordered: StrictBool = True

    @field_validator("categories", mode="before")
    @classmethod
    def _from_mapping(cls, given: object) -> object:
        """Read the file form, `name: text` or `name: {means, score}`."""
        if not isinstance(given, Mapping):
            return given
        return tuple(_category(name, content) for name, content in given.items())

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse names that read alike, and scores against the order."""
        faults = [
            f"categories: {one!r} and {other!r} read alike; give each its own name" for one, other in self._twins()
        ]
        scores = [c.score for c in self.categories if c.score is not None]
        if self.ordered and any(a < b for a, b in pairwise(scores)):
            faults.append("categories: scores must not rise, the best category comes first (or set ordered: false)")
        if faults:
            raise ValueError("\n".join(faults))
        return self

    def _twins(self) -> Iterator[tuple[str, str]]:
        """Find the names that differ in capital letters at most."""
        seen: dict[str, str] = {}
        for name in self.names:
            if name.casefold() in seen:
                yield seen[name.casefold()], name
            seen.setdefault(name.casefold(), name)

    @model_serializer(mode="plain")
    def _to_mapping(self) -> dict[str, Any]:
        """Write the file form again."""
        content = {c.name: c.model_dump(exclude={"name"}, exclude_none=True) for c in self.categories}
        return {"categories": content} if self.ordered else {"categories": content, "ordered": False}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the categories, in order."""
        return tuple(c.name for c in self.categories)

    def answer_schema(self) -> dict[str, Any]:
        """Give the JSON schema of the value a judge answers with."""
        return {"type": "string", "enum": list(self.names)}

    def explain(self) -> str:
        """Give the text that explains the scale to the judge, one line a category."""
        return "\n".join(f"- {c.name}: {c.means}" if c.means else f"- {c.name}" for c in self.categories)

    def allowed(self) -> str:
        """Give the allowed values in one short line."""
        return ", ".join(f'"{name}"' for name in self.names)

    def read(self, raw: object) -> str:
        """Give the category that `raw` names exactly.

        Raises:
            OffScaleError: If it names none; it is never matched to the nearest one.
        """
        name = unicodedata.normalize("NFC", raw) if isinstance(raw, str) else None
        if name is None or name not in self.names:
            message = f"{raw!r} is not one of the categories {self.allowed()}"
            raise OffScaleError(message)
        return name

    def number(self, value: Value) -> float | None:
        """Give the category's score, or None where the author gave none."""
        return next((c.score for c in self.categories if c.name == value), None)


class ValueScale(Record):
    """Numbers from the lower to the upper end of `range`, both included, with described levels.

    The numbers are integers, or stand `step` apart: half steps with 0.5. Whole ones are integers then, too.

    Example:
        >>> ValueScale(range=(1, 5), levels={1: "Useless.", 5: "Perfect."}).read(4)
        4
        >>> ValueScale(range=(0, 3), step=0.5, levels={0: "Useless.", 3: "Perfect."}).read(2.5)
        2.5
    """

    range: tuple[End, End]
    step: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)] | None = None
    levels: dict[Level, Text]
    better: Better = "higher"

    @field_validator("levels", mode="before")
    @classmethod
    def _once(cls, given: object) -> object:
        """Refuse a level that is written in two ways, such as 1 and "1": one would be lost."""
        if isinstance(given, Mapping) and len({_told_once(level) for level in given}) < len(given):
            message = "a level is given twice; describe each once"
            raise ValueError(message)
        return given

    @field_validator("step")
    @classmethod
    def _no_step(cls, step: float | None) -> float | None:
        """Take the step 1 for none: the scale is the same, and so is its fingerprint."""
        return None if step == 1 else step

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse a range that does not rise or is no multiple of the step, undescribed ends and other levels."""
        low, high = self.range
        if low >= high:
            message = f"range: must rise, got {low} to {high}"
            raise ValueError(message)
        if fault := self._misfit():
            raise ValueError(f"step: {fault}")
        faults: list[str] = []
        if ends := [end for end in (low, high) if end not in self.levels]:
            faults.append(f"levels: describe at least both ends; {' and '.join(map(str, ends))} missing")
        if outside := [level for level in self.levels if not low <= level <= high]:
            faults.append(f"levels: {', '.join(map(str, outside))} outside the range {low} to {high}")
        if between := [level for level in self.levels if low <= level <= high and not self._has(level)]:
            advice = f"no multiple of the step {self.step:g}" if self.step else "no integer; give the scale a step"
            faults.append(f"levels: {', '.join(map(str, between))}: {advice}")
        if faults:
            raise ValueError("\n".join(faults))
        return self

    @model_serializer(mode="wrap")
    def _brief(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out a step that is not given: definitions written before there were steps keep their fingerprint."""
        return {key: part for key, part in dump(self).items() if key != "step" or part is not None}

    def _misfit(self) -> str:
        """Say why the step does not fit the range."""
        if self.step is None:
            return ""
        low, high = self.range
        steps = (high - low) / Fraction(repr(self.step))
        if steps >= MAX_STEPPED_LEVELS:
            return (
                f"makes {int(steps) + 1:,} levels of {low} to {high}; make it larger, {MAX_STEPPED_LEVELS} are the most"
            )
        if steps.denominator > 1:
            return f"must divide the range {low} to {high} evenly, got {self.step:g}"
        return ""

    def _has(self, number: float) -> bool:
        """Say whether a number within the range is a level."""
        if self.step is None:
            return float(number).is_integer()
        return (Fraction(repr(number)) - self.range[0]) % Fraction(repr(self.step)) == 0

    @property
    def size(self) -> int:
        """How many levels there are."""
        low, high = self.range
        return high - low + 1 if self.step is None else round((high - low) / self.step) + 1

    @property
    def values(self) -> tuple[int | float, ...]:
        """All levels, rising; of a long range without a step they may be many, see `size`."""
        low, high = self.range
        if self.step is None:
            return tuple(range(low, high + 1))
        return tuple(_plain(low + place * Decimal(repr(self.step))) for place in range(self.size))

    @property
    def _listed(self) -> bool:
        """Whether the judge is told every level."""
        return self.step is not None or self.size <= MAX_ENUM_LEVELS

    def answer_schema(self) -> dict[str, Any]:
        """Give the JSON schema of the value a judge answers with."""
        low, high = self.range
        if not self._listed:
            return {"type": "integer", "minimum": low, "maximum": high}
        whole = all(isinstance(value, int) for value in self.values)
        return {"type": "integer" if whole else "number", "enum": [*self.values]}

    def explain(self) -> str:
        """Give the text that explains the scale to the judge, one line a described level."""
        lines = "\n".join(f"- {level}: {self.levels[level]}" for level in sorted(self.levels))
        return f"{lines}\n({self.better} is better)"

    def allowed(self) -> str:
        """Give the allowed values in one short line."""
        low, high = self.range
        return ", ".join(map(str, self.values)) if self._listed else f"an integer from {low} to {high}"

    def read(self, raw: object) -> int | float:
        """Give the level that `raw` is.

        Raises:
            OffScaleError: If it is no level of the range; it is never clamped or rounded.
        """
        low, high = self.range
        number = raw if isinstance(raw, int | float) and not isinstance(raw, bool) else None
        if number is None or not low <= number <= high or not self._has(number):
            what = "an integer" if self.step is None else f"a multiple of {self.step:g}"
            message = f"{raw!r} is not {what} from {low} to {high}"
            raise OffScaleError(message)
        return _plain(Decimal(repr(number)))

    def find_nearest(self, number: float) -> int | float:
        """Return the level that is nearest to a number, such as the mean of several people's.

        Example:
            >>> ValueScale(range=(0, 3), step=0.5, levels={0: "Useless.", 3: "Perfect."}).find_nearest(1.3)
            1.5
        """
        low, high = self.range
        step = self.step or 1
        places = round((min(max(number, low), high) - low) / step)
        return _plain(low + places * Decimal(repr(step)))

    def number(self, value: Value) -> float | None:
        """Give the value itself."""
        return float(value)


def _told_once(level: object) -> object:
    """Return a level as a number if it is one, so that 1 and "1" are the same."""
    try:
        return _read_level(level.strip() if isinstance(level, str) else level)
    except PydanticCustomError:
        return level


class MeasureScale(Record):
    """A real number that is computed, never asked of a judge; `high` None means without an upper end."""

    low: Limit = 0.0
    high: Limit | None = None
    unit: str = ""
    better: Better = "higher"

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse limits that do not rise."""
        if self.high is not None and self.low >= self.high:
            message = f"high: must be above low, got {self.low} to {self.high}"
            raise ValueError(message)
        return self

    def read(self, raw: object) -> float:
        """Give the number that `raw` is.

        Raises:
            OffScaleError: If it is no finite number of the range.
        """
        if isinstance(raw, int | float) and not isinstance(raw, bool) and self._holds(raw):
            return float(raw)
        upper = "without an upper end" if self.high is None else f"to {self.high}"
        message = f"{raw!r} is not a number from {self.low} {upper}"
        raise OffScaleError(message)

    def _holds(self, number: float) -> bool:
        """Say whether a number is of the range; no float holds one beyond the greatest."""
        return self.low <= number <= (sys.float_info.max if self.high is None else self.high)

    def number(self, value: Value) -> float | None:
        """Give the value itself."""
        return float(value)


def _category(name: object, content: object) -> object:
    """Read one entry of the file form; what is wrong with it is left for the validation to tell."""
    if isinstance(content, Category):
        content = {**content.model_dump(exclude={"name"}), **({} if content.name == name else {"name": content.name})}
    if isinstance(content, Mapping) and "name" in content:
        message = f"{name!r} holds the name {content['name']!r}; a category is named by its key only"
        raise ValueError(message)
    if content is None or isinstance(content, str):
        return {"name": str(name), "means": content or ""}
    return {"name": str(name), **content} if isinstance(content, Mapping) else {"name": str(name), "means": content}


def has(given: object, key: str) -> bool:
    """Say whether a record, or the mapping that it is read from, has a field: what unions are told apart by."""
    return key in given if isinstance(given, Mapping) else hasattr(given, key)


def _kind(given: object) -> str:
    if has(given, "categories"):
        return "categorical"
    return "measure" if has(given, "unit") and not has(given, "range") else "value"


JudgedScale = Annotated[
    Annotated[ValueScale, Tag("value")] | Annotated[CategoricalScale, Tag("categorical")],
    Discriminator(_kind),
]
Scale = Annotated[
    Annotated[ValueScale, Tag("value")]
    | Annotated[CategoricalScale, Tag("categorical")]
    | Annotated[MeasureScale, Tag("measure")],
    Discriminator(_kind),
]
