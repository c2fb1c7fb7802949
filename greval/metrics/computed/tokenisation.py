"""A tokeniser that normalises words, numbers with units, and dates of any script for comparison.

Texts are compared in Unicode NFKC form, without case and punctuation. Scripts without spaces are split into
letters. Numbers and dates have one normalised form for all their spellings: 2 September 2024, September 2, 2024,
2024-09-02 and 2024年9月2日 are one date. The names of months are English; 03/04/2024 is ambiguous and stays as written.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Literal, NamedTuple

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LEAP_YEAR = 2024
"""A leap year, used to validate dates without a year."""
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_NOT_A_VERB = r"(?!(?-i:may|march)\b)"
"""Excludes `may` and `march` in lower case, which are not months unless they are part of a full date."""
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_OF = r"\s+(?:of\s+)?"
WordKind = Literal["word", "name", "letter", "number", "unit", "date", "symbol"]
"""The kind of a word. `name` is the A of A-10, which is not an article."""
ARTICLES = frozenset({"a", "an", "the"})
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_CURRENCIES = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "usd": "dollar", "eur": "euro", "gbp": "pound"}
_UNIT_FORMS = (
    *("% percent pct", "h hr hrs hour hours", "min mins minute minutes", "s sec secs second seconds"),
    *("ms msec millisecond milliseconds", "day days", "week weeks", "month months", "year years yr yrs"),
    *("km kilometer kilometers kilometre kilometres", "metre metres meter meters", "mile miles mi"),
    *("kg kilogram kilograms kilo kilos", "gram grams g", "dollar dollars", "euro euros", "pound pounds", "yen jpy"),
)
_UNITS = {form: forms.split()[0] for forms in _UNIT_FORMS for form in forms.split()} | _CURRENCIES
"""Units after a number, by each of their spellings."""
_UNSPACED_SCRIPTS = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0x2FDF), (0x3005, 0x3007),
             (0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
             (0x20000, 0x3FFFF))  # fmt: skip
"""Code points of scripts without spaces: Thai, Lao, Burmese, Khmer, Chinese characters and Japanese syllables."""
_QUOTES = "\u2019\u02bc"
_REPLACED_MARKS = {**dict.fromkeys(_QUOTES, "'"), "\u2212": "-", "\u066b": ".", "\u066c": ",", "<": "c", ">": "c"}
"""Replacements of characters: curly apostrophes, the minus sign, and the separators of Arabic numbers."""
_ASCII_MARKS = frozenset(".,-'+#%$€£¥")
_NUMBER = (
    r"(?:0{1,3}(?:,0{2,3})*,000(?!0)(?:\.0+)?"  # 1,000.5
    r"|0{1,3}(?:\.000){2,}(?![.0])(?:,0+)?|0{1,3}(?:\.000)+,0+(?![,0])"  # 1.000.000 and 1.000,5
    r"|0+,0{1,2}(?![,.]?0)|0*\.0+(?!\.0)|0+)"  # 3,5 and 3.5 and 3
)
_WORD = re.compile(
    rf"(?P<version>(?<![0.])0+(?:\.0+){{2,}}(?!0))(?<!\.000\.000)"
    rf"|(?P<number>(?:(?<![a0c)])-)?{_NUMBER})(?P<tail>a[a0]*)?"
    r"|(?P<initials>(?<![a0])(?:a\.){2,}a?(?!a))"
    r"|(?P<elided>(?<![a0])a(?='a{2}))"
    r"|(?P<word>a[a0]*(?:'a+)*(?:(?<=0)\.0+)*(?:\+\+|#)?)"
    r"|(?P<letter>c)"
    r"|(?P<symbol>[%$€£¥])"
)
_GROUPED = re.compile(r"(?<=\d)[\u00a0\u202f\u2009'\u2019](?=\d{3}(?!\d))")
_QUOTED = re.compile(f"[{_QUOTES}]")
_PER_CENT = re.compile(r"\bper cent\b", re.IGNORECASE)
_RAISED = re.compile(r"(?<=\d)(?=[²³¹⁰⁴-⁹¼-¾⅐-⅞])")


class PartialDate(NamedTuple):
    """A date of which some parts may be unknown."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def __str__(self) -> str:
        """Format the date as ISO 8601."""
        month = "" if self.month is None else f"-{self.month:02}"
        day = "" if self.day is None else f"-{self.day:02}"
        return f"{'-' if self.year is None else f'{self.year:04}'}{month}{day}"

    def covers(self, date: PartialDate) -> bool:
        """Return whether another date equals this one or is a more precise one within it."""
        return all(mine in {None, its} for mine, its in zip(self, date, strict=True))


