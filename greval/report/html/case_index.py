"""The index of the cases of a page: what its script filters, sorts and searches without opening a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from greval._util.wording import shorten_text
from greval.analysis.case_results import CaseResults
from greval.records.result import Result
from greval.records.scale import Scale
from greval.report.html.tones import find_mean_tone, format_values
from greval.runs.worst_cases import Rank, build_rank

MAX_QUESTION, MAX_ANSWER = 240, 160
"""The numbers of characters of a question and of an answer that are shown in the list, and searched."""
MAX_READ = 1_000
"""The number of characters of a text of which that beginning is made; a long answer is not read to its end."""


class IndexedMetric(NamedTuple):
    """What the cells of a metric are built from."""

    scale: Scale
    rank: Rank


class CaseIndex:
    """Collects a line for each case: its names, the begins of its texts, its tags, and a cell for each metric."""

    def __init__(self, scales: Mapping[str, Scale]) -> None:
        self._metrics = {name: IndexedMetric(scale, build_rank(scale)) for name, scale in scales.items()}
        self._lines: list[JsonValue] = []

    def add(self, case_results: CaseResults, position: tuple[int, int] | None) -> None:
        """Add a case.

        Args:
            case_results: The case.
            position: The block with its details and the place in it; None if they are not in the page.
        """
        by_metric: dict[str, Result] = {result.metric: result for result in case_results.results}
        cells = [self._build_cell(name, by_metric.get(name)) for name in self._metrics]
        self._lines.append(build_line(case_results, case_results.method, cells, position))

    def build(self, text_starts: Sequence[int]) -> JsonValue:
        """Return the index as JSON content; `text_starts` are the numbers of the first texts of the text blocks."""
        return {"metrics": [*self._metrics], "cases": self._lines, "textStarts": [*text_starts]}

    def _build_cell(self, name: str, result: Result | None) -> JsonValue:
        """Return the text of the result, its rank, the higher the better, and its tone or status."""
        if result is None:
            return None
        metric = self._metrics[name]
        if not result.judgements:
            return [_describe_missing(result), None, result.outcome.status]
        values = tuple(str(judgement.value) for judgement in result.judgements)
        numbers = tuple(judgement.number for judgement in result.judgements if judgement.number is not None)
        tone = find_mean_tone(metric.scale, values)
        rank = metric.rank(values, numbers)
        return [
            format_values(metric.scale, values, numbers),
            None if rank is None else round(rank, 6),
            "none" if tone is None else tone,
        ]


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


def _describe_missing(result: Result) -> str:
    return f"failed: {result.failures[0].kind}" if result.failures else "skipped"
