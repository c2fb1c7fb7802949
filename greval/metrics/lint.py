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

OTHER_CASES_ADVICE = "judge each case by itself"
"""What to do instead of comparing answers, unless the metric is a preference."""

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

_ORDER = r"(?:(?:^|[.;:,] |\b(?:and|then|or) )(?:{}))"
"""What a judge must do, unlike what an answer does."""
_BY = r"\b(?:against|with|than|using|across|among|like) (?:the |all |any |some |several )?"
_OUTSIDE = r"external|outside|independent|trusted|reliable|authoritative|official|reputable|other|online"
_EARLIER = "other|previous|earlier|alternative|competing|remaining|best"
_INTERNALS = (
    "confidence|intentions?|reasoning|knowledge|weights|settings?|configuration|code|logs?|memory|training data"
)
_UNSEEN_THINGS: tuple[tuple[str, frozenset[str], re.Pattern[str]], ...] = tuple(
    (advice, frozenset(shown_by), re.compile(rf"(?:{'|'.join(words)})\b", re.IGNORECASE))
    for advice, shown_by, words in (
        (
            "judge by what is in the case",
            (),
            (
                _ORDER.format(r"(?:search|browse) (?:the )?(?:web|internet|online)|google|fact-check"),
                _ORDER.format(r"look (?:(?:\w+ )?\w+ )?up\b(?! in (?:the|its|each)\b)"),
                _ORDER.format(r"consult (?:an?|other|the (?:documentation|manual|author|web|internet))"),
                _ORDER.format(r"(?:ask|contact) (?:an?|the|other|some) (?:\w+ )?(?:users?|readers?|authors?|experts?)"),
                _ORDER.format(r"(?:open|visit|click)(?: on)? (?:the|each|every|any) (?:links?|urls?|websites?|pages?)"),
                _ORDER.format(r"(?:run|execute|compile) (?:the|its|each|every) (?:\w+ )?(?:code|commands?|scripts?)"),
                rf"{_BY}(?:{_OUTSIDE}) (?:\w+ )?(?:sources?|references?|websites?|databases?|documents?|data|experts)",
                r"\b(?:against|with|on|from|using) (?:the (?:internet|web|real world)|wikipedia|google)",
                r"\b(?:than|with|to|and|from|before|after) (?:today's date|the current (?:date|year|time))",
            ),
        ),
        (
            "add what it is to be compared with to needs, such as expected_answer",
            ("expected_answer", "context", "chunks", "triples"),
            (
                r"\bfactual(?:ly)? (?:accura\w+|correct\w*|true)|\btrue in (?:the (?:real )?world|reality)",
                r"\b(?:facts|claims|statements|information) (?:is|are) (?:factually )?(?:true|correct|accurate)",
            ),
        ),
        (
            OTHER_CASES_ADVICE,
            (),
            (rf"{_BY}(?:{_EARLIER}) (?:\w+ )?(?:answers|responses|replies|outputs|systems?|models?|methods?|cases)",),
        ),
        (
            "judge what was answered or retrieved, not how",
            (),
            (
                r"\b(?:system prompt|chain[- ]of[- ]thought|log-?probability|training data of the \w+)",
                r"\b(?:retrieval|retriever|similarity|ranking|reranker) scores?|\bembeddings? of the \w+",
                rf"\b(?:model|system|retriever|generator|pipeline)'s (?:\w+ )?(?:{_INTERNALS})",
                r"\bhow (?:long|fast) the (?:system|model|retriever|retrieval) \w+",
                r"\b(?:latency|response time|speed|cost) of the (?:system|model|retriever|response|answer|retrieval)",
                r"\bhow the (?:answer|response|chunks?|context) (?:was|were) (?:generated|retrieved|produced|ranked)",
                r"\busers?'?s? (?:feedback|satisfaction|reactions?|profiles?|clicks|ratings?)",
            ),
        ),
        (
            "judge the text by its own words",
            (),
            (
                r"\b(?:rest|remainder) of the (?:document|article|book|file|page|source)",
                r"\bsurrounding (?:texts?|paragraphs?|passages?|chunks?)|\bthe text (?:around|before|after) it",
            ),
        ),
    )
)
"""What to do instead, the needs with which the judge can do it, and the words that ask for it."""

_TWO_IN_NAME = re.compile(r"(?<=[^\W_])[_.-]+(?:and|und)[_.-]+(?=[^\W_])", re.IGNORECASE)
_TWO_IN_TEXT = re.compile(
    r"\band also\b|\bas well as (?:whether|how|if)\b|\band (?:whether|how (?:well|far|much))\b", re.IGNORECASE
)
_NEGATIONS = ("not", "no", "none", "never", "nor", "nothing", "without", "neither", "cannot")
_OPPOSITES = ("true", "false", "right", "wrong", "good", "bad", "high", "low", "more", "less", "most", "least")
_AMOUNTS = ("all", "every", "many", "some", "few", "any", "one", "fully", "entirely", "mostly", "partly", "partially")
_DISTINGUISHING_WORDS = frozenset({*_NEGATIONS, *_OPPOSITES, *_AMOUNTS})
"""Words that distinguish two descriptions which are otherwise the same."""

