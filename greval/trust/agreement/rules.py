"""Rules of one line: the number that each reads off a judged item without a model, by which baselines predict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple, get_args

from greval.errors import DataError, DefinitionError
from greval.metrics.computed.outcomes import compute_outcome
from greval.metrics.computed.shared_words import WORD_RULES, WordRule
from greval.metrics.library import find_metric
from greval.records.case import Case, Over, swap_responses
from greval.records.formula_metric import StoredMetric
from greval.records.metric import ComputedMetric, Metric
from greval.records.metric_input import explain_missing_needs, get_item_texts, list_items
from greval.records.result import Outcome, Result, Scored
from greval.records.scale import CategoricalScale, Scale
from greval.runs.run_reader import CaseFinder, CaseKey, ItemKey, find_directions, read_metrics
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter

LENGTH = "length of the text"
MAX_COMPUTED_CASES = 20_000
"""The number of cases for which metrics are computed; of more cases, they are for each second, third, ... one."""

ItemNumbers = Mapping[str | None, float]
"""The numbers of a case by item id, that of the case as a whole by None."""
FloorSource = str | ComputedMetric
"""A rule of the user: a computed metric, or the name of one."""


class Rule(NamedTuple):
    """A rule: its name, the number that it reads off each item, and the metric that computes it, if one does."""

    name: str
    numbers: dict[ItemKey, float]
    metric: str = ""

    def add_numbers(self, keys: Iterable[ItemKey], numbers: ItemNumbers, *, widely: bool) -> None:
        """Add the numbers of items of a case; `widely` gives each item that of the case, or the case their mean."""
        for key in keys:
            if key[2] in numbers:
                self.numbers[key] = numbers[key[2]]
            elif widely and numbers:
                self.numbers[key] = numbers.get(None, fmean(numbers.values()))


def read_rules(
    store: Store, metric: str, keys: Iterable[ItemKey], floors: Sequence[FloorSource] = ()
) -> tuple[Rule, ...]:
    """Read the numbers of every rule for judged items of a metric: length, shared words, and the rules of the user.

    An item is an answer, chunk, triple or claim; claims that the run listed are read from it. That of a preference is
    the pair of answers: its number is that of the first less that of the second. Of several pairs of texts whose words
    can be compared, it is the pair that most items have; without any there is no rule of words.

    Raises:
        DataError: If a rule of the user is no computed metric.
    """
    items: dict[CaseKey, list[ItemKey]] = {}
    for key in keys:
        items.setdefault(key[:2], []).append(key)
    stored = read_metrics(store)
    is_preference = metric in stored and stored[metric].is_preference
    length = Rule(LENGTH, {})
    words: list[Rule] = []
    user_rules: list[Rule] = []
    measures: list[tuple[Rule, Callable[[Case], ItemNumbers]]] = [(length, measure_lengths)]
    for word_rule in list_word_rules(stored.get(metric)):
        # no metric computes the difference of a pair
        words.append(Rule(word_rule.phrase, {}, "" if is_preference else word_rule.name))
        measures.append((words[-1], partial(compute_numbers, find_metric(word_rule.name))))
    for floor in floors:
        name = floor if isinstance(floor, str) else floor.name
        user_rules.append(Rule(name, {}, "" if is_preference else name))
        if isinstance(floor, str) and floor in stored and find_directions(stored)[floor].computed:
            for result in store.results(ResultFilter(metrics=(floor,))):
                keys_of_case = items.get((result.sample_id, result.method), ())
                user_rules[-1].add_numbers(
                    keys_of_case, _list_numbers(result.outcome, stored[floor].scale), widely=True
                )
        else:
            metric_of_floor = _find_computed_metric(floor, stored) if isinstance(floor, str) else floor
            measures.append((user_rules[-1], partial(compute_numbers, metric_of_floor)))
    step = 1 + len(items) // MAX_COMPUTED_CASES
    for number, case in enumerate(_find_cases(store, metric, items)):
        for rule, measure in measures[: 1 if number % step else None]:
            numbers = _subtract_second(measure, case) if is_preference else measure(case)
            # a rule of the user may be over other items than the metric is
            rule.add_numbers(items[case.id, case.method], numbers, widely=any(rule is users for users in user_rules))
    shared = max(words, key=lambda rule: len(rule.numbers), default=length)
    return (length, *([shared] if words and shared.numbers else []), *user_rules)


def list_word_rules(stored: StoredMetric | None) -> list[WordRule]:
    """List the rules of shared words that fit what a metric judges: that of the texts which it reads, or all."""
    if stored is None:
        return []
    inputs = {*(stored.definition.get("needs") or ()), *(stored.definition.get("optional") or ()), "gold"}
    inputs |= {"context"} if inputs & {"chunks", "triples"} else set()
    fitting = [rule for rule in WORD_RULES if rule.over == stored.over]
    reading = [rule for rule in fitting if {*rule.reads} <= inputs]
    # of imported verdicts it is not known what their judge read
    return reading[:1] or [rule for rule in fitting if rule.sought != "question"]


def measure_lengths(case: Case) -> ItemNumbers:
    """Return the lengths in characters of the answer and of all items of a case."""
    lengths: dict[str | None, float] = {} if case.answer is None else {None: float(len(case.answer))}
    # Reversed, because the last of several items with one id stays: it is that of the first kind.
    for field in reversed(get_args(Over)):
        lengths |= {entry.id: float(len(" ".join(get_item_texts(entry)))) for entry in list_items(field, case)}
    return lengths


def compute_numbers(metric: Metric, case: Case) -> ItemNumbers:
    """Compute the numbers of a computed metric for a case; none if it is not defined for it."""
    if not isinstance(metric, ComputedMetric) or explain_missing_needs(metric, case):
        return {}
    return _list_numbers(compute_outcome(metric, case), metric.scale)


def _list_numbers(outcome: Outcome, scale: Scale) -> ItemNumbers:
    """Return the numbers of an outcome by item; a category without one counts by its place on the scale."""
    names = scale.names if isinstance(scale, CategoricalScale) else ()
    return {
        judgement.item: float(-names.index(str(judgement.value))) if judgement.number is None else judgement.number
        for judgement in (outcome.judgements if isinstance(outcome, Scored) else ())
    }


def _subtract_second(measure: Callable[[Case], ItemNumbers], case: Case) -> ItemNumbers:
    """Return by how much the number of the first response of a pair is higher; none if it lacks a response."""
    if case.other_response is None:
        return {}
    first, second = (measure(response).get(None) for response in (case, swap_responses(case)))
    return {} if first is None or second is None else {None: first - second}


def _find_cases(store: Store, metric: str, case_keys: Mapping[CaseKey, object]) -> Iterator[Case]:
    """Yield the cases in the version that the metric judged."""
    finder = CaseFinder(store, case_keys)
    for sample_id, method, line in store.select(("sample_id", "method", "row"), ResultFilter(metrics=(metric,))):
        if (sample_id, method) in case_keys and (case := finder.find_case(Result.model_validate_json(line))):
            yield case


def _find_computed_metric(name: str, stored: Mapping[str, StoredMetric]) -> ComputedMetric:
    """Find the computed metric that a user named and the run does not hold, or raise `DataError`."""
    try:
        metric = None if name in stored else find_metric(name)
    except DefinitionError as error:
        raise DataError(f"floor: {error}") from error
    if not isinstance(metric, ComputedMetric):
        raise DataError(
            f"floor: expected a computed metric such as token_f1, got {name}, which a model judges; "
            "name one that needs no judge"
        )
    return metric
