"""Fuzzy containment: find a text in an answer, allowing small differences of wording.

Numbers, dates, units, words with a digit and words of fewer than five letters must match exactly and in
order; the words between them may differ slightly. Words are compared in windows that begin and end at
word boundaries. A code with digits, such as a product name or a serial number, matches with or without its hyphens and
spaces. The work grows with the product of both lengths, so a bounded part of it is done for a case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from greval.metrics.computed.tokenisation import PartialDate, Word, drop_articles, normalise_text, split_words

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
MAX_COMPARED = 20_000_000
"""The most words that are compared for a case, which take some seconds: 1,000 times the usual ones."""
LONG_WINDOW = 400
"""The words from which the comparison of two windows takes longer than what precedes it: it grows with their square."""
LIST_CONJUNCTIONS = frozenset({"and"})
AMBIGUOUS_ABBREVIATIONS = frozenset(
    {
        *("all", "am", "an", "and", "are", "as", "at", "be", "by", "can", "did", "do", "has", "he", "him", "his"),
        *("how", "i", "in", "is", "it", "its", "may", "me", "my", "not", "of", "on", "one", "or", "our", "out"),
        *("she", "so", "the", "they", "to", "too", "two", "up", "us", "was", "we", "who", "will"),
    }
)
"""Words that must not match an abbreviation in capitals: US and us, WHO and who."""


class TooLongToCompareError(Exception):
    """An answer and what is expected are too long to be compared."""


class ComparisonBudget:
    """How many words may still be compared for a case."""

    def __init__(self) -> None:
        self._left = MAX_COMPARED

    def spend(self, words: int) -> None:
        """Count words that are about to be compared, or raise `TooLongToCompareError`."""
        self._left -= words
        if self._left < 0:
            message = f"the answer and the expected answer are too long: more than {MAX_COMPARED:,} words to compare"
            raise TooLongToCompareError(message)


def join_codes(
    answer_words: Sequence[Word], sought: Sequence[Word], texts: tuple[str, str]
) -> tuple[list[Word], list[Word]] | None:
    """Join the words of each code in both texts into one word; None if no code is divided differently in the two.

    `answer_words` are the words of the answer, `sought` those of the expected text; their positions refer to `texts`,
    the normalised answer and expected text.

    Example:
        >>> from greval.metrics.computed.tokenisation import split_words
        >>> texts = "Sony WH1000XM4", "WH-1000XM4"
        >>> joined = join_codes(split_words(texts[0]), split_words(texts[1]), texts)
        >>> [[word.key for word in words] for words in joined]
        [['sony', 'wh1000xm4'], ['wh1000xm4']]
    """
    # A code has a digit: without one in the expected text there is nothing to join.
    if not any(DIGIT.search(word.key) for word in sought):
        return None
    expected_codes = [*_find_codes(sought, texts[1])]
    codes = {code for *_, code in expected_codes}
    answer_codes = [part for part in _find_codes(answer_words, texts[0]) if part[2] in codes]
    shared = {code for *_, code in answer_codes}
    divided = {(code, end - start) for start, end, code in (*answer_codes, *expected_codes) if code in shared}
    # Each shared code is divided alike in both texts, so joining would change nothing.
    if len(divided) == len(shared):
        return None
    return _join_spans(answer_words, texts[0], answer_codes), _join_spans(
        sought, texts[1], [part for part in expected_codes if part[2] in shared]
    )


def _find_codes(words: Sequence[Word], text: str) -> Iterator[CodeSpan]:
    """Yield every run of one or more words that reads as one code."""
    plain = [word.text.casefold() for word in words]
    linked = [SEPARATOR.fullmatch(text, first.end, after.start) is not None for first, after in pairwise(words)]
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + MAX_PARTS) + 1):
            # Every longer run from this start holds the same word or gap.
            if not plain[end - 1].isalnum() or (end - start > 1 and not linked[end - 2]):
                break
            code = "".join(plain[start:end])
            if DIGIT.search(code) and _is_single_code(plain[start:end], code):
                yield start, end, code


def _is_single_code(parts: Sequence[str], code: str) -> bool:
    """Return whether parts form one code; digits next to digits do so only in long numbers."""
    meet = any(first[-1].isdigit() and after[0].isdigit() for first, after in pairwise(parts))
    return not meet or (code.isdigit() and len(code) >= MIN_NUMBER_LENGTH)


def _join_spans(words: Sequence[Word], text: str, parts: Sequence[CodeSpan]) -> list[Word]:
    """Join the words of each code; if codes overlap, the longest one is used."""
    joined: list[Word] = []
    longest: dict[int, CodeSpan] = {}
    for part in parts:
        longest[part[0]] = max(longest.get(part[0], part), part, key=lambda span: span[1])
    position = 0
    while position < len(words):
        start, end, code = longest.get(position, (position, position + 1, ""))
        first, last = words[start].start, words[end - 1].end
        joined.append(Word("word", code, text[first:last], first, last) if code else words[position])
        position = end
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


def find_match(
    answer: str, gold: str, threshold: float, budget: ComparisonBudget | None = None
) -> ContainmentMatch | None:
    """Find the best match of a text in an answer; None if the text has no words.

    The whole text is found if its similarity, 0 to 1, reaches the threshold. If a list is not found as a whole, each
    entry is searched, and the match is that of the entry with the lowest similarity. `budget` is that of all texts
    which are sought for a case; raise `TooLongToCompareError` if it is used up.

    Example:
        >>> find_match("It belongs to the harbor team.", "Harbour team", 0.8).text
        'harbor team'
    """
    texts = normalise_text(answer), normalise_text(gold)
    sought, answer_words = split_words(gold), split_words(answer)
    if not sought:
        return None
    budget = budget or ComparisonBudget()
    whole_match = _find_best_spelling(answer_words, sought, texts, threshold, budget)
    entries = [] if whole_match.alike >= threshold else [*_split_list(texts[1], sought)]
    if len(entries) < MIN_ENTRIES:
        return whole_match
    # Each entry reads all words of the answer.
    budget.spend(len(entries) * len(answer_words))
    entry_matches = (_find_best_spelling(answer_words, entry, texts, threshold, budget) for entry in entries)
    return min(entry_matches, key=lambda match: match.alike)


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
    return word.kind != "word" or len(word.key) < MIN_FUZZY_LENGTH or DIGIT.search(word.key) is not None


def _is_match(expected: Word, word: Word) -> bool:
    """Return whether a word matches exactly. A more precise date matches, and a date matches its year."""
    if expected.date and word.date:
        return expected.date.covers(word.date)
    if word.date and expected.kind == "number":
        return word.date.year is not None and expected.key == str(word.date.year)
    if expected.key != word.key or (expected.kind == "unit") != (word.kind == "unit"):
        return False
    # The abbreviation US is not the pronoun us.
    abbreviation = len(expected.key) > 1 and expected.text.isupper() and expected.key in AMBIGUOUS_ABBREVIATIONS
    return word.text.isupper() or not abbreviation


def _find_best_spelling(
    answer_words: Sequence[Word],
    sought: Sequence[Word],
    texts: tuple[str, str],
    threshold: float,
    budget: ComparisonBudget,
) -> ContainmentMatch:
    """Find the best window; below the threshold, try again with differently divided codes joined."""
    best = _find_best_window(drop_articles(answer_words), drop_articles(sought), texts, budget)
    codes = None if best.alike >= threshold else join_codes(answer_words, sought, texts)
    if codes is None:
        return best
    answer, gold = codes
    joined = _find_best_window(drop_articles(answer), drop_articles(gold), texts, budget)
    return max(best, joined, key=lambda match: match.alike)


def _find_best_window(
    answer_words: Sequence[Word], sought: Sequence[Word], texts: tuple[str, str], budget: ComparisonBudget
) -> ContainmentMatch:
    """Find the most similar window; `texts` are the normalised answer and expected text."""
    # Imported on first use: most commands compare no texts.
    from rapidfuzz import fuzz

    exact_words = [word for word in sought if _is_exact(word)]
    text, excerpt = _join_words(sought), texts[1][sought[0].start : max(word.end for word in sought)]
    lacks = tuple(_find_missing(exact_words, answer_words, budget))
    best = ContainmentMatch(0.0, excerpt, lacks=lacks)
    # No window can hold all exact words, so the slow comparison need not begin.
    if lacks:
        return best
    forms = _find_date_forms(exact_words, answer_words, budget)
    for window in _iterate_windows(answer_words, sought, exact_words, budget):
        # The cut-off lets rapidfuzz give up early on windows that cannot beat the best one.
        similarity = fuzz.ratio(text, _join_words(window, forms), score_cutoff=best.alike * 100) / 100
        if similarity > best.alike:
            best = ContainmentMatch(similarity, excerpt, texts[0][window[0].start : max(word.end for word in window)])
            if similarity == 1.0:
                break
    return best


def _find_missing(exact_words: Sequence[Word], answer_words: Sequence[Word], budget: ComparisonBudget) -> Iterator[str]:
    """Yield the texts of the exact words that match no word of the answer."""
    budget.spend(len(answer_words))
    candidates: dict[str, dict[tuple[str, bool], Word]] = {}
    for word in answer_words:
        candidates.setdefault(word.key, {}).setdefault((word.kind, word.text.isupper()), word)
    dated = [*{word.date: word for word in answer_words if word.date}.values()]
    for expected in exact_words:
        # Of another key are only dates that the expected date or year covers.
        others = dated if expected.date or expected.kind == "number" else []
        budget.spend(1 + len(others))
        if not any(_is_match(expected, word) for word in (*candidates.get(expected.key, {}).values(), *others)):
            yield expected.text


def _find_date_forms(
    exact_words: Sequence[Word], answer_words: Sequence[Word], budget: ComparisonBudget
) -> dict[PartialDate, str]:
    """Return the expected form of each date of the answer that matches an expected one."""
    forms: dict[PartialDate, str] = {}
    dates = {word.date: word for word in answer_words if word.date}
    for date, word in dates.items():
        budget.spend(len(exact_words))
        if expected := next((expected for expected in exact_words if _is_match(expected, word)), None):
            forms[date] = expected.key
    return forms


def _iterate_windows(
    answer_words: Sequence[Word], sought: Sequence[Word], exact_words: Sequence[Word], budget: ComparisonBudget
) -> Iterator[Sequence[Word]]:
    """Yield the windows of about the expected length that hold the exact words in order."""
    # Wordings differ in length: by about a quarter, and by five words at most.
    slack = min(MAX_SLACK, 1 + len(sought) // 4)
    for start in range(len(answer_words)):
        budget.spend(len(sought) if exact_words else 1)
        least = _find_window_end(answer_words, start, exact_words, len(sought) + slack)
        if least is None:
            continue
        for end in range(max(least, start + max(1, len(sought) - slack)), start + len(sought) + slack + 1):
            if end > len(answer_words):
                break
            budget.spend((end - start) * (1 + (end - start) // LONG_WINDOW))
            yield answer_words[start:end]


def _find_window_end(answer_words: Sequence[Word], start: int, exact_words: Sequence[Word], most: int) -> int | None:
    """Return the smallest end of a window from `start` that holds the exact words in order, None if above `most`."""
    matched, end = 0, start
    while matched < len(exact_words) and end < min(len(answer_words), start + most):
        matched += _is_match(exact_words[matched], answer_words[end])
        end += 1
    return end if matched == len(exact_words) else None


def _join_words(window: Sequence[Word], forms: Mapping[PartialDate, str] = MappingProxyType({})) -> str:
    """Join the normalised words; a date that matches an expected one takes its form, letters have no spaces."""
    text = ""
    for word in window:
        key = forms.get(word.date, word.key) if word.date else word.key
        # Scripts without spaces were split into letters; joined again, they are compared as a text.
        text += key if word.kind == "letter" and text[-1:] != " " else f" {key}"
    return text.strip()
