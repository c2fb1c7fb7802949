"""Entities of a question: by their exact names, and by similar names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from greval.reference.names import normalise_spelling
from greval.reference.search_tables import SearchTables
from greval.reference.storage.words import STOP_WORDS
from greval.reference.traversal import Mask

MAX_WORDS = 9
"""The most words of a name that is looked up."""
CANDIDATES = 10
"""The number of similar names among which one with the same numbers is looked for."""
FUNCTION_WORDS = STOP_WORDS | {"few", "many", "may", "much", "one", "per"}
"""The stop words of the word index and other words of questions, which are no entity by themselves."""
_WORD = re.compile(r"\w+")
_GAP = re.compile("[\\s.,:&+/'\u2019-]*")
"""What may stand between two words of a name."""
_NUMBER = re.compile(r"\d+")
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|\u201c([^\u201d]+)\u201d|(?<!\w)'([^']+)'(?!\w)")
_CODE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|/|-)\w+)*(?:\(\))?")
_CODE_MARK = re.compile(r"[_/]|\w\.\w|::|\(\)|[a-z][A-Z]|[A-Za-z]\d")
_CAPITALISED = re.compile(
    r"[A-Z0-9][\w.'\u2019&-]*(?:\s+(?:(?:of|the|de|la|von|van|and|for|in)\s+){0,2}[A-Z0-9][\w.'\u2019&-]*)*"
)


class LinkedEntity(NamedTuple):
    """An entity of a question: the phrase, how it was found, how similar it is (0 to 1), its position in the index."""

    name: str
    phrase: str
    how: Literal["exact", "fuzzy"]
    score: float
    position: int


class TextSpan(NamedTuple):
    """A part of a question."""

    start: int
    end: int


def find_names(question: str, find_entity: Callable[[str], int | None]) -> list[tuple[TextSpan, int]]:
    """Return the places of the names of entities in a question, in its order, each with the position of its entity.

    Names match whole words that only spaces and a few marks separate. The longest match wins: a word is part of one
    match at most.
    """
    words = [TextSpan(*match.span()) for match in _WORD.finditer(question)]
    gaps = [bool(_GAP.fullmatch(question[word.end : following.start])) for word, following in pairwise(words)]
    free = [True] * len(words)
    matches: list[tuple[TextSpan, int]] = []
    for size in range(min(MAX_WORDS, len(words)), 0, -1):
        for first in range(len(words) - size + 1):
            part = words[first : first + size]
            if not all(free[first : first + size]) or not all(gaps[first : first + size - 1]):
                continue
            if _is_function_phrase([question[start:end] for start, end in part]):
                continue
            span = TextSpan(part[0].start, part[-1].end)
            entity = find_entity(question[span.start : span.end])
            if entity is not None:
                matches.append((span, entity))
                free[first : first + size] = [False] * size
    return sorted(matches)


def _is_function_phrase(words: Sequence[str]) -> bool:
    """Return whether a phrase has function words only. Several with capitals may be a name, such as The Who."""
    if any(word.lower() not in FUNCTION_WORDS for word in words):
        return False
    return len(words) == 1 or not all(word[0].isupper() for word in words)


def link_similar(
    question: str, tables: SearchTables, threshold: float, excluded: Iterable[TextSpan] = ()
) -> list[LinkedEntity]:
    """Return the entities whose names are similar to a capitalised or quoted phrase, or to an identifier of code.

    Args:
        question: The question.
        tables: The tables of the index.
        threshold: The least share of equal characters, from 0 to 1. Numbers in the names must be the same.
        excluded: Places of the question that are not looked at.
    """
    from rapidfuzz import fuzz, process

    spellings, entities = tables.spellings
    linked: list[LinkedEntity] = []
    for phrase in find_phrases(question, excluded):
        normalised = normalise_spelling(phrase)
        numbers = _NUMBER.findall(normalised)
        candidates = process.extract(
            normalised, spellings, scorer=fuzz.ratio, processor=None, score_cutoff=100 * threshold, limit=CANDIDATES
        )
        for spelling, score, position in sorted(candidates, key=lambda candidate: (-candidate[1], candidate[0])):
            entity = entities[position]
            # Names that differ in a number are similar, but never one entity.
            if _NUMBER.findall(spelling) == numbers:
                linked.append(LinkedEntity(tables.entities[entity], phrase, "fuzzy", score / 100, entity))
                break
    return linked


def find_phrases(question: str, excluded: Iterable[tuple[int, int]] = ()) -> list[str]:
    """Return the quoted phrases, identifiers of code and capitalised phrases of a question, outside of excluded places.

    Example:
        >>> find_phrases('Who calls `load_all` in "the loader" of Acme Corp?')
        ['load_all', 'the loader', 'Acme Corp']
    """
    used = [False] * len(question)
    for start, end in excluded:
        used[start:end] = [True] * (end - start)
    phrases: list[tuple[int, str]] = []

    def add(start: int, end: int) -> None:
        words = _WORD.findall(question[start:end])
        if any(used[start:end]) or not words or _is_function_phrase(words):
            return
        used[start:end] = [True] * (end - start)
        phrases.append((start, question[start:end]))

    for match in _QUOTED.finditer(question):
        group = match.lastindex or 0
        add(match.start(group), match.end(group))
    for match in _CODE.finditer(question):
        if _CODE_MARK.search(match[0]):
            add(*match.span())
    for start, end in _find_capitalised(question, used):
        add(start, end)
    return [phrase for _, phrase in sorted(phrases)]


def _find_capitalised(question: str, used: Sequence[bool]) -> Iterable[tuple[int, int]]:
    """Yield the places of capitalised phrases between used places, without function words at their start."""
    # A used place separates two phrases, and all positions stay.
    masked = "".join("|" if mark else sign for sign, mark in zip(question, used, strict=True))
    for match in _CAPITALISED.finditer(masked):
        start, end = match.span()
        for word in _WORD.finditer(masked, start, end):
            if word[0].lower() not in FUNCTION_WORDS:
                start = word.start()
                break
        yield start, start + len(masked[start:end].rstrip(".'\u2019&-"))


def link_entities(
    question: str, tables: SearchTables, *, threshold: float, allowed: Mask | None = None
) -> tuple[LinkedEntity, ...]:
    """Return the entities of a question, each once, in the order of the question.

    `allowed` says whether each entity may be linked; None: all may.
    """
    names = find_names(question, tables.find_entity)
    linked = [
        LinkedEntity(tables.entities[entity], question[span.start : span.end], "exact", 1.0, entity)
        for span, entity in names
    ]
    linked += link_similar(question, tables, threshold, [span for span, _ in names])
    # Only now, so that no shorter name is linked in place of one that is not allowed.
    if allowed is not None:
        linked = [link for link in linked if allowed[link.position]]
    best: dict[str, LinkedEntity] = {}
    for link in linked:
        if link.name not in best or link.score > best[link.name].score:
            best[link.name] = link
    return tuple(sorted(best.values(), key=lambda link: question.find(link.phrase)))
