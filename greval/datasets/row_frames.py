"""Frames of polars with the columns of a purpose: ids as texts and a number, from files and from columns of a program.

Regular files are read by polars. A file is regular only if that is certain: whatever is odd, such as quotes, another
encoding, a value of another type or a fault, is read row by row, with the same result, which finds the row that is at
fault.
"""

from __future__ import annotations

import codecs
import gzip
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from greval.datasets.field_names import fold_name, format_printable
from greval.datasets.json_files import BOM, InvalidJsonError, parse_json
from greval.datasets.labelled_rows import find_columns, open_labelled_rows
from greval.datasets.ranked_rows import (
    DOCUMENT,
    ID_FIELDS,
    METHOD_NAMES,
    NUMBER_FIELDS,
    QUESTION,
    RUN,
    RUN_ROWS,
    WHOLE_NUMBERS,
    read_ranked_cell,
    read_ranked_row,
)
from greval.datasets.row_purpose import RowPurpose, describe_missing
from greval.datasets.row_sources import DELIMITERS, ENDINGS, PARQUET, TREC, check_exists, find_format, read_head
from greval.datasets.tables import find_header
from greval.datasets.trec import BEIR_COLUMNS, BEIR_HEADER, COMMENT, QRELS_COLUMNS, RUN_COLUMNS
from greval.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

JSON_LINES = (".jsonl", ".ndjson")
PACKED = ".gz"
BLOCK_BYTES = 1 << 20
NEW_LINE, RETURN, QUOTE, SPACE = b'\n\r" '
ARROW_METHODS = ("__arrow_c_stream__", "__arrow_c_array__")
INTEGER, NUMBER = r"0|-?[1-9][0-9]{0,17}", r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
"""An id that is a number as Python prints it, and a number, in the patterns of lines."""
JSON_TEXT = r'[^"\\\x00-\x1f]*'
"""A text of JSON without an escape."""
BLANK, CELL = r"[ \t\x0b\x0c\r]", r"[^ \t\x0b\x0c\r]"
"""The white space between cells of TREC, and what is none."""
QUOTED = "_quoted"
"""The end of the name of a group that matches a cell in quotes."""


@dataclass(frozen=True)
class FrameColumns:
    """The columns of a frame: those of the ids, and the first of some numbers that a file has or must have.

    `named` holds the columns of fields that are called otherwise than in the purpose.
    """

    purpose: RowPurpose
    numbers: tuple[str, ...]
    named: Mapping[str, str]
    is_required: bool

    def find(self, names: Sequence[str], location: str) -> dict[str, str]:
        """Find the column of each field; raise `DataError` if one that is needed is not there."""
        columns = {**find_columns(self.purpose.fields, self.named, names, location), **self.named}
        for field in (*ID_FIELDS, *(self.numbers if self.is_required else ())):
            if field not in columns:
                other_columns = [name for name in names if name not in columns.values()]
                fault = describe_missing(field, self.purpose.fields[field], other_columns, kind="other columns")
                raise DataError(f"{location}: {fault}, or columns={{{field!r}: NAME}} in Python")
        return {field: columns[field] for field in (*ID_FIELDS, *self.list_numbers(columns))}

    def check(self, names: Sequence[str], location: str) -> None:
        """Raise `DataError` if a table lacks a column that is needed."""
        self.find(names, location)

    def list_numbers(self, columns: Mapping[str, str]) -> list[str]:
        """List the field of the number that counts; none if the file has none."""
        return [field for field in self.numbers if field in columns][:1]

    def match(self, names: Sequence[str]) -> dict[str, str] | None:
        """Return the column of each field; None if one is missing, is a path, or if the names are ambiguous."""
        try:
            columns = self.find(names, "")
        except DataError:
            return None
        # In reverse, so that the first of several names that are alike counts.
        by_folded = {fold_name(name): name for name in reversed(names)}
        sources = {field: by_folded.get(fold_name(column)) for field, column in columns.items()}
        matched = {field: source for field, source in sources.items() if source is not None}
        is_certain = len({*names}) == len(names) and len({*matched.values()}) == len(sources)
        return matched if is_certain else None


