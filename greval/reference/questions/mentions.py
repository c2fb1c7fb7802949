"""Sentences that mention an entity: whether they have its whole name, and what kind of thing it is there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from greval.reference.extraction.words import GENERIC_NAMES, NEVER_NAMES, STARTERS, VERBS
from greval.reference.questions.facts import REPORTING
from greval.reference.questions.templates import TITLES

_WORD = re.compile(r"\w+")
_NO_PARTS = NEVER_NAMES | STARTERS | VERBS
"""Words that are no part of a name, as they may begin a sentence with it."""
_COMMON_PARTS = NEVER_NAMES | GENERIC_NAMES | TITLES
"""Words that the names of many things have, so that they are not distinctive."""


class NameMention(NamedTuple):
    """A sentence with a part of an entity's name, whether it has the whole name, and the words that lengthen it there.

    The name is not there as a whole if each time a word lengthens it, as "Inn" does in "Lincoln's Inn".
    """

    chunk: str
    sentence: str
    is_whole: bool
    longer: frozenset[str]


def list_distinctive_parts(names: Iterable[str]) -> list[str]:
    """List the distinctive words of names; all words if none is.

    Example:
        >>> list_distinctive_parts(["Port William", "Aunt Katy"]), list_distinctive_parts(["The Bay"])
        (['Port', 'William', 'Katy'], ['The', 'Bay'])
    """
    words = [*dict.fromkeys(word for name in names for word in _WORD.findall(name))]
    return [word for word in words if word.casefold() not in _COMMON_PARTS] or words


def read_mention(name: str, chunk: str, sentence: str) -> NameMention:
    """Return how a sentence mentions an entity with this name.

    Example:
        >>> read_mention("Lincoln", "d#1", "Lincoln's Inn is old.")[2:]
        (False, frozenset({'inn'}))
    """
    matches = [*_compile_mention(name).finditer(sentence)]
    # "Agent Alex Mercer" and "Alex Mercer" are one longer name, so that the word behind it counts first.
    words = (((match[side] or "").casefold() for side in ("after", "before")) for match in matches)
    longer = [next((word for word in sides if word and word not in _NO_PARTS), "") for sides in words]
    return NameMention(chunk, sentence, "" in longer, frozenset(filter(None, longer)))


@lru_cache(65_536)
def _compile_mention(name: str) -> re.Pattern[str]:
    """Return the pattern of a name as it is written or in capitals, with a capitalised word on each side of it."""
    form = "|".join(r"\s+".join(map(re.escape, form.split())) for form in dict.fromkeys((name, name.upper())))
    before = r"(?:(?P<before>[A-Z][\w.\u2019'-]*)\s+)?"
    after = r"(?:(?:['\u2019]s)?\s+\(?(?P<after>[A-Z]\w*))?"
    return re.compile(rf"(?<![\w-]){before}(?<![\w-])(?:{form})(?![\w-]){after}")


def is_person(name: str, sentences: Iterable[str]) -> bool:
    """Return whether sentences say what the bearer of a name says, or call him or her by a pronoun.

    Example:
        >>> is_person("Dan", ["'No,' said Dan."]), is_person("Lumm", ["Black Tansy was built in Lumm."])
        (True, False)
    """
    told = rf"(?:{'|'.join(sorted(REPORTING))})"
    phrase = re.escape(name)
    speaks = re.compile(rf"\b{told}\s+{phrase}(?!\w)|(?<!\w){phrase},?\s+{told}\b")
    begins = re.compile(rf"{phrase}\b[^,;:]*\b(?:he|she|his|her|him|himself|herself)\b")
    return any(speaks.search(sentence) or begins.match(sentence) for sentence in sentences)


def is_place(name: str, sentences: Iterable[str]) -> bool:
    """Return whether a sentence says that something is in, at or near what bears a name."""
    located = re.compile(rf"\b(?:in|at|near)\s+{re.escape(name)}(?![\w'\u2019-])")
    return any(located.search(sentence) for sentence in sentences)
