"""Chunks of documents: as many sentences as fit, with some repeated from the chunk before.

A chunk is a part of the text as it is written, so that lists, tables and code stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from greval.methods.index_records import IndexedChunk
from greval.reference.records import Document
from greval.reference.settings import IndexSettings

CHUNKING_VERSION = 2
"""The version of the rules below; increased when they change, so that documents are cut again."""
_BEFORE_WORDS = (
    "dr mr mrs ms prof rev hon st sgt capt lt col gen gov sen rep pres messrs mme mlle fr br hr frau herr "
    "approx ca cf viz vs resp incl e.g i.e eg ie al"
)
_BEFORE_NUMBERS = "fig figs eq eqs sec ch vol vols no nos pp p op art ex"
TITLES = frozenset(_BEFORE_WORDS.split())
"""Abbreviations that something follows: a sentence never ends with one."""
NUMBERED = frozenset(_BEFORE_NUMBERS.split())
"""Abbreviations that a number follows; elsewhere they are words that may end a sentence."""
_HEADING = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r"[ ]{0,3}(?:`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S|[ \t]*\|")
"""The beginning of a list item or of a table row."""
_QUOTES = "\"'\u201c\u2018\u00ab"
"""The quotation marks that open."""
_CLOSERS = "\"'\u201d\u2019\u00bb)\\]"
_WIDE_CLOSERS = "\u300d\u300f\u3011\uff09"
_SPACED_MARKS = ".!?\u2026\u061f"
"""The marks that end a sentence if white space follows."""
_OTHER_MARKS = "\u3002\uff01\uff1f\uff61\u0964\u0965"
"""The marks of Chinese, Japanese and Indian scripts, which end a sentence in any case."""
_END = re.compile(
    f"(?<![{_SPACED_MARKS}])[{_SPACED_MARKS}]++[{_CLOSERS}]*+(?=\\s)|[{_OTHER_MARKS}]+[{_CLOSERS}{_WIDE_CLOSERS}]*"
)
"""The end of a sentence. It is searched in linear time, also in a row of a million full stops."""
_WORD_BEFORE = re.compile(f"[^\\s(\\[{_QUOTES}]+$")
_LONGEST_WORD = 40
"""The most letters before a full stop that are searched for an abbreviation."""

LONGEST_SENTENCE = 2_400
"""The most characters of a sentence. Logs, minified code and texts without full stops are longer, and are cut."""
PART = 800
"""The most characters of a part of a sentence that is cut."""


class TextSpan(NamedTuple):
    """A sentence in a text: its start and end, and whether it is a heading, which starts a section."""

    start: int
    end: int
    heading: bool = False


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences. Headings, list items, table rows and lines of code are sentences of their own.

    Example:
        >>> split_sentences("Dr. Ada E. Byron lives in the U.S. and pays 3.5 million. She writes, e.g. Notes.")
        ['Dr. Ada E. Byron lives in the U.S. and pays 3.5 million.', 'She writes, e.g. Notes.']
    """
    return [text[span.start : span.end] for span in find_sentences(text)]


def chunk_document(document: Document, settings: IndexSettings) -> list[IndexedChunk]:
    """Cut a document into chunks of whole sentences, numbered from 1. A heading starts a chunk.

    Each triple of a document of triples is a chunk.
    """
    shared = document.model_dump(include={"title", "repo", "version", "tags", "triples"})
    if document.triples:
        return [
            IndexedChunk(id=f"{document.id}#{number}", doc_id=document.id, text=line, **shared)
            for number, line in enumerate(document.text.splitlines(), 1)
        ]
    return [
        IndexedChunk(id=f"{document.id}#{number}", doc_id=document.id, text=document.text[start:end], **shared)
        for number, (start, end) in enumerate(_group_sentences(find_sentences(document.text), settings), 1)
    ]


