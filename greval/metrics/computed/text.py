"""Text metrics of answers without a model: exact match, token F1 and fuzzy containment.

The expected answers are the lines of `expected_answer` and `gold.answers`. The best match counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from greval._util.wording import format_names, shorten_text
from greval.metrics.computed.containment import ComparisonBudget, TooLongToCompareError, find_match
from greval.metrics.computed.families import (
    JudgementsOrSkipped,
    MetricFamily,
    MetricSetting,
    build_judgement,
    build_share_scale,
    build_yes_no_scale,
)
from greval.metrics.computed.tokenisation import drop_articles, normalise_text, split_words
from greval.records.case import Case
from greval.records.metric import ComputedMetric
from greval.records.result import Skipped
from greval.records.scale import MeasureScale, Value, ValueScale

Compare = Callable[[str, str, MetricSetting, ComparisonBudget], tuple[Value, float, str]]
"""Compares an answer with an expected one and returns the value, a similarity to rank by, and the reason.

The budget is that of the case; what takes linear time spends nothing.
"""


def list_expected_answers(case: Case) -> tuple[str, ...] | Skipped:
    """List the expected answers, or return the reason why the case has no expected answer.

    Each line of `expected_answer` is an alternative. The joined lines are not an alternative, because an answer
    that names several alternatives equals none of them. An expected answer of several lines belongs in
    `gold.answers`.
    """
    lines, gold_answers = case.expected_answer, case.gold.answers if case.gold else None
    if lines is None and gold_answers is None:
        return Skipped(reason="expected_answer is not recorded")
    candidates = (*(lines or "").splitlines(), *(gold_answers or ()))
    distinct = dict.fromkeys(text.strip() for text in candidates if text.strip())
    return tuple(distinct) or Skipped(reason="expected_answer is empty")


def _normalise_words(text: str) -> list[str]:
    """Return the normalised words of a text; a text of punctuation only is split at spaces."""
    # Without the fallback, all texts that have no words would be equal.
    return [word.key for word in drop_articles(split_words(text))] or normalise_text(text).split()


def _compare_exactly(answer: str, right: str, *_: object) -> tuple[Value, float, str]:
    same = _normalise_words(answer) == _normalise_words(right)
    if same:
        return 1, 1.0, f'the answer is "{shorten_text(right)}"'
    # The similarity only chooses the expected answer that the reason names.
    return 0, token_f1(answer, right), f'the answer is "{shorten_text(answer)}", expected "{shorten_text(right)}"'


def token_f1(answer: str, right: str) -> float:
    """Return the token F1 of two texts: the harmonic mean of precision and recall of the shared words.

    The value is 2 * shared / (words of the answer + words of the expected text), with words counted as a multiset
    after normalisation and without articles. It is 0 if no word is shared.

    Example:
        >>> token_f1("the harbour office", "Harbour team")
        0.5
    """
    return float(_compare_tokens(answer, right)[0])


def _compare_tokens(answer: str, right: str, *_: object) -> tuple[Value, float, str]:
    answer_words, expected_words = Counter(_normalise_words(answer)), Counter(_normalise_words(right))
    shared, total = (answer_words & expected_words).total(), answer_words.total() + expected_words.total()
    value = 2 * shared / total if shared else 0.0
    counts = f"{shared:,} shared words, {answer_words.total():,} in the answer, {expected_words.total():,}"
    reason = f'{counts} in "{shorten_text(right)}"'
    missed = expected_words - answer_words
    return value, value, f"{reason}; missed: {format_names(missed.elements())}" if missed else reason


def _compare_containment(
    answer: str, right: str, setting: MetricSetting, budget: ComparisonBudget
) -> tuple[Value, float, str]:
    match = find_match(answer, right, float(setting.threshold), budget)
    # The expected text has no words, such as "?!", and is searched as it is.
    if match is None:
        contained = normalise_text(right).casefold() in normalise_text(answer).casefold()
        return (
            int(contained),
            float(contained),
            f'"{shorten_text(right)}" is {"" if contained else "not "}in the answer',
        )
    sought = f'"{shorten_text(match.sought)}"'
    if match.lacks:
        return 0, match.alike, f"{sought} is not in the answer; missing: {format_names(match.lacks)}"
    if not match.text:
        return 0, match.alike, f"{sought} is not in the answer"
    enough = match.alike >= float(setting.threshold)
    reason = f'"{shorten_text(match.text)}" is {match.alike:.2f} alike {sought}, {setting.threshold} is enough'
    return int(enough), match.alike, reason


def _build_family(
    name: str, compare: Compare, description: str, *, scale: MeasureScale | ValueScale, threshold: str = ""
) -> MetricFamily:

    def make(name: str, setting: MetricSetting) -> ComputedMetric:
        def compute(case: Case) -> JudgementsOrSkipped:
            rights, answer = list_expected_answers(case), case.answer
            if isinstance(rights, Skipped):
                return rights
            if answer is None:
                return Skipped(reason="answer is not recorded")
            if not answer.strip():
                return build_judgement(0, "the answer is empty")
            comparisons: list[tuple[Value, float, str]] = []
            budget = ComparisonBudget()
            try:
                comparisons.extend(compare(answer, right, setting, budget) for right in rights)
            except TooLongToCompareError as error:
                # What was not compared is not known to be missing.
                if not any(value for value, *_ in comparisons):
                    return Skipped(reason=str(error))
            value, _, reason = max(comparisons, key=lambda comparison: comparison[:2])
            return build_judgement(value, reason)

        return ComputedMetric(
            name=name,
            description=description.format(threshold=setting.threshold),
            needs=("answer",),
            optional=("expected_answer", "gold"),
            scale=scale,
            compute=compute,
        )

    return MetricFamily(name, make, at="threshold" if threshold else "", threshold=threshold)


FAMILIES = (
    _build_family(
        "exact_match",
        _compare_exactly,
        "Whether the answer is one of the expected ones, apart from case, punctuation, articles and the way "
        "numbers are written.",
        scale=build_yes_no_scale("The answer is an expected one.", "It is not."),
    ),
    _build_family(
        "token_f1",
        _compare_tokens,
        "How many words the answer shares with one of the expected ones: harmonic mean of precision and recall.",
        scale=build_share_scale(),
    ),
    _build_family(
        "fuzzy_containment",
        _compare_containment,
        "Whether an expected answer stands in the answer, its words at least {threshold} alike, its numbers and codes "
        "exactly.",
        scale=build_yes_no_scale("An expected answer stands in the answer.", "None does."),
        threshold="0.80",
    ),
)
"""The families of text metrics."""
