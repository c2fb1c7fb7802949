"""A file of verdicts: its rows grouped by case, with the case of each if the file or another one holds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from greval._util.joins import IdJoin, JoinSide, build_join
from greval._util.wording import format_count
from greval.datasets.case_reader import CaseReader
from greval.datasets.field_names import fold_name, format_printable, list_names, map_fields
from greval.datasets.field_values import as_text
from greval.datasets.json_files import RawRow
from greval.datasets.labelled_rows import (
    LABEL_NAMES,
    REASON,
    VALUE,
    LabelledRows,
    list_metric_names,
    list_reason_names,
    read_labelled_rows,
)
from greval.datasets.row_conversion import split_methods
from greval.datasets.row_faults import RowFault
from greval.errors import DataError
from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.metric_input import list_items
from greval.runs.run_reader import CaseKey

PLACES = ("id", "method", "item", "repeat")
"""The fields that say what a verdict is of."""


class WrittenVerdict(NamedTuple):
    """A verdict as it is written: the value and the reason, the judged item, the repeat, and the place in the file."""

    value: object
    reason: str
    place: str
    item: str | None = None
    repeat: str = ""


@dataclass
class ImportedCase:
    """A case with its verdicts by metric, item and repeat; `case` is None if its contents are not known."""

    id: str
    method: str
    case: Case | None
    tags: Mapping[str, str]
    written: dict[str, dict[tuple[str | None, str], WrittenVerdict]] = field(default_factory=dict)


def read_verdict_file(
    source: object,
    metrics: Sequence[Metric],
    *,
    columns: Mapping[str, str] | None = None,
    method: str = "",
    cases: Iterable[Case | RowFault] | None = None,
) -> VerdictFile:
    """Read the verdicts of a file, one a row, or one for each metric in columns of their names.

    `columns` are those of fields that are called otherwise: of a case, of a verdict (`value`, `reason`, `item`,
    `repeat`, `metric`), or of the values of a metric, by its name. `cases` are joined by id, if the file does not hold
    them itself.
    """
    rows = read_labelled_rows(source, _list_fields(metrics, columns or {}), columns)
    rows = replace(
        rows, rows=tuple(method_row for n, row in enumerate(rows.rows, 1) for method_row in split_methods(row, n))
    )
    _check_columns(rows, metrics)
    verdict_file = VerdictFile(rows, metrics, method)
    if cases is None:
        verdict_file.read_own_cases()
    else:
        verdict_file.join_cases(cases)
    verdict_file.collect()
    if cases is not None and (join := verdict_file.join).met_nothing:
        raise DataError(f"{rows.name}: {join.describe()}; give a verdict and its case one id")
    return verdict_file


def _list_fields(metrics: Sequence[Metric], columns: Mapping[str, str]) -> dict[str, Sequence[str]]:
    """List the fields to look for, with the names of their columns.

    With one metric the value has a column of its own name, or one of the metric's. With several, each has a column.
    """
    fields: dict[str, Sequence[str]] = {name: LABEL_NAMES[name] for name in (*PLACES, "metric")}
    for metric in metrics:
        fields[metric.name] = list_metric_names(metric.name)
        fields[_name_reason(metric)] = list_reason_names(metric.name)
    if not any(metric.name in columns for metric in metrics):
        fields |= {VALUE: LABEL_NAMES[VALUE], REASON: LABEL_NAMES[REASON]}
    return fields


def _name_reason(metric: Metric) -> str:
    return f"{metric.name}.{REASON}"


def _check_columns(rows: LabelledRows, metrics: Sequence[Metric]) -> None:
    """Raise `DataError` if a metric has no column, or nothing says what a verdict is of."""
    names = dict.fromkeys(name for row in rows.rows for name in row.values)
    column_list = format_printable(", ".join(names), 200)
    long_form = VALUE in rows.columns and ("metric" in rows.columns or len(metrics) == 1)
    for metric in metrics:
        if metric.name not in rows.columns and not long_form:
            hint = f"--column {VALUE if len(metrics) == 1 else metric.name}=NAME"
            raise DataError(
                f"{rows.name}: no column holds the verdicts of {metric.name}; name the column: {hint}, or with --scale "
                f"the metric like its column: --name NAME ({column_list})"
            )
        if metric.name not in rows.columns and "metric" in rows.columns:
            _check_metric_names(rows, metric)
    if not {"id", "question"} & names.keys() and not any(fold_name(name) in list_names("question") for name in names):
        raise DataError(
            f"{rows.name}: no column says which case a verdict is of; name it: --column id=NAME ({column_list})"
        )


def _check_metric_names(rows: LabelledRows, metric: Metric) -> None:
    """Raise `DataError` if a file names the metric of each row and no row is of this one."""
    names = dict.fromkeys(str(row.values.get("metric") or "") for row in rows.rows)
    if fold_name(metric.name) not in map(fold_name, names):
        column = format_printable(rows.columns["metric"])
        raise DataError(
            f"{rows.name}: no row is a verdict of {metric.name}; the column {column} has "
            f"{format_printable(', '.join(names), 200)}: name the metric like its rows (--name NAME), or rename the "
            "column if it does not hold metrics"
        )


def _name_case(key: CaseKey) -> str:
    return f"{key[0]} ({key[1]})" if key[1] else key[0]


class VerdictFile:
    """A file whose rows are grouped by case; `unread` has a message for each row that could not be read."""

    def __init__(self, rows: LabelledRows, metrics: Sequence[Metric], method: str) -> None:
        self._rows = rows
        self._metrics = metrics
        self._method = method
        self._fields = {*PLACES, "metric", VALUE, REASON} - {"id", "method"}
        self._fields |= {metric.name for metric in metrics} | {_name_reason(metric) for metric in metrics}
        self._cases: dict[CaseKey, Case] = {}
        self._keys: dict[int, CaseKey | str] = {}
        self._found: dict[CaseKey, ImportedCase] = {}
        self.unread: list[str] = []
        self._notice = ""

    def read_own_cases(self) -> None:
        """Read the cases that the rows themselves hold; a row of an id and method that was there is the same case."""
        case_rows: dict[int, RawRow] = {}
        seen_keys: set[CaseKey] = set()
        for number, row in enumerate(self._rows.rows):
            key = self._get_key(row)
            if not any(fold_name(name) in list_names("question") for name, value in row.values.items() if value):
                continue
            if key[0] and key in seen_keys:
                continue
            seen_keys.add(key)
            case_rows[number] = replace(row, values=self._strip(row.values))
        reading = CaseReader(self._rows.name, lambda: iter(case_rows.values()), self._method or None, needed=False)
        for number, record in zip(case_rows, reading, strict=True):
            if isinstance(record, RowFault):
                self._keys[number] = str(record)
            else:
                self._keys[number] = (record.id, record.method)
                self._cases[record.id, record.method] = record
        self._notice = reading.notice() or ""

    def join_cases(self, cases: Iterable[Case | RowFault]) -> None:
        """Take the cases of another file."""
        for case in cases:
            if isinstance(case, RowFault):
                self.unread.append(str(case))
            else:
                self._cases[case.id, case.method] = case

    def collect(self) -> None:
        """Group the verdicts of all rows."""
        methods: dict[str, set[str]] = {}
        for sample_id, method in self._cases:
            methods.setdefault(sample_id, set()).add(method)
        for number, row in enumerate(self._rows.rows):
            location = f"{self._rows.name}{row.unit}{row.number}"
            key = self._keys.get(number) or self._get_key(row)
            if "" in row.faults:
                self.unread.append(f"{location}: {row.faults['']}")
            elif isinstance(key, str):
                self.unread.append(key)
            elif not key[0]:
                self.unread.append(f"{location}: id: is empty, and there is no question")
            else:
                # A row without a method is of the only method of its case.
                only = methods.get(key[0], set())
                self._add_row(row, (key[0], key[1] or (next(iter(only)) if len(only) == 1 else "")), location)

    @property
    def cases(self) -> list[ImportedCase]:
        """The cases with their verdicts."""
        return [*self._found.values()]

    @property
    def notes(self) -> list[str]:
        """The notes on how the file was read, for people."""
        renamed = [f"{column} as {name}" for name, column in self._rows.renamed.items()]
        notes = [f"{self._rows.name}: read {', '.join(map(format_printable, renamed))}."] if renamed else []
        if names := self._find_other_metrics():
            count = format_count(sum(names.values()), "row")
            notes.append(f"{count} of other metrics not imported: {format_printable(', '.join(names), 200)}")
        if self._cases and (unmet := self.join.left.total - self.join.left.met):
            message = f"{format_count(unmet, 'case')} of these verdicts are not among the cases, so without texts"
            notes.append(f"{message}{self.join.describe_difference()}")
        return [note for note in (*notes, self._notice) if note]

    @property
    def join(self) -> IdJoin:
        """The join of the verdicts with the cases."""
        met = {imported.id for imported in self._found.values() if imported.case}
        unmet = [_name_case(key) for key, imported in self._found.items() if imported.case is None]
        unused = [_name_case(key) for key in self._cases if key[0] not in met]
        return build_join(
            JoinSide("judged cases", len(self._found), len(self._found) - len(unmet), tuple(unmet)),
            JoinSide("cases", len(self._cases), len(self._cases) - len(unused), tuple(unused)),
        )

    def _find_other_metrics(self) -> Counter[str]:
        """Count the rows by metric that are verdicts of none of the metrics, if the file names the metric of each."""
        if "metric" not in self._rows.columns or all(metric.name in self._rows.columns for metric in self._metrics):
            return Counter()
        own_names = {fold_name(metric.name) for metric in self._metrics}
        names = (str(row.values.get("metric") or "") for row in self._rows.rows)
        return Counter(name for name in names if fold_name(name) not in own_names)

    def _get_key(self, row: RawRow) -> CaseKey:
        """Return the id and the method of a row, empty if it has none."""
        sample_id, method = (as_text(row.values.get(name)) for name in ("id", "method"))
        return str(sample_id or ""), str(method or self._method)

    def _strip(self, values: Mapping[str, object]) -> dict[str, object]:
        """Return the values of a row without those of verdicts."""
        return {name: value for name, value in values.items() if name not in self._fields}

    def _add_row(self, row: RawRow, key: CaseKey, location: str) -> None:
        imported = self._found.get(key)
        if imported is None:
            # A case without a method is the case of every method.
            case = self._cases.get(key) or self._cases.get((key[0], ""))
            if case and case.method != key[1]:
                case = case.model_copy(update={"method": key[1]})
            imported = self._found[key] = ImportedCase(*key, case, case.tags if case else self._read_tags(row))
        values = row.valid_values
        for metric, column, reason in self._list_columns(values):
            item = as_text(values.get("item"))
            verdict = WrittenVerdict(
                values.get(column),
                _format_reason(values.get(reason)),
                location,
                None if item is None else str(item),
                _format_reason(values.get("repeat")),
            )
            if fault := self._find_fault(metric, verdict, imported.case):
                self.unread.append(f"{location}: {fault}")
                continue
            # An equal verdict in another row is the same one; a different one is a fault.
            verdicts = imported.written.setdefault(metric.name, {})
            first = verdicts.setdefault((verdict.item, verdict.repeat), verdict)
            if first is not verdict and first.value != verdict.value:
                self.unread.append(
                    f"{location}: {format_printable(key[0])} has another verdict of {metric.name} at {first.place}; "
                    "name the column of the repeats (--column repeat=NAME), or keep one of them"
                )

    def _list_columns(self, values: Mapping[str, object]) -> Iterator[tuple[Metric, str, str]]:
        """Yield the metrics that a row has verdicts of, each with the columns of its value and its reason."""
        metric_name = values.get("metric")
        for metric in self._metrics:
            if metric.name in self._rows.columns:
                reason_field = _name_reason(metric)
                yield metric, metric.name, reason_field if reason_field in self._rows.columns else REASON
            elif "metric" not in self._rows.columns or fold_name(str(metric_name)) == fold_name(metric.name):
                yield metric, VALUE, REASON

    def _find_fault(self, metric: Metric, verdict: WrittenVerdict, case: Case | None) -> str:
        """Return why a verdict cannot be of this metric and case; empty if it can."""
        if metric.over is None:
            return "" if verdict.item is None else f"item: {metric.name} has one verdict a case, not one an item"
        if verdict.item is None:
            return f"item: is empty, but {metric.name} has a verdict for each of the {metric.over}"
        items = list_items(metric.over, case) if case else ()
        if items and all(item.id != verdict.item for item in items):
            return f"item: {format_printable(verdict.item)} is none of the {metric.over} of its case"
        return ""

    def _read_tags(self, row: RawRow) -> dict[str, str]:
        """Return the tags of a row that is no case: its plain other columns."""
        tags = map_fields(self._strip(row.valid_values)).values.get("tags")
        return {name: str(as_text(value)) for name, value in tags.items()} if isinstance(tags, Mapping) else {}


def _format_reason(content: object) -> str:
    return "" if content is None else str(as_text(content))