def _parse_date(year_digits: str, month_text: str, day_digits: str) -> PartialDate | None:
    """Parse the parts of a date, the month as name or number; None if it is not in the calendar."""
    prefix = month_text[:3].casefold()
    month = (MONTHS.index(prefix) + 1 if prefix in MONTHS else int(month_text)) if month_text else None
    year, day = (int(digits) if digits else None for digits in (year_digits, day_digits))
    if year == 0 or (month is not None and not 1 <= month <= len(MONTHS)):
        return None
    if day is not None and not 1 <= day <= monthrange(year or LEAP_YEAR, month or 1)[1]:
        return None
    return PartialDate(year, month, day)


def _parse_numeric_date(first: str, second: str, year: str) -> PartialDate | None:
    """Parse 25/12/2024 or 12/25/2024; None if both readings are valid and differ."""
    readings = {date for date in (_parse_date(year, second, first), _parse_date(year, first, second)) if date}
    return readings.pop() if len(readings) == 1 else None


# Full dates come first, so that 2 September 2024 is not taken for 2 September.
_PATTERNS: tuple[tuple[str, Callable[..., PartialDate | None]], ...] = (
    (rf"\b{_DAY}{_OF}{_MONTH},?\s+(\d{{4}})\b", lambda day, month, year: _parse_date(year, month, day)),
    (rf"\b{_MONTH}\s+{_DAY},?\s+(\d{{4}})\b", lambda month, day, year: _parse_date(year, month, day)),
    (r"(?<!\d)(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日", _parse_date),
    (r"(?<![\d.])(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)", _parse_date),
    (r"(?<![\d.])(\d{4})/(\d{1,2})/(\d{1,2})(?![\d/])", _parse_date),
    (r"(?<![\d.])(\d{4})\.(\d{1,2})\.(\d{1,2})(?!\.?\d)", _parse_date),
    (r"(?<![\d./-])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])", _parse_numeric_date),
    (r"(?<![\d./-])(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\.?\d)", _parse_numeric_date),
    (r"(?<![\d./-])(\d{1,2})-(\d{1,2})-(\d{4})(?![\d-])", _parse_numeric_date),
    (rf"\b{_NOT_A_VERB}{_MONTH},?\s+(\d{{4}})\b", lambda month, year: _parse_date(year, month, "")),
    (rf"\b{_DAY}{_OF}{_NOT_A_VERB}{_MONTH}", lambda day, month: _parse_date("", month, day)),
    (rf"\b{_NOT_A_VERB}{_MONTH}\s+{_DAY}\b", lambda month, day: _parse_date("", month, day)),
)


@cache
def _compile_patterns() -> list[tuple[re.Pattern[str], Callable[..., PartialDate | None]]]:
    """Compile the patterns on first use, because most runs read no dates."""
    return [(re.compile(pattern, re.IGNORECASE), reading) for pattern, reading in _PATTERNS]


