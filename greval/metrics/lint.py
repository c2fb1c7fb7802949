"""Lint rules for definitions that are valid but would give unreliable judgements or misleading figures.

Rules that look for words know English only. Definitions in other languages are checked by the other rules.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from greval.records.formula import Formula, FormulaFault, FormulaText
from greval.records.formula_metric import FormulaMetric
from greval.records.metric import JudgedMetric, Metric
from greval.records.scale import CategoricalScale, MeasureScale, Scale, ValueScale, find_number_range

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

# Orders to the judge begin a clause, unlike what an answer does.
_OUTSIDE = (
    r"(?:^|[.;:,] |\b(?:and|then|or) )(?:(?:search|browse) (?:the )?(?:web|internet|online)|google|fact-check"
    r"|look (?:(?:\w+ )?\w+ )?up\b(?! in (?:the|its|each)\b)|consult (?:an?|other|the (?:web|internet|author))"
    r"|(?:ask|contact) (?:an?|the) (?:\w+ )?(?:user|reader|author|expert)s?|(?:run|execute) (?:the|its|each) code"
    r"|(?:open|visit|click)(?: on)? (?:the|each|every) (?:link|url|website|page)s?)\b"
    r"|\b(?:against|with|than|from|using) (?:the (?:internet|web|real world)|wikipedia|google"
    r"|(?:external|trusted|reliable|official|other|online) (?:\w+ )?(?:sources?|references?|documents?))\b"
    r"|\btoday's date\b|\bthe current (?:date|year|time)\b|\bsurrounding (?:text|passage|chunk)s?\b"
    r"|\brest of the (?:document|article|book|file|page)\b|\busers?'?s? (?:feedback|satisfaction|ratings?)\b"
    r"|\b(?:system prompt|chain[- ]of[- ]thought|(?:retrieval|similarity|ranking) scores?)\b"
    r"|\b(?:model|system|retriever)'s (?:\w+ )?(?:confidence|intention|reasoning|knowledge|code|logs?)\b"
    r"|\bhow (?:(?:long|fast) the (?:system|model|retriever)|the (?:answer|chunk|context) was \w+ed)\b"
)
_TRUTH = (
    r"\bfactual(?:ly)? (?:accura\w+|correct\w*|true)\b|\btrue in (?:the (?:real )?world|reality)\b"
    r"|\b(?:facts|claims|statements|information) (?:is|are) (?:true|correct|accurate)\b"
)
_OTHER_CASES = (
    r"\b(?:against|with|than|among) (?:the |all |any )?(?:other|previous|earlier|alternative|best) "
    r"(?:\w+ )?(?:answers|responses|replies|outputs|systems?|models?|methods?|cases)\b"
)
_UNSEEN_THINGS: tuple[tuple[str, frozenset[str], str], ...] = (
    ("judge by what is in the case", frozenset(), _OUTSIDE),
    (
        "add what it is to be compared with to needs, such as expected_answer",
        frozenset({"expected_answer", "context", "chunks", "triples"}),
        _TRUTH,
    ),
    ("judge each case by itself", frozenset({"preference"}), _OTHER_CASES),
)
"""What to do instead, the needs with which the judge can do it (or `preference`), and a pattern of what asks for it."""

_TWO_IN_NAME = re.compile(r"(?<=[^\W_])[_.-]+(?:and|und)[_.-]+(?=[^\W_])", re.IGNORECASE)
_TWO_IN_TEXT = re.compile(
    r"\band also\b|\bas well as (?:whether|how|if)\b|\band (?:whether|how (?:well|far|much))\b", re.IGNORECASE
)
_NEGATIONS = ("not", "no", "none", "never", "nor", "nothing", "without", "neither", "cannot")
_OPPOSITES = ("true", "false", "right", "wrong", "good", "bad", "high", "low", "more", "less", "most", "least")
_AMOUNTS = ("all", "every", "many", "some", "few", "any", "one", "fully", "entirely", "mostly", "partly", "partially")
_DISTINGUISHING_WORDS = frozenset({*_NEGATIONS, *_OPPOSITES, *_AMOUNTS})
"""Words that distinguish two descriptions which are otherwise the same."""

_LIMITS = frozenset(
    {
        *_NEGATIONS,
        *("but", "although", "though", "however", "yet", "while", "whereas", "except", "despite", "instead", "rather"),
        *("than", "too", "only", "merely", "just", "overly", "another", "other", "different", "opposite", "against"),
        *("less", "least", "low", "fewer", "little", "hardly", "rarely"),
    }
)
"""Words that limit what is said, so that it is neither plain praise nor contained in a text without them."""
_OPPOSITE = re.compile(r"^(?:in|im|ir|il|un|non|dis)")
_PRAISE = (
    "(?:accurate|clear|complete|concise|correct|courteous|polite|respectful|helpful|relevant|precise|consistent"
    "|faithful|coherent|useful|thorough|readable|friendly|honest|appropriate|professional|logical|excellent|perfect"
    "|well|easy|easi|understandable|reliable|informative)(?:ly|ness)?"
)
_FLAW = re.compile(
    rf"{_OPPOSITE.pattern}{_PRAISE}|(?:lack|miss|fail|ignor|omit|contradict|invent|insult|refus|mislead|confus|distort"
    "|neglect|avoid|wrong|false|error|mistak|fault|flaw|vague|rude|ambiguous|poor|bad|offensive|harmful|empty|generic"
    r"|verbose|wordy|repetit|redundan|unrelated|unnecessary|hard|difficult|evasive|guess|flatter|jargon|stops)\w*"
)
MIN_CONTAINED_WORDS = 4
"""The fewest words of a description that is looked for in another one."""
MIN_LETTERS, MIN_REPEATED_SHARE = 4, 0.8
"""The letters of the words that are compared, and the share of a description's words that says the same."""
_OPEN_BOUND = re.compile(r"\b(at least|more than|at most|up to|fewer than|less than) \w+", re.IGNORECASE)
"""A number without its other end, which does not distinguish two descriptions: at least 2 and at least 3."""


