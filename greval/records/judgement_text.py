"""Text of a judgement: its details as readable lines, and the items that it cites by number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from greval.records.result import Judgement

CITATION = re.compile(
    r"""\b(chunk|triple|item)s?[\s_]*(?:no\.|number|n=|\#)?[\s"']*
    (\d+(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*|\s*[-\u2013]\s*)\d+)*)""",
    re.IGNORECASE | re.VERBOSE,
)
"""A kind of item with one or more numbers, such as `chunk 2`, `triples 1 and 3` or `items 2-4`."""
NUMBER_RANGE = re.compile(r"(\d+)(?:\s*[-\u2013]\s*(\d+))?")


def find_cited_items(written: JsonValue, shown_ids: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the id of each item that a judge's texts cite by number, by its citation and in the order of citation.

    `shown_ids` holds the ids of each kind of item in the order of their numbers in the prompt. Numbers that were not
    in the prompt are left out.

    Example:
        >>> find_cited_items(["As chunks 1 and 3 say."], {"chunk": ["d4", "d7", "d9"]})
        {'chunk 1': 'd4', 'chunk 3': 'd9'}
    """
    cited: dict[str, str] = {}
    for text in _iterate_texts(written) if shown_ids else ():
        for kind, numbers in CITATION.findall(text):
            ids = shown_ids.get(kind.lower(), ())
            for number in _expand_numbers(numbers, len(ids)):
                cited[f"{kind.lower()} {number}"] = ids[number - 1]
    return cited


def list_cited_items(judgement: Judgement) -> dict[str, str]:
    """Return the ids of the items cited in the reason, findings and notes of a judgement, by citation."""
    return find_cited_items([judgement.reason, *judgement.findings, judgement.notes], judgement.shown_ids)


def format_details(
    findings: Sequence[str], notes: Mapping[str, JsonValue], cited: Mapping[str, str]
) -> tuple[str, ...]:
    """Format the findings, notes and cited items of a judgement as lines."""
    steps = (f"step {number}: {text}" for number, text in enumerate(findings, 1))
    noted = (line for name, note in notes.items() for line in _format_note(name, note))
    citations = (f"{words} is {item}" for words, item in cited.items())
    return (*steps, *noted, *citations)


def is_share(note: JsonValue) -> bool:
    """Return whether a note is a counted share: `count` and `of`, and `share` if there was anything to count."""
    return isinstance(note, dict) and "of" in note


def _format_note(name: str, note: JsonValue) -> Iterator[str]:
    if isinstance(note, dict) and is_share(note):
        share = note.get("share")
        partial = f"; no more than {note['most']} entries are listed" if "most" in note else ""
        counted = f"({note.get('count')} of {note['of']}{partial})"
        yield f"{name}: {share:.2f} {counted}" if isinstance(share, float | int) else f"{name}: nothing to count"
    elif isinstance(note, list):
        yield f"{name}:"
        for entry in note:
            cells = entry.values() if isinstance(entry, dict) else (entry,)
            yield f"  - {' | '.join(map(str, cells))}"
    else:
        yield f"{name}: {note}"


def _iterate_texts(written: JsonValue) -> Iterator[str]:
    """Iterate over the texts of JSON content; keys are skipped, as the judge did not write them."""
    if isinstance(written, str):
        yield written
    elif isinstance(written, list | dict):
        for part in written.values() if isinstance(written, dict) else written:
            yield from _iterate_texts(part)


def _expand_numbers(numbers: str, most: int) -> Iterator[int]:
    """Yield the numbers of a citation such as `1, 3-5` that are between 1 and `most`."""
    for first, last in NUMBER_RANGE.findall(numbers):
        # By length first, because int() refuses thousands of digits, which a model may write.
        if len(first) <= len(str(most)):
            end = int(last) if last and len(last) <= len(str(most)) else int(first)
            yield from range(max(1, int(first)), min(end, most) + 1)