def read_frame(path: Path, columns: FrameColumns) -> pl.DataFrame:
    """Read the columns of a file: `question` and `document` as texts, and a number under the name of its field."""
    check_polars()
    columns = replace(columns, purpose=replace(columns.purpose, check=columns.check))
    check_exists(path, ENDINGS)
    try:
        with _unpack_file(path) as file:
            frame = read_regular_frame(file, columns)
            return read_frame_by_rows(file, columns) if frame is None else frame
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def refuse_several_runs(path: Path, named: Mapping[str, str]) -> None:
    """Raise `DataError` if a document of a question is in two runs of a file, which would be one ranking."""
    purpose = replace(RUN_ROWS, fields={**RUN_ROWS.fields, RUN: METHOD_NAMES})
    with _unpack_file(path) as file:
        rows, field_columns = open_labelled_rows(file, purpose, named)
        if RUN not in field_columns:
            return
        runs: dict[tuple[object, object], object] = {}
        for row in rows:
            run = row.values.get(RUN)
            first = runs.setdefault((row.values.get(QUESTION), row.values.get(DOCUMENT)), run)
            if first != run:
                raise DataError(
                    f"{path}{row.unit}{row.number}: the column {format_printable(field_columns[RUN])} names several "
                    f"runs, such as {format_printable(repr(first))} and {format_printable(repr(run))}; give each run a "
                    "file of its own"
                )


def check_polars() -> None:
    """Raise `MissingExtraError` if polars is not installed."""
    if not find_spec("polars"):
        raise MissingExtraError("ranking", "polars")


@contextmanager
def _unpack_file(path: Path) -> Iterator[Path]:
    """Provide the unpacked file, whose name does not appear in the messages of errors."""
    if path.suffix.lower() != PACKED:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        unpacked = Path(folder) / path.stem
        with gzip.open(path) as packed, unpacked.open("wb") as stream:
            shutil.copyfileobj(packed, stream)
        try:
            yield unpacked
        except DataError as error:
            raise DataError(str(error).replace(str(unpacked), str(path))) from error


def read_frame_by_rows(path: Path, columns: FrameColumns) -> pl.DataFrame:
    """Read a file row by row."""
    import polars as pl

    rows, field_columns = open_labelled_rows(path, columns.purpose, columns.named)
    fields = [*ID_FIELDS, *columns.list_numbers(field_columns)]
    cells: dict[str, list[str | float]] = {field: [] for field in fields}
    for row in rows:
        for field, cell in zip(fields, read_ranked_row(row, fields, str(path)), strict=True):
            cells[field].append(cell)
    return pl.DataFrame(cells, schema={field: pl.String if field in ID_FIELDS else pl.Float64 for field in fields})


def read_regular_frame(path: Path, columns: FrameColumns) -> pl.DataFrame | None:
    """Read a regular file by polars; None if the file is not certain to be regular."""
    import polars as pl

    form = find_format(path, columns.purpose)
    if form not in READERS:
        return None
    try:
        frame = READERS[form](path, columns)
    except (pl.exceptions.PolarsError, UnicodeDecodeError):
        return None
    return None if frame is None or frame.is_empty() else _convert_columns(frame)


