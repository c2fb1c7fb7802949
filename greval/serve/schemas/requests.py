"""The base of request bodies: strict types, because a value of another type is a mistake of the client."""

from __future__ import annotations

from pydantic import BeforeValidator, ConfigDict

from greval.records.record import Record


def _convert_integral(value: object) -> object:
    """Convert 2.0 to 2, because JSON does not distinguish them."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


INTEGRAL = BeforeValidator(_convert_integral)
"""Put this after the bounds of a number, or they would be missing in its schema."""


class StrictRequest(Record):
    """Base of request bodies, with strict types: values are not coerced."""

    model_config = ConfigDict(strict=True)
