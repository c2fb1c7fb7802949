"""Floors of a judge, compared with people in the same way: constant values, and rules of one line on numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING

from greval.metrics.computed import find_computed_metric
from greval.records.scale import CategoricalScale, Scale
from greval.stats.confusion import Choices, compare_choices, compare_kappas
from greval.stats.correlation import NumberPairs, compare_numbers, compute_rank_figures
from greval.stats.cross_validation import split_folds
from greval.stats.interval import MeasuredValue
from greval.stats.threshold import find_best_threshold
from greval.trust.agreement.records import Baseline
from greval.trust.agreement.rules import Rule
from greval.trust.agreement.value_pairs import (
    ValuePair,
    build_choices,
    build_numbers,
    name_first_f1,
    read_category_numbers,
)

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers

MAJORITY, MEDIAN = "most frequent label", "median of the labels"
CATEGORICAL_FIGURES = ("accuracy", "kappa", "macro f1")
NUMERIC_FIGURES = ("pearson", "spearman", "kendall")
NO_TEXTS = "the run holds no texts of the annotated items"
ONE_QUESTION = "needs items of two questions: it is fitted on some and tested on the others"


def compute_baselines(
    pairs: Sequence[ValuePair], scale: Scale, rules: Sequence[Rule], *, level: float
) -> tuple[Baseline, ...]:
    """Compute the figures of each baseline: constant values, and rules that are fitted on other questions."""
    import numpy as np

    measured = [([pair for pair in pairs if pair.thing.key in rule.numbers], rule) for rule in rules]
    if isinstance(scale, CategoricalScale):
        choices = build_choices(pairs, scale)
        shown_figures = {name: name for name in CATEGORICAL_FIGURES}
        commonest = int(np.bincount(choices.truth, minlength=choices.size).argmax())
        constants = {MAJORITY: commonest}
        # every item in the best category: a search without a judge
        if pairs[0].thing.item is not None:
            constants[f"everything {scale.names[0]}"] = 0
            shown_figures[name_first_f1(scale)] = "f1 0"
        predictions = (
            *((Baseline(name=name), choices, np.full_like(choices.truth, at)) for name, at in constants.items()),
            *(_fit_threshold(rule, members, scale) for members, rule in measured),
        )
        return tuple(_add_categorical_figures(*prediction, shown_figures, level=level) for prediction in predictions)
    numbers = build_numbers(pairs)
    # The median minimises the mean absolute error.
    medians = np.full_like(numbers.people, np.median(numbers.people))
    constant = _add_numeric_figures(Baseline(name=MEDIAN), numbers, medians, ("mae",), level=level)
    return (constant, *(_fit_correlation(rule, members, level=level) for members, rule in measured))


def _explain_missing(rule: Rule, items: int) -> Baseline:
    return Baseline(name=rule.name, why=ONE_QUESTION if items else NO_TEXTS)


def _fit_threshold(
    rule: Rule, pairs: Sequence[ValuePair], scale: CategoricalScale
) -> tuple[Baseline, Choices, Integers]:
    """Predict with a threshold that is fitted on the other folds of questions."""
    import numpy as np

    columns, numbers = build_choices(pairs, scale), _list_numbers(rule, pairs)
    predictions = np.zeros_like(columns.truth)
    folds = split_folds(columns.questions)
    for held_out in folds:
        best = find_best_threshold(numbers[~held_out], columns.truth[~held_out], columns.size)
        predictions[held_out] = np.where(numbers[held_out] <= best.at, best.below, best.above)
    baseline = (
        _describe_threshold(rule, numbers, columns, pairs, scale) if folds else _explain_missing(rule, len(pairs))
    )
    return baseline, columns, predictions


def _describe_threshold(
    rule: Rule, numbers: Floats, columns: Choices, pairs: Sequence[ValuePair], scale: CategoricalScale
) -> Baseline:
    """Describe the threshold that is fitted on all items, and name the metric that decides by it if there is one."""
    best = find_best_threshold(numbers, columns.truth, columns.size)
    if best.above == best.below:
        return Baseline(name=rule.name)
    higher = numbers[numbers > best.at]
    # halfway to the next number, so that rounding moves no item to the other side
    limit = f"{round(float(best.at + higher.min()) / 2 if len(higher) else best.at, 4):g}"
    above, below = scale.names[best.above], scale.names[best.below]
    baseline = Baseline(name=rule.name, rule=f"{above} above {limit}, else {below}", metric=rule.metric)
    if not rule.metric or pairs[0].thing.item is None:
        values = read_category_numbers(scale)
        formula = f"{values[above]:g} if number > {limit} else {values[below]:g}" if rule.metric and values else ""
        return baseline.model_copy(update={"formula": formula})
    decisive = find_computed_metric(f"{rule.metric}@{limit}") if best.above < best.below else None
    return baseline.model_copy(update={"metric": decisive.name}) if decisive else baseline


def _add_categorical_figures(
    baseline: Baseline, columns: Choices, predictions: Integers, shown_figures: Mapping[str, str], *, level: float
) -> Baseline:
    """Add the figures to show of a baseline that predicts categories, and how far the judge leads."""
    if baseline.why:
        return baseline
    figures = compare_choices(columns._replace(given=predictions), level=level)
    lead = compare_kappas(columns, predictions, level=level)
    return baseline.model_copy(
        update={"figures": {name: figures[key] for name, key in shown_figures.items()}, "lead": lead}
    )


def _fit_correlation(rule: Rule, pairs: Sequence[ValuePair], *, level: float) -> Baseline:
    """Correlate people's numbers with those of a rule; the sign of the correlation is fitted on the other folds."""
    import numpy as np

    if not pairs:
        return _explain_missing(rule, 0)
    columns, numbers = build_numbers(pairs), _list_numbers(rule, pairs)
    predictions = np.zeros_like(columns.people)
    folds = split_folds(columns.questions)
    for held_out in folds:
        x, y = numbers[~held_out], columns.people[~held_out]
        predictions[held_out] = numbers[held_out] * np.where(((x - x.mean()) * (y - y.mean())).sum() < 0, -1.0, 1.0)
    if not folds:
        return _explain_missing(rule, len(pairs))
    rises = float(((numbers - numbers.mean()) * (columns.people - columns.people.mean())).sum()) >= 0
    text = f"people's numbers {'rise' if rises else 'fall'} with it"
    baseline = Baseline(name=rule.name, rule=text, metric=rule.metric)
    return _add_numeric_figures(baseline, columns, predictions, NUMERIC_FIGURES, level=level)


def _add_numeric_figures(
    baseline: Baseline, columns: NumberPairs, predictions: Floats, names: Sequence[str], *, level: float
) -> Baseline:
    """Add the figures of these names of a baseline that predicts numbers, and how far the judge leads."""
    import numpy as np

    people, judge = columns.people, columns.judge
    measured = compare_numbers(columns._replace(judge=predictions), level=level, ranks="mae" not in names)
    if "mae" in names:
        lead = float(np.abs(people - predictions).mean() - np.abs(people - judge).mean())
    else:
        lead, of_rule = (compute_rank_figures(people, side)["spearman"] for side in (judge, predictions))
        lead -= of_rule
    figures = {name: measured[name] for name in names}
    return baseline.model_copy(
        update={"figures": figures, "lead": None if isnan(lead) else MeasuredValue(value=lead, n=len(people))}
    )


def _list_numbers(rule: Rule, pairs: Sequence[ValuePair]) -> Floats:
    import numpy as np

    return np.array([rule.numbers[pair.thing.key] for pair in pairs])