def lint_metric(metric: Metric, dependencies: Iterable[Metric] = ()) -> list[str]:
    """Return the lint remarks on a definition; a metric that a function computes has none.

    A remark is not a fault. It is one sentence: the place, what is doubtful, what to do.

    Args:
        metric: The metric.
        dependencies: The metrics that it builds on; the scales of those that a formula reads.

    Example:
        >>> from greval.records.metric import CategoricalMetric
        >>> metric = CategoricalMetric(name="tone", description="Is it polite?", needs=["answer"], steps=["Read it."],
        ...                            categories={"Yes": {"means": "Courteous.", "score": 1}, "No": {"score": 0}})
        >>> lint_metric(metric)
        ['scale.categories.No: is not described; say when it applies and how it differs from its neighbours']
    """
    if isinstance(metric, FormulaMetric):
        return [*find_formula_remarks(metric, dependencies)]
    if not isinstance(metric, JudgedMetric):
        return []
    return [
        *_find_unseen_inputs(metric),
        *_find_unseen_things(metric),
        *_find_double_questions(metric),
        *(
            f"{location}: is not described; say when it applies and how it differs from its neighbours"
            for location, text in list_descriptions(metric)
            if not text.strip()
        ),
        *_find_overlapping_descriptions(metric),
        *_find_praised_worst(metric),
        *_find_unclear_direction(metric),
    ]


def find_formula_remarks(metric: FormulaMetric, dependencies: Iterable[Metric]) -> Iterator[str]:
    """Find the places at which a formula mixes numbers of different scales, of the metrics that are given."""
    scales = {dependency.name: dependency.scale for dependency in dependencies}
    names = ((name, metric.get_metric_name(name)) for name in metric.parsed.names)
    for fault in find_mixed_scales(metric.parsed, {name: scales[source] for name, source in names if source in scales}):
        yield f"formula: {fault}"