_CONTRASTS = (
    *("but", "although", "though", "however", "yet", "while", "whereas", "except", "despite", "instead", "rather"),
    *("than", "too", "only", "merely", "alone", "just", "overly", "excessively", "another", "other", "different"),
    *("differs", "opposite", "elsewhere", "against", "fewer", "little", "hardly", "barely", "rarely", "seldom"),
)
"""Words that limit what is said, so that it is neither plain praise nor contained in a text without them."""
_PRAISE = re.compile(
    r"(?:accurate|clear|complete|concise|correct|courteous|polite|respectful|helpful|relevant|precise|consistent"
    r"|faithful|coherent|useful|thorough|readable|friendly|honest|appropriate|professional|logical|excellent|perfect"
    r"|proper|well|easy|easi|understandable|accessible|reliable|trustworthy|informative)(?:ly|ness)?"
)
_FLAW = re.compile(
    r"(?:lack|miss|fail|ignor|omit|omission|contradict|invent|insult|refus|mislead|confus|distort|misstat|neglect|avoid"
    r"|wrong|false|error|mistak|fault|flaw|vague|rude|ambiguous|poor|bad|offensive|harmful|empty|nonsense|superficial"
    r"|generic|sloppy|awkward|verbose|wordy|repetit|redundan|unrelated|unnecessary|hard|difficult|evad|evasive|hedg"
    r"|guess|random|copies|calls|pretend|flatter|prais|advert|swear|mock|hostil|obscure|jargon|broken|cut|stops)\w*"
)
_FLAW_VERBS = (
    "fails|lacks|ignores|omits|misses|contradicts|invents|insults|refuses|misleads|confuses|distorts|misstates|neglects"
)
_FLAW_ADJECTIVES = (
    "wrong|false|vague|rude|ambiguous|poor|bad|offensive|harmful|empty|misleading|confusing|verbose|evasive|incorrect"
    "|inaccurate|irrelevant|unclear|incomplete|inconsistent|unhelpful|impolite|disrespectful|unprofessional|incoherent"
)
_FLAW_FIRST = re.compile(
    r"^(?:(?:the|an?|each|every|this) \w+ |it |they )?(?:\w+ly )?"
    rf"(?:(?:{_FLAW_VERBS})|(?:is|are|sounds|reads|remains) (?:\w+ly )?(?:{_FLAW_ADJECTIVES}))\b",
    re.IGNORECASE,
)
"""A description that begins with a flaw."""
_NUMBER_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
_NUMBER = rf"(\d+|{'|'.join(_NUMBER_WORDS)})"
_QUANTITY = re.compile(
    rf"\b(at least|at most|up to|more than|over|fewer than|less than|under|between|from|exactly)? ?\b{_NUMBER}"
    rf"(?: (or more|or fewer|or less)| ?(?:to|and|-|\u2013) ?{_NUMBER})?\b"
)
MIN_CONTAINED_WORDS = 4
"""The fewest words of a description that is looked for in another one."""
MIN_REPEATED_SHARE = 0.8
"""The share of the words of a metric's description from which a text says the same."""
_FILLERS = frozenset(
    {
        *("a", "an", "the", "this", "that", "it", "its", "is", "are", "be", "of", "to", "in", "on", "at", "by", "for"),
        *("with", "from", "as", "and", "or", "whether", "how", "what", "which", "much", "well", "far", "clearly"),
        *("does", "do", "has", "have"),
    }
)
"""Words without which two texts are compared."""

_OPPOSITE = re.compile(r"^(?:in|im|ir|il|un|non|dis)")


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
        *_find_reversed_ends(metric),
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
    for location, text in (*_list_rules(metric), *list_descriptions(metric)):
        for advice, shown_by, words in _UNSEEN_THINGS:
            match = words.search(text)
            if not match or not shown_by.isdisjoint(metric.needs):
                continue
            if metric.preference and advice is OTHER_CASES_ADVICE:
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
    texts = [(location, text) for location, text in list_descriptions(metric) if _split_words(text)]
    for first, second in combinations(texts, 2):
        (first_location, first_words), (second_location, second_words) = (
            (location, frozenset(_split_words(text))) for location, text in (first, second)
        )
        first_name, second_name = (location.split(".", 2)[2] for location in (first_location, second_location))
        ratio = fuzz.ratio(*(" ".join(sorted(_split_words(text))) for _, text in (first, second)))
        if _has_overlapping_quantity(first[1], second[1]):
            yield f"{second_location}: has a number that {first_name!r} has too; let the numbers exclude each other"
        elif _has_distinguishing_word(first_words, second_words):
            continue
        # Sorted, so that the same words in another order are found too.
        elif ratio >= MIN_SIMILARITY:
            yield (
                f"{second_location}: reads nearly like {first_name!r}; "
                f"say what is in the one and not in the other, or {advice}"
            )
        elif min(len(first_words), len(second_words)) >= MIN_CONTAINED_WORDS and not (
            (first_words ^ second_words) & {*_CONTRASTS}
        ):
            advice = "say there what it lacks, such as 'but no ...'"
            if first_words < second_words:
                yield f"{second_location}: includes all of {first_name!r}; {advice}"
            elif second_words < first_words:
                yield f"{first_location}: includes all of {second_name!r}; {advice}"
    yield from _find_two_sided_middles(texts)


