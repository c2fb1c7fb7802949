"""Correctness of answers: verdicts read from a run or computed, and a comparison with the expected answers."""

from __future__ import annotations

from greval.errors import DataError, DefinitionError
from greval.metrics.computed.graph_walk import normalise_name
from greval.metrics.computed.metric_names import find_computed_metric
from greval.metrics.computed.outcomes import compute_outcome
from greval.metrics.computed.text import list_expected_answers
from greval.metrics.library import find_metric
from greval.records.case import Case
from greval.records.metric import ComputedMetric
from greval.records.record import Record
from greval.records.result import Failed, Outcome, Scored, Skipped
from greval.records.scale import Scale, find_direction
from greval.runs.run_reader import read_metrics
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter

PREFERRED_METRICS = ("correctness", "answer_alignment", "fuzzy_containment@0.80", "exact_match")
"""The metrics that may decide correctness if none is named; the first that the run contains is used."""
FALLBACK_METRIC = "fuzzy_containment@0.80"
"""The metric that is computed if the run contains none of them."""
EXACT = "exact_match"
CONTAINED = "fuzzy_containment@0.80"
MIN_DISTINCTIVE_LENGTH = 4
"""Shorter expected answers, such as "no", occur by chance in answers with another meaning."""
CLAUSE_ENDS = frozenset(",.;:!")


class AnswerVerdict(Record):
    """Whether an answer was judged correct, with the reason; `right` is None if it was not judged."""

    right: bool | None
    metric: str = ""
    reason: str = ""
    failed: bool = False


class CorrectnessThreshold(Record):
    """The threshold above which a metric's numbers count as correct: the middle of its scale."""

    metric: str
    middle: float
    lower_is_better: bool = False

    def classify(self, outcome: Outcome) -> AnswerVerdict:
        """Classify an outcome as correct, wrong, or not judged."""
        match outcome:
            case Skipped(reason=reason):
                return AnswerVerdict(right=None, metric=self.metric, reason=reason)
            case Failed(error=error):
                # The method gave no response; other failures are the judge's.
                failed = error.kind == "method"
                return AnswerVerdict(right=None, metric=self.metric, reason=error.message, failed=failed)
            case Scored(judgements=judgements):
                first = judgements[0]
                if first.item is not None:
                    raise DataError(f"{self.metric}: judges items, not the answer; name another with --metric")
                right = None if first.number is None else self._is_right(first.number)
                return AnswerVerdict(right=right, metric=self.metric, reason=first.reason)

    def _is_right(self, number: float) -> bool:
        return number <= self.middle if self.lower_is_better else number >= self.middle


def find_threshold(name: str, scale: Scale) -> CorrectnessThreshold:
    """Return the correctness threshold of a metric."""
    direction = find_direction(scale)
    if direction.ends is None or direction.low == direction.high:
        message = f"{name}: its scale has no middle, so it cannot separate right from wrong; name another with --metric"
        raise DefinitionError(message)
    lower = direction.better == "lower"
    return CorrectnessThreshold(metric=name, middle=sum(direction.ends) / 2, lower_is_better=lower)


class AnswerVerdicts:
    """The correctness verdicts of one metric over a run, by sample and method.

    Without a metric it is the first of `PREFERRED_METRICS` that the run contains. One that the run lacks is computed.
    """

    def __init__(self, store: Store, metric: str | None = None) -> None:
        # A metric that judges items says nothing of the answer as a whole.
        scales = {name: metric.scale for name, metric in read_metrics(store).items() if not metric.over}
        self.metric = metric or next((name for name in PREFERRED_METRICS if name in scales), FALLBACK_METRIC)
        self._computed: ComputedMetric | None = None
        if self.metric in scales:
            bar = find_threshold(self.metric, scales[self.metric])
            results = store.results(ResultFilter(metrics=(self.metric,)))
            self._kept = {(result.sample_id, result.method): bar.classify(result.outcome) for result in results}
            return
        self._computed = _load_computed_metric(self.metric, str(store.folder), sorted(scales))
        self._bar = find_threshold(self.metric, self._computed.scale)

    def find_verdict(self, case: Case) -> AnswerVerdict:
        """Return the verdict on a case's answer."""
        if self._computed is None:
            reason = f"the run holds no verdict of {self.metric} on it"
            missing = AnswerVerdict(right=None, metric=self.metric, reason=reason)
            return self._kept.get((case.id, case.method), missing)
        return self._bar.classify(compute_outcome(self._computed, case))


def _load_computed_metric(name: str, folder: str, metric_names: list[str]) -> ComputedMetric:
    """Load a metric that the run does not contain, so that it can be computed."""
    try:
        metric = find_metric(name)
    except DefinitionError as error:
        raise DataError(
            f"{folder}: {name} is not in the run, which holds {', '.join(metric_names)}; {error}"
        ) from error
    if not isinstance(metric, ComputedMetric):
        raise DataError(
            f"{folder}: {name} is not in the run, which holds {', '.join(metric_names)}; name one of these with "
            f"--metric, or judge it first: greval evaluate CASES -m {name} -o {folder}"
        )
    return metric


def describe_correct_answer(case: Case) -> str | None:
    """Describe how the answer contains an expected one, or return None if it does not.

    An expected answer that occurs in the question, or that is very short, must be the whole answer or its beginning.
    """
    for expected in _list_expected(case) if case.answer else ():
        if _is_scored_correct(EXACT, expected, case.answer):
            return f"the answer is the expected {expected!r}"
        # Short answers, such as "no", occur in others by chance, but not as a clause at the beginning.
        if _is_opening_clause(case.answer or "", expected):
            return f"the answer begins with the expected {expected!r}"
        if _is_distinctive(expected, case.question) and _is_scored_correct(CONTAINED, expected, case.answer):
            return f"the answer contains the expected {expected!r}"
    return None


def find_chunk_with_answer(case: Case) -> tuple[str, str] | None:
    """Return the id of a chunk whose text contains an expected answer, with that answer, or None."""
    for expected in _list_expected(case):
        for chunk in (case.chunks or ()) if _is_distinctive(expected, case.question) else ():
            if _is_scored_correct(CONTAINED, expected, chunk.text):
                return chunk.id, expected
    return None


def _list_expected(case: Case) -> tuple[str, ...]:
    answers = list_expected_answers(case)
    return () if isinstance(answers, Skipped) else answers


def _is_scored_correct(name: str, expected: str, text: str | None) -> bool:
    """Return whether a computed metric scores a text as correct."""
    metric = find_computed_metric(name)
    outcome = metric and compute_outcome(metric, Case(question="", expected_answer=expected, answer=text))
    return isinstance(outcome, Scored) and any(judgement.number == 1 for judgement in outcome.judgements)


def _is_distinctive(expected: str, question: str) -> bool:
    """Return whether an expected answer is specific enough that a text which contains it is correct."""
    long = (
        len(expected) >= MIN_DISTINCTIVE_LENGTH
        or any(letter.isdigit() for letter in expected)
        or not expected.isascii()
    )
    # An answer that merely repeats the question is not correct for that reason.
    return long and not _is_scored_correct(CONTAINED, expected, question)


def _is_opening_clause(answer: str, expected: str) -> bool:
    """Return whether an answer begins with a text as a clause of its own, such as "No, it is not"."""
    text, start = normalise_name(answer), normalise_name(expected)
    return text.startswith(start) and text[len(start) : len(start) + 1] in CLAUSE_ENDS
