"""Codes with digits, such as product names and serial numbers, matched with or without hyphens and spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from greval.metrics.computed.tokenisation import Word

DIGIT = re.compile(r"\d")
SEPARATOR = re.compile("[ -]{0,2}")
"""The separators that are allowed between the parts of a code."""
MAX_PARTS = 6
MIN_NUMBER_LENGTH = 7
"""Minimum length at which groups of digits form one number: 20 30 is not 2030, but 555-1234 is 5551234."""

CodeSpan = tuple[int, int, str]
"""The index of a code's first word, the index after its last word, and its normalised text."""


def join_codes(
    there: Sequence[Word], sought: Sequence[Word], texts: tuple[str, str]
) -> tuple[list[Word], list[Word]] | None:
    """Join the words of each code that occurs in both texts into one word.

    Args:
        there: The words of the answer.
        sought: The words of the expected text.
        texts: The normalised answer and expected text, to which the positions of the words refer.

    Returns:
        The words of both texts, or None if no code is divided differently in the two.

    Example:
        >>> from greval.metrics.computed.tokenisation import split_words
        >>> texts = "Sony WH1000XM4", "WH-1000XM4"
        >>> joined = join_codes(split_words(texts[0]), split_words(texts[1]), texts)
        >>> [[word.key for word in found] for found in joined]
        [['sony', 'wh1000xm4'], ['wh1000xm4']]
    """
    if not any(DIGIT.search(word.key) for word in sought):
        return None
    wanted = [*_find_codes(sought, texts[1])]
    codes = {code for *_, code in wanted}
    found = [part for part in _find_codes(there, texts[0]) if part[2] in codes]
    shared = {code for *_, code in found}
    divided = {(code, end - start) for start, end, code in (*found, *wanted) if code in shared}
    if len(divided) == len(shared):
        return None
    return _join_spans(there, texts[0], found), _join_spans(
        sought, texts[1], [part for part in wanted if part[2] in shared]
    )


def _find_codes(found: Sequence[Word], text: str) -> Iterator[CodeSpan]:
    """Yield every run of one or more words that reads as one code."""
    plain = [word.text.casefold() for word in found]
    linked = [SEPARATOR.fullmatch(text, one.end, after.start) is not None for one, after in pairwise(found)]
    for start in range(len(found)):
        for end in range(start + 1, min(len(found), start + MAX_PARTS) + 1):
            if not plain[end - 1].isalnum() or (end - start > 1 and not linked[end - 2]):
                break
            code = "".join(plain[start:end])
            if DIGIT.search(code) and _is_single_code(plain[start:end], code):
                yield start, end, code


def _is_single_code(parts: Sequence[str], code: str) -> bool:
    """Return whether parts form one code; digits next to digits do so only in long numbers."""
    meet = any(one[-1].isdigit() and after[0].isdigit() for one, after in pairwise(parts))
    return not meet or (code.isdigit() and len(code) >= MIN_NUMBER_LENGTH)


def _join_spans(found: Sequence[Word], text: str, parts: Sequence[CodeSpan]) -> list[Word]:
    """Join the words of each code; if codes overlap, the longest one is used."""
    joined: list[Word] = []
    longest: dict[int, CodeSpan] = {}
    for part in parts:
        longest[part[0]] = max(longest.get(part[0], part), part, key=lambda one: one[1])
    place = 0
    while place < len(found):
        start, end, code = longest.get(place, (place, place + 1, ""))
        first, last = found[start].start, found[end - 1].end
        joined.append(Word("word", code, text[first:last], first, last) if code else found[place])
        place = end
    return joined