def _group_sentences(spans: list[TextSpan], settings: IndexSettings) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each chunk."""
    first = 0
    while first < len(spans):
        last = _find_last(spans, first, settings.chunk_chars)
        yield spans[first].start, spans[last].end
        first = _find_next_first(spans, first, last, settings)


def _find_last(spans: list[TextSpan], first: int, most: int) -> int:
    """Return the last sentence of the chunk that starts with a sentence; headings in a row stay together."""
    last = first
    while (
        last + 1 < len(spans)
        and spans[last + 1].end - spans[first].start <= most
        and (not spans[last + 1].heading or all(span.heading for span in spans[first : last + 1]))
    ):
        last += 1
    return last


def _find_next_first(spans: list[TextSpan], first: int, last: int, settings: IndexSettings) -> int:
    """Return the first sentence of the next chunk: as many repeated sentences as fit together with a new one."""
    new = last + 1
    if new >= len(spans) or spans[new].heading:
        return new
    # Each chunk begins after the one before, however many sentences are to be repeated.
    repeated = max(new - settings.overlap, first + 1)
    while repeated < new and spans[new].end - spans[repeated].start > settings.chunk_chars:
        repeated += 1
    return repeated


def find_sentences(text: str) -> list[TextSpan]:
    """Find the sentences of a text, in order and without white space around them; nothing else is left out.

    What is longer than any sentence is cut: after a line, else after a word, else anywhere.
    """
    return [
        trimmed
        for start, end, kind in _find_blocks(text)
        for sentence in (_find_ends(text, start, end) if kind == "prose" else [TextSpan(start, end, kind == "heading")])
        for span in _cut_span(text, sentence)
        if (trimmed := _trim_span(text, span)) is not None
    ]


def _find_blocks(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the blocks of a text: prose that may hold several sentences, and headings and lines that are one each."""
    start = position = 0
    fence = ""
    for line in text.splitlines(keepends=True):
        end = position + len(line)
        mark = _FENCE.match(line)
        kind = "line" if fence or mark else "heading" if _HEADING.match(line) else "prose"
        # A heading, a list item, a table row and an empty line end the block before them.
        if kind != "prose" or not line.strip() or _ITEM.match(line):
            yield start, position, "prose"
            start = position
        if kind != "prose":
            yield position, end, kind
            start = end
        if mark:
            stripped = mark[0].strip()
            # A fence is closed by one of the same marks that is at least as long.
            fence = ("" if stripped.startswith(fence) else fence) if fence else stripped
        position = end
    yield start, position, "prose"


def _find_ends(text: str, start: int, end: int) -> Iterator[TextSpan]:
    """Yield the sentences of a block of prose."""
    for mark in _END.finditer(text, start, end):
        if _ends_sentence(text, start, mark):
            yield TextSpan(start, mark.end())
            start = mark.end()
    yield TextSpan(start, end)


def _cut_span(text: str, span: TextSpan) -> Iterator[TextSpan]:
    """Yield the parts of a span that is too long to be a sentence, or the span itself."""
    start, end, heading = span
    if end - start > LONGEST_SENTENCE:
        while end - start > PART:
            cut = next(
                (at for mark in ("\n", " ") if (at := text.rfind(mark, start, start + PART) + 1) > start), start + PART
            )
            yield TextSpan(start, cut, heading)
            start, heading = cut, False
    yield TextSpan(start, end, heading)


def _ends_sentence(text: str, start: int, mark: re.Match[str]) -> bool:
    """Return whether a mark ends a sentence, and is not part of an abbreviation, an initial or a quotation within."""
    if mark[0][0] not in _SPACED_MARKS:
        return True
    after = text[mark.end() : mark.end() + _LONGEST_WORD].lstrip(f"{_QUOTES}([ \t\r\n")[:1]
    # A word in lower case goes on with the sentence, as behind the mark of a quotation.
    if after.islower():
        return False
    # Only a single full stop can be that of an abbreviation.
    if not mark[0].startswith(".") or mark[0].startswith(".."):
        return True
    preceding = _WORD_BEFORE.search(text, max(start, mark.start() - _LONGEST_WORD), mark.start())
    word = preceding[0] if preceding else ""
    if word.casefold() in TITLES or (word.casefold() in NUMBERED and after.isdigit()):
        return False
    parts = word.split(".")
    # Initials and abbreviations of single letters: J., U.S., p.m.
    return not all(len(part) == 1 and part.isalpha() for part in parts)


def _trim_span(text: str, span: TextSpan) -> TextSpan | None:
    """Return a span without the white space around it; None if nothing is left."""
    part = text[span.start : span.end]
    start = span.start + len(part) - len(part.lstrip())
    end = span.start + len(part.rstrip())
    return TextSpan(start, end, span.heading) if start < end else None
