"""Fields of a case that are read from columns, or from places in JSON, that somebody names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from greval._util.json_path import JsonPath, JsonPathError
from greval._util.wording import did_you_mean, find_typo
from greval.datasets.cells import parse_cell
from greval.datasets.field_names import (
    DOTTED_NAMES,
    METADATA,
    OWN_FIELDS,
    convert_time,
    find_field,
    fold_name,
    format_printable,
    split_dotted,
)
from greval.datasets.json_files import InvalidJsonError, RawRow
from greval.errors import DataError

TARGETS = (*OWN_FIELDS, *DOTTED_NAMES)
MAX_NAMES_SHOWN = 200
MAX_CACHED_NAMES = 1_024


def parse_columns(lines: Iterable[str]) -> dict[str, str]:
    """Parse the columns of fields, each as `FIELD=NAME`; raise `DataError` if one is not.

    Example:
        >>> parse_columns(["answer=generated_text"])
        {'answer': 'generated_text'}
    """
    columns: dict[str, str] = {}
    for line in lines:
        name, mark, source = (part.strip() for part in line.partition("="))
        if not mark or not name or not source:
            raise DataError(f"column {line}: write it as FIELD=NAME, such as answer=generated_text")
        if name in columns:
            raise DataError(f"column {line}: {name} has the column {columns[name]!r} already")
        columns[name] = source
    return columns


class ColumnMap:
    """Names the column, or the place in JSON, of some fields of a case.

    Args:
        columns: The column of each field. A field is one of a case (`answer`), a part of one (`gold.essential_docs`) or
            a tag (`tags.topic`). A column is named as in the file, in any case, or is a path such as
            `retrieval.hits[*].text`; a path that ends with `?` may lead nowhere.
        extra_fields: Names of fields that are not of a case, such as `value` in a file of verdicts.
    """

    def __init__(self, columns: Mapping[str, str], extra_fields: Collection[str] = ()) -> None:
        for name, source in columns.items():
            nested = split_dotted(name)
            is_field = name in OWN_FIELDS or name in DOTTED_NAMES or name in extra_fields
            if not is_field and not (nested and nested[0] == "tags"):
                hint = did_you_mean(name, (*extra_fields, *TARGETS))
                raise DataError(f"column {name}={source}: {name!r} is no field of a case{hint}")
            if not source:
                raise DataError(f"column {name}=: name the column of the file, {name}=COLUMN")
        self._columns = dict(columns)
        self._seen: set[str] = set()

    def __str__(self) -> str:
        return " ".join(f"{name}={source}" for name, source in self._columns.items())

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    @property
    def mapping(self) -> dict[str, str]:
        """The field of each column so far that is not called like its field."""
        return {source: name for name, source in self._columns.items() if name in self._seen and name != source}

    @property
    def missing(self) -> dict[str, str]:
        """The columns by field that no row had so far."""
        return {name: source for name, source in self._columns.items() if name not in self._seen}

    def list_fields(self, names: Iterable[str]) -> list[str]:
        """List the fields that columns of these names give."""
        columns = (*names,)
        return [name for name, source in self._columns.items() if _find_column(source, columns) is not None]

    def check_names(self, names: Sequence[str], location: str) -> None:
        """Raise `DataError` if a column that is named is not in a table."""
        present_fields = {*self.list_fields(names)}
        missing = {name: source for name, source in self._columns.items() if name not in present_fields}
        if missing:
            raise self.build_missing_error(missing, names, location)

    def build_missing_error(self, missing: Mapping[str, str], names: Iterable[str], location: str) -> DataError:
        """Build the error for columns that are not in a file with columns of these names."""
        name, source = next(iter(missing.items()))
        columns = [*names]
        suggestion = find_typo(source, columns)
        hint = f"; is it {format_printable(suggestion)!r}?" if suggestion else ""
        listing = format_printable(", ".join(columns), MAX_NAMES_SHOWN)
        return DataError(
            f"{location}: {format_printable(source)!r}, which is to be {name}, is not there{hint} (columns: {listing})"
        )

    def apply(self, row: RawRow) -> RawRow:
        """Return a row with the values of the columns under the names of their fields."""
        matches = {name: self._find_value(source, row.values) for name, source in self._columns.items()}
        by_field = {name: match for name, match in matches.items() if match is not None}
        if not by_field:
            return row
        renamed = {column: name for name, (_, column, _) in by_field.items()}
        self._seen.update(by_field)
        # A field whose column is named and empty is not read from another column either.
        emptied = {name for name, (value, _, _) in by_field.items() if value is None}
        values = {
            name: value for name, value in row.values.items() if name not in renamed and find_field(name) not in emptied
        }
        values |= {name: remaining for name in renamed if (remaining := self._find_rest(name, row.values.get(name)))}
        values |= {name: convert_time(name, self._columns[name], value) for name, (value, _, _) in by_field.items()}
        faults = {renamed.get(name, name): why for name, why in row.faults.items()}
        faults |= {name: fault for name, (_, _, fault) in by_field.items() if fault}
        return replace(row, values=values, faults=faults)

    def _find_rest(self, column: str, value: object) -> Mapping[str, object]:
        """Return what stays of `metadata` or `tags` if paths lead into it: its other values are tags; else nothing."""
        if fold_name(column) not in {METADATA, "tags"} or not isinstance(value, Mapping):
            return {}
        mapped_parts = {source.partition(".")[2] for source in self._columns.values()}
        is_whole = column in self._columns.values()
        return {} if is_whole else {name: part for name, part in value.items() if name not in mapped_parts}

    @staticmethod
    def _find_value(source: str, values: Mapping[str, object]) -> tuple[object, str, str] | None:
        """Return the value of a column or a path, its column, and why it cannot be read; None without such a column."""
        column = _find_column(source, tuple(values))
        if column is None:
            return None
        value = values[column]
        if value is None or fold_name(column) == fold_name(source):
            return value, column, ""
        try:
            has_dots = "." in column and _is_beginning(column, source)
            path = JsonPath.parse(f"value{source[len(column) :]}" if has_dots else source)
            if len(path.steps) == 1:
                # It is a name written as a path, such as `["a.b"]`.
                return value, column, ""
            parsed = parse_cell(value)[0] if isinstance(value, str) else value
            return path.find({path.steps[0]: parsed}), column, ""
        except InvalidJsonError as error:
            return None, column, f"{format_printable(column)} {error}"
        except JsonPathError as error:
            return None, column, f"{error}; if it may be missing, end the path with a question mark"


# The rows of a table have the same columns.
@lru_cache(maxsize=MAX_CACHED_NAMES)
def _find_column(source: str, names: tuple[str, ...]) -> str | None:
    """Return the column that is meant by its name or by the first step of a path, or None if it is not there."""
    candidates = [source]
    try:
        first = JsonPath.parse(source).steps[:1]
        candidates += [step for step in first if isinstance(step, str)]
    except JsonPathError:
        # It is a name such as "Is it [new]?".
        pass
    for name in candidates:
        if name in names:
            return name
        if folded := next((column for column in names if fold_name(column) == fold_name(name)), None):
            return folded
    # Names may have dots themselves: the longest that the path begins with is meant.
    return max((column for column in names if _is_beginning(column, source)), key=len, default=None)


def _is_beginning(column: str, source: str) -> bool:
    """Return whether a path goes on from a column whose name has dots."""
    return bool(column) and source.startswith(column) and source[len(column) : len(column) + 1] in {".", "["}