def _find_two_sided_middles(texts: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Find what lies between the ends and has all words of both."""
    words = [frozenset(_split_words(text)) for _, text in texts]
    for (location, _), middle in [*zip(texts, words, strict=True)][1:-1]:
        if min(len(words[0]), len(words[-1])) >= MIN_CONTAINED_WORDS and words[0] | words[-1] <= middle:
            yield f"{location}: says all that both ends say; say which flaw it has, or which merit"


def _split_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _has_overlapping_quantity(first: str, second: str) -> bool:
    """Return whether two texts differ only in a number, and a number fits both: at least 2, at least 3."""
    texts = [" ".join(text.casefold().split()) for text in (first, second)]
    quantities = [[*_QUANTITY.finditer(text)] for text in texts]
    if [len(matches) for matches in quantities] != [1, 1] or len({_QUANTITY.sub(" # ", text) for text in texts}) > 1:
        return False
    (low, high), (other_low, other_high) = (_read_quantity(matches[0]) for matches in quantities)
    return low <= other_high and other_low <= high


def _read_quantity(quantity: re.Match[str]) -> tuple[float, float]:
    """Read the smallest and the largest number that a quantity allows."""
    bound, start, ending, end = quantity.groups()
    low, high = (float(_NUMBER_WORDS.get(number, number)) for number in (start, end or start))
    if bound == "at least" or ending == "or more":
        return low, float("inf")
    if bound in {"at most", "up to"} or ending in {"or fewer", "or less"}:
        return 0, high
    if bound in {"more than", "over"}:
        return low + 0.5, float("inf")
    return (0, high - 0.5) if bound in {"fewer than", "less than", "under"} else (low, high)


def _has_distinguishing_word(first_words: frozenset[str], second_words: frozenset[str]) -> bool:
    """Return whether a number, a negation or an opposite occurs in only one of two texts."""
    different = first_words ^ second_words
    return any(
        word in _DISTINGUISHING_WORDS
        or word.isdecimal()
        or (_OPPOSITE.match(word) and _OPPOSITE.sub("", word) in different)
        for word in different
    )


def _find_reversed_ends(metric: JudgedMetric) -> Iterator[str]:
    """Find a worst level or category that describes good behaviour, or a best one that describes bad behaviour."""
    ends = None if metric.preference else _select_ends(metric)
    if ends is None:
        return
    (best_location, best), (worst_location, worst) = ends
    # That both read alike has its own remark.
    if {*_split_words(best)} == {*_split_words(worst)}:
        return
    aim = {*_split_words(metric.description), *_split_words(metric.name.replace("_", " "))}
    if _FLAW_FIRST.search(best) and not any(_FLAW.fullmatch(word) for word in aim):
        yield f"{best_location}: is the best, but describes a flaw; exchange the ends, or describe what is good"
    is_praised = any(_PRAISE.fullmatch(word) for word in _split_words(worst)) or _repeats_aim(metric, best, worst)
    if is_praised and not _is_limited(worst):
        yield f"{worst_location}: is the worst, but describes what is good; say what is missing or wrong"


def _select_ends(metric: JudgedMetric) -> tuple[tuple[str, str], tuple[str, str]] | None:
    """Select the best and the worst description, each with its place; None if it is not known which they are."""
    texts = list_descriptions(metric)
    match metric.scale:
        case ValueScale(levels=levels, better=better):
            keys: list[float] = [level if better == "higher" else -level for level in levels]
        case CategoricalScale(categories=categories):
            keys = [category.score for category in categories if category.score is not None]
        case _:
            return None
    if len(keys) < max(len(texts), 2):
        return None
    return texts[keys.index(max(keys))], texts[keys.index(min(keys))]


def _is_limited(text: str) -> bool:
    """Return whether a word of a text denies, limits or blames."""
    return any(
        word in _DISTINGUISHING_WORDS.difference(_AMOUNTS, ("true", "right", "good", "high", "most", "more"))
        or word in _CONTRASTS
        or _FLAW.fullmatch(word)
        or (_OPPOSITE.match(word) and _PRAISE.fullmatch(_OPPOSITE.sub("", word)))
        for word in _split_words(text)
    )


def _repeats_aim(metric: JudgedMetric, best: str, worst: str) -> bool:
    """Return whether the worst says what the metric's description says, and the best is not its negation."""
    aim, words = ({*_split_words(text)} - _FILLERS for text in (metric.description, worst))
    is_repeated = len(aim) >= MIN_CONTAINED_WORDS and len(aim & words) >= MIN_REPEATED_SHARE * len(aim)
    return is_repeated and not _is_limited(best)


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
