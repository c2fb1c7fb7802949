"""Names in a sentence by their form: capitals, quotation marks, identifiers of code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from greval.reference.extraction.words import (
    CONNECTORS,
    DATE_WORDS,
    GENERIC_NAMES,
    HONORIFICS,
    LINKING_VERBS,
    NATIONALITIES,
    NEVER_NAMES,
    ROLES,
    STARTERS,
    VERBS,
    read_words,
)

MAX_QUOTED_WORDS = 8
MAX_NAME_WORDS = 10
"""A longer run of capitals is a heading or a line of a table."""
MAX_CONNECTORS = 2

_TOKEN = re.compile(
    r"""
    (?P<quoted>"[^"\n]{2,90}"|“[^”\n]{2,90}”|„[^“”\n]{2,90}[“”]|«[^»\n]{2,90}»|「[^」\n]{1,60}」|『[^』\n]{1,60}』
        |《[^》\n]{1,60}》|``\ ?[^`\n]{2,90}?\ ?'')
    |(?P<code>`[^`\n]{1,80}`)
    |(?P<link>https?://\S+|www\.\S+)
    |(?P<path>(?:\.{0,2}/)?[\w.@-]*\w/[\w./@-]*\w)
    |(?P<initials>(?:[^\W\d_]\.){1,5}(?!\w))
    |(?P<number>\d[\d,.]*(?:st|nd|rd|th)?(?![\w-]))
    |(?P<word>\w[\w]*(?:(?:[-\u2013'\u2019&+]|\.(?=\w))\w+)*[+\#]*)
    |(?P<mark>\S)
    """,
    re.VERBOSE,
)
_ROMAN = re.compile(r"(?=[IVX])(?:X{0,3})(?:IX|IV|V?I{0,3})\Z")
_ABBREVIATIONS = read_words("mr mrs ms dr prof st ft mt jr sr inc corp co ltd")
_SENTENCE_MARKS = frozenset('.:!?;*#>|•\u2013—("“')
_TIME_WORDS = read_words("in on by since until till from to of during every")
_IDENTIFIER = re.compile(
    r"(?:v\d+(?:\.\d+)+|[A-Z][A-Z0-9]*-\d+|\w*[^\W_]_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+(?:[A-Z][a-z]+)+"
    r"|[a-z_]\w+(?:\.[a-z_]\w+)+)\Z"
)
_KEBAB = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*-(?!(?:[a-z]*(?:ed|ing|ly)|known|old|time|term|year)\Z)[a-z0-9]+\Z")
_FILE = re.compile(r"(?:/|\.{1,2}/|[\w@-]+/).*(?:\.\w{1,5}|/.*/.*|/)\Z")
_ADJECTIVE = re.compile(r"(?P<head>.+)-(?:[a-z]*(?:ed|ing)|born|area|style|era|like|language)\Z")
"""A word like London-based, whose head is a name."""


class TextToken(NamedTuple):
    """A word, number, mark or quoted phrase of a sentence."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        """The text as it is looked up in lists of words."""
        return self.text.lower()

    @property
    def is_capitalised(self) -> bool:
        """True if the token may be a word of a name."""
        if self.kind == "path":
            return self.text.isupper()
        return self.kind in {"word", "initials"} and self.text[0].isupper() and self.text[:2] not in {"I'", "I\u2019"}


@dataclass
class NameSpan:
    """A name in a sentence. `single` is set if it is one capitalised word at a place that asks for a capital."""

    start: int
    end: int
    name: str
    single: bool = False
    quoted: bool = False


def split_tokens(sentence: str) -> list[TextToken]:
    """Split a sentence into tokens."""
    return [TextToken(match.lastgroup or "mark", match[0], *match.span()) for match in _TOKEN.finditer(sentence)]


def find_names(
    sentence: str, tokens: Sequence[TextToken], lower_names: Collection[str] = (), *, code: bool = False
) -> list[NameSpan]:
    """Find the names of a sentence by their form, in order.

    Words of `lower_names`, in lower case, are names even so: those of the title, if it is an identifier. With `code`,
    the document describes software, and the object of a verb like "calls" is a component.
    """
    return [*_Scanner(sentence, tokens, lower_names, code=code).scan()]


def is_common_word(word: str) -> bool:
    """Return whether a capitalised word at the start of a sentence is most likely none of a name."""
    lower = word.lower()
    return (
        lower in NEVER_NAMES
        or lower in STARTERS
        or lower in VERBS
        or (len(lower) > 7 and lower.endswith(("ly", "ing", "tion", "tions", "ment", "ments", "ness")))  # noqa: PLR2004
        or (len(lower) > 6 and lower.endswith("ed"))  # noqa: PLR2004
    )


def is_roman(word: str) -> bool:
    """Return whether a word is a Roman numeral up to 39."""
    return bool(_ROMAN.match(word))


class _Scanner:
    """The search for names in one sentence."""

    def __init__(self, sentence: str, tokens: Sequence[TextToken], lower_names: Collection[str], *, code: bool) -> None:
        self.sentence = sentence
        self.tokens = tokens
        self.lower_names = lower_names
        self.code = code

    def scan(self) -> Iterator[NameSpan]:
        """Find the names from the first token to the last."""
        position = 0
        while position < len(self.tokens):
            token = self.tokens[position]
            last = position
            if token.kind == "quoted":
                yield from self._read_quoted(token)
            elif token.kind == "code":
                name = token.text.strip("` ").removesuffix("()")
                if any(letter.isalpha() for letter in name) and len(name.split()) <= 3:  # noqa: PLR2004
                    start = token.start + token.text.find(name)
                    yield NameSpan(start, start + len(name), name)
            elif self._is_identifier(position):
                yield NameSpan(token.start, token.end, token.text)
            elif self._begins_name(position):
                last = self._find_last(position)
                for run in self._split_run(position, last):
                    if span := self._read_run(*run):
                        yield span
            position = last + 1

    def _read_quoted(self, token: TextToken) -> Iterator[NameSpan]:
        """Yield a quoted title or term; or the names in a quotation that is a sentence or a phrase in lower case."""
        # Quotation marks such as ``these'' have two characters.
        width = 2 if token.text.startswith("``") else 1
        inner = token.text[width:-width]
        offset = token.start + width
        name = inner.strip(" ,.;:'")
        words = name.split()
        capitals = sum(not word[0].islower() for word in words)
        if (
            not 0 < len(words) <= MAX_QUOTED_WORDS
            or name[0].islower()
            or not any(letter.isalpha() for letter in name)
            or (len(words) == 1 and _is_excluded(name.lower()) and name.lower() not in GENERIC_NAMES)
            or (len(words) > 3 and capitals * 2 < len(words))  # noqa: PLR2004
        ):
            for span in find_names(inner, split_tokens(inner), self.lower_names, code=self.code):
                yield NameSpan(span.start + offset, span.end + offset, span.name, span.single)
        else:
            start = offset + inner.find(name)
            yield NameSpan(start, start + len(name), name, quoted=True)

    def _get_lower(self, position: int) -> str:
        """Return a token in lower case; empty beyond the ends of the sentence."""
        return self.tokens[position].lower if 0 <= position < len(self.tokens) else ""

    def _is_start(self, position: int) -> bool:
        """Return whether any word at this place has a capital, as at the start of a sentence."""
        preceding = self.tokens[position - 1] if position else None
        return preceding is None or (preceding.kind == "mark" and preceding.text[-1] in _SENTENCE_MARKS)

    def _is_identifier(self, position: int) -> bool:
        """Return whether a token is an identifier of code, a file, a ticket or a version."""
        token = self.tokens[position]
        text = token.text
        if token.kind != "word":
            return token.kind == "path" and (bool(_FILE.match(text)) or text.lower() in self.lower_names)
        if _IDENTIFIER.match(text):
            # With a capital, an identifier may be the first word of a longer name.
            return not (text[0].isupper() and self._is_capitalised(position + 1))
        if text in self.lower_names or _KEBAB.match(text):
            return self._stands_alone(position)
        return self.code and text.isalpha() and self._is_component(position)

    def _is_capitalised(self, position: int) -> bool:
        return position < len(self.tokens) and self.tokens[position].is_capitalised

    def _stands_alone(self, position: int) -> bool:
        """Return whether no article is in front of a word in lower case, and a verb, mark or function word behind."""
        if self._get_lower(position - 1) in {"a", "an"}:
            return False
        if position + 1 >= len(self.tokens):
            return True
        word = self._get_lower(position + 1)
        is_word = self.tokens[position + 1].kind == "word"
        return not is_word or word in NEVER_NAMES or word in VERBS or word.endswith("s")

    def _is_component(self, position: int) -> bool:
        """Return whether a plain word in lower case names a component: at the start, or as the object of a verb."""
        text = self.tokens[position].text
        if not text[0].islower() or text in NEVER_NAMES or text in VERBS or not self._stands_alone(position):
            return False
        if position == 0:
            return len(self.tokens) > 1
        preceding = self._get_lower(position - 1)
        earlier = [token.lower for token in self.tokens[max(0, position - 6) : position - 1]]
        return preceding in LINKING_VERBS or (preceding in {"and", "or", ","} and not LINKING_VERBS.isdisjoint(earlier))

    def _begins_name(self, position: int) -> bool:
        token = self.tokens[position]
        if token.kind != "number":
            return token.is_capitalised
        # A number begins a name only as an ordinal or behind an article: 10th Street, the 400 Blows.
        is_numeral = token.text[-1].isalpha() or self._get_lower(position - 1) == "the"
        return is_numeral and self._is_capitalised(position + 1)

    def _find_last(self, last: int) -> int:
        """Return the last token of the name that begins with a token."""
        while not self._ends_name(last):
            if self._is_capitalised(last + 1) or self._is_number(last + 1):
                last += 1
                continue
            # The full stop of an abbreviation is part of the name (St. Louis), and so are words like "of the".
            following = last + 1
            if self._get_lower(following) == "." and self._get_lower(last) in _ABBREVIATIONS:
                following += 1
            elif not self._is_excluded(last) and self._get_lower(following) != "the":
                while following - last <= MAX_CONNECTORS and self._get_lower(following) in CONNECTORS:
                    following += 1
            if following == last + 1 or not self._is_capitalised(following):
                break
            last = following
        return last

    def _is_excluded(self, position: int) -> bool:
        lower = self._get_lower(position).rstrip(".")
        return lower in NEVER_NAMES or lower in DATE_WORDS or lower in NATIONALITIES

    def _ends_name(self, position: int) -> bool:
        """Return whether nothing can follow a token in a name: a possessive, or an adjective like London-based."""
        text = self.tokens[position].text
        if text.endswith(("'s", "\u2019s")):
            return not (self._is_capitalised(position + 1) and self._get_lower(position + 1) in GENERIC_NAMES)
        return bool(_ADJECTIVE.match(text))

    def _is_number(self, position: int) -> bool:
        """Return whether a number at this place is part of the name in front: Boeing 747, Apollo 11."""
        if position >= len(self.tokens) or not self.tokens[position].text.isdecimal():
            return False
        return self._get_lower(position + 1) not in DATE_WORDS and not self._is_excluded(position - 1)

    def _split_run(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the parts of a run before and behind a role such as President, which is no part of a person's name."""
        if self._get_lower(last) not in GENERIC_NAMES:
            for role in range(last - 2, first - 1, -1):
                if self._get_lower(role) in ROLES and self._is_capitalised(role + 1):
                    return [(first, role - 1), (role + 1, last)]
        return [(first, last)]

    def _read_run(self, first: int, last: int) -> NameSpan | None:
        """Remove what is no part of the name from the ends of a run, and return what is left if it is a name."""
        start = self._is_start(first)
        while first <= last and self._is_no_beginning(first, last, start=start):
            # Behind an honorific, a word does not owe its capital to the start of the sentence.
            start = start and self._get_lower(first) not in HONORIFICS
            first += 1
        while last >= first and self._is_no_end(last):
            last -= 1
        run = self.tokens[first : last + 1]
        if not run or len(run) > MAX_NAME_WORDS or _is_no_name(run):
            return None
        name = self.sentence[run[0].start : run[-1].end]
        if adjective := _ADJECTIVE.match(run[-1].text):
            if len(run) == 1 and _is_excluded(adjective["head"].lower()):
                return None
            name = name[: len(name) - len(run[-1].text)] + adjective["head"]
        elif run[-1].kind == "initials" and len(run[-1].text) == 2 and run[-1].end == len(self.sentence.rstrip()):  # noqa: PLR2004
            # The full stop is that of the sentence and not of an initial.
            name = name[:-1]
        name = name.removesuffix("'s").removesuffix("\u2019s")
        single = len(run) == 1 and self._is_start(first)
        return NameSpan(run[0].start, run[0].start + len(name), name, single) if len(name) > 1 else None

    def _is_no_beginning(self, position: int, last: int, *, start: bool) -> bool:
        token = self.tokens[position]
        if token.lower in HONORIFICS:
            return True
        if token.text in {".", "&"}:
            return position < last
        if token.lower in DATE_WORDS:
            # "In May" and "3 May" are dates, and May Sarton is a name.
            return self._get_lower(position - 1) in _TIME_WORDS or self._get_lower(position - 1).isdecimal()
        if token.kind == "number":
            return not self._begins_name(position)
        if start and position < last and token.lower in STARTERS and token.lower.endswith(("ing", "ed")):
            return True
        return token.lower in NEVER_NAMES and (start or position == last)

    def _is_no_end(self, position: int) -> bool:
        token = self.tokens[position]
        if token.lower in DATE_WORDS:
            return position + 1 < len(self.tokens) and self.tokens[position + 1].kind == "number"
        return token.text in {".", "&"} or token.lower in CONNECTORS


def _is_excluded(lower: str) -> bool:
    """Return whether a word is no name on its own."""
    lists = (NATIONALITIES, DATE_WORDS, NEVER_NAMES, GENERIC_NAMES, HONORIFICS)
    return any(lower in words for words in lists)


def _is_no_name(run: Sequence[TextToken]) -> bool:
    """Return whether a run has nothing but nationalities, months, numbers and generic words."""
    for token in run:
        if token.kind == "number" or (token.kind == "word" and len(run) == 1 and is_roman(token.text)):
            continue
        lower = token.lower.removesuffix("'s").removesuffix("\u2019s")
        parts = lower.replace("\u2013", "-").split("-")
        if not all(_is_excluded(part) or len(part.rstrip(".")) < 2 for part in parts):  # noqa: PLR2004
            return False
        if len(run) > 1 and lower in GENERIC_NAMES and lower not in NATIONALITIES:
            return False
    return True
