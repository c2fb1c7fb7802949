"""Tuning of the search settings on labelled questions, by nested cross-validation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pydantic import Field

from greval._util.wording import did_you_mean, format_count, format_names
from greval.errors import DataError, MethodError
from greval.methods.index_records import find_document
from greval.methods.reference_index import Search
from greval.metrics.computed import explain_bad_name, find_computed_metric, list_name_variants
from greval.metrics.computed.outcomes import compute_outcome
from greval.records.case import Case, Chunk, Gold
from greval.records.metric import ComputedMetric
from greval.records.record import Record
from greval.records.result import Failed, Skipped
from greval.records.scale import find_direction
from greval.reference.index import save_search_settings
from greval.reference.searches import QuestionSearch
from greval.reference.settings import SearchSettings, change_settings
from greval.stats.bootstrap import Floats, Integers, encode_names
from greval.stats.cross_validation import CURRENT, ChoiceValidation, assign_folds, choose_candidate, validate_choice
from greval.stats.interval import LEVEL, Interval, check_level, sum_by_cluster
from greval.stats.paired import compute_difference_intervals, detectable_mean, round_differences, sign_flip_test

if TYPE_CHECKING:
    from greval.reference.index import ReferenceIndex

DEFAULT_MEASURE = "recall@5"
DEFAULT_FOLDS = 5
MIN_QUESTIONS = 20
"""With fewer questions the interval of a gain is too wide, or too narrow to be believed."""
DEFAULT_GRID: Mapping[str, tuple[object, ...]] = {
    "alpha": (0.2, 0.4, 0.6, 0.8, 1.0),
    "words": (0.0, 0.33),
    "top_k": (10, 20, 50),
    "damping": (0.5, 0.7, 0.85),
}
"""The values that are tried by default: of the settings that have an effect on a hybrid search by PageRank."""
MAX_CANDIDATES = 2_000
Settings = dict[str, Any]
"""Settings by name."""


class TunedFold(Record):
    """What was chosen on all folds but one, and its gain.

    `changes` are the settings that differ from the current ones. `learned_gain` is the gain on the questions that chose
    it, which flatters it; `gain` is that on the questions of the fold.
    """

    fold: int
    questions: int
    changes: Settings
    learned_gain: float
    gain: float


class Tuning(Record):
    """The result of tuning.

    `detectable` is the gain that as many questions would have found with a probability of 80 %. `optimistic_gain` is
    that of the chosen settings on the questions that chose them, which flatters them.
    """

    folder: str
    measure: str
    search: Search
    grid: dict[str, tuple[Any, ...]]
    candidates: int
    questions: int
    skipped: dict[str, int] = Field(default_factory=dict)
    folds: tuple[TunedFold, ...]
    before: float
    gain: float
    interval: Interval | None
    p: float
    detectable: float | None = None
    changes: Settings
    optimistic_gain: float
    accepted: bool
    why: str
    written: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def agreeing(self) -> int:
        """The number of folds that chose the same settings as all questions."""
        return sum(fold.changes == self.changes for fold in self.folds)


class _TuningPlan(NamedTuple):
    """What is tried and how it is measured; the current settings are the first candidate."""

    search: Search
    metric: ComputedMetric
    grid: Mapping[str, tuple[object, ...]]
    candidates: Sequence[SearchSettings]
    level: float


class _LabelledQuestions(NamedTuple):
    """The scores of questions by candidate, shape (questions, candidates), and what was left out."""

    ids: list[str]
    scores: Floats
    skipped: Counter[str]
    unknown: list[str]


def tune(  # noqa: PLR0913 - the options of a command
    index: ReferenceIndex,
    questions: Iterable[Case],
    *,
    search: Search = "hybrid",
    measure: str = DEFAULT_MEASURE,
    grid: Mapping[str, Sequence[object]] | None = None,
    folds: int = DEFAULT_FOLDS,
    level: float = LEVEL,
    write: bool = True,
) -> Tuning:
    """Tune the search settings of an index on labelled questions, and store them if the gain is more than noise.

    For each fold, the best settings of the grid are chosen on the other folds, and their gain over the current settings
    is measured on the fold. If the interval of the gain over all folds is above 0, the best settings on all questions
    become the search settings of the index.
    """
    if folds < 2:  # noqa: PLR2004 - one fold to choose from, one to measure on
        raise DataError(f"folds: expected 2 or more, got {folds}; what is chosen on some is measured on the others")
    metric = find_ranking_metric(measure)
    values = check_grid(DEFAULT_GRID if grid is None else grid, index.search_settings, search)
    if "k" in values and "@" not in metric.name:
        raise DataError(
            f"grid: more chunks improve {metric.name} by themselves; name a measure with a cut-off, {metric.name}@5"
        )
    candidates = list_candidates(index.search_settings, values)
    plan = _TuningPlan(search, metric, values, candidates, check_level(level))
    labelled = _score_questions(index, questions, plan)
    count, needed = len({*labelled.ids}), max(MIN_QUESTIONS, folds)
    if count < needed:
        skipped = "".join(f", and {number} left out: {reason}" for reason, number in labelled.skipped.items())
        raise DataError(
            f"expected at least {needed} questions with gold, got {count}{skipped}; "
            "with fewer, a gain cannot be distinguished from noise; label more questions"
        )
    tuning = _build_tuning(index, plan, labelled, validate_choice(labelled.scores, number_folds(labelled.ids, folds)))
    if tuning.accepted and write:
        save_search_settings(index.folder, plan.candidates[choose_candidate(labelled.scores)])
        return tuning.model_copy(update={"written": True})
    return tuning


def number_folds(questions: Sequence[str], count: int) -> Integers:
    """Return the fold of each question, numbered from 0, by the hash of its id: equal ids are in the same fold."""
    ordered = sorted({*questions}, key=lambda question: (sha256(question.encode(errors="replace")).digest(), question))
    fold_of = assign_folds(dict.fromkeys(ordered, 1), count)
    return np.array([fold_of[question] for question in questions], dtype=np.int64)


def find_ranking_metric(name: str) -> ComputedMetric:
    """Return the computed metric of a ranking by its name."""
    metric = find_computed_metric(name)
    if metric is None:
        bad = explain_bad_name(name)
        names = ["recall@5", "perfect_recall@5", "ndcg@10", "mrr", "map", *list_name_variants(name)]
        explained = f": {bad}" if bad else did_you_mean(name, names)
        raise DataError(f"measure: {name!r} is no computed metric{explained}")
    by_gold = {*metric.needs} <= {"chunks", "gold"} and find_direction(metric.scale).better == "higher"
    if not isinstance(metric, ComputedMetric) or not by_gold:
        raise DataError(f"measure: {metric.name} does not measure a ranking; expected one such as recall@5 or ndcg@10")
    return metric


def check_grid(
    grid: Mapping[str, Sequence[object]], current: SearchSettings, search: Search
) -> dict[str, tuple[object, ...]]:
    """Return the values to try as the settings read them.

    Example:
        >>> check_grid({"alpha": ["0.2", "0.4"]}, SearchSettings(), "hybrid")
        {'alpha': (0.2, 0.4)}
    """
    if search == "tog":
        raise DataError("search: tog asks a model at each step, which is not tuned; name another search")
    try:
        values = {
            name: tuple(dict.fromkeys(getattr(change_settings(current, {name: str(value)}), name) for value in tried))
            for name, tried in grid.items()
        }
    except MethodError as error:
        raise DataError(f"grid: {error}") from error
    if not any(values.values()):
        raise DataError(f"grid: no setting of {search} to try; name some, such as k=5,10")
    return values


def list_candidates(current: SearchSettings, values: Mapping[str, Sequence[object]]) -> list[SearchSettings]:
    """List the distinct settings of a grid, those with the fewest changes first, so that of equal ones they are chosen.

    The first are the current ones.
    """
    count = int(np.prod([len(tried) for tried in values.values()]))
    if count > MAX_CANDIDATES:
        raise DataError(f"grid: {count:,} combinations; expected at most {MAX_CANDIDATES:,}; try fewer values")
    combinations = (dict(zip(values, combination, strict=True)) for combination in product(*values.values()))
    changed = [current, *(current.model_copy(update=changes) for changes in combinations)]
    distinct = [candidate for position, candidate in enumerate(changed) if candidate not in changed[:position]]
    return sorted(distinct, key=lambda candidate: len(_list_changes(candidate, current, values)))


def _score_questions(index: ReferenceIndex, questions: Iterable[Case], plan: _TuningPlan) -> _LabelledQuestions:
    """Compute the metric of each question with gold for each candidate. A question that comes again counts once."""
    labelled = _LabelledQuestions([], np.empty((0, len(plan.candidates))), Counter(), [])
    documents = {find_document(chunk) for chunk in index.chunk_ids}
    keys: set[tuple[str, str]] = set()
    rows = []
    for case in questions:
        key = (case.id or case.question, case.question)
        if key in keys:
            continue
        keys.add(key)
        why = _find_skip_reason(plan.metric, case)
        if why is not None:
            labelled.skipped[why] += 1
            continue
        gold = _list_expected(case.gold)
        # Gold has chunks if all of its ids are those of chunks, and none is that of a document.
        by_chunk = gold <= index.chunk_positions.keys() and gold.isdisjoint(documents)
        if not by_chunk:
            labelled.unknown.extend(sorted(gold - documents))
        labelled.ids.append(key[0])
        rows.append(_score_question(index, case, plan, by_chunk=by_chunk))
    return labelled._replace(scores=np.array(rows) if rows else labelled.scores)


def _score_question(index: ReferenceIndex, case: Case, plan: _TuningPlan, *, by_chunk: bool) -> list[float]:
    """Compute the metric of one question for each candidate; equal rankings are measured once."""
    query = QuestionSearch(index, case.question)
    measured: dict[tuple[int, ...], float] = {}
    scores = []
    for settings in plan.candidates:
        ranking = tuple(position for position, _ in query.search(plan.search, settings).chunks)
        if ranking not in measured:
            names = [index.chunk_ids[position] for position in ranking]
            chunks = (Chunk(id=name, doc_id=None if by_chunk else find_document(name)) for name in names)
            measured[ranking] = _measure(
                plan.metric, Case(question=case.question, gold=case.gold, chunks=tuple(chunks))
            )
        scores.append(measured[ranking])
    return scores


def _measure(metric: ComputedMetric, case: Case) -> float:
    outcome = compute_outcome(metric, case)
    if isinstance(outcome, Skipped | Failed):
        reason = outcome.reason if isinstance(outcome, Skipped) else outcome.error.message
        raise DataError(f"{metric.name} of {case.question!r}: {reason}")
    number = outcome.judgements[0].number
    return 0.0 if number is None else number


def _find_skip_reason(metric: ComputedMetric, case: Case) -> str | None:
    """Return why a question cannot be measured, or None."""
    # Whether a question can be measured depends on its gold only, and not on what a search finds.
    outcome = compute_outcome(metric, Case(question=case.question, gold=case.gold, chunks=()))
    return outcome.reason if isinstance(outcome, Skipped) else None


def _list_expected(gold: Gold | None) -> set[str]:
    return {*((gold.gains if gold else None) or {}), *((gold.essential if gold else None) or ())}


def _build_tuning(
    index: ReferenceIndex, plan: _TuningPlan, labelled: _LabelledQuestions, validation: ChoiceValidation
) -> Tuning:
    """Build the result: the gain with its interval, the decision and its reason."""
    current, best = plan.candidates[CURRENT], choose_candidate(labelled.scores)
    means = labelled.scores.mean(axis=0)
    sums = sum_by_cluster(round_differences(validation.gains), encode_names(labelled.ids))
    ends = find_direction(plan.metric.scale).difference_ends
    interval = compute_difference_intervals(sums, level=plan.level, ends=ends).interval
    detectable = detectable_mean(sums.error, len(sums.sums), alpha=1 - plan.level)
    changes = [_list_changes(candidate, current, plan.grid) for candidate in plan.candidates]
    unknown = [*dict.fromkeys(labelled.unknown)]
    not_indexed = f"{format_count(len(unknown), 'expected document')} not in the index, so no search finds them"
    warnings = (f"{not_indexed}: {format_names(unknown)}",) if unknown else ()
    accepted, why = _decide(sums.mean, interval, is_changed=best != CURRENT, candidates=len(plan.candidates))
    return Tuning(
        folder=str(index.folder),
        measure=plan.metric.name,
        search=plan.search,
        grid=dict(plan.grid),
        candidates=len(plan.candidates),
        questions=len({*labelled.ids}),
        skipped=dict(labelled.skipped),
        folds=tuple(
            TunedFold(
                fold=fold.fold + 1,
                questions=fold.questions,
                changes=changes[fold.candidate],
                learned_gain=fold.learned_gain,
                gain=fold.gain,
            )
            for fold in validation.folds
        ),
        before=float(means[CURRENT]),
        gain=sums.mean,
        interval=interval,
        p=sign_flip_test(sums.sums),
        detectable=detectable,
        changes=changes[best],
        optimistic_gain=float(means[best] - means[CURRENT]),
        accepted=accepted,
        why=why,
        warnings=warnings,
    )


def _decide(gain: float, interval: Interval | None, *, is_changed: bool, candidates: int) -> tuple[bool, str]:
    """Decide whether the chosen settings are better than the current ones beyond noise, and say why."""
    if not is_changed:
        return False, f"none of the {candidates:,} settings is better on all questions than the current ones"
    if interval is None or interval.low <= 0:
        return False, "the gain is not more than noise: its interval includes 0" if gain > 0 else "there is no gain"
    return True, "the gain is more than noise: its interval is above 0"


def _list_changes(settings: SearchSettings, current: SearchSettings, names: Iterable[str]) -> Settings:
    return {name: getattr(settings, name) for name in names if getattr(settings, name) != getattr(current, name)}
