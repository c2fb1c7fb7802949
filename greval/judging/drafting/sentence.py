"""The sentence of a metric's description, limited and denied: each level of a scale in the words of its author.

"Whether the answer is polite." says what the best case is like: the answer is polite. The other levels are the same
sentence, limited (only partly polite) or denied (not polite), so that they exclude each other and leave no case out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

LIMITS = ("mostly", "only partly", "hardly")
_MANNERS = {"mostly": "for the most part", "only partly": "but only partly", "hardly": "but hardly"}
"""What limits an adverb: the answer names its sources, but only partly clearly."""
_AMOUNTS = {"mostly": "most", "only partly": "only some", "hardly": "hardly any"}
"""What limits an amount, as in `most of the answer`."""
_DEGREES = frozenset({"well", "much", "far", "fully", "completely", "entirely"})
"""The adverbs of which `only partly` and `not` are degrees."""
_AUXILIARIES = frozenset(
    {"is", "are", "was", "were", "can", "could", "will", "would", "should", "must", "may", "might"}
)
_ARTICLES = frozenset({"the", "a", "an", "its", "their", "each"})
_PREPOSITIONS = frozenset({"of", "in", "to", "from", "at", "on", "for", "with", "by"})
_QUANTIFIERS = ("every ", "each ", "all ", "both ")
_POSITIVES = {"no": "some", "nothing": "something", "never": "sometimes"}
_NEGATIONS = frozenset({*_POSITIVES, "not", "none", "neither", "nor", "cannot"})
_STEM = re.compile(r"(?:(?<=ss|sh|ch|zz)|(?<=[xo]))es$|(?<!s)s$")

_END = re.compile(r"[.!?](?:\s+[A-Z].*)?$", re.DOTALL)
_WHETHER = re.compile(r"(?:whether|if) (?:or not )?(?P<clause>.+)", re.IGNORECASE)
_HOW = re.compile(
    r"how (?P<measure>\S+(?: \S+){0,2}?(?= (?:the|an?|each|every|its?|this|these|all|what) )|\S+) (?P<clause>.+)",
    re.IGNORECASE,
)
_COPULA = re.compile(r"(?P<subject>(?:(?! (?:that|which|who) ).)+?) (?P<verb>is|are)\b(?P<rest>.*)")
_FRONTED = re.compile(r"(?P<whole>.+) (?P<subject>(?:the|it)(?: [\w-]+)* \w+s)")
"""Of "How much of the context the answer uses", what follows `of`."""
_SUBORDINATE = re.compile(r"\b(?:that|which|who|what|when|where|if|because|than)\b")
_GLOSS = re.compile(r", (?:with|without|because|being|and not|not|before|instead of|rather than|so that|namely) .+")


class Denial(NamedTuple):
    """A clause and its denial, each split at the place of a word such as `mostly` or `clearly`."""

    before: str
    after: str
    denied_before: str
    denied_after: str

    def insert(self, word: str) -> str:
        """Insert a word into the clause, and return it as a sentence."""
        return format_sentence(self.before, word, self.after)

    def deny(self, word: str = "") -> str:
        """Insert a word into the denied clause, and return it as a sentence."""
        return format_sentence(self.denied_before, word, self.denied_after).replace("can not", "cannot")


@dataclass(frozen=True)
class Sentence:
    """What is true of the best case: a clause without capital and full stop, and what the levels of the scale ask for.

    Attributes:
        clause: The clause, without the words below.
        question: The description without capital and full stop, as in "whether it is polite".
        adverb: What a "How clearly it ..." asks for, `fully` if it asks for a degree, `all` for an amount.
        gloss: An explanation at the end, which is about the best case only.
        verb: The verb, if it is known.
    """

    clause: str
    question: str
    adverb: str = ""
    gloss: str = ""
    verb: str = ""

    def list_verbs(self) -> list[str]:
        """List the words that may be the verb at which the clause is denied; none if it is denied otherwise."""
        if self.verb:
            return [self.verb]
        main = _SUBORDINATE.split(self.clause)[0].split()
        if self.adverb == "all" or self.clause.startswith(_QUANTIFIERS) or self._find_negation() is not None:
            return []
        pairs = [*pairwise([*main, ""])]
        auxiliaries = [word for word, following in pairs if word in _AUXILIARIES or following == "been"]
        # No verb follows these.
        verbs = (word for last, word in pairs if word and (_ARTICLES | _PREPOSITIONS).isdisjoint({last, word}))
        return auxiliaries[:1] or [*dict.fromkeys(verbs)]

    def deny(self, verb: str = "") -> Denial:
        """Deny the clause at its verb, if it is denied at one."""
        if self.adverb == "all":
            return _deny_amount(self.clause)
        words = self.clause.split()
        if not verb:
            return Denial("it is", f"true that {self.clause}", "", self._deny_whole(words))
        place = words.index(verb, 1)
        before, after = " ".join(words[:place]), " ".join(words[place + 1 :])
        if verb in _AUXILIARIES or after.startswith("been "):
            return Denial(f"{before} {verb}", after, f"{before} {verb} not", after)
        auxiliary, stem = _split_verb(verb)
        return Denial(before, f"{verb} {after}", f"{before} {auxiliary} not", f"{stem} {after}")

    def list_texts(self, denial: Denial, count: int) -> list[str]:
        """List the texts of `count` levels, the best first."""
        best = denial.insert(self.adverb) if self.adverb else format_sentence(self.clause)
        limits = {1: LIMITS[1:2], 2: LIMITS[:2]}.get(count - 2, LIMITS * count)[: count - 2]
        is_manner = self.adverb not in {"", "fully", "all"}
        if is_manner:
            middles = [format_sentence(f"{self.clause}, {_MANNERS[limit]} {self.adverb}") for limit in limits]
        else:
            middles = [denial.insert(_AMOUNTS[limit] if self.adverb == "all" else limit) for limit in limits]
        return [f"{best[:-1]}{self.gloss}.", *middles, denial.deny(self.adverb if is_manner else "")]

    def _find_negation(self) -> int | None:
        main = _SUBORDINATE.split(self.clause)[0].split()
        pairs = enumerate(pairwise(["", *main]))
        # Not of "says yes or no".
        return next((place for place, (last, word) in pairs if word in _NEGATIONS and last != "or"), None)

    def _deny_whole(self, words: Sequence[str]) -> str:
        place = self._find_negation()
        if place is not None and (positive := _POSITIVES.get(words[place])):
            return " ".join([*words[:place], positive, *words[place + 1 :]])
        is_quantified = self.clause.startswith(_QUANTIFIERS)
        return f"not {self.clause}" if is_quantified else f"it is not true that {self.clause}"


def parse_sentence(description: str, thing: str) -> Sentence:
    """Parse the first sentence of a description of a thing such as an answer.

    If it begins neither with `Whether` nor with `How`, the sentence is that the thing meets it.

    Example:
        >>> sentence = parse_sentence("How clearly the answer names its sources, without detours.", "answer")
        >>> (sentence.clause, sentence.adverb, sentence.gloss)
        ('the answer names its sources', 'clearly', ', without detours')
    """
    text = _END.sub("", " ".join(description.split()))
    gloss = match[0] if (match := _GLOSS.search(text)) else ""
    core = text.removesuffix(gloss)
    if match := _WHETHER.fullmatch(core):
        clause, adverb = match["clause"], ""
    elif match := _HOW.fullmatch(core):
        clause, adverb = _split_measure(match["measure"].lower(), match["clause"])
    else:
        clause = f"the {thing} meets this: {text}"
        return Sentence(clause, f"whether {clause}", verb="meets")
    return Sentence(clause, text[:1].lower() + text[1:], adverb, gloss)


def _split_measure(measure: str, clause: str) -> tuple[str, str]:
    """Split "How clearly it ...", "How clear it is" or "How much of it ..." into a clause and an adverb."""
    copula = _COPULA.fullmatch(clause)
    if measure in {"much of", "many of"}:
        return clause, "all"
    if measure in _DEGREES and not (measure == "well" and copula):
        return clause, "fully"
    # "How friendly it is", or "How friendly it is to the reader", but "How clearly it is written".
    if measure.endswith("ly") and not (copula and _PREPOSITIONS.issuperset(copula["rest"].split()[:1])):
        return clause, measure
    return (f"{copula['subject']} {copula['verb']} {measure}{copula['rest']}" if copula else f"{clause} {measure}"), ""


def format_sentence(*parts: str) -> str:
    """Join parts of a sentence, with a capital at the start and a full stop at the end."""
    text = " ".join(filter(None, parts)).strip()
    return f"{text[:1].upper()}{text[1:]}."


def _deny_amount(clause: str) -> Denial:
    """Deny a clause of an amount: `none of the answer is right`, `the answer covers none of the points`."""
    before, whole = "", clause
    if not _COPULA.fullmatch(clause) and (match := _FRONTED.fullmatch(clause)):
        before, whole = match["subject"], match["whole"]
    return Denial(before, f"of {whole}", f"{before} none".strip(), f"of {whole}")


def _split_verb(verb: str) -> tuple[str, str]:
    """Split a verb into an auxiliary and a stem: `does` and `try` for `tries`."""
    stem = "have" if verb == "has" else re.sub(r"ies$", "y", verb)
    stem = _STEM.sub("", stem)
    return ("do" if stem == verb else "does"), stem
