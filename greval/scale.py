"""Scales: the type a judge must answer with, its text for the judge, and how it reads as a number.

A scale is a value range (integers, described by levels), a set of categories, or, for computed
metrics only, a measure. Code that must tell them apart uses `match` with `assert_never`.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, StrictBool, Tag, field_validator, model_serializer, model_validator

from greval.record import Label, Record, Text

MAX_CATEGORIES = 500
MAX_EXACT = 2**53
"""Beyond this, readers of JSON round integers."""

MAX_ENUM_LEVELS = 11
"""Value ranges of up to this many levels are listed one by one in the answer schema."""

Value = int | float | str
Better = Literal["higher", "lower"]
End = Annotated[int, Field(strict=True, ge=-MAX_EXACT, le=MAX_EXACT)]
Limit = Annotated[float, Field(allow_inf_nan=False, strict=True)]


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
    """Integers from the lower to the upper end of `range`, both included, with described levels.

    Example:
        >>> ValueScale(range=(1, 5), levels={1: "Useless.", 5: "Perfect."}).read(4)
        4
    """

    range: tuple[End, End]
    levels: dict[int, Text]
    better: Better = "higher"

    @field_validator("levels", mode="before")
    @classmethod
    def _once(cls, given: object) -> object:
        """Refuse a level that is written in two ways, such as 1 and "1": one would be lost."""
        if isinstance(given, Mapping) and len({str(level).strip() for level in given}) < len(given):
            message = "a level is given twice; describe each once"
            raise ValueError(message)
        return given

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse a range that does not rise, undescribed ends and levels outside the range."""
        low, high = self.range
        if low >= high:
            message = f"range: must rise, got {low} to {high}"
            raise ValueError(message)
        faults: list[str] = []
        if ends := [end for end in (low, high) if end not in self.levels]:
            faults.append(f"levels: describe at least both ends; {' and '.join(map(str, ends))} missing")
        if outside := [level for level in self.levels if not low <= level <= high]:
            faults.append(f"levels: {', '.join(map(str, outside))} outside the range {low} to {high}")
        if faults:
            raise ValueError("\n".join(faults))
        return self

    def answer_schema(self) -> dict[str, Any]:
        """Give the JSON schema of the value a judge answers with."""
        low, high = self.range
        if high - low < MAX_ENUM_LEVELS:
            return {"type": "integer", "enum": [*range(low, high + 1)]}
        return {"type": "integer", "minimum": low, "maximum": high}

    def explain(self) -> str:
        """Give the text that explains the scale to the judge, one line a described level."""
        lines = "\n".join(f"- {level}: {self.levels[level]}" for level in sorted(self.levels))
        return f"{lines}\n({self.better} is better)"

    def allowed(self) -> str:
        """Give the allowed values in one short line."""
        low, high = self.range
        if high - low < MAX_ENUM_LEVELS:
            return ", ".join(str(value) for value in range(low, high + 1))
        return f"an integer from {low} to {high}"

    def read(self, raw: object) -> int:
        """Give the integer that `raw` is.

        Raises:
            OffScaleError: If it is no integer of the range; it is never clamped or rounded.
        """
        low, high = self.range
        whole = raw if isinstance(raw, int) else int(raw) if isinstance(raw, float) and raw.is_integer() else None
        if whole is None or isinstance(raw, bool) or not low <= whole <= high:
            message = f"{raw!r} is not an integer from {low} to {high}"
            raise OffScaleError(message)
        return whole

    def number(self, value: Value) -> float | None:
        """Give the value itself."""
        return float(value)


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
