"""The cases of a page: the index that its script filters, sorts and searches, and the details as compressed blocks.

A browser opens the blocks one by one, and their total size has a limit.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from greval._util.wording import format_count, shorten_text
from greval.analysis.case_results import CaseResults
from greval.records.result import Result
from greval.records.scale import Scale
from greval.report.html.case_view import cut_text
from greval.report.html.tones import find_mean_tone, format_values
from greval.runs.worst_cases import Rank, build_rank

BLOCK_CHARACTERS = 200_000
"""The number of characters in a block: a few dozen cases, which a browser decompresses in about a millisecond."""
TEXT_LIMITS = (4_000, 2_000, 1_000, 500, 250, 120, 0)
"""The numbers of characters to which texts of chunks are cut, the first that is small enough."""
SAMPLE_CHARACTERS = 2_000_000
LEVEL = 6
"""The effort of the compression. Higher ones take several times as long for one or two percent."""

MAX_QUESTION, MAX_ANSWER = 240, 160
"""The numbers of characters of a question and of an answer that are shown in the list, and searched."""
MAX_READ = 1_000
"""The number of characters of a text of which that beginning is made; a long answer is not read to its end."""


class ArchiveLimits(NamedTuple):
    """What a page holds of its cases at most, so that it stays below 15 MB.

    `cases` is the number of listed cases. `detail_bytes` is the size of the details of cases without the texts of
    chunks: later cases are listed without details. `case_bytes` is the size of details and texts of chunks together: if
    there are more, long texts are cut.
    """

    cases: int = 20_000
    detail_bytes: int = 10_300_000
    case_bytes: int = 12_800_000


class PackedCases(NamedTuple):
    """All cases of a page, compressed: what is listed of them, their details, and the texts of their chunks.

    `notes` describe what was left out.
    """

    listed: str
    blocks: tuple[str, ...]
    text_blocks: tuple[str, ...]
    notes: tuple[str, ...]


class CaseCells:
    """Builds the cells of a case, one for each metric of a run."""

    def __init__(self, scales: Mapping[str, Scale]) -> None:
        self._metrics = {name: (scale, build_rank(scale)) for name, scale in scales.items()}

    def build(self, results: Iterable[Result]) -> list[JsonValue]:
        """Return for each metric the text of its result, its rank, the higher the better, and its tone or status."""
        by_metric = {result.metric: result for result in results}
        return [
            _build_cell(scale, rank, by_metric[name]) if name in by_metric else None
            for name, (scale, rank) in self._metrics.items()
        ]


def _build_cell(scale: Scale, build_rank_of: Rank, result: Result) -> JsonValue:
    if not result.judgements:
        return [f"failed: {result.failures[0].kind}" if result.failures else "skipped", None, result.outcome.status]
    values = tuple(str(judgement.value) for judgement in result.judgements)
    numbers = tuple(judgement.number for judgement in result.judgements if judgement.number is not None)
    tone, rank = find_mean_tone(scale, values), build_rank_of(values, numbers)
    rounded = None if rank is None else round(rank, 6)
    return [format_values(scale, values, numbers), rounded, "none" if tone is None else tone]


def build_line(
    case_results: CaseResults, name: str, cells: Sequence[JsonValue], position: tuple[int, int] | None
) -> list[JsonValue]:
    """Return the line of a case; `name` is that of its method, or what is compared."""
    case = case_results.case
    return [
        case_results.sample_id,
        name,
        shorten_text((case.question if case else "")[:MAX_READ], MAX_QUESTION),
        shorten_text(((case.answer if case else None) or "")[:MAX_READ], MAX_ANSWER),
        {**(case.tags if case else case_results.results[0].tags)},
        [*cells],
        [*position] if position else None,
    ]


class CaseArchive:
    """Collects the cases of a page: the details of each, and the texts that several share."""

    def __init__(self, limits: ArchiveLimits) -> None:
        self._limits = limits
        self._texts: dict[str, int] = {}
        self._blocks: list[str] = []
        self._open: list[str] = []
        self._bytes = 0
        self._left_out = 0

    def keep_text(self, text: str) -> int:
        """Return the number of a text; an equal one has the same, so that a shared chunk is in the page once."""
        return self._texts.setdefault(text, len(self._texts))

    def add(self, render: Callable[[], str]) -> tuple[int, int] | None:
        """Add the details of a case and return their block and place; None, without rendering, if there is no room."""
        if self._bytes >= self._limits.detail_bytes:
            self._left_out += 1
            return None
        position = len(self._blocks), len(self._open)
        self._open.append(render())
        if sum(map(len, self._open)) >= BLOCK_CHARACTERS:
            self._finish_block()
        return position

    def pack(self, index: Mapping[str, JsonValue], noun: str, *, total: int) -> PackedCases:
        """Compress what was collected, with the index to which the numbers of the first texts of blocks are added.

        `noun` is what a case is called in the notes, and `total` the number of cases that there are.
        """
        self._finish_block()
        # Texts of chunks get the room that the details leave: they are cut before a case loses its details.
        text_blocks, starts, limit = _pack_texts([*self._texts], self._limits.case_bytes - self._bytes)
        notes = []
        if total > self._limits.cases:
            shown = f"The first {self._limits.cases:,} of {total:,} {noun}s are listed"
            notes.append(f"{shown}; the figures are of all of them.")
        if self._left_out:
            without_details = format_count(self._left_out, noun)
            notes.append(f"{without_details} without details, so that the file stays small; the run has them.")
        if limit is not None:
            cut = f"cut to {limit:,} characters" if limit else "left out"
            notes.append(f"Texts of chunks are {cut}, so that the file stays small; the run has them.")
        listed = compress_json({**index, "textStarts": starts})
        return PackedCases(listed, tuple(self._blocks), tuple(text_blocks), tuple(notes))

    def _finish_block(self) -> None:
        if self._open:
            self._blocks.append(compress_json(self._open))
            self._bytes += len(self._blocks[-1])
            self._open = []


def _pack_texts(texts: Sequence[str], most: int) -> tuple[list[str], list[JsonValue], int | None]:
    """Compress texts, cut to the highest limit at which the blocks have at most about `most` bytes.

    Return the blocks, the numbers of their first texts, and the limit, None if no text is cut.
    """
    limit = _choose_limit(texts, most)
    blocks: list[str] = []
    starts: list[JsonValue] = []
    at = 0
    for part in _split(texts if limit is None else [_cut_or_leave_out(text, limit) for text in texts]):
        starts.append(at)
        blocks.append(compress_json(part))
        at += len(part)
    return blocks, starts, limit


def compress_json(content: JsonValue | Sequence[str]) -> str:
    """Return JSON content compressed by zlib, in base64."""
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