def _find_unseen_inputs(metric: JudgedMetric) -> Iterator[str]:
    """Find the inputs that a step or the instructions mention but the prompt does not contain."""
    for location, text in _list_rules(metric):
        for need, shown_by, cited in find_cited_inputs(text):
            if shown_by.isdisjoint(metric.needs):
                yield f"{location}: cites {cited[0]!r}, which the judge does not see; add {need} to needs, or reword it"


def _list_rules(metric: JudgedMetric) -> list[tuple[str, str]]:
    """List the steps and the instructions, each with its place."""
    return [*((f"steps.{n}", step) for n, step in enumerate(metric.steps, 1)), ("instructions", metric.instructions)]


def _find_unseen_things(metric: JudgedMetric) -> Iterator[str]:
    """Find the texts that ask for what no field of a case shows: the world, other answers, how a system works."""
    shown = {*metric.needs, *(["preference"] if metric.preference else [])}
    for location, text in (*_list_rules(metric), *list_descriptions(metric)):
        for advice, shown_by, words in _UNSEEN_THINGS:
            match = re.search(words, text, re.IGNORECASE)
            if not match or not shown_by.isdisjoint(shown):
                continue
            # A rule that forbids it is a good one.
            sentence = re.split(r"[.;!?] ", text[: match.start() + 1])[-1]
            if not {*_NEGATIONS, "ignore", "instead", "rather"}.intersection(_split_words(sentence)):
                cited = match[0].strip(" .;:,")
                yield f"{location}: relies on {cited!r}, which the judge does not see; {advice}"


def find_cited_inputs(text: str) -> Iterator[tuple[str, frozenset[str], re.Match[str]]]:
    """Find the inputs that a text cites: each with the needs that include it in the prompt, and its first mention.

    The answer is not looked for, because texts speak of answers in general.
    """
    for need, shown_by, words in _INPUT_MENTIONS:
        if cited := re.search(words, text, re.IGNORECASE):
            yield need, shown_by, cited


def _find_double_questions(metric: JudgedMetric) -> Iterator[str]:
    """Find the texts that seem to ask for two qualities at once."""
    advice = "make one metric of each, because a verdict does not show which one was meant"
    if _TWO_IN_NAME.search(metric.name):
        yield f"name: {metric.name!r} names two qualities; {advice}"
    for location, text in (("description", metric.description), *list_descriptions(metric)):
        if match := _TWO_IN_TEXT.search(text):
            yield f"{location}: {match[0]!r} joins two questions; {advice}"
        elif text.count("?") > 1:
            yield f"{location}: asks {text.count('?')} questions; {advice}"


def list_descriptions(metric: JudgedMetric) -> list[tuple[str, str]]:
    """List the descriptions of the scale, each with its place."""
    match metric.scale:
        case CategoricalScale(categories=categories):
            return [(f"scale.categories.{category.name}", category.means) for category in categories]
        case ValueScale(levels=levels):
            return [(f"scale.levels.{level}", text) for level, text in levels.items()]
        case _:
            return []


def _find_overlapping_descriptions(metric: JudgedMetric) -> Iterator[str]:
    """Find the categories or levels that do not exclude each other.

    Their descriptions are nearly equal, or one holds whenever the other does, and no distinguishing word separates
    them. Those of a preference differ by which response is meant.
    """
    if metric.preference:
        return
    # Imported on first use: only scales with descriptions are compared.
    from rapidfuzz import fuzz

    advice = "make one category of both" if isinstance(metric.scale, CategoricalScale) else "describe only one of them"
    texts = [
        (location, frozenset(tokens), " ".join(sorted(tokens)))
        for location, text in list_descriptions(metric)
        if (tokens := _split_words(_OPEN_BOUND.sub(r"\1", text)))
    ]
    for (first_location, first_words, first), (location, words, text) in combinations(texts, 2):
        if _has_distinguishing_word(first_words, words):
            continue
        first_name, name = (place.split(".", 2)[2] for place in (first_location, location))
        # Sorted words, so that the same ones in another order are found too.
        if fuzz.ratio(first, text, score_cutoff=MIN_SIMILARITY):
            yield (
                f"{location}: reads nearly like {first_name!r}; "
                f"say what is in the one and not in the other, or {advice}"
            )
        elif min(len(first_words), len(words)) >= MIN_CONTAINED_WORDS and _LIMITS.isdisjoint(first_words ^ words):
            if first_words < words:
                yield f"{location}: includes all of {first_name!r}; say there what it lacks, such as 'but no ...'"
            elif words < first_words:
                yield f"{first_location}: includes all of {name!r}; say there what it lacks, such as 'but no ...'"
    for location, middle, _ in texts[1:-1]:
        best, worst = texts[0][1], texts[-1][1]
        if min(len(best), len(worst)) >= MIN_CONTAINED_WORDS and best | worst <= middle:
            yield f"{location}: says all that both ends say; say which flaw it has, or which merit"