def find_dates(text: str) -> Iterator[tuple[int, int, PartialDate | None]]:
    """Find the dates of a text in order, each with its start and end; a part of a longer date is not found again.

    An ambiguous date is None.

    Example:
        >>> [str(date) for _, _, date in find_dates("From September 2, 2024 to 3/4/2025, each May 5")]
        ['2024-09-02', 'None', '--05-05']
    """
    dates: list[tuple[int, int, PartialDate | None]] = []
    # The characters that are part of a date already: a list of dates would be searched for each further one.
    taken = bytearray(len(text))
    for pattern, reading in _compile_patterns():
        for match in pattern.finditer(text):
            date = reading(*match.groups())
            start, end = match.span()
            # An ambiguous 3/4/2024 is kept without a date, so that its parts are not read as numbers.
            if (date or reading is _parse_numeric_date) and taken.find(1, start, end) < 0:
                dates.append((start, end, date))
                taken[start:end] = b"\1" * (end - start)
    yield from sorted(dates, key=lambda span: span[:2])


class Word(NamedTuple):
    """A word: its kind, its normalised form `key`, its original text and position; `date` is set for dates only."""

    kind: WordKind
    key: str
    text: str
    start: int
    end: int
    date: PartialDate | None = None


class _CharacterShapes(dict[int, str]):
    """The class of each character: `a` letter, `0` digit, `c` single-character word, a mark of numbers, or space."""

    def __missing__(self, code: int) -> str:
        """Classify a character on first use."""
        self[code] = shape = self._classify(chr(code))
        return shape

    @staticmethod
    def _classify(character: str) -> str:
        category = unicodedata.category(character)
        if character in _REPLACED_MARKS or character in _ASCII_MARKS:
            return _REPLACED_MARKS.get(character, character)
        if category == "Nd":
            return "0"
        if category[0] in "LMN":
            unspaced = any(low <= ord(character) <= high for low, high in _UNSPACED_SCRIPTS)
            return "c" if unspaced else "a"
        return "c" if category in {"So", "Sm"} and not character.isascii() else " "


# str.translate() looks characters up here and classifies each only once, which is faster than a loop.
_SHAPES = _CharacterShapes()


def normalise_text(text: str) -> str:
    """Return the normalised text, to which the positions of the words from `split_words` refer."""
    # Raised digits and fractions are separated before NFKC, which makes 52 of 5².
    plain = unicodedata.normalize("NFKC", _RAISED.sub(" ", _GROUPED.sub("", text)))
    return _PER_CENT.sub("percent", plain).replace("\u2010", "-")


# Several metrics read the same answer.
@lru_cache(maxsize=64)
def split_words(text: str) -> tuple[Word, ...]:
    """Split a text into normalised words, in order.

    Example:
        >>> [word.key for word in split_words("The fee is $1,000.50 from 2 Sept. 2024; Ada's 20 hours.")]
        ['the', 'fee', 'is', '1000.5', 'dollar', 'from', '2024-09-02', 'ada', '20', 'h']
    """
    plain = normalise_text(text)
    shape = plain.translate(_SHAPES)
    words: list[Word] = []
    position = 0
    # Each date has a digit, so a text without one skips all the patterns.
    for start, end, date in find_dates(plain) if "0" in shape else ():
        words.extend(_split_part(plain, shape, position, start))
        # An ambiguous date stays as written, but 03/04/2024 equals 3/4/2024.
        key = str(date) if date else re.sub(r"\b0", "", plain[start:end])
        words.append(Word("date", key, plain[start:end], start, end, date))
        position = end
    words.extend(_split_part(plain, shape, position, len(plain)))
    return tuple(_apply_units(plain, words))


def drop_articles(words: Sequence[Word]) -> list[Word]:
    """Return the words without English articles.

    `a`, `an` and `the` are articles only if a word follows. A capital A within a sentence is a name.
    """
    followed = zip_longest(words, words[1:])
    return [word for n, (word, after) in enumerate(followed) if not _is_article(word, after, first=n == 0)]


def _is_article(word: Word, after: Word | None, *, first: bool) -> bool:
    if word.key not in ARTICLES or after is None or after.start - word.end > 1:
        return False
    return word.kind == "word" and (first or word.text != "A")


