"""Wording of messages: counts with nouns, lists of names, the known names nearest to a misspelt one, safe letters."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

MAX_NAMES = 5
MAX_NAME_LENGTH = 60
MAX_KNOWN = 20
MAX_TYPOS = 2
NEAREST_NAMES = 3
MIN_SIMILARITY = 60
"""The minimum similarity, of 100, of a name that is suggested for an unknown one."""
UNMET = "ids do not meet"
"""The beginning of the reason why a case is skipped whose ids cannot meet."""
SUCH_AS = ", such as "
"""The words before the example of a reason."""
CONTROL_PICTURES = 0x2400
"""The first code point of the Unicode block Control Pictures."""
DELETE = 0x7F
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters except tab and newline, and characters that change the text direction."""


def format_names(names: Iterable[str], most: int = MAX_NAMES) -> str:
    """Format names as a list: the first few, each shortened, and the number of further ones.

    Example:
        >>> format_names("abcdefg")
        'a, b, c, d, e and 2 more'
    """
    listed = [*names]
    text = ", ".join(shorten_text(name) for name in listed[:most])
    return text if len(listed) <= most else f"{text} and {len(listed) - most:,} more"


def shorten_text(text: str, longest: int = MAX_NAME_LENGTH) -> str:
    """Return a text on one line, shortened to a maximum length."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def format_count(count: int, what: str) -> str:
    """Format a count with its noun in the singular or the plural.

    Example:
        >>> format_count(1, "edge"), format_count(2, "repository")
        ('1 edge', '2 repositories')
    """
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count:,} {what if count == 1 else plural}"


def format_found_share(present: Collection[str], expected: Collection[str], what: str, where: str) -> str:
    """Format how many of the expected names were found, and which were missed.

    Example:
        >>> format_found_share({"d1"}, ["d1", "d7"], "essential document", "in the first 10")
        '1 of 2 essential documents in the first 10; missed: d7'
    """
    missed = [name for name in expected if name not in present]
    share = f"{len(expected) - len(missed):,} of {format_count(len(expected), what)} {where}"
    return f"{share}; missed: {format_names(missed)}" if missed else share


def find_typo(name: str, known_names: Iterable[str]) -> str | None:
    """Return the known name that is within one or two typing errors of a name, or None.

    Example:
        >>> find_typo("Qestion", ["answer", "question"])
        'question'
    """
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    # Short names are near to many others.
    most = min(MAX_TYPOS, len(name) // 3)
    match = process.extractOne(
        name[:MAX_NAME_LENGTH], [*known_names], scorer=OSA.distance, processor=str.casefold, score_cutoff=most
    )
    return match[0] if match else None


def find_similar(name: str, known_names: Iterable[str]) -> str | None:
    """Return the known name most similar to an unknown one, or None. Unlike `find_typo`, it accepts a missing part.

    Example:
        >>> find_similar("chunk_eval", ["triple_evaluation", "chunk_evaluation"])
        'chunk_evaluation'
    """
    from rapidfuzz import fuzz, process

    match = process.extractOne(
        name, [*known_names], scorer=fuzz.ratio, processor=str.casefold, score_cutoff=MIN_SIMILARITY
    )
    return match[0] if match else None


def did_you_mean(name: str, known_names: Iterable[str]) -> str:
    """Format a hint on an unknown name: the most similar known name, else the first known names.

    Example:
        >>> did_you_mean("stpes", ["steps", "needs"])
        '; did you mean steps?'
        >>> did_you_mean("x", ["steps", "needs"])
        '; known: steps, needs'
    """
    names = [*known_names]
    if suggestion := find_similar(name, names):
        return f"; did you mean {suggestion}?"
    more = ", ..." if len(names) > MAX_KNOWN else ""
    return f"; known: {', '.join(names[:MAX_KNOWN])}{more}" if names else ""


def name_nearest(name: str, known_names: Iterable[str]) -> str:
    """Format a hint on an unknown name: the three known names that are nearest to it, or all if there are not more.

    Example:
        >>> name_nearest("parallel_calls", ["max_calls", "gate", "store_calls", "max_cost"])
        '; the nearest are max_calls, store_calls and gate'
    """
    from rapidfuzz import fuzz, process

    names = [*known_names]
    if len(names) <= NEAREST_NAMES:
        return did_you_mean(name, names)
    nearest = process.extract(name, names, scorer=fuzz.WRatio, processor=str.casefold, limit=NEAREST_NAMES)
    *first, last = (match[0] for match in nearest)
    return f"; the nearest are {', '.join(first)} and {last}"


def escape_control_characters(text: str) -> str:
    r"""Return a text with visible substitutes for control characters, which could otherwise change the terminal.

    Example:
        >>> escape_control_characters("\x1b[31mq1\x00")
        '␛[31mq1␀'
    """
    return _CONTROL.sub(lambda match: _escape_character(ord(match[0])), text)


def _escape_character(code: int) -> str:
    if code == DELETE:
        return "\u2421"
    return chr(CONTROL_PICTURES + code) if code < DELETE else f"\\u{code:04x}"


_CREDENTIALS = re.compile(r"(?<=://)[^/\s]*@")
"""What stands between the scheme and the host. Passwords may hold an `@` although URLs do not permit it."""


def redact_credentials(text: str) -> str:
    """Return a text without the user names and passwords of the URLs in it.

    Example:
        >>> redact_credentials("http://admin:hunter2@127.0.0.1:6900/api: no answer")
        'http://[credentials]@127.0.0.1:6900/api: no answer'
    """
    return _CREDENTIALS.sub("[credentials]@", text)
