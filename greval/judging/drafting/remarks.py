"""Remarks on a draft: those of the lint, and what writers do wrong that people do not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from greval.judging.drafting.brief import DraftBrief
from greval.metrics.lint import lint_metric, list_descriptions
from greval.records.metric import JudgedMetric

MAX_TEXT_CHARS = 300
MAX_TEXT_WORDS = 40
"""The most characters of a text of a draft, and the most words that a writer is asked for, which are fewer."""

_MENTIONS = {
    "answer": r"answers?|repl(?:y|ies)|responses?",
    "chunk": r"chunks?|passages?|texts?",
    "triple": r"triples?|facts?|statements?",
    "claim": r"claims?|statements?",
    "walk": r"walks?|traversals?|paths?",
    "context": r"context|chunks?|passages?|triples?|sources?",
    "question": r"questions?",
}
"""The words, besides `it`, by which a description can mention the judged thing."""
_METRIC = re.compile(r"\b(?:metrics?|criteri(?:on|a))\b", re.IGNORECASE)


def find_draft_remarks(brief: DraftBrief, metric: JudgedMetric) -> list[str]:
    """Find what is doubtful in a draft: remarks of `lint_metric`, cut or long texts, descriptions of other things."""
    return [*lint_metric(metric), *_find_unfinished_texts(metric), *_find_strange_descriptions(brief, metric)]


def select_writer_remarks(remarks: list[str]) -> list[str]:
    """Select the remarks that a writer can act on: those on the name and the description are the caller's."""
    return [remark for remark in remarks if not remark.startswith(("name:", "description:"))]


def _find_unfinished_texts(metric: JudgedMetric) -> Iterator[str]:
    """Find the texts that stop in the middle of a sentence, or are so long that they may have been cut."""
    steps = [(f"steps.{number}", step) for number, step in enumerate(metric.steps, 1)]
    for path, text in (*list_descriptions(metric), *steps, ("instructions", metric.instructions)):
        if len(text) > MAX_TEXT_CHARS:
            yield f"{path}: has {len(text)} characters; say it in at most {MAX_TEXT_WORDS} words"
        elif text.strip() and not _ends_sentence(text.strip()):
            yield f"{path}: does not end as a sentence; write whole sentences"


def _ends_sentence(text: str) -> bool:
    """Return whether a text ends with a punctuation mark of any script, a bracket or a quotation mark."""
    return unicodedata.category(text[-1]) in {"Po", "Pe", "Pf"} and not text.endswith((",", ";", ":"))


def _find_strange_descriptions(brief: DraftBrief, metric: JudgedMetric) -> Iterator[str]:
    """Find the descriptions of levels that do not mention the judged thing, if the metric's description cites it."""
    if brief.judged_field is None:
        return
    is_about_metrics = _METRIC.search(brief.description)
    mention = re.compile(rf"\b(?:it|its|{_MENTIONS[brief.thing]})\b", re.IGNORECASE)
    for path, text in list_descriptions(metric):
        if _METRIC.search(text) and not is_about_metrics:
            yield f"{path}: speaks of the metric; say what the {brief.thing} is like, which a judge can see"
        elif text.strip() and not mention.search(text):
            yield f"{path}: does not say what the {brief.thing} is like; begin with 'The {brief.thing}'"
