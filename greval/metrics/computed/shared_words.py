"""Metrics of shared words, without a model: the share of one text's content words that another text has too.

They are the rules of one line that a judge has to beat. With a threshold, as in `chunk_words@0.40`, they decide.
"""

from __future__ import annotations

from itertools import product
from typing import Any, Literal, NamedTuple

from greval.metrics.computed.families import (
    JudgementsOrSkipped,
    MetricFamily,
    MetricSetting,
    build_share_scale,
    build_yes_no_scale,
)
from greval.metrics.computed.text import list_expected_answers
from greval.metrics.computed.tokenisation import split_words
from greval.records.case import Case, Need, Over, read_need
from greval.records.metric import ComputedMetric
from greval.records.metric_input import Item, get_item_texts, list_judged_items
from greval.records.result import Judgement, Skipped

STOP_WORDS = frozenset(
    word
    for line in (
        "a about after all also an and any are as at be because been before but by can could did do does each for from",
        "had has have he her his how i if in into is it its many me more most much my no not of on one or our she so",
        "some such than that the their them there these they this those to under up was we were what when where which",
        "while who whom whose why will with would you your",
    )
    for word in line.split()
)
"""Words without content of their own, and question words."""

TextSide = Literal["question", "answer", "expected answer", "context", "chunk", "triple", "claim", "expected claim"]


class WordRule(NamedTuple):
    """A rule: the words of the text `sought` are looked for in the text `searched`; of several texts the best counts.

    `reads` are the fields that it needs besides the question and the items. `option` is that of the metric's name.
    """

    family: str
    over: Over | None
    sought: TextSide
    searched: TextSide
    reads: tuple[Need, ...] = ()
    option: str = ""

    @property
    def name(self) -> str:
        """The name of the metric without a threshold."""
        return f"{self.family}-{self.option}" if self.option else self.family

    @property
    def phrase(self) -> str:
        """Return what is compared, as a phrase."""
        return f"words of the {self.sought} in the {self.searched}"


WORD_RULES = (
    WordRule("answer_words", None, "expected answer", "answer", ("answer", "expected_answer", "gold")),
    WordRule("answer_words", None, "answer", "context", ("answer", "context"), "context"),
    WordRule("context_words", None, "question", "context", ("context",)),
    WordRule("chunk_words", "chunks", "question", "chunk"),
    WordRule("triple_words", "triples", "question", "triple"),
    WordRule("claim_words", "claims", "claim", "context", ("context",)),
    WordRule("claim_words", "claims", "claim", "expected answer", ("expected_answer", "gold"), "expected"),
    WordRule("expected_claim_words", "expected_claims", "expected claim", "context", ("context",)),
    WordRule("expected_claim_words", "expected_claims", "expected claim", "answer", ("answer",), "answer"),
)
"""Every rule of shared words, the first that fits a kind of item first."""


def list_content_words(text: str) -> frozenset[str]:
    """Return the distinct content words of a text, normalised; all words if it has none with content.

    Example:
        >>> sorted(list_content_words("What is the height of the Eiffel Tower?"))
        ['eiffel', 'height', 'tower']
    """
    words = frozenset(word.key for word in split_words(text))
    return words - STOP_WORDS or words


def share_words(sought: str, searched: str) -> float | None:
    """Return the share of the content words of a text that another text has too; None if it has no words.

    Example:
        >>> share_words("Ada Lovelace", "Lovelace wrote it in 1843.")
        0.5
    """
    words = list_content_words(sought)
    # all words of the other text count, because a text such as "The Who" has none with content
    return len(words & {word.key for word in split_words(searched)}) / len(words) if words else None


def _read_texts(case: Case, side: TextSide, item: Item | None) -> tuple[str, ...]:
    """Return the texts of one side of a rule, of which each is an alternative; empty if none is recorded."""
    match side:
        case "question":
            return (case.question,)
        case "answer":
            return () if case.answer is None else (case.answer,)
        case "expected answer":
            answers = list_expected_answers(case)
            return () if isinstance(answers, Skipped) else answers
        case "context":
            parts: Any = read_need(case, "context")
            texts = [part if isinstance(part, str) else " ".join(get_item_texts(part)) for part in parts or ()]
            return (" ".join(texts),) if texts else ()
        case _:
            # a chunk of which only the id is recorded has no text
            return () if item is None or getattr(item, "text", "") is None else (" ".join(get_item_texts(item)),)


def _build_metric(rule: WordRule, name: str, threshold: str) -> ComputedMetric:
    """Build the metric of a rule, which decides if it has a threshold."""

    def judge(case: Case, item: Item | None) -> Judgement | None:
        sides = (_read_texts(case, rule.sought, item), _read_texts(case, rule.searched, item))
        shares = [share for sought, searched in product(*sides) if (share := share_words(sought, searched)) is not None]
        if not shares:
            return None
        value = int(max(shares) >= float(threshold)) if threshold else max(shares)
        reason = f"{max(shares):.2f} of the {rule.phrase}"
        return Judgement(value=value, number=float(value), reason=reason, item=item.id if item else None)

    def compute(case: Case) -> JudgementsOrSkipped:
        judgements = (judge(case, item) for item in (list_judged_items(metric, case) if rule.over else (None,)))
        missing = Skipped(reason=f"the {rule.sought} or the {rule.searched} has no words")
        return tuple(filter(None, judgements)) or missing

    at_least = f"Whether at least {threshold} of" if threshold else "The share of"
    metric = ComputedMetric(
        name=name,
        description=f"{at_least} the content {rule.phrase}.",
        over=rule.over,
        needs=(rule.over,) if rule.over else (),
        optional=("question", *rule.reads),
        scale=build_yes_no_scale("Enough words are shared.", "Too few are.") if threshold else build_share_scale(),
        compute=compute,
    )
    return metric


def _build_family(name: str) -> MetricFamily:
    rules = {rule.option: rule for rule in WORD_RULES if rule.family == name}

    def make(name: str, setting: MetricSetting) -> ComputedMetric:
        return _build_metric(rules[next(iter(setting.options), "")], name, setting.threshold)

    return MetricFamily(name, make, at="threshold", options=tuple(filter(None, rules)))


FAMILIES = tuple(_build_family(name) for name in dict.fromkeys(rule.family for rule in WORD_RULES))
"""The families of shared words."""
