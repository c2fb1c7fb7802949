"""Cheap numbers of a judged item, by which the choice of the embedded model is calibrated.

Each is from -1 to 1, most are shares, and each reads only texts that its metric shows to a judge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import log
from statistics import fmean
from typing import Literal

from greval.metrics.computed.shared_words import list_content_words, share_words
from greval.metrics.computed.text import list_expected_answers
from greval.metrics.computed.tokenisation import split_words
from greval.records.case import Case
from greval.records.metric_input import Item, get_item_texts
from greval.records.result import Skipped

FeatureName = Literal[
    "expected words in answer",
    "triple words in question",
    "rare question words",
    "rare question words above mean",
    "named by question",
]
OPENING = re.compile(r"[^.,;:(\n]{1,60}")
"""The opening of a passage, which often names what it is about."""


def _measure_expected_words(case: Case, _: Item | None) -> float:
    """Return the share of an expected answer's words that the answer has; of several ones the best counts."""
    expected = list_expected_answers(case)
    texts = () if isinstance(expected, Skipped) else expected
    return max((share_words(text, case.answer or "") or 0.0 for text in texts), default=0.0)


def _measure_words_in_question(case: Case, item: Item | None) -> float:
    return share_words(_join_texts(item), case.question) or 0.0


def _measure_rare_words(case: Case, item: Item | None) -> float:
    return _weigh_question_words(case.question, _list_chunk_texts(case)).get(_join_texts(item), 0.0)


def _measure_rare_words_above_mean(case: Case, item: Item | None) -> float:
    shares = _weigh_question_words(case.question, _list_chunk_texts(case))
    return shares.get(_join_texts(item), 0.0) - fmean(shares.values() or (0.0,))


def _measure_naming(case: Case, item: Item | None) -> float:
    return _weigh_openings(case.question, _list_chunk_texts(case)).get(_join_texts(item), 0.0)


def _join_texts(item: Item | None) -> str:
    return " ".join(get_item_texts(item)) if item else ""


def _list_chunk_texts(case: Case) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_join_texts, case.chunks or ())))


# the chunks of a case are measured one after the other
@lru_cache(maxsize=8)
def _weigh_question_words(question: str, texts: tuple[str, ...]) -> Mapping[str, float]:
    """Return the share of the question's content words in each text; words that few of the texts have weigh more."""
    sought = list_content_words(question)
    words = {text: sought & _list_words(text) for text in texts}
    counts = Counter(word for shared in words.values() for word in shared)
    weights = {word: log((len(texts) + 1) / max(1, counts[word])) for word in sought}
    total = sum(weights.values()) or 1.0
    return {text: sum(weights[word] for word in shared) / total for text, shared in words.items()}


@lru_cache(maxsize=8)
def _weigh_openings(question: str, texts: tuple[str, ...]) -> Mapping[str, float]:
    """Return the share of each text's opening in the question, or in another text whose own opening is in it.

    A text that the question does not name may be the second step of its answer.
    """
    words = {text: _list_words(text) for text in texts}
    openings = {text: list_content_words(match[0]) for text in texts if (match := OPENING.match(text))}
    asked = _list_words(question)
    named = {text: len(names & asked) / max(1, len(names)) for text, names in openings.items()}
    linked = {}
    for text, names in openings.items():
        others = (named[other] * len(names & words[other]) for other in openings if other != text)
        linked[text] = max(others, default=0.0) / max(1, len(names))
    return {text: max(named[text], linked[text]) for text in openings}


def _list_words(text: str) -> frozenset[str]:
    return frozenset(word.key for word in split_words(text))


FEATURES: Mapping[FeatureName, Callable[[Case, Item | None], float]] = {
    "expected words in answer": _measure_expected_words,
    "triple words in question": _measure_words_in_question,
    "rare question words": _measure_rare_words,
    "rare question words above mean": _measure_rare_words_above_mean,
    "named by question": _measure_naming,
}
"""Every feature: a function of a case and of the item, which is None for the case as a whole."""
