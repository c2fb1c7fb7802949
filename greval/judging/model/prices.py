"""Prices of a judge's tokens, from a table that a user can replace."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, ValidationError, model_validator

from greval._util.wording import find_similar
from greval.errors import DataError
from greval.judging.model.judge_names import LOCAL
from greval.records.record import Record
from greval.records.result import Usage

if TYPE_CHECKING:
    from greval.records.definition_faults import Path as Place

FILE_VARIABLE = "GREVAL_PRICES"
"""The environment variable that names a file which replaces the shipped table."""
SHIPPED_FILE = Path(__file__).with_name("prices.yaml")
MILLION = 1_000_000

_DATE = re.compile(r"-20\d\d(?:-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))$")

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]


class Price(Record):
    """The price of a model in USD per million tokens. `cached_input` is the same as `input` if it is None."""

    input: Dollars
    cached_input: Dollars | None = None
    output: Dollars

    @model_validator(mode="after")
    def _check_cached_price(self) -> Self:
        """Reject a cached price above the normal one. No provider has one, so the two were probably swapped."""
        if self.cached_input is not None and self.cached_input > self.input:
            raise ValueError(
                f"cached_input ({self.cached_input}) is dearer than input ({self.input}); are they swapped?"
            )
        return self

    def cost(self, usage: Usage) -> float | None:
        """Compute the cost of a usage in USD, or None if its tokens are not known. What the provider states counts."""
        if usage.cost is not None:
            return usage.cost
        if not usage.calls and usage.input_tokens is None:
            return 0.0
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = min(usage.cached_tokens or 0, usage.input_tokens)
        rate = self.input if self.cached_input is None else self.cached_input
        spent = (usage.input_tokens - cached) * self.input + cached * rate + usage.output_tokens * self.output
        return spent / MILLION

    def multiply_by(self, factor: float) -> Price:
        """Return the price multiplied by a factor, such as a discount."""
        cached = None if self.cached_input is None else self.cached_input * factor
        return Price(input=self.input * factor, cached_input=cached, output=self.output * factor)


FREE = Price(input=0, output=0)
"""The embedded model runs on the user's own machine."""


class Prices(Record):
    """A table of prices by the label of the judge, such as `openai:gpt-4.1-mini`.

    `as_of` is the date at which the prices were valid, and `source` is their origin.

    Example:
        >>> prices = Prices.load()
        >>> prices.cost("openai:gpt-4.1-mini", Usage(calls=1, input_tokens=1_000_000, output_tokens=100_000))
        0.56
        >>> prices.cost("openai:no-such-model", Usage(calls=1, input_tokens=10, output_tokens=10)) is None
        True
    """

    models: Annotated[dict[str, Price], Field(min_length=1)]
    as_of: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]

    @staticmethod
    def load(path: str | Path | None = None) -> Prices:
        """Load the shipped table, or a YAML or JSON file that replaces it.

        Args:
            path: A file with `as_of`, `source` and `models`, each model with `input`, `output` and, if
                it has one, `cached_input`. By default it is the one that the environment variable `GREVAL_PRICES`
                names, or else the shipped one.

        Raises:
            DataError: If the file cannot be read or is invalid. The message lists all errors with their lines.
        """
        if path is not None:
            return _read_prices(Path(path))
        return _read_once(os.environ.get(FILE_VARIABLE) or str(SHIPPED_FILE))

    def of(self, label: str) -> Price | None:
        """Return the price of a judge, or None if it is not known.

        A label is looked up as it is, then without its date (`openai:gpt-4.1-mini-2025-04-14`). The embedded model is
        free. Nothing else is guessed.
        """
        if label in self.models:
            return self.models[label]
        if label.partition(":")[0] == LOCAL:
            return FREE
        return self.models.get(_DATE.sub("", label))

    def find(self, name: str) -> dict[str, Price]:
        """Return the price of a judge by its name, or else the prices of all models whose name contains this text."""
        if price := self.of(name):
            return {name: price}
        if matches := {label: price for label, price in self.models.items() if name.lower() in label.lower()}:
            return matches
        similar = find_similar(name, self.models)
        hint = f"did you mean {similar}? Otherwise put" if similar else "put"
        raise DataError(f"{name}: no price is known; {hint} it into a file of prices (docs/money.md)")

    def format_yaml(self) -> str:
        """Format the table as a file that `load` reads."""
        head = [f"{name}: {json.dumps(getattr(self, name), ensure_ascii=False)}" for name in ("as_of", "source")]
        prices = ((label, price.model_dump(mode="json", exclude_none=True)) for label, price in self.models.items())
        rows = (f"  {json.dumps(label, ensure_ascii=False)}: {json.dumps(price)}" for label, price in prices)
        return "\n".join([*head, "models:", *rows, ""])

    def cost(self, label: str, usage: Usage) -> float | None:
        """Compute the cost of a usage in USD by the label of the judge; None, never 0, if it is not known.

        What the provider states to have charged goes before the table.
        """
        if usage.cost is not None:
            return usage.cost
        price = self.of(label)
        return price.cost(usage) if price else None


@cache
def _read_once(path: str) -> Prices:
    return _read_prices(Path(path))


def _read_prices(path: Path) -> Prices:
    """Read a table of prices from YAML. JSON is read in the same way, as a subset of YAML."""
    from greval.metrics.files.yaml_text import find_line, read_source_file

    source = read_source_file(path, "name a YAML or JSON file of prices")
    faults = [(fault.line, fault.path, fault.text) for fault in source.faults]
    prices = None
    try:
        if source.data is not None or not faults:
            prices = Prices.model_validate(source.data)
    except ValidationError as error:
        from greval.records.definition_faults import convert_errors

        converted = convert_errors(error.errors(include_url=False), source.data, _list_keys)
        faults += ((find_line(place, source.lines), place, text) for place, text, _ in converted)
    if faults or prices is None:
        # Names of models have dots, so that a dot would not separate the parts of a place.
        messages = ((line, " > ".join(map(str, place)), text) for line, place, text in faults)
        in_order = sorted(messages, key=lambda message: message[0])
        raise DataError("\n".join(f"{path}:{line}: {': '.join(filter(None, parts))}" for line, *parts in in_order))
    return prices


def _list_keys(place: Place, _: object) -> list[str]:
    return [*(Price if place[0] == "models" else Prices).model_fields]