def _split_part(plain: str, shape: str, start: int, end: int) -> Iterator[Word]:
    """Yield the words of a part of the text that has no dates."""
    for match in _WORD.finditer(shape, start, end):
        first, last = match.span()
        text = plain[first:last]
        if match["number"]:
            yield from _split_number(plain, shape, match)
        elif match["symbol"] or match["letter"]:
            yield Word("symbol" if match["symbol"] else "letter", _normalise_word(text), text, first, last)
        else:
            kind: WordKind = "name" if text == "A" and plain.startswith("-", last) else "word"
            yield Word(kind, _normalise_word(text.replace(".", "") if match["initials"] else text), text, first, last)


def _split_number(plain: str, shape: str, match: re.Match[str]) -> Iterator[Word]:
    """Yield a number and the unit attached to it. A number with other letters is a word, such as 17th and 3D."""
    (first, last), split = match.span(), match.end("number")
    tail = plain[split:last]
    if tail and tail.casefold() not in _UNITS:
        yield Word("word", plain[first:last].casefold(), plain[first:last], first, last)
        return
    yield Word("number", _normalise_number(plain, shape, first, split), plain[first:split], first, split)
    if tail:
        yield Word("word", tail.casefold(), tail, split, last)


def _normalise_word(text: str) -> str:
    """Return the normalised form of a word: `Ada's` becomes ada, `don't` becomes dont."""
    folded = _QUOTED.sub("'", unicodedata.normalize("NFKC", text.casefold()))
    return folded.removesuffix("'s").replace("'", "") or folded


def _normalise_number(plain: str, shape: str, start: int, end: int) -> str:
    """Return a number as plain digits without insignificant zeros."""
    marks = shape[start:end]
    digits = "".join(
        str(unicodedata.digit(c)) if mark == "0" else mark for c, mark in zip(plain[start:end], marks, strict=True)
    )
    decimal_comma = re.fullmatch(r"-?(?:0{1,3}(?:\.000)+,0+|0+,0{1,2}|0{1,3}(?:\.000){2,})", marks)
    return _format_decimal(digits.replace(".", "").replace(",", ".") if decimal_comma else digits.replace(",", ""))


def _format_decimal(digits: str, shift: int = 0) -> str:
    """Format a decimal number in its normalised form, multiplied by 10**shift."""
    text = format(Decimal(digits).scaleb(shift) if shift else Decimal(digits), "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _apply_units(plain: str, words: Sequence[Word]) -> list[Word]:
    """Apply the scales and units of numbers and drop other symbols.

    5 million becomes 5000000, $5 becomes 5 dollar, 5 hours becomes 5 h.
    """
    read: list[Word] = []
    currency = pending = ""
    for word, after in zip_longest(words, words[1:]):
        number = bool(read) and read[-1].kind == "number" and not plain[read[-1].end : word.start].strip(" -")
        if number and word.key in _SCALES:
            read[-1] = read[-1]._replace(key=_format_decimal(read[-1].key, _SCALES[word.key]), end=word.end)
            continue
        if pending:
            read.append(read[-1]._replace(kind="unit", key=pending))
            pending, number = "", False
        if _is_leading_currency(word, after, behind=number):
            currency = _CURRENCIES[word.key]
        elif number and word.key in _UNITS:
            read.append(word._replace(kind="unit", key=_UNITS[word.key]))
        elif word.kind != "symbol":
            read.append(word)
            pending, currency = currency, ""
    return [*read, read[-1]._replace(kind="unit", key=pending)] if pending else read


def _is_leading_currency(word: Word, after: Word | None, *, behind: bool) -> bool:
    """Return whether a word is a currency in front of its number, as in $5 and USD 5."""
    if word.key not in _CURRENCIES or after is None or after.kind != "number":
        return False
    # A sign such as $ touches its number. A word such as USD may have a space, unless it follows a number.
    return after.start - word.end <= (word.kind == "word" and not behind)