def _split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _has_distinguishing_word(first_words: frozenset[str], second_words: frozenset[str]) -> bool:
    """Return whether a number, a negation or an opposite occurs in only one of two texts."""
    different = first_words ^ second_words
    return any(
        word in _DISTINGUISHING_WORDS
        or word.isdecimal()
        or (_OPPOSITE.match(word) and _OPPOSITE.sub("", word) in different)
        for word in different
    )


def _find_praised_worst(metric: JudgedMetric) -> Iterator[str]:
    """Find a worst level or category that describes good behaviour, or what the metric asks for."""
    numbers: list[float] = []
    match metric.scale:
        case ValueScale(levels=levels, better=better):
            numbers = [level if better == "higher" else -level for level in levels]
        case CategoricalScale(categories=categories) if not metric.preference:
            numbers = [category.score for category in categories if category.score is not None]
    texts = list_descriptions(metric)
    if len(numbers) < max(len(texts), 2):
        return
    best, (location, worst) = texts[numbers.index(max(numbers))][1], texts[numbers.index(min(numbers))]
    best_words, words, asked = (
        {word for word in _split_words(text) if len(word) >= MIN_LETTERS}
        for text in (best, worst, metric.description.partition(" ")[2])
    )
    # The best of a metric that asks for the lack of something denies it.
    is_asked = len(asked & words) >= max(MIN_REPEATED_SHARE * len(asked), 3) and not _is_limited(best)
    is_praised = is_asked or any(re.fullmatch(_PRAISE, word) for word in _split_words(worst))
    # That both read alike has its own remark.
    if is_praised and words != best_words and not _is_limited(worst):
        yield f"{location}: is the worst, but describes what is good; say what is missing or wrong"


def _is_limited(text: str) -> bool:
    """Return whether a word of a text denies, limits or blames."""
    return any(word in _LIMITS or _FLAW.fullmatch(word) for word in _split_words(text))


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


class OperandScale(NamedTuple):
    """The ends of the scale of a part of a formula, and its text without a weight; `high` is None without an end."""

    low: float
    high: float | None
    unit: str
    text: str

    @property
    def is_share(self) -> bool:
        """True if the numbers are from 0 to 1."""
        return (self.low, self.high) == (0, 1)

    def equals(self, operand: OperandScale) -> bool:
        """Return whether the numbers of both parts are on the same scale."""
        return self[:3] == operand[:3]


def find_mixed_scales(formula: Formula, scales: Mapping[str, Scale]) -> tuple[FormulaFault, ...]:
    """Find the parts of a formula that add, average or compare numbers of different scales.

    A factor that is a number is a weight and leaves a scale as it is. What is divided by a number, or has a number
    added to it, counts as converted: its scale is not known, and nothing is found.

    Args:
        formula: The formula, without faults.
        scales: The scales of the metrics by their names in the formula; unknown ones are left out.

    Example:
        >>> from greval.records.formula import read_formula
        >>> scales = {"right": MeasureScale(high=1), "depth": MeasureScale(low=1, high=5)}
        >>> for fault in find_mixed_scales(read_formula("0.5 * right + 0.5 * depth"), scales):
        ...     print(fault)
        column 1: mixes right (0 to 1) with depth (1 to 5); write scaled(depth, 1, 5)
        >>> find_mixed_scales(read_formula("0.5 * right + 0.5 * scaled(depth, 1, 5)"), scales)
        ()
    """
    finder = _ScaleFinder(FormulaText(formula.text), scales)
    finder.find_scale(finder.formula.parse())
    return tuple(sorted(finder.faults))


