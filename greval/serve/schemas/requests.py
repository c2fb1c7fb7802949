"""The base of request bodies, and the types of their fields."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, ConfigDict, StringConstraints

from greval.records.record import Record


def _convert_integral(value: object) -> object:
    """Convert 2.0 to 2, because JSON does not distinguish them."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


INTEGRAL = BeforeValidator(_convert_integral)
"""Put this after the bounds of a number, or they would be missing in its schema."""
MAX_METRICS = 50
"""The most metrics of a request that is answered at once."""
MetricName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
MethodName = Annotated[str, StringConstraints(max_length=1000)]
ShortText = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""A name of something that the client did not create here, such as a judge or a tag."""


class StrictRequest(Record):
    """Base of request bodies, with strict types: a value of another type is a mistake of the client."""

    model_config = ConfigDict(strict=True)
