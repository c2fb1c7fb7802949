"""The cases of a page as compressed blocks, which a browser opens one by one, within a limit of their total size."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from greval._util.wording import format_count
from greval.report.html.case_view import cut_text

BLOCK_CHARACTERS = 200_000
"""The number of characters in a block: a few dozen cases, which a browser decompresses in about a millisecond."""
TEXT_LIMITS = (4_000, 2_000, 1_000, 500, 250, 120, 0)
"""The numbers of characters to which texts of chunks are cut, the first that is small enough."""
SAMPLE_CHARACTERS = 2_000_000
LEVEL = 6
"""The effort of the compression. Higher ones take several times as long for one or two percent."""


class ArchiveLimits(NamedTuple):
    """What a page holds of its cases at most, so that it stays below 15 MB.

    `cases` is the number of listed cases. `detail_bytes` is the size of the details of cases without the texts of
    chunks: later cases are listed without details. `case_bytes` is the size of details and texts of chunks together: if
    there are more, long texts are cut.
    """

    cases: int = 20_000
    detail_bytes: int = 10_300_000
    case_bytes: int = 12_800_000


class TextBlocks(NamedTuple):
    """Texts as blocks, the number of the first text of each block, and the limit to which texts were cut, if any."""

    blocks: tuple[str, ...]
    starts: tuple[int, ...]
    limit: int | None


class PackedCases(NamedTuple):
    """All cases of a page, compressed: what is listed of them, their details, and the texts of their chunks.

    `notes` describe what was left out.
    """

    listed: str
    blocks: tuple[str, ...]
    text_blocks: tuple[str, ...]
    notes: tuple[str, ...]


class DetailBlocks:
    """Collects the details of cases in blocks, as long as they are small enough."""

    def __init__(self, most: int) -> None:
        self.blocks: list[str] = []
        self._most = most
        self._open: list[str] = []
        self._characters = 0
        self._bytes = 0

    @property
    def size(self) -> int:
        """The size of the finished blocks in bytes."""
        return self._bytes

    @property
    def is_full(self) -> bool:
        """Return whether there is no room for another case."""
        return self._bytes >= self._most

    def add(self, details: str) -> tuple[int, int]:
        """Add the details of a case and return the number of its block and its place in it."""
        position = len(self.blocks), len(self._open)
        self._open.append(details)
        self._characters += len(details)
        if self._characters >= BLOCK_CHARACTERS:
            self.finish()
        return position

    def finish(self) -> None:
        """Compress the last block."""
        if self._open:
            self.blocks.append(compress_json([*self._open]))
            self._bytes += len(self.blocks[-1])
            self._open, self._characters = [], 0


class TextTable:
    """Numbers different texts, so that a chunk that many cases share is in the page once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def keep(self, text: str) -> int:
        """Return the number of a text; an equal one has the same."""
        return self._numbers.setdefault(text, len(self._numbers))

    def build_blocks(self, most: int) -> TextBlocks:
        """Compress the texts, cut to the highest limit at which the blocks have at most about `most` bytes."""
        texts = [*self._numbers]
        limit = _choose_limit(texts, most)
        cut = texts if limit is None else [_cut_or_leave_out(text, limit) for text in texts]
        blocks, starts = [], []
        at = 0
        for part in _split(cut):
            starts.append(at)
            blocks.append(compress_json(part))
            at += len(part)
        return TextBlocks(tuple(blocks), tuple(starts), limit)


class CaseArchive:
    """Collects the cases of a page: the details of each, and the texts that several share."""

    def __init__(self, limits: ArchiveLimits) -> None:
        self.texts = TextTable()
        self._details = DetailBlocks(limits.detail_bytes)
        self._limits = limits
        self._left_out = 0

    def add(self, render: Callable[[], str]) -> tuple[int, int] | None:
        """Add the details of a case and return their place; None, without rendering them, if there is no room."""
        if self._details.is_full:
            self._left_out += 1
            return None
        return self._details.add(render())

    def pack(self, build_index: Callable[[Sequence[int]], JsonValue], noun: str) -> PackedCases:
        """Compress what was collected.

        Args:
            build_index: A function that returns the index from the numbers of the first texts of the text blocks.
            noun: What a case is called in the notes.
        """
        self._details.finish()
        # Texts of chunks get the room that the details leave: they are cut before a case loses its details.
        packed = self.texts.build_blocks(self._limits.case_bytes - self._details.size)
        notes = []
        if self._left_out:
            without_details = format_count(self._left_out, noun)
            notes.append(f"{without_details} without details, so that the file stays small; the run has them.")
        if packed.limit is not None:
            cut = f"cut to {packed.limit:,} characters" if packed.limit else "left out"
            notes.append(f"Texts of chunks are {cut}, so that the file stays small; the run has them.")
        listed = compress_json(build_index(packed.starts))
        return PackedCases(listed, tuple(self._details.blocks), packed.blocks, tuple(notes))


def compress_json(content: JsonValue | Sequence[str]) -> str:
    """Return JSON content compressed by zlib, in base64.

    Example:
        >>> from base64 import b64decode
        >>> zlib.decompress(b64decode(compress_json(["a", "b"])))
        b'["a","b"]'
    """
    # `replace`: halves of surrogate pairs, which JSON files may hold, have no UTF-8.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return b64encode(zlib.compress(text.encode("utf-8", "replace"), LEVEL)).decode("ascii")


def _choose_limit(texts: Sequence[str], most: int) -> int | None:
    """Return the number of characters to cut texts to, None if all fit."""
    # Four bytes for a character that does not compress.
    if sum(map(len, texts)) <= most // 4:
        return None
    # To compress all texts for each limit takes too long: the ratio of a sample stands for that of all.
    step = max(1, sum(map(len, texts)) // SAMPLE_CHARACTERS)
    for limit in (None, *TEXT_LIMITS):
        cut = texts if limit is None else [_cut_or_leave_out(text, limit) for text in texts]
        sample = [*cut[::step]]
        characters = sum(map(len, sample)) or 1
        ratio = sum(len(compress_json(part)) for part in _split(sample)) / characters
        if ratio * sum(map(len, cut)) <= most:
            return limit
    return TEXT_LIMITS[-1]


def _cut_or_leave_out(text: str, limit: int) -> str:
    return cut_text(text, limit) if limit else f"({len(text):,} characters, in the run)"


def _split(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield texts in blocks."""
    block: list[str] = []
    characters = 0
    for text in texts:
        block.append(text)
        characters += len(text)
        if characters >= BLOCK_CHARACTERS:
            yield block
            block, characters = [], 0
    if block:
        yield block
