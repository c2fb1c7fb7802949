"""Fuzzy containment: find a text in an answer, allowing small differences of wording.

Numbers, dates, units, words with a digit and words of fewer than five letters must match exactly and in
order; the words between them may differ slightly. Words are compared in windows that begin and end at
word boundaries. A code with digits, such as a product name or a serial number, matches with or without its hyphens and
spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from greval.metrics.computed.tokenisation import Word, drop_articles, normalise_text, split_words

DIGIT = re.compile(r"\d")
SEPARATOR = re.compile("[ -]{0,2}")
"""The separators that are allowed between the parts of a code."""
MAX_PARTS = 6
MIN_NUMBER_LENGTH = 7
"""Minimum length at which groups of digits form one number: 20 30 is not 2030, but 555-1234 is 5551234."""

CodeSpan = tuple[int, int, str]
"""The index of a code's first word, the index after its last word, and its normalised text."""
MIN_FUZZY_LENGTH = 5
MAX_SLACK = 5
MIN_ENTRIES = 2
LIST_CONJUNCTIONS = frozenset({"and"})
AMBIGUOUS_ABBREVIATIONS = frozenset(
    {
        *(
            "all",
            "am",
            "an",
            "and",
            "are",
            "as",
            "at",
            "be",
            "by",
            "can",
            "did",
            "do",
            "has",
            "he",
            "him",
            "his",
            "how",
        ),
        *("i", "in", "is", "it", "its", "may", "me", "my", "not", "of", "on", "one", "or", "our", "out", "she", "so"),
        *("the", "they", "to", "too", "two", "up", "us", "was", "we", "who", "will"),
    }
)
"""Words that must not match an abbreviation in capitals: US and us, WHO and who."""


def join_codes(
    there: Sequence[Word], sought: Sequence[Word], texts: tuple[str, str]
) -> tuple[list[Word], list[Word]] | None:
    """Join the words of each code in both texts into one word; None if no code is divided differently in the two.

    `there` are the words of the answer, `sought` those of the expected text; their positions refer to `texts`, the
    normalised answer and expected text.

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


class ContainmentMatch(NamedTuple):
    """The most similar words of an answer: their similarity `alike`, 0 to 1, and their `text`.

    `sought` is the expected text, or the entry of a list with the lowest similarity. `lacks` holds the required
    words that are missing from the answer.
    """

    alike: float
    sought: str
    text: str = ""
    lacks: tuple[str, ...] = ()


def find_match(answer: str, gold: str, threshold: float) -> ContainmentMatch | None:
    """Find the best match of a text in an answer; None if the text has no words.

    The whole text is found if its similarity, 0 to 1, reaches the threshold. If a list is not found as a whole, each
    entry is searched, and the match is that of the entry with the lowest similarity.

    Example:
        >>> find_match("It belongs to the harbor team.", "Harbour team", 0.8).text
        'harbor team'
    """
    texts = normalise_text(answer), normalise_text(gold)
    sought, there = split_words(gold), split_words(answer)
    if not sought:
        return None
    whole = _find_best_spelling(there, sought, texts, threshold)
    entries = [] if whole.alike >= threshold else [*_split_list(texts[1], sought)]
    if len(entries) < MIN_ENTRIES:
        return whole
    found = (_find_best_spelling(there, entry, texts, threshold) for entry in entries)
    return min(found, key=lambda match: match.alike)


def _split_list(gold: str, sought: Sequence[Word]) -> Iterator[list[Word]]:
    """Split the words of a list at commas, semicolons and `and`."""
    entry: list[Word] = []
    for word in sought:
        joined = word.key in LIST_CONJUNCTIONS
        if entry and (joined or any(mark in gold[entry[-1].end : word.start] for mark in ",;、&")):
            yield entry
            entry = []
        if not joined:
            entry.append(word)
    if entry:
        yield entry


def _is_exact(word: Word) -> bool:
    """Return whether a word must match exactly."""
    return word.kind != "word" or len(word.key) < MIN_FUZZY_LENGTH or DIGIT.search(word.key) is not None


def _is_match(wanted: Word, found: Word) -> bool:
    """Return whether a word matches exactly. A more precise date matches, and a date matches its year."""
    if wanted.date and found.date:
        return wanted.date.covers(found.date)
    if found.date and wanted.kind == "number":
        return found.date.year is not None and wanted.key == str(found.date.year)
    if wanted.key != found.key or (wanted.kind == "unit") != (found.kind == "unit"):
        return False
    abbreviation = len(wanted.key) > 1 and wanted.text.isupper() and wanted.key in AMBIGUOUS_ABBREVIATIONS
    return found.text.isupper() or not abbreviation


def _find_best_spelling(
    there: Sequence[Word], sought: Sequence[Word], texts: tuple[str, str], threshold: float
) -> ContainmentMatch:
    """Find the best window; below the threshold, try again with differently divided codes joined."""
    found = _find_best_window(drop_articles(there), drop_articles(sought), texts)
    codes = None if found.alike >= threshold else join_codes(there, sought, texts)
    if codes is None:
        return found
    answer, gold = codes
    return max(
        found, _find_best_window(drop_articles(answer), drop_articles(gold), texts), key=lambda match: match.alike
    )


def _find_best_window(there: Sequence[Word], sought: Sequence[Word], texts: tuple[str, str]) -> ContainmentMatch:
    """Find the most similar window; `texts` are the normalised answer and expected text."""
    from rapidfuzz import fuzz

    wanted = [word for word in sought if _is_exact(word)]
    text, excerpt = _join_words(sought), texts[1][sought[0].start : max(word.end for word in sought)]
    lacks = tuple(word.text for word in wanted if not any(_is_match(word, found) for found in there))
    best = ContainmentMatch(0.0, excerpt, lacks=lacks)
    if lacks:
        return best
    for window in _iterate_windows(there, sought, wanted):
        alike = fuzz.ratio(text, _join_words(window, wanted), score_cutoff=best.alike * 100) / 100
        if alike > best.alike:
            best = ContainmentMatch(alike, excerpt, texts[0][window[0].start : max(word.end for word in window)])
            if alike == 1.0:
                break
    return best


def _iterate_windows(there: Sequence[Word], sought: Sequence[Word], wanted: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """Yield the windows of about the expected length that hold the exact words in order."""
    slack = min(MAX_SLACK, 1 + len(sought) // 4)
    for start in range(len(there)):
        least = _find_window_end(there, start, wanted, len(sought) + slack)
        if least is None:
            continue
        for end in range(max(least, start + max(1, len(sought) - slack)), start + len(sought) + slack + 1):
            if end > len(there):
                break
            yield there[start:end]


def _find_window_end(there: Sequence[Word], start: int, wanted: Sequence[Word], most: int) -> int | None:
    """Return the smallest end of a window from `start` that holds the exact words in order, None if above `most`."""
    place, end = 0, start
    while place < len(wanted) and end < min(len(there), start + most):
        place += _is_match(wanted[place], there[end])
        end += 1
    return end if place == len(wanted) else None


def _join_words(window: Sequence[Word], wanted: Sequence[Word] = ()) -> str:
    """Join the normalised words; a date that matches an expected one takes its form, letters have no spaces."""
    text = ""
    for word in window:
        key = next((one.key for one in wanted if word.date and _is_match(one, word)), word.key)
        text += key if word.kind == "letter" and text[-1:] != " " else f" {key}"
    return text.strip()
