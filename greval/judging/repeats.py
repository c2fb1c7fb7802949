"""The merging of several judgements of the same item into one: repeats, and both orders of a pair.

A judge that prefers whatever stands first, or whatever is called A, contradicts itself if the responses are exchanged.
Its verdicts then cancel out, and the judgement says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Literal

from greval.records.metric import JudgedMetric, Metric
from greval.records.result import Failed, Failure, Judgement, OrderVerdict, Outcome, Scored, build_outcome
from greval.records.scale import CategoricalScale, Value

TIE = "Tie"
_MIRRORED = {"A": "B", "B": "A"}


def merge_repeats(metric: Metric, outcomes: Sequence[Outcome]) -> Outcome:
    """Merge at least one repeated outcome item by item into the majority (categories) or the mean (values).

    Failed repeats have no vote. An item fails if every repeat failed, or if categories are tied for the most votes.
    """
    votes: dict[str | None, list[Judgement]] = {}
    lost: dict[str | None, Failure] = {}
    for judgement in list_judgements(outcomes):
        votes.setdefault(judgement.item, []).append(judgement)
    for failure in (failure for outcome in outcomes for failure in _list_failures(outcome)):
        lost.setdefault(failure.item, failure)
    decided = [_decide_item(metric, item_judgements) for item_judgements in votes.values()]
    failures = [verdict for verdict in decided if isinstance(verdict, Failure)]
    failures += [failure for item, failure in lost.items() if item not in votes]
    judgements = tuple(verdict for verdict in decided if isinstance(verdict, Judgement))
    return build_outcome(judgements, failures)


def _decide_item(metric: Metric, judgements: Sequence[Judgement]) -> Judgement | Failure:
    counted = Counter(judgement.value for judgement in judgements)
    votes = {str(value): count for value, count in counted.items()}
    most = max(counted.values())
    shared = {"votes": votes, "flip_rate": 1 - most / len(judgements)}
    winners = [value for value, count in counted.items() if count == most]
    if isinstance(metric.scale, CategoricalScale):
        if len(winners) > 1:
            message = f"no majority among {len(judgements)} repeats: {votes}"
            return Failure(kind="no_majority", message=message, item=judgements[0].item)
        return next(judgement for judgement in judgements if judgement.value == winners[0]).model_copy(update=shared)
    mean = fmean(float(judgement.value) for judgement in judgements)
    nearest = min(judgements, key=lambda judgement: abs(float(judgement.value) - mean))
    return nearest.model_copy(update={**shared, "value": _as_whole_number(mean), "number": mean})


def _list_failures(outcome: Outcome) -> Sequence[Failure]:
    """List the failures of the items; of an outcome that failed as a whole, its error."""
    if isinstance(outcome, Failed):
        return outcome.failures or (outcome.error,)
    return outcome.failures if isinstance(outcome, Scored) else ()


def merge_orders(metric: JudgedMetric, as_given: Sequence[Outcome], exchanged: Sequence[Outcome]) -> Outcome:
    """Merge the verdicts on a pair as it is recorded with those on the pair with its responses exchanged.

    Repeats of one order count as one verdict. Different categories are a tie, and of values the mean counts. The pair
    fails if an order has no verdict, because half a pair has the bias that the other half is for.
    """
    mirrored = [
        judgement.model_copy(update={"value": mirror_value(judgement.value)})
        for judgement in list_judgements(exchanged)
    ]
    sides = list_judgements(as_given), mirrored
    for outcomes, judgements in zip((as_given, exchanged), sides, strict=True):
        if not judgements:
            return Failed(error=next(outcome.error for outcome in outcomes if isinstance(outcome, Failed)))
    return Scored(judgements=(_merge_sides(metric, *sides),))


def mirror_value(value: Value) -> Value:
    """Return the verdict on a pair for the pair with its responses exchanged."""
    return _MIRRORED.get(value, value) if isinstance(value, str) else -value


def list_judgements(outcomes: Iterable[Outcome]) -> list[Judgement]:
    """List the judgements of scored outcomes."""
    return [judgement for outcome in outcomes if isinstance(outcome, Scored) for judgement in outcome.judgements]


def _merge_sides(metric: JudgedMetric, as_given: Sequence[Judgement], exchanged: Sequence[Judgement]) -> Judgement:
    """Merge the judgements of each order, of which there is at least one."""
    first, second = (_merge_repeats(metric, judgements) for judgements in (as_given, exchanged))
    if isinstance(metric.scale, CategoricalScale):
        value: Value = first if first == second else TIE
    else:
        value = _as_whole_number(fmean((float(first), float(second))))
    orders = _build_verdict("A", first, as_given), _build_verdict("B", second, exchanged)
    votes = Counter(str(judgement.value) for judgement in (*as_given, *exchanged))
    # Only a judgement with the merged value has a reason for it.
    told = next((judgement for judgement in as_given if judgement.value == value), None)
    return (told or as_given[0]).model_copy(
        update={
            "value": value,
            "number": metric.scale.number(value),
            "reason": told.reason if told else _explain_orders(*orders),
            "confidence": told.confidence if told else None,
            "votes": dict(votes),
            "flip_rate": 1 - max(votes.values()) / votes.total(),
            "orders": orders,
        }
    )


def _merge_repeats(metric: JudgedMetric, judgements: Sequence[Judgement]) -> Value:
    """Return the verdict of one order."""
    if not isinstance(metric.scale, CategoricalScale):
        return _as_whole_number(fmean(float(judgement.value) for judgement in judgements))
    (value, most), *runners_up = Counter(judgement.value for judgement in judgements).most_common()
    return TIE if runners_up and runners_up[0][1] == most else value


def _as_whole_number(mean: float) -> float:
    """Return a whole number as an integer, so that a level of the scale is named as the scale names it."""
    return int(mean) if mean.is_integer() else mean


def _build_verdict(shown_first: Literal["A", "B"], value: Value, judgements: Sequence[Judgement]) -> OrderVerdict:
    reason = next((judgement.reason for judgement in judgements if judgement.value == value), judgements[0].reason)
    return OrderVerdict(shown_first=shown_first, value=value, reason=reason)


def _explain_orders(first: OrderVerdict, second: OrderVerdict) -> str:
    """Explain a judgement that neither order gave; the judge knew the responses of the second by each other's name."""
    return (
        f"The orders differ. As recorded: {first.value}. {first.reason} "
        f"Exchanged, so that the judge calls A what is B here: {second.value}. {second.reason}"
    )
