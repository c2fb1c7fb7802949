"""Repeats: the merging of several judgements of the same item into one, with the votes and the flip rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean

from greval.records.metric import Metric
from greval.records.result import Failed, Failure, Judgement, Outcome, Scored
from greval.records.scale import CategoricalScale


def merge_repeats(metric: Metric, outcomes: Sequence[Outcome]) -> Outcome:
    """Merge at least one repeated outcome item by item into the majority (categories) or the mean (values).

    Failed repeats have no vote. An item fails if every repeat failed, or if categories are tied for the most votes:
    a tie is not decided by chance. Judgements have `votes` and `flip_rate` (share of votes that differ from the most
    frequent).
    """
    votes: dict[str | None, list[Judgement]] = {}
    lost: dict[str | None, Failure] = {}
    for judgement in (judgement for outcome in outcomes for judgement in _iterate_judgements(outcome)):
        votes.setdefault(judgement.item, []).append(judgement)
    for failure in (failure for outcome in outcomes for failure in _iterate_failures(outcome)):
        lost.setdefault(failure.item, failure)
    decided = [_decide_item(metric, given) for given in votes.values()]
    failures = [verdict for verdict in decided if isinstance(verdict, Failure)]
    failures += [failure for item, failure in lost.items() if item not in votes]
    judgements = tuple(verdict for verdict in decided if isinstance(verdict, Judgement))
    if judgements:
        return Scored(judgements=judgements, failures=tuple(failures))
    return Failed(error=failures[0], failures=tuple(failures) if failures[0].item else ())


def _decide_item(metric: Metric, given: Sequence[Judgement]) -> Judgement | Failure:
    counted = Counter(judgement.value for judgement in given)
    votes = {str(value): count for value, count in counted.items()}
    most = max(counted.values())
    shared = {"votes": votes, "flip_rate": 1 - most / len(given)}
    winners = [value for value, count in counted.items() if count == most]
    if isinstance(metric.scale, CategoricalScale):
        if len(winners) > 1:
            message = f"no majority among {len(given)} repeats: {votes}"
            return Failure(kind="no_majority", message=message, item=given[0].item)
        return next(judgement for judgement in given if judgement.value == winners[0]).model_copy(update=shared)
    mean = fmean(float(judgement.value) for judgement in given)
    nearest = min(given, key=lambda judgement: abs(float(judgement.value) - mean))
    value = int(mean) if mean.is_integer() else mean  # a level of the scale is named as the scale names it
    return nearest.model_copy(update={**shared, "value": value, "number": mean})


def _iterate_judgements(outcome: Outcome) -> Iterator[Judgement]:
    yield from outcome.judgements if isinstance(outcome, Scored) else ()


def _iterate_failures(outcome: Outcome) -> Iterator[Failure]:
    if isinstance(outcome, Scored):
        yield from outcome.failures
    elif isinstance(outcome, Failed):
        yield from outcome.failures or (outcome.error,)
