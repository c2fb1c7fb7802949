"""What a file of cases holds: the columns and fields that were read, the faulty rows, and the metrics that fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from pydantic import Field

from greval._util.wording import format_names
from greval.datasets.case_reader import CaseReader
from greval.datasets.field_names import format_printable
from greval.datasets.row_faults import RowFault
from greval.metrics.fitting import NearlyFittingMetric, find_fitting_metrics
from greval.records.case import TAG, Case, sort_methods
from greval.records.metric import Metric
from greval.records.record import Record
from greval.records.recorded_fields import FIELD_ORDER, list_recorded_fields

MAX_EXAMPLES = 3
MAX_LISTED_FAULTS = 1_000
MAX_LISTED_COLUMNS = 30
ID = "id"


class FieldCount(Record):
    """A field of the cases, the columns that it was read from, and the number of cases that have it."""

    field: str
    columns: tuple[str, ...] = ()
    cases: int


class IgnoredColumn(Record):
    """A column that was not read, and why; the reason is empty if its name is not known."""

    column: str
    reason: str = ""


FitKind = Literal["judged", "derived", "computed"]
"""Whether a judge is asked, asked for the verdicts that a metric is computed from, or not asked."""
FIT_KINDS: tuple[FitKind, ...] = get_args(FitKind)


class MetricFit(Record):
    """A metric, and the number of cases that have all its input."""

    metric: str
    kind: FitKind
    cases: int


class DataSummary(Record):
    """What a file of cases holds.

    Args:
        source: The name of the file.
        cases: The number of cases.
        fault_count: The number of rows that are not valid cases; the first 1,000 are in `faults`.
        own_ids: Whether each case has an id of its own; otherwise ids are made from the positions of the rows.
        methods: The number of cases of each method, without pairs.
        pairs: The number of pairs of each two methods.
        fields: The fields that at least one case has.
        ignored: The columns that were not read.
        remarks: Remarks on how the file was read.
        proposed_columns: The columns that are likely to be the method and the question's id, by field.
        fitting: The metrics that fit at least one case, those that fit most cases first.
        nearly: The metrics that would fit with one more field.
        examples: The first cases.
    """

    source: str
    cases: int = 0
    fault_count: int = 0
    faults: tuple[RowFault, ...] = ()
    own_ids: bool = True
    methods: dict[str, int] = Field(default_factory=dict)
    pairs: dict[str, int] = Field(default_factory=dict)
    fields: tuple[FieldCount, ...] = ()
    ignored: tuple[IgnoredColumn, ...] = ()
    remarks: tuple[str, ...] = ()
    proposed_columns: dict[str, str] = Field(default_factory=dict)
    fitting: tuple[MetricFit, ...] = ()
    nearly: tuple[NearlyFittingMetric, ...] = ()
    examples: tuple[Case, ...] = ()


def summarise_data(
    reading: CaseReader, metrics: Sequence[Metric] | None = None, *, rows: Iterable[Case | RowFault] | None = None
) -> DataSummary:
    """Read all cases of a file and summarise what they hold.

    Args:
        reading: The cases.
        metrics: The metrics to choose from, the predefined ones by default.
        rows: The cases with what is joined with them from other files, such as gold.

    Raises:
        DataError: If the file as a whole cannot be read or is empty.

    Example:
        >>> import greval
        >>> from pathlib import Path
        >>> from greval.datasets.case_reader import read_cases
        >>> summary = summarise_data(read_cases(Path(greval.__file__).parent / "demo" / "cases.jsonl"))
        >>> summary.fault_count, summary.fields[0].field, summary.fitting[0].kind
        (0, 'id', 'judged')
    """
    counted = _DataCounts(metrics)
    for row in reading if rows is None else rows:
        counted.add_row(row)
    fitting, nearly = counted.find_metrics()
    return DataSummary(
        source=reading.name,
        cases=counted.cases,
        fault_count=counted.fault_count,
        faults=tuple(counted.faults),
        own_ids=reading.has_own_ids,
        methods={name: counted.methods[name] for name in sort_methods(counted.methods)},
        pairs=dict(counted.pairs),
        fields=tuple(_list_fields(counted.fields, reading)),
        ignored=tuple(IgnoredColumn(column=name, reason=why) for name, why in reading.ignored_reasons.items()),
        remarks=(
            *reading.remarks,
            *filter(None, [reading.describe_proposal()]),
            *(() if counted.cases else _describe_columns(reading)),
        ),
        proposed_columns=dict(reading.proposed_columns),
        fitting=fitting,
        nearly=nearly,
        examples=tuple(counted.examples),
    )


class _DataCounts:
    """Counts of what the rows so far hold."""

    def __init__(self, metrics: Sequence[Metric] | None) -> None:
        self._metrics = metrics
        self._tags = frozenset(need for metric in metrics or () for need in metric.inputs if need.startswith(TAG))
        self.cases = self.fault_count = 0
        self.faults: list[RowFault] = []
        self.examples: list[Case] = []
        self.fields: Counter[str] = Counter()
        self.methods: Counter[str] = Counter()
        self.pairs: Counter[str] = Counter()
        self._patterns: Counter[frozenset[str]] = Counter()

    def add_row(self, row: Case | RowFault) -> None:
        """Count a row."""
        if isinstance(row, RowFault):
            self.fault_count += 1
            if len(self.faults) < MAX_LISTED_FAULTS:
                self.faults.append(row)
            return
        self.cases += 1
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(row)
        fields = list_recorded_fields(row)
        self.fields.update(fields)
        if row.method:
            (self.methods if row.other_response is None else self.pairs)[row.method] += 1
        # Tags that no metric reads would make a pattern of nearly every case.
        self._patterns[frozenset(name for name in fields if not name.startswith(TAG) or name in self._tags)] += 1

    def find_metrics(self) -> tuple[tuple[MetricFit, ...], tuple[NearlyFittingMetric, ...]]:
        """Find the metrics that fit some cases, and those that would fit if the cases had one more field."""
        counts: Counter[tuple[FitKind, str]] = Counter()
        # The metrics that fit depend on the fields only, and cases have few combinations of them.
        for pattern, cases in self._patterns.items():
            fits = find_fitting_metrics(pattern, metrics=self._metrics)
            for kind in FIT_KINDS:
                counts.update({(kind, name): cases for name in getattr(fits, kind)})
        ordered = sorted(counts.items(), key=lambda count: (FIT_KINDS.index(count[0][0]), -count[1], count[0][1]))
        fitting = tuple(MetricFit(metric=name, kind=kind, cases=cases) for (kind, name), cases in ordered)
        fitting_names = {fit.metric for fit in fitting}
        nearly = find_fitting_metrics(frozenset(self.fields), metrics=self._metrics).nearly if self.cases else ()
        return fitting, tuple(metric for metric in nearly if metric.metric not in fitting_names)


def _describe_columns(reading: CaseReader) -> Iterator[str]:
    """Yield a remark with the names of the columns, for a file without a case."""
    names = format_names(map(format_printable, (*reading.columns, *reading.ignored_reasons)), MAX_LISTED_COLUMNS)
    if names:
        yield f"its columns are {names}"


def _list_fields(counts: Mapping[str, int], reading: CaseReader) -> Iterator[FieldCount]:
    """Yield the fields with their columns, in the order of a case."""
    columns: dict[str, list[str]] = {}
    for name, field in reading.columns.items():
        columns.setdefault(field, []).append(name)
    for name in sorted(counts, key=lambda name: FIELD_ORDER.index(name.partition(".")[0])):
        # Ids that were made from the positions of rows are no field of the file.
        if name != ID or ID in columns:
            sources = columns.get(name) or columns.get(name.partition(".")[0]) or []
            yield FieldCount(field=name, columns=tuple(sources), cases=counts[name])
