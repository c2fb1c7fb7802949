"""Input of a run: cases joined with gold and traversals of other files, checked before any judge call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from greval._util.arguments import build_unknown_name_error, require_any
from greval.datasets.case_reader import CaseReader, read_cases
from greval.datasets.case_records import filter_by_tags
from greval.datasets.field_names import find_known_name, list_names
from greval.datasets.json_files import RawRow
from greval.datasets.row_faults import RowFault, build_unreadable_error, describe_row_faults
from greval.datasets.row_sources import STDIN, check_file, find_named_fields
from greval.errors import DataError
from greval.records.case import Case, Gold, Traversal
from greval.runs.config.model import RunConfig
from greval.runs.store.writer import StoreWriter
from greval.stats.summary import METHOD

if TYPE_CHECKING:
    from greval._util.joins import JoinCounter

ID = "id"
Rows = Iterable[Case | RowFault]


@dataclass
class JoinedFile:
    """A file that is joined with the cases: what its rows are, by what they are joined, and what met so far.

    `find_key` returns the key of a case, which is one of `keys` if a row of the file belongs to the case.
    """

    path: Path
    what: str
    keys: frozenset[str]
    find_key: Callable[[Case], str]
    counter: JoinCounter = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Count from the start."""
        from greval._util.joins import JoinCounter

        self.counter = JoinCounter(self.keys, ("cases", f"rows of {self.what}"))

    def describe(self) -> str | None:
        """Describe what met, None if every case and every row did or nothing was read."""
        join = self.counter.build()
        is_whole = join.left.met == join.left.total and join.right.met == join.right.total
        return None if is_whole or not join.left.total else f"{self.path}: {join.describe()}"

    def find_remark(self) -> str | None:
        """Return the remark that stands before all figures if less than half of the cases met."""
        from greval._util.joins import name_remark
        from greval.datasets.gold import JOIN_REMEDY

        remark = self.counter.build().find_remark(JOIN_REMEDY)
        return remark and name_remark(remark, str(self.path))


class CaseInput(NamedTuple):
    """An opened input: the reader of the cases, the rows with the joined data, and the files that it is from."""

    reading: CaseReader
    rows: Rows
    joined: Sequence[JoinedFile] = ()


def open_input(config: RunConfig) -> CaseInput:
    """Open the data of a configuration: a file or standard input, joined with gold and traversals.

    Raises:
        DataError: If a file cannot be read, one of its rows has no gold or traversal, no case has the id of any of its
            rows, or no case has one of the tags to group by. For standard input, missing ids and tags are reported only
            while the rows are read.
    """
    columns = config.columns or {}
    gold, traversals = [*map(Path, config.gold or ())], [*map(Path, config.traversals or ())]
    joining = {file: find_named_fields(check_file(file), columns) if columns else {} for file in (*gold, *traversals)}
    reading = _open_data(config, joining.values())
    files, attach_rows = _read_joined_files(gold, traversals, joining) if joining else ([], _keep_row)
    requirements = _InputRequirements(files, config.by or ())
    # The sources of chunks in the data are not used if methods are asked.
    pattern = None if config.methods else config.doc_id_pattern

    def attach() -> Rows:
        # The rows are read again after the check below, and are counted anew.
        for file in files:
            file.restart()
        for row in islice(filter_by_tags(reading, config.where), config.limit):
            if isinstance(row, Case):
                for file in files:
                    file.counter.add(file.find_key(row))
            yield attach_rows(row)

    def iterate_rows() -> Rows:
        return fill_sources_by_pattern(attach(), pattern)

    if requirements.are_met:
        is_unchanged = not (files or config.where or pattern) and config.limit is None
        return CaseInput(reading, reading if is_unchanged else iterate_rows())
    # Standard input can be read only once, so that it is checked while it is judged.
    if config.data == STDIN:
        return CaseInput(reading, require_any(iterate_rows(), requirements.check_row, requirements.build_error), files)
    if not any(map(requirements.check_row, iterate_rows())):
        raise requirements.build_error()
    return CaseInput(reading, iterate_rows(), files)


def fill_sources_by_pattern(rows: Rows, pattern: str | None) -> Rows:
    """Return rows with the repositories of their chunks by a pattern of document ids; unchanged without a pattern."""
    if not pattern:
        return rows
    from greval.datasets.chunk_sources import fill_sources

    return fill_sources(rows, pattern)


def store_joins(folder: Path, files: Sequence[JoinedFile]) -> None:
    """Store the remarks about files of which less than half of the cases have a row, so that all reports have them."""
    if any(file.counter.total for file in files):
        from greval.runs.id_joins import store_input_remarks

        with StoreWriter.create(folder) as writer:
            store_input_remarks(writer, filter(None, (file.find_remark() for file in files)))


def _keep_row(row: Case | RowFault) -> Case | RowFault:
    """Return a row unchanged, because nothing is joined with it."""
    return row


def _read_joined_files(
    gold: Sequence[Path], traversals: Sequence[Path], columns: Mapping[Path, Mapping[str, str]]
) -> tuple[list[JoinedFile], Callable[[Case | RowFault], Case | RowFault]]:
    """Read the files that are joined with the cases; return them, and the function that joins a row with theirs."""
    from greval.datasets.gold import attach_gold, attach_traversal, merge_rows

    gold_rows = {file: _read_joined(file, "gold", columns[file]) for file in gold}
    logs = {file: _read_joined(file, "traversal", columns[file]) for file in traversals}
    gold_of = merge_rows(row for rows in gold_rows.values() for row in rows)
    walk_of = {(row.id, row.method): row.traversal for rows in logs.values() for row in rows}
    files = [
        *(
            JoinedFile(file, "gold", frozenset(row.id for row in rows), attrgetter("id"))
            for file, rows in gold_rows.items()
        ),
        *(_join_traversals(file, rows) for file, rows in logs.items()),
    ]
    return files, lambda row: attach_traversal(attach_gold(row, gold_of), walk_of)


