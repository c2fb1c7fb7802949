"""Names in a sentence by their form: capitals, quotation marks, identifiers of code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from greval.reference.extraction.words import (
    COMPOUND_HEADS,
    COMPOUND_TAILS,
    CONNECTORS,
    GENERIC_NAMES,
    HONORIFICS,
    INSTITUTIONS,
    LINKING_VERBS,
    MONTHS,
    NATIONALITIES,
    NEVER_NAMES,
    ROLES,
    STARTERS,
    VERBS,
    WEEKDAYS,
)

MAX_QUOTED_WORDS = 8
MAX_NAME_WORDS = 10
"""A longer run of capitals is a heading or a line of a table."""

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
_ABBREVIATIONS = frozenset(
    ("mr", "mrs", "ms", "dr", "prof", "st", "ft", "mt", "jr", "sr", "inc", "corp", "co", "ltd", "bros")
)
_SENTENCE_MARKS = frozenset('.:!?;*#>|•\u2013—("“')
_TIME_WORDS = frozenset(
    ("in", "on", "by", "since", "until", "till", "from", "to", "of", "during", "every", "last", "next")
)
_IDENTIFIER = re.compile(
    r"(?:v\d+(?:\.\d+)+|[A-Z][A-Z0-9]*-\d+|\w*[^\W_]_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+(?:[A-Z][a-z]+)+)\Z"
)
_DOTTED = re.compile(r"[A-Za-z_]\w+(?:\.[a-z_]\w+)+\Z")
_KEBAB = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+\Z")
_FILE = re.compile(r"(?:/|\.{1,2}/|[\w@-]+/).*(?:\.\w{1,5}|/.*/.*|/)\Z")


class TextToken(NamedTuple):
    """A word, number, mark or quoted phrase of a sentence."""

    kind: str
    text: str
    start: int
    end: int


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

    Args:
        sentence: The sentence.
        tokens: Its tokens.
        lower_names: Words, in lower case, that are names even so: those of the title, if it is an identifier.
        code: If set, the document describes software, and the object of a verb like "calls" is a component.

    Example:
        >>> text = 'Stephen King wrote "Trucks" and the score of Maximum Overdrive in 1986 for fare-engine.'
        >>> [span.name for span in find_names(text, split_tokens(text))]
        ['Stephen King', 'Trucks', 'Maximum Overdrive', 'fare-engine']
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


def _is_capitalised(token: TextToken) -> bool:
    """Return whether a token may be a word of a name."""
    if token.kind == "word":
        return token.text[0].isupper() and not token.text.startswith(("I'", "I\u2019"))
    if token.kind == "path":
        return token.text.isupper()
    return token.kind == "initials" and token.text[0].isupper()


class _Scanner:
    """The search for names in one sentence."""

    def __init__(self, sentence: str, tokens: Sequence[TextToken], lower_names: Collection[str], *, code: bool) -> None:
        self.sentence = sentence
        self.tokens = tokens
        self.known = lower_names
        self.code = code

    def scan(self) -> Iterator[NameSpan]:
        """Find the names from the first token to the last."""
        position = 0
        while position < len(self.tokens):
            token = self.tokens[position]
            if token.kind == "quoted" and (span := _read_quoted(token)):
                yield span
                position += 1
            elif token.kind == "quoted":
                # A quotation that is no name may hold names.
                offset = token.start + 1
                inner = token.text[1:-1]
                for span in find_names(inner, split_tokens(inner), self.known, code=self.code):
                    yield NameSpan(span.start + offset, span.end + offset, span.name, span.single)
                position += 1
            elif token.kind == "code":
                name = token.text.strip("` ").removesuffix("()")
                if any(letter.isalpha() for letter in name) and len(name.split()) <= 3:  # noqa: PLR2004
                    start = token.start + token.text.find(name)
                    yield NameSpan(start, start + len(name), name)
                position += 1
            elif self._is_identifier(position):
                yield NameSpan(token.start, token.end, token.text)
                position += 1
            elif self._begins_name(position):
                last = self._find_last(position)
                yield from self._clean_run(position, last)
                position = last + 1
            else:
                position += 1

    def _is_start(self, position: int) -> bool:
        """Return whether any word at this place has a capital, as at the start of a sentence."""
        return position == 0 or (
            self.tokens[position - 1].text[-1] in _SENTENCE_MARKS and self.tokens[position - 1].kind == "mark"
        )

    def _is_identifier(self, position: int) -> bool:
        """Return whether a token is an identifier of code, a file, a ticket or a version."""
        token = self.tokens[position]
        text = token.text
        if token.kind != "word":
            return token.kind == "path" and (bool(_FILE.match(text)) or text.lower() in self.known)
        if _IDENTIFIER.match(text):
            # With a capital, an identifier may be the first word of a longer name.
            return not (text[0].isupper() and self._continues_name(position))
        if "." in text:
            return bool(_DOTTED.match(text)) and not text[0].isupper()
        if text in self.known or _is_kebab(text):
            return position == 0 or self._stands_alone(position)
        return self.code and text.isalpha() and self._is_component(position)

    def _stands_alone(self, position: int) -> bool:
        """Return whether no article is in front of a word in lower case, and a verb, mark or function word behind."""
        preceding = self.tokens[position - 1].text.lower() if position else ""
        if preceding in {"a", "an"}:
            return False
        if position + 1 >= len(self.tokens):
            return True
        after = self.tokens[position + 1]
        word = after.text.lower()
        return after.kind != "word" or word in NEVER_NAMES or word in VERBS or word.endswith("s")

    def _is_component(self, position: int) -> bool:
        """Return whether a plain word in lower case names a component: at the start, or as the object of a verb."""
        text = self.tokens[position].text
        if not text[0].islower() or text in NEVER_NAMES or text in VERBS:
            return False
        if position == 0:
            return self._stands_alone(position) and len(self.tokens) > 1
        preceding = self.tokens[position - 1].text
        if preceding in LINKING_VERBS:
            return self._stands_alone(position)
        return (
            preceding in {"and", "or", ","}
            and position > 1
            and self._stands_alone(position)
            and any(token.text in LINKING_VERBS for token in self.tokens[max(0, position - 6) : position - 1])
        )

    def _continues_name(self, position: int) -> bool:
        """Return whether the next token belongs to the same name."""
        return position + 1 < len(self.tokens) and _is_capitalised(self.tokens[position + 1])

    def _begins_name(self, position: int) -> bool:
        token = self.tokens[position]
        if token.kind == "number":
            if not self._continues_name(position):
                return False
            # A number begins a name only as an ordinal or behind an article: 10th Street, the 400 Blows.
            ordinal = token.text[-1].isalpha()
            return ordinal or (position > 0 and self.tokens[position - 1].text.lower() == "the")
        return _is_capitalised(token)

    def _find_last(self, first: int) -> int:
        """Return the last token of the name that begins with a token."""
        last = first
        institution = False
        while last + 1 < len(self.tokens):
            text = self.tokens[last].text
            institution = institution or text.lower() in INSTITUTIONS
            if self._ends_name(last):
                break
            following = self.tokens[last + 1]
            if _is_capitalised(following) or self._is_numbered(last + 1):
                last += 1
                continue
            # The full stop of an abbreviation is part of the name: St. Louis.
            if following.text == "." and text.lower() in _ABBREVIATIONS and last + 2 < len(self.tokens):
                if _is_capitalised(self.tokens[last + 2]):
                    last += 2
                    continue
                break
            skipped = self._skip_connectors(last, first, institution=institution)
            if skipped is None:
                break
            last = skipped
        return last

    def _ends_name(self, position: int) -> bool:
        """Return whether nothing can follow a token in a name: a possessive, or a compound like London-based."""
        text = self.tokens[position].text
        if text.endswith(("'s", "\u2019s")):
            following = self.tokens[position + 1]
            return following.text.lower().removesuffix(".") not in GENERIC_NAMES or not _is_capitalised(following)
        return _is_compound(text)

    def _is_numbered(self, position: int) -> bool:
        """Return whether a number at this place is part of the name in front: Boeing 747, Apollo 11."""
        token = self.tokens[position]
        if token.kind != "number" or not token.text.isdecimal():
            return False
        preceding = self.tokens[position - 1].text.lower().rstrip(".")
        after = self.tokens[position + 1].text.lower() if position + 1 < len(self.tokens) else ""
        return after not in MONTHS and not (
            preceding in MONTHS or preceding in NEVER_NAMES or preceding in WEEKDAYS or preceding in NATIONALITIES
        )

    def _skip_connectors(self, last: int, first: int, *, institution: bool) -> int | None:
        """Return the capitalised token behind words like "of the"; None if the name ends here."""
        position = last + 1
        preceding = self.tokens[last].text.lower()
        if preceding in NEVER_NAMES or preceding in MONTHS or preceding in WEEKDAYS or preceding in NATIONALITIES:
            return None
        joined = False
        while position < len(self.tokens) and position - last <= 3:  # noqa: PLR2004
            token = self.tokens[position]
            text = token.text
            if _is_capitalised(token) and position > last + 1:
                plain = text.lower()
                return None if joined and (plain in MONTHS or plain in NEVER_NAMES) else position
            if text == "and" and institution and position == last + 1 and last > first + 1:
                # The Department of Health and Human Services.
                joined = True
            elif (text == "the" and position == last + 1) or text not in CONNECTORS:
                return None
            position += 1
        return None

    def _clean_run(self, first: int, last: int) -> Iterator[NameSpan]:
        """Remove what is no part of the name from the ends of a run, and yield what is left if it is a name."""
        tokens = self.tokens
        start = self._is_start(first)
        while first <= last and self._is_no_beginning(first, last, start=start):
            first += 1
            # Behind an honorific, a word does not owe its capital to the start of the sentence.
            start = start and tokens[first - 1].text.lower() not in HONORIFICS
        while last >= first and self._is_no_end(last):
            last -= 1
        # A role such as President in the middle of a run ends one name and begins that of a person.
        for position in range(last - 2, first - 1, -1):
            if tokens[position].text.lower() in ROLES and _is_person(tokens[position + 1 : last + 1]):
                yield from self._clean_run(first, position - 1)
                first = position + 1
                break
        run = tokens[first : last + 1]
        if not run or len(run) > MAX_NAME_WORDS or _is_no_name(run):
            return
        if name := self._read_name(run):
            yield NameSpan(run[0].start, run[0].start + len(name), name, single=len(run) == 1 and self._is_start(first))

    def _read_name(self, run: Sequence[TextToken]) -> str:
        """Return the name of a run of tokens without what its last token adds to it; empty if nothing is left."""
        end, name = run[-1].end, self.sentence[run[0].start : run[-1].end]
        if run[-1].kind == "initials" and len(run[-1].text) == 2 and end == len(self.sentence.rstrip()):  # noqa: PLR2004
            # The full stop is that of the sentence and not of an initial.
            name = name[:-1]
        elif _is_compound(run[-1].text):
            head = run[-1].text.partition("-")[0]
            if len(run) == 1 and _is_excluded(head.lower()):
                return ""
            name = self.sentence[run[0].start : run[-1].start] + head
        for suffix in ("'s", "\u2019s"):
            name = name.removesuffix(suffix)
        return name if len(name) > 1 else ""

    def _is_no_beginning(self, position: int, last: int, *, start: bool) -> bool:
        token = self.tokens[position]
        lower = token.text.lower()
        if lower in HONORIFICS or token.text in {".", "&"}:
            return position < last or lower in HONORIFICS
        if lower in MONTHS or lower in WEEKDAYS:
            # "In May" and "3 May" are dates, and May Sarton is a name.
            preceding = self.tokens[position - 1] if position else token
            return preceding.text.lower() in _TIME_WORDS or preceding.kind == "number"
        if token.kind == "number":
            return not self._begins_name(position)
        if start and position < last and lower in STARTERS and lower.endswith(("ing", "ed")):
            return True
        return lower in NEVER_NAMES and (start or lower != "the") and (start or position == last)

    def _is_no_end(self, position: int) -> bool:
        token = self.tokens[position]
        lower = token.text.lower()
        if lower in MONTHS:
            return position + 1 < len(self.tokens) and self.tokens[position + 1].kind == "number"
        return token.text in {".", "&"} or lower in CONNECTORS


def _is_kebab(text: str) -> bool:
    """Return whether a word is made of words in lower case with hyphens and is no ordinary adjective."""
    if "-" not in text or not _KEBAB.match(text):
        return False
    first, *_, last = text.split("-")
    return not (last in COMPOUND_TAILS or first in COMPOUND_HEADS or last.endswith(("ed", "ing", "ly")))


def _is_compound(text: str) -> bool:
    """Return whether a word is an adjective made of a name and a word in lower case, such as London-based."""
    _, hyphen, tail = text.rpartition("-")
    return bool(hyphen) and (tail in COMPOUND_TAILS or (tail[:1].islower() and tail.endswith(("ed", "ing"))))


def _is_excluded(lower: str) -> bool:
    """Return whether a word is no name on its own."""
    return (
        lower in NATIONALITIES
        or lower in MONTHS
        or lower in WEEKDAYS
        or lower in NEVER_NAMES
        or lower in GENERIC_NAMES
        or lower in HONORIFICS
    )


def _is_person(run: Sequence[TextToken]) -> bool:
    """Return whether the words behind a role such as President may be the name of a person."""
    if (
        run[0].text.lower() in CONNECTORS
        or run[-1].text.lower() in GENERIC_NAMES
        or run[-1].text.lower() in INSTITUTIONS
    ):
        return False
    return all(_is_capitalised(token) for token in run[:2]) and len(run) <= 4  # noqa: PLR2004


def _is_no_name(run: Sequence[TextToken]) -> bool:
    """Return whether a run has nothing but nationalities, months, numbers and generic words."""
    for token in run:
        if token.kind == "number" or (token.kind == "word" and len(run) == 1 and is_roman(token.text)):
            continue
        lower = token.text.lower().removesuffix("'s").removesuffix("\u2019s")
        parts = lower.replace("\u2013", "-").split("-")
        if not all(_is_excluded(part) or len(part.rstrip(".")) < 2 for part in parts):  # noqa: PLR2004
            return False
        if len(run) > 1 and lower in GENERIC_NAMES and lower not in NATIONALITIES:
            return False
    return True


def _read_quoted(token: TextToken) -> NameSpan | None:
    """Return the span of a quoted title or term; None if the quotation is a sentence or a phrase in lower case."""
    # Quotation marks such as ``these'' have two characters.
    width = 2 if token.text.startswith("``") else 1
    inner = token.text[width:-width]
    name = inner.strip(" ,.;:'")
    first = name[:1]
    words = name.split()
    if not words or len(words) > MAX_QUOTED_WORDS or first.islower() or not any(letter.isalpha() for letter in name):
        return None
    if len(words) == 1 and _is_excluded(name.lower()) and name.lower() not in GENERIC_NAMES:
        return None
    capitals = sum(not word[0].islower() for word in words)
    if len(words) > 3 and capitals * 2 < len(words):  # noqa: PLR2004
        return None
    start = token.start + width + inner.find(name)
    return NameSpan(start, start + len(name), name, quoted=True)
