"""Lint rules for definitions that are valid but would give unreliable judgements or misleading figures.

Rules that look for words know English only. Definitions in other languages are checked by the other rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations

from greval.metrics.formula_scales import find_mixed_scales
from greval.records.formula_metric import FormulaMetric
from greval.records.metric import JudgedMetric, Metric
from greval.records.scale import CategoricalScale, ValueScale

MIN_SIMILARITY = 88
"""Similarity, of 100, from which the words of two descriptions are likely to be confused by a judge."""

_INPUT_MENTIONS: tuple[tuple[str, frozenset[str], str], ...] = (
    ("question", frozenset({"question"}), r"\bthe (?:user'?s? )?questions?\b|\bwhat (?:is|was) asked\b"),
    (
        "expected_answer",
        frozenset({"expected_answer"}),
        r"expected answers?|reference answers?|the reference\b|ground[- ]truth|gold(?:en)? answers?",
    ),
    ("chunks", frozenset({"chunks", "context"}), r"\bchunks?\b|\bpassages?\b"),
    ("triples", frozenset({"triples", "context"}), r"\btriples?\b"),
    ("context", frozenset({"chunks", "triples", "context"}), r"\b(?:the|retrieved|given|provided) context\b"),
    ("traversal", frozenset({"traversal"}), r"\btraversals?\b|\btraversed\b|\bthe (?:graph )?walks?\b"),
)
"""An input, the needs that include it in the prompt, and a pattern of the words that mention it."""

_TWO_IN_NAME = re.compile(r"(?<=[^\W_])[_.-]+(?:and|und)[_.-]+(?=[^\W_])", re.IGNORECASE)
_TWO_IN_TEXT = re.compile(
    r"\band also\b|\bas well as (?:whether|how|if)\b|\band (?:whether|how (?:well|far|much))\b", re.IGNORECASE
)
_NEGATIONS = ("not", "no", "none", "never", "nor", "nothing", "without", "neither", "cannot")
_OPPOSITES = ("true", "false", "right", "wrong", "good", "bad", "high", "low", "more", "less", "most", "least")
_AMOUNTS = ("all", "every", "many", "some", "few", "any", "one", "fully", "entirely", "mostly", "partly", "partially")
_DISTINGUISHING_WORDS = frozenset({*_NEGATIONS, *_OPPOSITES, *_AMOUNTS})
"""Words that distinguish two descriptions which are otherwise the same."""

_OPPOSITE = re.compile(r"^(?:in|im|ir|un|non|dis)")


def lint_metric(metric: Metric, others: Iterable[Metric] = ()) -> list[str]:
    """Return the lint remarks on a definition; a metric that a function computes has none.

    A remark is not a fault. It is one sentence: the place, what is doubtful, what to do.

    Args:
        metric: The metric.
        others: The metrics that it builds on; the scales of those that a formula reads.

    Example:
        >>> from greval.records.metric import CategoricalMetric
        >>> metric = CategoricalMetric(name="tone", description="Is it polite?", needs=["answer"], steps=["Read it."],
        ...                            categories={"Yes": {"means": "Courteous.", "score": 1}, "No": {"score": 0}})
        >>> lint_metric(metric)
        ['scale.categories.No: is not described; say when it applies and how it differs from its neighbours']
    """
    if isinstance(metric, FormulaMetric):
        return [*find_formula_remarks(metric, others)]
    if not isinstance(metric, JudgedMetric):
        return []
    return [
        *_find_unseen_inputs(metric),
        *_find_double_questions(metric),
        *_find_missing_descriptions(metric),
        *_find_similar_descriptions(metric),
        *_find_unclear_direction(metric),
    ]


def find_formula_remarks(metric: FormulaMetric, others: Iterable[Metric]) -> Iterator[str]:
    """Find the places at which a formula mixes numbers of different scales, of the metrics that are given."""
    known = {one.name: one.scale for one in others}
    names = ((name, metric.get_metric_name(name)) for name in metric.parsed.names)
    for fault in find_mixed_scales(metric.parsed, {name: known[source] for name, source in names if source in known}):
        yield f"formula: {fault}"


def _find_unseen_inputs(metric: JudgedMetric) -> Iterator[str]:
    """Find the inputs that a step or the instructions mention but the prompt does not contain."""
    texts = [*((f"steps.{n}", step) for n, step in enumerate(metric.steps, 1)), ("instructions", metric.instructions)]
    for place, text in texts:
        for need, shown_by, cited in find_cited_inputs(text):
            if shown_by.isdisjoint(metric.needs):
                yield f"{place}: cites {cited[0]!r}, which the judge does not see; add {need} to needs, or reword it"


def find_cited_inputs(text: str) -> Iterator[tuple[str, frozenset[str], re.Match[str]]]:
    """Find the inputs that a text cites: each with the needs that include it in the prompt, and its first mention.

    The answer is not looked for, because texts speak of answers in general.

    Example:
        >>> [(need, cited[0]) for need, _, cited in find_cited_inputs("Compare it with the expected answer.")]
        [('expected_answer', 'expected answer')]
    """
    for need, shown_by, words in _INPUT_MENTIONS:
        if cited := re.search(words, text, re.IGNORECASE):
            yield need, shown_by, cited


def _find_double_questions(metric: JudgedMetric) -> Iterator[str]:
    """Find the texts that seem to ask for two qualities at once."""
    advice = "make one metric of each, because a verdict does not show which one was meant"
    if _TWO_IN_NAME.search(metric.name):
        yield f"name: {metric.name!r} names two qualities; {advice}"
    for place, text in (("description", metric.description), *list_descriptions(metric)):
        if found := _TWO_IN_TEXT.search(text):
            yield f"{place}: {found[0]!r} joins two questions; {advice}"
        elif text.count("?") > 1:
            yield f"{place}: asks {text.count('?')} questions; {advice}"


def list_descriptions(metric: JudgedMetric) -> list[tuple[str, str]]:
    """List the descriptions of the scale, each with its place."""
    match metric.scale:
        case CategoricalScale(categories=categories):
            return [(f"scale.categories.{category.name}", category.means) for category in categories]
        case ValueScale(levels=levels):
            return [(f"scale.levels.{level}", text) for level, text in levels.items()]
        case _:
            return []


def _find_missing_descriptions(metric: JudgedMetric) -> Iterator[str]:
    for place, text in list_descriptions(metric):
        if not text.strip():
            yield f"{place}: is not described; say when it applies and how it differs from its neighbours"


def _find_similar_descriptions(metric: JudgedMetric) -> Iterator[str]:
    """Find the categories or levels with nearly equal descriptions that no distinguishing word separates.

    Those of a preference differ by which response is meant.
    """
    if metric.preference:
        return
    from rapidfuzz import fuzz

    advice = "make one category of both" if isinstance(metric.scale, CategoricalScale) else "describe only one of them"
    words = [(place, re.findall(r"\w+", text.casefold())) for place, text in list_descriptions(metric)]
    texts = [(place, frozenset(found), " ".join(sorted(found))) for place, found in words if found]
    for (one, ones, text), (other, others, other_text) in combinations(texts, 2):
        if not _has_distinguishing_word(ones, others) and fuzz.ratio(text, other_text, score_cutoff=MIN_SIMILARITY):
            yield (
                f"{other}: reads nearly like {_name_place(one)!r}; "
                f"say what is in the one and not in the other, or {advice}"
            )


def _name_place(place: str) -> str:
    """Return the category or the level of a place such as `scale.levels.3`."""
    return place.split(".", 2)[2]


def _has_distinguishing_word(ones: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether a number, a negation or an opposite occurs in only one of two texts."""
    different = ones ^ others
    return any(
        word in _DISTINGUISHING_WORDS
        or word.isdecimal()
        or (_OPPOSITE.match(word) and _OPPOSITE.sub("", word) in different)
        for word in different
    )


def _find_unclear_direction(metric: JudgedMetric) -> Iterator[str]:
    """Find a scale without a stated direction, or with scores missing so that a mean is undefined or partial."""
    scale = metric.scale
    if isinstance(scale, ValueScale):
        if "better" not in scale.model_fields_set:
            yield "scale: does not say which end is the good one; add better: higher (or lower)"
    elif isinstance(scale, CategoricalScale) and scale.ordered:
        bare = [category.name for category in scale.categories if category.score is None]
        if len(bare) == len(scale.categories):
            yield "scale.categories: have no scores, so there will be no mean; add scores, or set ordered: false"
        elif bare:
            yield f"scale.categories: {', '.join(bare)} without a score, so no mean counts them; add a score to each"
