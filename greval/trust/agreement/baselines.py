"""Trivial baselines compared with people in the same way as a judge: a constant value, and the length of the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from greval.records.case import Case, Over
from greval.records.metric_input import get_item_texts, list_items
from greval.records.result import Result
from greval.records.scale import CategoricalScale, Scale
from greval.runs.run_reader import CaseFinder, CaseKey, ItemKey, read_metrics
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.stats.confusion import Choices, compare_choices
from greval.stats.correlation import NumberPairs, compare_numbers
from greval.stats.cross_validation import split_folds
from greval.stats.threshold import find_best_threshold
from greval.trust.agreement.records import Baseline
from greval.trust.agreement.value_pairs import ValuePair, build_choices, build_numbers
from greval.trust.annotations.matching import AnnotatedItem

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers

MAJORITY, MEDIAN, LENGTH = "most frequent label", "median of the labels", "length of the text"
CATEGORICAL_FIGURES = ("accuracy", "kappa", "macro f1")
NUMERIC_FIGURES = ("pearson", "spearman", "kendall")
UNKNOWN_LENGTH = Baseline(name=LENGTH, why="the run holds no texts of the annotated items")
ONE_QUESTION = Baseline(name=LENGTH, why="needs items of two questions: it is fitted on some and tested on the others")


def measure_lengths(store: Store, metric: str, things: Sequence[AnnotatedItem]) -> dict[ItemKey, int]:
    """Return the length in characters of each judged item whose text is in the run.

    An item is an answer, chunk, triple or claim; claims that the run listed are read from it. That of a preference is
    the pair of answers: its length is that of the first less that of the second.
    """
    items: dict[CaseKey, list[str | None]] = {}
    for thing in things:
        items.setdefault((thing.sample_id, thing.method), []).append(thing.item)
    finder = CaseFinder(store, items)
    stored = read_metrics(store).get(metric)
    measure = _measure_difference if stored and stored.is_preference else _measure_length
    return {
        (case.id, case.method, item): length
        for sample_id, method, line in store.select(("sample_id", "method", "row"), ResultFilter(metrics=(metric,)))
        if (case_items := items.get((sample_id, method)))
        and (case := finder.find_case(Result.model_validate_json(line)))
        for item in case_items
        if (length := measure(case, item)) is not None
    }


def compute_baselines(
    pairs: Sequence[ValuePair], scale: Scale, lengths: Mapping[ItemKey, int], *, level: float
) -> tuple[Baseline, ...]:
    """Compute the figures of two baselines: a constant value, and the length of the text."""
    import numpy as np

    short = [pair for pair in pairs if pair.thing.key in lengths]
    sizes = np.array([float(lengths[pair.thing.key]) for pair in short])
    length = UNKNOWN_LENGTH
    if isinstance(scale, CategoricalScale):
        choices = build_choices(pairs, scale)
        commonest = np.bincount(choices.truth, minlength=choices.size).argmax()
        predictions = np.full_like(choices.truth, commonest)
        constant = _build_categorical_baseline(MAJORITY, choices, predictions, level=level)
        if short:
            length = _build_threshold_baseline(build_choices(short, scale), sizes, level=level)
    else:
        numbers = build_numbers(pairs)
        # The median minimises the mean absolute error.
        medians = np.full_like(numbers.people, np.median(numbers.people))
        figures = compare_numbers(numbers._replace(judge=medians), level=level, ranks=False)
        constant = Baseline(name=MEDIAN, figures={"mae": figures["mae"]})
        if short:
            length = _build_correlation_baseline(build_numbers(short), sizes, level=level)
    return constant, length


def _measure_length(case: Case, item: str | None) -> int | None:
    """Return the length of the judged text, or None if the case does not contain it."""
    if item is None:
        return None if case.answer is None else len(case.answer)
    # Reversed, because the last of several items with one id stays: it is that of the first kind.
    items = (entry for field in reversed(get_args(Over)) for entry in list_items(field, case))
    texts = {entry.id: " ".join(get_item_texts(entry)) for entry in items}
    return len(texts[item]) if item in texts else None


def _measure_difference(case: Case, item: str | None) -> int | None:
    """Return by how much the first answer of a pair is longer, or None if the case does not contain both."""
    other_answer = case.other_response.answer if case.other_response else None
    length = _measure_length(case, item)
    return None if length is None or other_answer is None else length - len(other_answer)


def _build_threshold_baseline(columns: Choices, sizes: Floats, *, level: float) -> Baseline:
    """Compute the figures of a length threshold that is fitted on the other folds of questions."""
    import numpy as np

    predictions = np.zeros_like(columns.truth)
    folds = split_folds(columns.questions)
    for held_out in folds:
        best = find_best_threshold(sizes[~held_out], columns.truth[~held_out], columns.size)
        predictions[held_out] = np.where(sizes[held_out] <= best.at, best.below, best.above)
    if not folds:
        return ONE_QUESTION
    return _build_categorical_baseline(LENGTH, columns, predictions, level=level)


def _build_categorical_baseline(name: str, columns: Choices, predictions: Integers, *, level: float) -> Baseline:
    """Compute the categorical figures of a baseline from its predictions."""
    figures = compare_choices(columns._replace(given=predictions), level=level)
    return Baseline(name=name, figures={name: figures[name] for name in CATEGORICAL_FIGURES})


def _build_correlation_baseline(columns: NumberPairs, sizes: Floats, *, level: float) -> Baseline:
    """Correlate people's numbers with the length; the sign of the correlation is fitted on the other folds."""
    import numpy as np

    predictions = np.zeros_like(columns.people)
    folds = split_folds(columns.questions)
    for held_out in folds:
        x, y = sizes[~held_out], columns.people[~held_out]
        predictions[held_out] = sizes[held_out] * np.where(((x - x.mean()) * (y - y.mean())).sum() < 0, -1.0, 1.0)
    if not folds:
        return ONE_QUESTION
    figures = compare_numbers(columns._replace(judge=predictions), level=level)
    return Baseline(name=LENGTH, figures={name: figures[name] for name in NUMERIC_FIGURES})
