"""All cases of a run as a grid: a row for each sample, a column for each metric and method.

Results differ in few ways, so a column holds what distinct results look like once, and for each sample a number.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import fsum
from typing import Any

from greval._util.wording import format_count
from greval.records.case import sort_methods
from greval.records.metric_input import compute_fingerprint
from greval.records.record import Record
from greval.records.result import Outline, read_outline
from greval.records.scale import Better, CategoricalScale, Scale, find_direction
from greval.report.html.tones import find_mean_tone, format_values
from greval.runs.run_reader import read_known_scales, read_metrics
from greval.runs.store import Store
from greval.runs.store.reader import read_case_heads
from greval.runs.worst_cases import Rank, build_rank

MAX_QUESTION = 200
"""The number of characters of a question that are shown."""
NO_TAGS = "{}"
DIGITS = 6
"""The number of decimals of numbers and ranks."""
NONE = -1
"""The number of a sample without a result, or without the tag."""


class GridMetric(Record):
    """A metric of the grid.

    `better` is None if its figures have no direction, `values` are the categories in their order, else empty.
    `definition` is the fingerprint of its definition, without the judge: two runs with the same one asked the same. It
    is null if the metric is computed.
    """

    name: str
    over: str | None
    better: Better | None
    values: tuple[str, ...]
    definition: str | None


class GridTag(Record):
    """A tag: its distinct values, and for each sample the number of its value, -1 for none."""

    name: str
    values: tuple[str, ...]
    cells: tuple[int, ...]


class GridColumn(Record):
    """The results of a metric for the answers of a method.

    `cells` has for each sample the number of its entry, -1 if there is no result. The other fields have a place for
    each entry: the status; the text to show; the mean of its numbers; its rank, the higher the better; its tone, from
    0 (worst) to 4 (best); how often each value was given; and what to know in addition, such as why it was skipped. A
    number, a rank and a tone may be null.
    """

    metric: str
    method: str
    cells: tuple[int, ...]
    statuses: tuple[str, ...]
    texts: tuple[str, ...]
    numbers: tuple[float | None, ...]
    ranks: tuple[float | None, ...]
    tones: tuple[int | None, ...]
    values: tuple[dict[str, int], ...]
    notes: tuple[str, ...]


class CaseGrid(Record):
    """All cases of a run in short: the samples with the begins of their questions, their tags, and the results.

    `cut` has the numbers of the samples whose questions are longer than shown.
    """

    metrics: tuple[GridMetric, ...]
    methods: tuple[str, ...]
    sample_ids: tuple[str, ...]
    questions: tuple[str, ...]
    cut: tuple[int, ...]
    tags: tuple[GridTag, ...]
    columns: tuple[GridColumn, ...]


def build_case_grid(store: Store) -> CaseGrid:
    """Build the grid of a run, opened for reading, with one outline of a result at a time in memory.

    Several results of a sample, metric and method, such as those of repeats, count as one with the values of all.
    """
    with store.snapshot():
        return _GridBuilder(store).build()


class _Cells:
    """The results of a metric and a method while they are read: an entry for each distinct one, and who has which."""

    def __init__(self) -> None:
        self.outlines: list[tuple[str, ...]] = []
        """The outlines of each entry, several if a sample has several results."""
        self._numbers: dict[tuple[str, ...], int] = {}
        self._entries: dict[str, int] = {}

    def add(self, sample_id: str, outline: str) -> None:
        """Add a result by its outline."""
        entry = self._entries.get(sample_id)
        # A second result of a sample moves it to the entry of both outlines together; entries never change.
        key = (outline,) if entry is None else (*self.outlines[entry], outline)
        number = self._entries[sample_id] = self._numbers.setdefault(key, len(self.outlines))
        if number == len(self.outlines):
            self.outlines.append(key)

    def list_entries(self, samples: Iterable[str]) -> tuple[int, ...]:
        """List the number of the entry of each sample, -1 if it has no result."""
        return tuple(self._entries.get(sample, NONE) for sample in samples)


class _GridBuilder:
    """Collects the samples, and their results by metric and method."""

    def __init__(self, store: Store) -> None:
        self._metrics = read_metrics(store)
        self._scales = read_known_scales(store)
        self._questions: dict[str, str] = {}
        self._tags: dict[str, dict[str, str]] = {}
        self._cells: dict[tuple[str, str], _Cells] = defaultdict(_Cells)
        self._read(store)

    def _read(self, store: Store) -> None:
        # Rows share few combinations of tags, so that most of them need no parsing.
        parse_tags = lru_cache(maxsize=4096)(json.loads)
        # Cases come first, so that those without a result yet are in the grid too.
        for head in read_case_heads(store):
            self._questions[head.sample_id] = head.question
        columns = ("sample_id", "method", "metric", "tags", "outline")
        for sample_id, method, metric, tags, outline in store.select(columns):
            if sample_id not in self._questions:
                # Results without a stored case still have a row.
                self._questions[sample_id] = ""
            if tags != NO_TAGS and sample_id not in self._tags:
                self._tags[sample_id] = parse_tags(tags)
            self._cells[metric, method].add(sample_id, outline)

    def build(self) -> CaseGrid:
        """Return the grid. Columns are in the order of the run's metrics, then in that of its methods."""
        names = [*dict.fromkeys(metric for metric, _ in self._cells)]
        order = [*self._metrics]
        names.sort(key=lambda name: order.index(name) if name in self._metrics else len(order))
        methods = sort_methods(method for _, method in self._cells)
        tags = dict.fromkeys(name for values in self._tags.values() for name in values)
        lines = [" ".join(question.split()) for question in self._questions.values()]
        return CaseGrid(
            metrics=tuple(self._describe_metric(name) for name in names),
            methods=methods,
            sample_ids=tuple(self._questions),
            questions=tuple(line[:MAX_QUESTION] for line in lines),
            cut=tuple(index for index, line in enumerate(lines) if len(line) > MAX_QUESTION),
            tags=tuple(self._build_tag(name) for name in tags),
            columns=tuple(
                self._build_column(metric, method)
                for metric in names
                for method in methods
                if (metric, method) in self._cells
            ),
        )

    def _describe_metric(self, name: str) -> GridMetric:
        metric, scale = self._metrics.get(name), self._scales.get(name)
        return GridMetric(
            name=name,
            over=metric.over if metric else None,
            better=find_direction(scale).better if scale else None,
            values=scale.names if isinstance(scale, CategoricalScale) else (),
            definition=compute_fingerprint(metric.judged, {}) if metric and metric.judged else None,
        )

    def _build_tag(self, name: str) -> GridTag:
        numbers: dict[str, int] = {}
        values = (self._tags.get(sample, {}).get(name) for sample in self._questions)
        cells = [NONE if value is None else numbers.setdefault(value, len(numbers)) for value in values]
        return GridTag(name=name, values=tuple(numbers), cells=tuple(cells))

    def _build_column(self, metric: str, method: str) -> GridColumn:
        cells, scale = self._cells[metric, method], self._scales.get(metric)
        rank = build_rank(scale) if scale else None
        entries = [_build_entry(scale, rank, [*map(read_outline, texts)]) for texts in cells.outlines]
        fields = {name: tuple(entry[name] for entry in entries) for name in entries[0]}
        return GridColumn(metric=metric, method=method, cells=cells.list_entries(self._questions), **fields)


