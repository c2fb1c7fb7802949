"""Wording of reasons: counts with nouns, shortened names, and the share that was found."""

from __future__ import annotations

from collections.abc import Collection, Iterable

MAX_NAMES = 5
MAX_NAME_LENGTH = 60


def format_names(found: Iterable[str], most: int = MAX_NAMES) -> str:
    """Format names as a list: the first few, each shortened, and the number of further ones.

    Example:
        >>> format_names("abcdefg")
        'a, b, c, d, e and 2 more'
    """
    listed = [*found]
    shown = ", ".join(shorten_text(name) for name in listed[:most])
    return shown if len(listed) <= most else f"{shown} and {len(listed) - most:,} more"


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


def format_found_share(found: Collection[str], due: Collection[str], what: str, where: str) -> str:
    """Format how many of the expected names were found, and which were missed.

    Example:
        >>> format_found_share({"d1"}, ["d1", "d7"], "essential document", "in the first 10")
        '1 of 2 essential documents in the first 10; missed: d7'
    """
    missed = [name for name in due if name not in found]
    told = f"{len(due) - len(missed):,} of {format_count(len(due), what)} {where}"
    return f"{told}; missed: {format_names(missed)}" if missed else told
