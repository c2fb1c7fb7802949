"""Codes with digits, such as product names and serial numbers: the same with and without hyphens and spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from greval.metrics.computed.tokenisation import Word

DIGIT = re.compile(r"\d")
GAP = re.compile("[ -]{0,2}")
"""What may stand between the parts of a code."""
MOST_PARTS = 6
LONG_NUMBER = 7
"""From so many digits on, groups of digits are one number: 20 30 is not 2030, but 555-1234 is 5551234."""

Part = tuple[int, int, str]
"""A code as it is compared, with the places of its first word and of the word after its last."""


def join_codes(
    there: Sequence[Word], sought: Sequence[Word], texts: tuple[str, str]
) -> tuple[list[Word], list[Word]] | None:
    """Return the words of both texts with each code that both hold as one word.

    Args:
        there: The words of the answer.
        sought: The words that are looked for.
        texts: The answer and what is looked for, as `words` places them.

    Returns:
        The words of both, or None if no code is divided differently in the two.

    Example:
        >>> from greval.metrics.computed.tokenisation import words
        >>> texts = "Sony WH1000XM4", "WH-1000XM4"
        >>> [[word.key for word in found] for found in join_codes(words(texts[0]), words(texts[1]), texts)]
        [['sony', 'wh1000xm4'], ['wh1000xm4']]
    """
    if not any(DIGIT.search(word.key) for word in sought):
        return None
    wanted = [*_codes(sought, texts[1])]
    codes = {code for *_, code in wanted}
    found = [part for part in _codes(there, texts[0]) if part[2] in codes]
    shared = {code for *_, code in found}
    divided = {(code, end - start) for start, end, code in (*found, *wanted) if code in shared}
    if len(divided) == len(shared):
        return None
    return _join(there, texts[0], found), _join(sought, texts[1], [part for part in wanted if part[2] in shared])


def _codes(found: Sequence[Word], text: str) -> Iterator[Part]:
    """Return every run of words that reads as one code, also of one word."""
    plain = [word.text.casefold() for word in found]
    linked = [GAP.fullmatch(text, one.end, after.start) is not None for one, after in pairwise(found)]
    for start in range(len(found)):
        for end in range(start + 1, min(len(found), start + MOST_PARTS) + 1):
            if not plain[end - 1].isalnum() or (end - start > 1 and not linked[end - 2]):
                break
            code = "".join(plain[start:end])
            if DIGIT.search(code) and _is_one(plain[start:end], code):
                yield start, end, code


def _is_one(parts: Sequence[str], code: str) -> bool:
    """Say whether parts read as one code: digits next to digits do in long numbers only."""
    meet = any(one[-1].isdigit() and after[0].isdigit() for one, after in pairwise(parts))
    return not meet or (code.isdigit() and len(code) >= LONG_NUMBER)


def _join(found: Sequence[Word], text: str, parts: Sequence[Part]) -> list[Word]:
    """Put the words of each code together, the longest first where codes overlap."""
    joined: list[Word] = []
    longest: dict[int, Part] = {}
    for part in parts:
        longest[part[0]] = max(longest.get(part[0], part), part, key=lambda one: one[1])
    place = 0
    while place < len(found):
        start, end, code = longest.get(place, (place, place + 1, ""))
        first, last = found[start].start, found[end - 1].end
        joined.append(Word("word", code, text[first:last], first, last) if code else found[place])
        place = end
    return joined
