"""Computed metrics: convert the return value of a metric's function to a strict outcome, in one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from decimal import Decimal
from functools import partial
from inspect import unwrap
from math import isclose, isfinite
from numbers import Integral, Real
from pathlib import Path
from reprlib import Repr
from types import MappingProxyType

from pydantic_core import PydanticSerializationError, to_json

from greval._util.concurrency import fails_one_call
from greval.records.case import Case
from greval.records.formula import FormulaError
from greval.records.formula_metric import FormulaMetric
from greval.records.metric import ComputedMetric, DerivedMetric, FunctionMetric, Verdicts
from greval.records.metric_input import list_judged_items
from greval.records.result import Failed, Failure, Judgement, Outcome, Skipped, build_outcome
from greval.records.scale import MeasureScale, OffScaleError, Value

ALLOWED_RETURNS = "a number, a bool, a category, (value, reason), judgements, or Skipped(reason=...)"
NO_VERDICTS: Verdicts = MappingProxyType({})
MAX_SHOWN_CHARACTERS = 80
"""Maximum number of characters of a returned object in a message."""


class _InvalidReturnError(Exception):
    """The return value of a function is not a valid outcome; the message states why."""


def compute_outcome(metric: FunctionMetric, case: Case, verdicts: Verdicts = NO_VERDICTS) -> Outcome:
    """Return the outcome of a computed metric for a case that has all needed fields.

    `verdicts` are the outcomes of the metrics that a derived metric is built on.

    The function of the metric may return a number, a bool, a category, a pair of such a value and its reason, one
    `Judgement` or several, or `Skipped`. A value must be on the metric's scale. `number` is filled from the scale. Each
    item must be an item of the case and appear once. A violation of these rules is a failure that names the function.
    If the violation concerns one item, only that item fails, else the case fails.
    """
    try:
        returned = metric.call_function(case, verdicts)
        # A generator runs within the try, so that its errors are those of the function.
        returned = tuple(returned) if isinstance(returned, Iterator) else returned
    except FormulaError as error:
        return _build_failure(f"{describe_source(metric)} has no value: {error}")
    except BaseException as error:
        if not fails_one_call(error):
            raise
        return _build_failure(f"{describe_source(metric)} raised {type(error).__name__}: {error}")
    if isinstance(returned, Skipped):
        return returned
    raw_judgements = _convert_to_judgements(returned, metric)
    if not raw_judgements:
        return _build_failure(
            f"{describe_source(metric)} returned {_format_returned(returned)}; return {ALLOWED_RETURNS}"
        )
    ids: set[str | None] = {item.id for item in list_judged_items(metric, case)} if metric.over else {None}
    # For speed: most metrics return one judgement, which cannot repeat an item.
    counts = Counter(judgement.item for judgement in raw_judgements) if len(raw_judgements) > 1 else {}
    judgements, failures = [], []
    for judgement in raw_judgements:
        try:
            _check_item(judgement.item, ids, counts, metric)
            _check_notes(judgement)
            judgements.append(_fit_to_scale(judgement, metric))
        except OffScaleError as error:
            message = f"{describe_source(metric)} returned a value that is not on the scale: {error}"
            failures.append(Failure(kind="off_scale", message=message, item=judgement.item))
        except ValueError as error:
            # An integer that is too long to be shown as text.
            message = f"{describe_source(metric)} returned a value that cannot be read: {error}"
            failures.append(Failure(kind="error", message=message, item=judgement.item))
        except _InvalidReturnError as error:
            failures.append(Failure(kind="error", message=f"{describe_source(metric)} {error}", item=judgement.item))
    # An item that was judged twice fails once.
    return build_outcome(judgements, [*dict.fromkeys(failures)])


def describe_source(metric: FunctionMetric) -> str:
    """Return what computes a metric, for a message: its function with file and line, or its formula."""
    if isinstance(metric, ComputedMetric | DerivedMetric):
        return describe_function(metric.compute)
    return "the formula" if isinstance(metric, FormulaMetric) else type(metric).__name__


def describe_function(function: Callable[..., object]) -> str:
    """Return the name of a function with its file and line, for a message."""
    code = getattr(_unwrap_partial(function), "__code__", None)
    location = f" ({Path(code.co_filename).name}, line {code.co_firstlineno})" if code else ""
    return f"{_get_function_name(function)}{location}"


def _unwrap_partial(function: Callable[..., object]) -> Callable[..., object]:
    while isinstance(function, partial):
        function = function.func
    inner: Callable[..., object] = unwrap(function)
    return inner


def _get_function_name(function: Callable[..., object]) -> str:
    inner = _unwrap_partial(function)
    return str(getattr(inner, "__qualname__", type(inner).__qualname__))


def _convert_to_judgements(returned: object, metric: FunctionMetric) -> tuple[Judgement, ...]:
    """Convert the return value of a function to judgements; empty if it has no valid form."""
    if isinstance(returned, Judgement):
        return (returned,)
    if isinstance(returned, tuple | list) and returned and all(isinstance(entry, Judgement) for entry in returned):
        return tuple(returned)
    source = _get_function_name(metric.compute) if isinstance(metric, ComputedMetric | DerivedMetric) else metric.name
    value, reason = returned, f"computed by {source}"
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], str):  # noqa: PLR2004 - value and reason
        value, reason = returned
    plain = _convert_value(value)
    return () if plain is None else (Judgement(value=plain, reason=reason),)


def _convert_value(value: object) -> Value | None:
    """Convert a number or a string, also one from NumPy, to the built-in type; None for anything else."""
    # By its attributes, so that NumPy need not be imported.
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, str):
        return str(value)
    # A bool is an Integral too: True becomes 1.
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real | Decimal) else None


def _check_item(
    item: str | None, ids: Container[str | None], counts: Mapping[str | None, int], metric: FunctionMetric
) -> None:
    """Raise `_InvalidReturnError` if an item is not in the case or appears more than once."""
    name, over = metric.name, metric.over
    if item not in ids:
        if over is None:
            raise _InvalidReturnError(
                f"named the item {item!r}, but {name} is not over items of a case; leave item out"
            )
        if item is None:
            raise _InvalidReturnError(
                f"named no item, but {name} is over {over}; return a Judgement with its item for each"
            )
        raise _InvalidReturnError(f"named the item {item!r}, which is not among the {over} of the case")
    if counts.get(item, 1) > 1:
        what = "returned" if item is None else f"named the item {item!r} in"
        raise _InvalidReturnError(f"{what} {counts[item]} judgements; return one")


def _check_notes(judgement: Judgement) -> None:
    """Raise `_InvalidReturnError` if the notes cannot be stored as JSON."""
    try:
        to_json(judgement.notes)
    except PydanticSerializationError as error:
        raise _InvalidReturnError(f"returned notes that cannot be stored: {error}") from error


def _fit_to_scale(judgement: Judgement, metric: FunctionMetric) -> Judgement:
    """Return the judgement as the scale reads it; raise an error if its value or its own number does not fit."""
    scale = metric.scale
    read = scale.read(judgement.value)
    # A measure reads numbers as floats; a count that is shown stays a whole number.
    value = judgement.value if isinstance(scale, MeasureScale) else read
    number, stated_number = scale.number(read), judgement.number
    if stated_number is not None and not (
        isfinite(stated_number) if number is None else isclose(stated_number, number, rel_tol=1e-9)
    ):
        counts = "which is no number" if number is None else f"which counts as {number:g} on the scale"
        raise _InvalidReturnError(
            f"gave the number {stated_number:g} to the value {value!r}, {counts}; leave number out"
        )
    number = stated_number if number is None else number
    # Types too, because 1 == 1.0. Most judgements need no change, and a copy costs more than the check.
    if (value, type(value), number) == (judgement.value, type(judgement.value), stated_number):
        return judgement
    return judgement.model_copy(update={"value": value, "number": number})


def _build_failure(message: str) -> Failed:
    return Failed(error=Failure(kind="error", message=message))


def _format_returned(returned: object) -> str:
    """Format an object for a message, shortened."""
    # Not repr(), which would write out the whole of a large object first.
    short = Repr()
    short.maxstring = short.maxother = MAX_SHOWN_CHARACTERS
    return short.repr(returned)