def _convert_columns(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Return a frame with texts and numbers; None if a value is missing, or is none that all readers read alike."""
    import polars as pl

    converted = []
    for column in frame:
        is_text = column.dtype in {pl.String, pl.Categorical, pl.Enum}
        if column.null_count():
            return None
        if column.name in ID_FIELDS:
            if not (is_text or column.dtype.is_integer()):
                return None
            converted.append(column.cast(pl.String))
            is_regular = not (converted[-1].str.len_bytes() == 0).any()
        else:
            if not (column.dtype.is_integer() or column.dtype.is_float()):
                return None
            converted.append(column.cast(pl.Float64))
            is_whole = column.name not in WHOLE_NUMBERS or bool((converted[-1] == converted[-1].floor()).all())
            is_regular = bool(converted[-1].is_finite().all()) and is_whole
        if not is_regular:
            return None
    return pl.DataFrame(converted)


def _read_parquet(path: Path, columns: FrameColumns) -> pl.DataFrame | None:
    import polars as pl

    matched = columns.match([*pl.read_parquet_schema(path)])
    if matched is None:
        return None
    frame = pl.read_parquet(path, columns=[*matched.values()], glob=False, hive_partitioning=False)
    return frame.select(**matched)


def _read_delimited(path: Path, columns: FrameColumns) -> pl.DataFrame | None:
    """Read CSV or TSV; cells may be in quotes that hold no quote and no end of a line."""
    delimiter, names = find_header(read_head(path), DELIMITERS[path.suffix.lower()], columns.check)
    matched = columns.match(names)
    if matched is None:
        return None
    positions = {field: names.index(source) for field, source in matched.items()}
    if _has_even_lines(path, delimiter, len(names), blanks=False):
        return _read_cells(path, delimiter, positions, len(names), header=1)
    fields = {position: field for field, position in positions.items()}
    text = rf'[^"\r{re.escape(delimiter)}]*'
    cells = []
    for position in range(len(names)):
        plain = NUMBER if fields.get(position) in NUMBER_FIELDS else text
        quoted = NUMBER if fields.get(position) in NUMBER_FIELDS else '[^"]*'
        groups = (f"?P<{fields[position]}>", f"?P<{fields[position]}{QUOTED}>") if position in fields else ("?:", "?:")
        cells.append(f'(?:({groups[0]}{plain})|"({groups[1]}{quoted})")')
    return _match_lines(path, rf"^{re.escape(delimiter).join(cells)}\r?$", [*positions], blanks="\r", header=1)


def _read_trec(path: Path, columns: FrameColumns) -> pl.DataFrame | None:
    """Read lines of TREC; they are read fastest if one space or one tab separates all cells."""
    first = read_head(path).split("\n", 1)[0]
    # Split as bytes: a text would be split at other white space, too.
    cells = [cell.decode() for cell in first.encode().split()]
    names = columns.purpose.trec_columns
    header = int(cells == BEIR_HEADER and names == QRELS_COLUMNS)
    names = BEIR_COLUMNS if header else names
    matched = columns.match(names)
    if matched is None or not cells:
        return None
    positions = {field: names.index(source) for field, source in matched.items()}
    delimiter = first[len(cells[0]) :][:1]
    is_run = names == RUN_COLUMNS
    is_line = len(cells) == len(names) or (is_run and len(cells) > len(names))
    if is_line and delimiter in {" ", "\t"} and _has_even_lines(path, delimiter, len(cells), blanks=True):
        frame = _read_cells(path, delimiter, positions, len(cells), header=header)
        if is_run or not frame[QUESTION].str.starts_with(COMMENT).any():
            return frame
    fields = {position: field for field, position in positions.items()}
    parts = [
        f"(?P<{fields[position]}>{NUMBER if fields[position] in NUMBER_FIELDS else f'{CELL}+'})"
        if position in fields
        else f"{CELL}+"
        for position in range(len(names))
    ]
    line_end = f"(?:{BLANK}.*)?" if is_run else f"{BLANK}*"
    pattern = f"^{BLANK}*{f'{BLANK}+'.join(parts)}{line_end}$"
    return _match_lines(path, pattern, [*positions], header=header, comment="" if is_run else COMMENT)


def _match_lines(
    path: Path,
    pattern: str,
    fields: Sequence[str],
    *,
    blanks: str = " \t\x0b\x0c\r",
    header: int = 0,
    comment: str = "",
) -> pl.DataFrame | None:
    """Read the groups of a pattern, which are named by fields, from lines that are neither blank nor a comment.

    What does not match is missing. None if the file holds a NUL.
    """
    import polars as pl

    with path.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as content:
        if content.find(b"\0") >= 0:
            return None
    # With NUL as the delimiter, which no line has, polars reads each line as one cell.
    lines, line = _read_cells(path, "\0", {"line": 0}, 1, header=header), pl.col("line")
    lines = lines.filter(line.str.strip_chars(blanks).str.len_bytes() > 0)
    if comment:
        lines = lines.filter(~line.str.strip_chars_start(blanks).str.starts_with(comment))
    groups = lines.select(line.str.extract_groups(pattern)).unnest("line")

    def read_group(field: str) -> pl.Expr:
        cell = pl.coalesce(field, f"{field}{QUOTED}") if f"{field}{QUOTED}" in groups.columns else pl.col(field)
        return cell.cast(pl.Float64) if field in NUMBER_FIELDS else cell

    return groups.select(read_group(field).alias(field) for field in fields)


def _has_even_lines(path: Path, delimiter: str, width: int, *, blanks: bool) -> bool:
    """Return whether a file is UTF-8 whose lines have the same number of cells, with nothing that is read otherwise.

    With `blanks` any white space separates cells, so that the delimiter must be the only one and no cell may be empty;
    without it a quote or a carriage return may change how cells are split.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    marks: list[NDArray[np.uint8]] = []
    was_mark, last = True, NEW_LINE
    with path.open("rb") as stream:
        if stream.peek(len(BOM)).startswith(BOM):
            return False
        while block := stream.read(BLOCK_BYTES):
            # Raises if the file is not UTF-8.
            decoder.decode(block)
            codes = np.frombuffer(block, np.uint8)
            last = block[-1]
            if blanks:
                is_mark = codes <= SPACE
                if (is_mark[1:] & is_mark[:-1]).any() or (was_mark and is_mark[0]):
                    return False
                was_mark = bool(is_mark[-1])
            else:
                is_mark = (codes == NEW_LINE) | (codes == ord(delimiter)) | (codes == RETURN) | (codes == QUOTE)
            marks.append(codes[is_mark])
    decoder.decode(b"", final=True)
    if last != NEW_LINE:
        marks.append(np.array([NEW_LINE], np.uint8))
    lines = np.concatenate(marks)
    # In a regular file each line has the same marks in the same order.
    pattern = np.array([*[ord(delimiter)] * (width - 1), NEW_LINE], np.uint8)
    return len(lines) % width == 0 and bool((lines.reshape(-1, width) == pattern).all())


def _read_cells(
    path: Path, delimiter: str, positions: Mapping[str, int], width: int, *, header: int = 0
) -> pl.DataFrame:
    """Read some columns of a text by their places."""
    import polars as pl

    numbers = {position for field, position in positions.items() if field in NUMBER_FIELDS}
    frame = pl.read_csv(
        path,
        has_header=False,
        separator=delimiter,
        # Quotes are characters here: a file in which they are not is read by a pattern.
        quote_char=None,
        skip_rows=header,
        columns=[*positions.values()],
        schema={str(position): pl.Float64 if position in numbers else pl.String for position in range(width)},
        # Brackets and stars in the path are no pattern.
        glob=False,
    )
    return frame.select(**{field: str(position) for field, position in positions.items()})


def _read_json_lines(path: Path, columns: FrameColumns) -> pl.DataFrame | None:
    """Read JSON lines that have the same names in the same order, as a writer of JSON makes them, and no escapes."""
    with path.open("rb") as stream:
        first = stream.readline(BLOCK_BYTES)
    try:
        content, _ = parse_json(first.decode())
    except (UnicodeDecodeError, InvalidJsonError):
        return None
    if not isinstance(content, dict) or (matched := columns.match([*content])) is None:
        return None
    return _match_lines(path, _build_line_pattern(content, matched), [*matched])


def _build_line_pattern(content: Mapping[str, object], matched: Mapping[str, str]) -> str:
    """Return the pattern of lines with the names of an object, with a group for each column that is matched."""
    fields = {source: field for field, source in matched.items()}
    parts = []
    for name, value in content.items():
        if name not in fields:
            part = f'(?:"{JSON_TEXT}"|{NUMBER}|true|false|null)'
        elif fields[name] in ID_FIELDS and isinstance(value, str):
            part = f'"(?P<{fields[name]}>{JSON_TEXT})"'
        else:
            part = f"(?P<{fields[name]}>{INTEGER if fields[name] in ID_FIELDS else NUMBER})"
        # By their numbers, as characters of a name may have a meaning in a pattern.
        escaped = "".join(rf"\x{{{ord(character):x}}}" for character in name)
        parts.append(f' *"{escaped}" *: *{part} *')
    return rf"^\{{{','.join(parts)}\}}[ \t\r]*$"


READERS: Mapping[str, Callable[[Path, FrameColumns], pl.DataFrame | None]] = {
    PARQUET: _read_parquet,
    **dict.fromkeys(DELIMITERS, _read_delimited),
    **dict.fromkeys(JSON_LINES, _read_json_lines),
    TREC: _read_trec,
}
"""The readers of regular files; None if it is already clear that a file is not regular."""


def build_frame(columns: Mapping[str, object]) -> pl.DataFrame:
    """Build a frame from columns that a program passes, by their fields: Arrow, pandas, polars, numpy or lists."""
    check_polars()
    import polars as pl

    series = [read_column(values, field) for field, values in columns.items()]
    for column in series[1:]:
        if len(column) != len(series[0]):
            raise DataError(
                f"{series[0].name}s and {column.name}s must be equally long, got {len(series[0]):,} and "
                f"{len(column):,} rows"
            )
    return pl.DataFrame(series)


def read_column(values: Any, field: str) -> pl.Series:  # noqa: ANN401 - columns of packages that are not imported
    """Read a column that a program passes; raise `DataError` for the first value that is not what its field is."""
    import polars as pl

    is_column = any(hasattr(values, method) for method in ARROW_METHODS)
    listed = values.tolist() if hasattr(values, "tolist") and not is_column else values
    if not is_column and (isinstance(listed, str | bytes) or not isinstance(listed, Sequence)):
        raise DataError(f"{field}s: must be a column, got {type(values).__name__}; give a list or an array")
    try:
        column = pl.Series(field, listed, strict=True)
        if (converted := _convert_columns(pl.DataFrame([column]))) is not None:
            return converted.to_series()
        listed = column.to_list() if is_column else listed
    except (TypeError, pl.exceptions.PolarsError):
        # A list of texts and numbers, whose values are read one by one.
        pass
    except UnicodeEncodeError as error:
        raise DataError(
            f"{field}s: an id holds half of a character (a lone surrogate), which is no text; mend it"
        ) from error
    cells = [read_ranked_cell(value, field, f"{field}s, row {number}") for number, value in enumerate(listed, 1)]
    return pl.Series(field, cells, pl.String if field in ID_FIELDS else pl.Float64)