class _ScaleFinder:
    """Finds the scale of each part of a formula, and keeps the parts that mix several."""

    def __init__(self, formula: FormulaText, scales: Mapping[str, Scale]) -> None:
        self.formula = formula
        self._scales = scales
        self.faults: list[FormulaFault] = []

    def find_scale(self, node: ast.expr) -> OperandScale | None:  # noqa: C901, PLR0911 - a part each
        """Return the scale of a part, None if it is a number or its scale is not known."""
        match node:
            case ast.Name(id=name):
                return self._find_metric_scale(name)
            case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right):
                return self._join(node, [left, right])
            case ast.BinOp(left=left, op=op, right=right):
                return self._find_product_scale(left, op, right)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.find_scale(test)
                return self._join(node, [part for part in (body, orelse) if not _is_number(part)])
            case ast.Call(func=ast.Name(id="mean" | "min" | "max"), args=args):
                return self._join(node, args)
            case ast.Compare(left=left, comparators=comparators):
                self._join(node, [left, *comparators])
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.find_scale(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self.find_scale(operand)
                return None
            case ast.Constant():
                return None
            case _:
                for part in ast.iter_child_nodes(node):
                    if isinstance(part, ast.expr) and not _is_number(part):
                        self.find_scale(part)
        # A condition, or scaled(...).
        return OperandScale(0, 1, "", self.formula.show(node))

    def _find_metric_scale(self, name: str) -> OperandScale | None:
        scale = self._scales.get(name)
        numbers = find_number_range(scale) if scale else None
        if numbers is None:
            return None
        unit = scale.unit if isinstance(scale, MeasureScale) and numbers.high is None else ""
        return OperandScale(numbers.low, numbers.high, unit, name)

    def _find_product_scale(self, left: ast.expr, op: ast.operator, right: ast.expr) -> OperandScale | None:
        """Return the scale of a part with a weight, or of a sum that is divided by the weights."""
        scales = self.find_scale(left), self.find_scale(right)
        if isinstance(op, ast.Mult):
            if _is_number(left):
                return scales[1]
            return scales[0] if _is_number(right) else None
        is_sum = isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add)
        return scales[0] if is_sum and _is_number(right) else None

    def _join(self, node: ast.expr, parts: Sequence[ast.expr]) -> OperandScale | None:
        """Return the common scale of parts, and keep a fault if there are several."""
        scales = [scale for part in parts if (scale := self.find_scale(part))]
        different = next((scale for scale in scales if not scale.equals(scales[0])), None)
        if different is not None:
            self.faults.append(FormulaFault(self.formula.find_column(node), _describe_mix(scales[0], different)))
            return None
        if not scales or len(scales) < len(parts):
            return None
        return scales[0]._replace(text=self.formula.show(node))


def _is_number(node: ast.expr) -> bool:
    """Return whether a part reads no metric."""
    return not any(isinstance(part, ast.Name) for part in ast.walk(node))


def _describe_mix(first: OperandScale, second: OperandScale) -> str:
    advice = " and ".join(_format_scaled(scale) for scale in (first, second) if not scale.is_share)
    return f"mixes {_describe_scale(first)} with {_describe_scale(second)}; write {advice}"


def _describe_scale(scale: OperandScale) -> str:
    ends = f"{scale.low:g} and more" if scale.high is None else f"{scale.low:g} to {scale.high:g}"
    return f"{scale.text} ({' '.join(filter(None, (ends, scale.unit)))})"


def _format_scaled(scale: OperandScale) -> str:
    if scale.high is None:
        return f"scaled({scale.text}, A, B) with the numbers A and B that count as 0 and as 1"
    return f"scaled({scale.text}, {scale.low:g}, {scale.high:g})"