def _join_traversals(file: Path, rows: Sequence[Case]) -> JoinedFile:
    """Join a log of traversals: by id and method, or by id alone if its rows name no method."""
    keys = frozenset(_format_key(row.id, row.method) for row in rows)

    def find_key(case: Case) -> str:
        return case.id if case.id in keys else _format_key(case.id, case.method)

    return JoinedFile(file, "traversals", keys, find_key)


def _format_key(sample_id: str, method: str) -> str:
    return f"{sample_id} ({method})" if method else sample_id


class _InputRequirements:
    """Requirements on the cases: at least one id of each joined file, and each tag used for grouping."""

    def __init__(self, files: Sequence[JoinedFile], by: Iterable[str]) -> None:
        self._files = files
        self._by = [name for name in dict.fromkeys(by) if name != METHOD]
        self._tags: set[str] = set()
        self._faults: list[str] = []
        self._cases = 0

    @property
    def are_met(self) -> bool:
        return all(file.counter.met for file in self._files) and self._tags.issuperset(self._by)

    def check_row(self, row: Case | RowFault) -> bool:
        """Check a row, and return whether all requirements are met now."""
        if isinstance(row, RowFault):
            self._faults.append(str(row))
            return False
        self._cases += 1
        self._tags.update(row.tags)
        return self.are_met

    def build_error(self) -> DataError:
        """Build the error for the first requirement that is not met."""
        if not self._cases:
            return build_unreadable_error(self._faults, len(self._faults))
        for file in self._files:
            if not file.counter.met:
                from greval.datasets.gold import build_unmatched_error

                return build_unmatched_error(file.counter.build(), str(file.path))
        missing = next(name for name in self._by if name not in self._tags)
        return build_unknown_name_error("tag", missing, {METHOD, *self._tags}, "--by")


def _open_data(config: RunConfig, joining: Iterable[Mapping[str, str]]) -> CaseReader:
    """Open the file of the cases, or of the questions of groups; `joining` are the columns of the joined files."""
    if config.data is None:
        raise DataError("data is missing; name the file of the cases")
    columns = _select_columns(config.data, config.columns or {}, joining)
    convert = partial(convert_question, group_by=config.group_by) if config.group_by else None
    return read_cases(config.data, method=config.method, columns=columns, convert=convert)


def convert_question(row: RawRow, group_by: str) -> RawRow:
    """Convert the row of a question to that of a case: its answer is the expected one, and its group is a tag.

    If there is a column such as `expected_answer`, the answer stays that of a response, which is not used. A row
    without a group is a fault.
    """
    names = dict(_map_columns(row.values, group_by))
    values = {names[name]: value for name, value in row.values.items()}
    faults = {names.get(name, name): why for name, why in row.faults.items()}
    nested = values.get("tags")
    group = values.get(f"tags.{group_by}") or (nested.get(group_by) if isinstance(nested, Mapping) else None)
    # A row that could not be read has no group either; its own fault says why.
    if group in (None, "") and "" not in faults:
        hint = "add it, or set group_by to another column"
        faults = {"": f"has no {group_by}, by which its index is chosen; {hint}"}
    return replace(row, values=values, faults=faults)


def _map_columns(row: Mapping[str, object], group_by: str) -> Iterator[tuple[str, str]]:
    """Map the columns of a row to those of a case."""
    fields = {name: find_known_name(name) for name in row}
    truths = {*list_names("expected_answer")}
    has_truth = any(fields[name] in truths and value is not None for name, value in row.items())
    for name, field_name in fields.items():
        if field_name == "answer" and not has_truth:
            yield name, "expected_answer"
        elif not field_name and name == group_by:
            yield name, f"tags.{name}"
        else:
            yield name, name


def _select_columns(source: str, columns: Mapping[str, str], joining: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    """Return the columns that are those of the cases: all but those that only a joined file has."""
    elsewhere = {name for file_columns in joining for name in file_columns}
    if not elsewhere or source == STDIN:
        # Standard input cannot be looked into: its columns are those that no joined file has, and the id.
        return {name: column for name, column in columns.items() if name not in elsewhere or name == ID}
    case_fields = find_named_fields(check_file(Path(source)), columns)
    return {name: column for name, column in columns.items() if name in case_fields or name not in elsewhere}


def _read_joined(file: Path, what: str, columns: Mapping[str, str]) -> list[Case]:
    """Read a gold or traversal file."""
    from greval.datasets.gold import read_gold

    located_rows = [*read_gold(file, columns=columns)]
    # No row is skipped, because the results would then cover other questions.
    if faults := [fault for location, row in located_rows if (fault := _describe_fault(location, row, what))]:
        raise DataError("\n".join(describe_row_faults(faults)))
    return [row for _, row in located_rows if isinstance(row, Case)]


def _describe_fault(location: str, row: Case | RowFault, what: str) -> str | None:
    """Return why a row is not valid gold or not a valid traversal, or None if it is valid."""
    if isinstance(row, RowFault):
        return str(row)
    if what == "traversal":
        fields = ", ".join(Traversal.model_fields)
        return None if row.traversal else f"{location}: has no traversal; expected the fields {fields}"
    if row.gold is not None or row.expected_answer is not None:
        return None
    hint = "; pass the log of a traversal with --traversal" if row.traversal else ""
    return f"{location}: has no gold; expected one of the fields {', '.join(Gold.model_fields)}{hint}"
