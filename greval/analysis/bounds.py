"""Bounds on the value of one result, as an assertion in a test gives them, and whether a result is within them.

With repeats, the votes decide: each repeat is within the bounds or not, and the majority counts. A single flip of the
judge therefore changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import isclose
from statistics import fmean

from greval._util.wording import did_you_mean, format_count, format_names
from greval.errors import DefinitionError, OutcomeError
from greval.records.metric import Metric
from greval.records.record import Record
from greval.records.result import Failed, Judgement, Result, Skipped
from greval.records.scale import CategoricalScale, Scale, Value, find_number_range
from greval.stats.judge_noise import compute_tolerance, estimate_noise

ROUNDING = 1e-9
"""The relative difference below which two figures are equal: a mean is rounded."""


class Bounds(Record):
    """What is expected of a value: a number or a category of the scale, or one of several.

    `at_least` and `at_most` compare numbers, or the places of two categories of an ordered scale, whose best one comes
    first. `equals` and `one_of` compare values. `within_noise` lets numbers be beyond an end by as much as the noise of
    the judge, measured by the repeats of this result, explains at an error rate of 5 %.

    Example:
        >>> print(Bounds(at_least=0.5, at_most=0.8))
        at least 0.5, at most 0.8
    """

    at_least: int | float | str | None = None
    at_most: int | float | str | None = None
    equals: int | float | str | None = None
    one_of: tuple[int | float | str, ...] | None = None
    within_noise: bool = False

    def __str__(self) -> str:
        """Return the bounds in words."""
        limits = {"at least": self.at_least, "at most": self.at_most, "equal to": self.equals}
        parts = [f"{words} {bound!r}" for words, bound in limits.items() if bound is not None]
        return ", ".join([*parts, f"one of {format_names(map(repr, self.one_of))}"] if self.one_of else parts)

    @property
    def compares_numbers(self) -> bool:
        """Return whether the value is compared as a number only, so that it may be a mean over items."""
        ends = [end for end in (self.at_least, self.at_most) if end is not None]
        numbers = not any(isinstance(end, str) for end in ends)
        return bool(ends) and numbers and self.equals is None and self.one_of is None

    def check(self, metric: Metric) -> None:
        """Check that a value of the metric can be within the bounds."""
        faults = [*self._find_faults(metric.scale)]
        if faults:
            raise DefinitionError(*(f"{metric.name}: {fault}" for fault in faults))

    def hold(self, scale: Scale, value: Value, number: float | None) -> bool:
        """Return whether a value, with its number if it has one, is within the bounds."""
        allowed = self.one_of if self.equals is None else (self.equals, *(self.one_of or ()))
        return (
            (self.at_least is None or _compare(scale, value, number, self.at_least, 1))
            and (self.at_most is None or _compare(scale, value, number, self.at_most, -1))
            and (allowed is None or any(_is_equal(value, number, expected) for expected in allowed))
        )

    def _find_faults(self, scale: Scale) -> Iterator[str]:
        ends = {"at_least": self.at_least, "at_most": self.at_most}
        values = {"equals": () if self.equals is None else (self.equals,), "one_of": self.one_of or ()}
        limits = {name: end for name, end in ends.items() if end is not None}
        if not limits and not any(values.values()):
            yield "no bound is given; give at_least, at_most, equals or one_of"
        for name, end in limits.items():
            fault = _find_category_fault(scale, end) if isinstance(end, str) else _find_number_fault(scale, end)
            if not fault and isinstance(scale, CategoricalScale) and isinstance(end, str) and not scale.ordered:
                fault = "is of a scale without an order; use one_of"
            yield from [f"{name}={end!r} {fault}"] if fault else []
        for name, listed in values.items():
            for value in listed:
                if isinstance(value, str) or isinstance(scale, CategoricalScale):
                    fault = _find_category_fault(scale, value)
                else:
                    fault = _find_number_fault(scale, value)
                yield from [f"{name}={value!r} {fault}"] if fault else []


class BoundCheck(Record):
    """Whether a result is within bounds: the value in words, the judgements to look at, and how repeats voted.

    `split` is true if some repeats were within the bounds and others were not.
    """

    holds: bool
    value: str
    shown: tuple[Judgement, ...]
    split: bool = False


def check_bounds(result: Result, metric: Metric, bounds: Bounds) -> BoundCheck:
    """Compare a result with bounds.

    A single judgement is compared by its value, or by the majority of its votes if it was repeated. If a metric judges
    several items, numbers are compared with their mean, and categories and single values with those of each item.
    """
    bounds.check(metric)
    judgements = _get_judgements(result)
    if bounds.within_noise:
        return _check_within_noise(judgements, metric, bounds)
    # By its level, not by a number between levels that weighs them by their probabilities.
    if len(judgements) == 1 and judgements[0].item is None:
        return _check_one(judgements[0], metric, bounds)
    if bounds.compares_numbers:
        numbers = [judgement.number for judgement in judgements if judgement.number is not None]
        mean = fmean(numbers)
        # A message shows the first few, so that the items which pull the mean down come first.
        worst = sorted(judgements, key=lambda judgement: judgement.number or 0.0)
        return BoundCheck(
            holds=bounds.hold(metric.scale, mean, mean),
            value=f"{mean:.3g} (mean of {len(numbers)} {metric.over or 'items'})",
            shown=tuple(worst),
        )
    scale = metric.scale
    missed = tuple(
        judgement for judgement in judgements if not bounds.hold(scale, judgement.value, scale.number(judgement.value))
    )
    count = f"{len(missed)} of {len(judgements)} {metric.over or 'items'}"
    values = format_names(map(repr, dict.fromkeys(judgement.value for judgement in missed)))
    value = f"{values} for {count}" if missed else "as is"
    return BoundCheck(holds=not missed, value=value, shown=missed)


def _check_within_noise(judgements: Sequence[Judgement], metric: Metric, bounds: Bounds) -> BoundCheck:
    """Compare the mean of all repeats with ends that are wider by the noise of the judge."""
    scale = metric.scale
    votes = [
        [
            number
            for text, count in (judgement.votes or {}).items()
            for number in [_read_vote(scale, text)[1] or 0] * count
        ]
        for judgement in judgements
    ]
    noise = estimate_noise(votes, find_number_range(scale))
    if noise is None or not bounds.compares_numbers:
        raise DefinitionError(
            f"{metric.name}: within_noise needs at_least or at_most as a number, and repeats of 2 or more"
        )
    mean = fmean(number for numbers in votes for number in numbers)
    tolerance = compute_tolerance(noise, [sum(map(len, votes))])
    ends = ((bounds.at_least, 1), (bounds.at_most, -1))
    nearest = ((end, mean + way * tolerance, way) for end, way in ends if end is not None)
    holds = all(_compare(scale, number, number, end, way) for end, number, way in nearest)
    return BoundCheck(holds=holds, value=f"{mean:.3g} (noise {tolerance:.2g})", shown=tuple(judgements))


def _get_judgements(result: Result) -> Sequence[Judgement]:
    """Return the judgements of a result; raise `OutcomeError` if any is missing."""
    failures = result.failures
    match result.outcome:
        case Skipped(reason=reason):
            raise OutcomeError(f"{result.metric} cannot be judged: {reason}", "skipped")
        case Failed(error=error):
            raise OutcomeError(f"{result.metric} failed: {error.kind}: {error.message}", error.kind)
        case _ if failures:
            total = len(result.judgements) + len(failures)
            first = f"the first ({failures[0].item}): {failures[0].kind}: {failures[0].message}"
            raise OutcomeError(
                f"{result.metric} failed for {len(failures)} of {format_count(total, 'item')}, {first}",
                failures[0].kind,
            )
        case _:
            return result.judgements


def _check_one(judgement: Judgement, metric: Metric, bounds: Bounds) -> BoundCheck:
    scale = metric.scale
    if not judgement.votes:
        holds = bounds.hold(scale, judgement.value, scale.number(judgement.value))
        return BoundCheck(holds=holds, value=repr(judgement.value), shown=(judgement,))
    within = sum(count for text, count in judgement.votes.items() if bounds.hold(scale, *_read_vote(scale, text)))
    total = sum(judgement.votes.values())
    # A tie is not decided by chance.
    if 2 * within == total:
        counts = f"{within} of {total} repeats are {bounds}: {judgement.votes}"
        message = f"{metric.name} failed: no_majority: {counts}; take an odd number of repeats"
        raise OutcomeError(message, "no_majority")
    value = f"{judgement.value!r} ({within} of {total} repeats are {bounds}; votes: {judgement.votes})"
    return BoundCheck(holds=2 * within > total, value=value, shown=(judgement,), split=0 < within < total)


def _read_vote(scale: Scale, text: str) -> tuple[Value, float | None]:
    """Return the value of a vote, which is stored as text, and its number."""
    # Votes are keys of JSON, where numbers are texts.
    value: Value = text if isinstance(scale, CategoricalScale) else float(text)
    return value, scale.number(value)


def _compare(scale: Scale, value: Value, number: float | None, end: float | str, direction: int) -> bool:
    """Return whether a value is at an end or beyond it, in the direction of better or higher values (1 or -1)."""
    if isinstance(end, str):
        names: Collection[str] = scale.names if isinstance(scale, CategoricalScale) else ()
        positions = {name: position for position, name in enumerate(names)}
        # Categories are listed best first: the better one has the lower position.
        return direction * (positions[end] - positions[str(value)]) >= 0
    return number is not None and (direction * (number - end) >= 0 or isclose(number, end, rel_tol=ROUNDING))


def _is_equal(value: Value, number: float | None, expected: Value) -> bool:
    if isinstance(value, str) or isinstance(expected, str):
        return value == expected
    return number is not None and isclose(number, expected, rel_tol=ROUNDING)


def _find_category_fault(scale: Scale, value: object) -> str:
    if not isinstance(scale, CategoricalScale):
        return "is a text, but its values are numbers"
    if value in scale.names:
        return ""
    return f"is not one of its categories, {scale.allowed()}{did_you_mean(str(value), scale.names)}"


def _find_number_fault(scale: Scale, number: float) -> str:
    categories = scale.categories if isinstance(scale, CategoricalScale) else ()
    if lacking := [category.name for category in categories if category.score is None]:
        return f"is a number, but these categories have no score: {format_names(lacking)}; name a category"
    number_range = find_number_range(scale)
    if number_range is None or number_range.contains(number, number):
        return ""
    high = "any" if number_range.high is None else format(number_range.high, "g")
    return f"is outside of its scale, {number_range.low:g} to {high}"