def _build_entry(scale: Scale | None, rank: Rank | None, outlines: Sequence[Outline]) -> dict[str, Any]:
    """Build what the results of one sample, metric and method look like, by the fields of `GridColumn`."""
    values = tuple(value for outline in outlines for value in outline.values)
    numbers = tuple(number for outline in outlines for number in outline.numbers)
    kinds = tuple(dict.fromkeys(kind for outline in outlines for kind in outline.kinds))
    if not values:
        status, note = "failed" if kinds else outlines[0].status, outlines[0].skip or ""
        empty = dict.fromkeys(("numbers", "ranks", "tones"))
        return {"statuses": status, "texts": ", ".join(kinds), **empty, "values": {}, "notes": note}
    failed = sum(len(outline.kinds) for outline in outlines)
    rank_number = rank(values, numbers) if rank else None
    return {
        "statuses": "scored",
        "texts": format_values(scale, values, numbers),
        "numbers": round(fsum(numbers) / len(numbers), DIGITS) if numbers else None,
        "ranks": None if rank_number is None else round(rank_number, DIGITS),
        "tones": find_mean_tone(scale, values) if scale else None,
        "values": dict(Counter(values)),
        "notes": f"{format_count(failed, 'item')} failed: {', '.join(kinds)}" if failed else "",
    }
