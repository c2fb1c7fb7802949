"""Entities of a question: by their exact names, and by similar names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from greval.reference.extraction.phrases import find_names, split_tokens
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
Place = tuple[int, int]
"""The start and the end of a part of a question."""


class LinkedEntity(NamedTuple):
    """An entity of a question: the phrase, how it was found, how similar it is (0 to 1), its position in the index."""

    name: str
    phrase: str
    how: Literal["exact", "fuzzy"]
    score: float
    position: int


def match_names(question: str, find_entity: Callable[[str], int | None]) -> list[tuple[Place, int]]:
    """Return the places of the names of entities in a question, in its order, each with the position of its entity.

    Names match whole words that only spaces and a few marks separate. The longest match wins: a word is part of one
    match at most.
    """
    words = [match.span() for match in _WORD.finditer(question)]
    gaps = [bool(_GAP.fullmatch(question[word[1] : following[0]])) for word, following in pairwise(words)]
    free = [True] * len(words)
    matches: list[tuple[Place, int]] = []
    for size in range(min(MAX_WORDS, len(words)), 0, -1):
        for first in range(len(words) - size + 1):
            part = words[first : first + size]
            if not all(free[first : first + size]) or not all(gaps[first : first + size - 1]):
                continue
            if _is_function_phrase([question[start:end] for start, end in part]):
                continue
            start, end = part[0][0], part[-1][1]
            entity = find_entity(question[start:end])
            if entity is not None:
                matches.append(((start, end), entity))
                free[first : first + size] = [False] * size
    return sorted(matches)


def _is_function_phrase(words: Sequence[str]) -> bool:
    """Return whether a phrase has function words only. Several with capitals may be a name, such as The Who."""
    if any(word.lower() not in FUNCTION_WORDS for word in words):
        return False
    return len(words) == 1 or not all(word[0].isupper() for word in words)


def link_similar(
    question: str, tables: SearchTables, threshold: float, excluded: Collection[Place] = ()
) -> list[LinkedEntity]:
    """Return the entities whose names are similar to a name of the question, by its form.

    Numbers in the names must be the same. Excluded places of the question are not looked at.
    """
    from rapidfuzz import fuzz, process

    spellings, entities = tables.spellings
    linked: list[LinkedEntity] = []
    for name in find_names(question, split_tokens(question), code=True):
        if any(name.start < end and start < name.end for start, end in excluded):
            continue
        phrase = name.name
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


def link_entities(
    question: str,
    tables: SearchTables,
    *,
    threshold: float,
    allowed: Mask | None = None,
    further_names: Sequence[str] = (),
) -> tuple[LinkedEntity, ...]:
    """Return the entities of a question, each once, in the order of the question.

    `allowed` says whether each entity may be linked; None: all may. `further_names` need not be in the question, such
    as those that a model gives for what it describes; they come last.
    """
    linked = [link for text in (question, *further_names) for link in _link_text(text, tables, threshold)]
    # Only now, so that no shorter name is linked in place of one that is not allowed.
    if allowed is not None:
        linked = [link for link in linked if allowed[link.position]]
    best: dict[str, LinkedEntity] = {}
    for link in linked:
        if link.name not in best or link.score > best[link.name].score:
            best[link.name] = link
    return tuple(sorted(best.values(), key=lambda link: question.find(link.phrase) % (len(question) + 1)))


def _link_text(text: str, tables: SearchTables, threshold: float) -> list[LinkedEntity]:
    """Return the entities whose names are in a text, or similar to a name in it."""
    names = match_names(text, tables.find_entity)
    linked = [
        LinkedEntity(tables.entities[entity], text[start:end], "exact", 1.0, entity) for (start, end), entity in names
    ]
    return linked + link_similar(text, tables, threshold, [span for span, _ in names])
