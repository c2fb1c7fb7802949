"""Files of TREC, line by line.

    qrels   question  iteration  document  grade
    run     question  Q0  document  rank  score  name

Cells are separated by any white space. As in trec_eval 10, extra cells at the end of a line of a run are ignored, and
so are lines of qrels that begin with `#`. Qrels of BEIR have a header and no iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from greval.datasets.field_names import format_printable
from greval.datasets.json_files import BOM, RawRow, describe_encoding_fault
from greval.errors import DataError

QRELS_COLUMNS = ("question", "iteration", "document", "grade")
BEIR_COLUMNS = ("question", "document", "grade")
RUN_COLUMNS = ("question", "Q0", "document", "rank", "score", "name")
BEIR_HEADER = ["query-id", "corpus-id", "score"]
EXPECTED = f"a line of a run ({' '.join(RUN_COLUMNS)}) or of qrels ({' '.join(QRELS_COLUMNS)})"
COMMENT = "#"


def read_trec_lines(path: Path, columns: tuple[str, ...] = ()) -> Iterator[RawRow]:
    """Read each line of a file as a row of texts by the names of its columns."""
    with path.open("rb") as stream:
        is_first = True
        for number, cells in _split_lines(stream, path):
            # As in trec_eval 10, only qrels have comments.
            if columns != RUN_COLUMNS and cells[0].startswith(COMMENT):
                continue
            if is_first and columns != RUN_COLUMNS and cells == BEIR_HEADER:
                columns = BEIR_COLUMNS
                continue
            is_first = False
            columns = columns or _choose_columns(cells, f"{path}:{number}")
            if len(cells) != len(columns) and not (columns == RUN_COLUMNS and len(cells) > len(columns)):
                expected = f"{len(columns)} columns ({' '.join(columns)})"
                raise DataError(f"{path}:{number}: must have {expected}, got {_format_cells(cells)}")
            yield RawRow(number, dict(zip(columns, cells, strict=False)))


def _split_lines(stream: BinaryIO, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line that is not blank."""
    for number, content in enumerate(stream, 1):
        # Bytes are split at the white space of ASCII only, which texts are not.
        cells = (content.removeprefix(BOM) if number == 1 else content).split()
        try:
            if cells:
                yield number, [cell.decode() for cell in cells]
        except UnicodeDecodeError as error:
            fault = describe_encoding_fault(error.object[error.start], "in the line")
            raise DataError(f"{path}:{number}: {fault}") from error


def _choose_columns(cells: Sequence[str], location: str) -> tuple[str, ...]:
    """Return the columns of a file by the number of cells of its first line."""
    if len(cells) >= len(RUN_COLUMNS):
        return RUN_COLUMNS
    if len(cells) == len(QRELS_COLUMNS):
        return QRELS_COLUMNS
    raise DataError(f"{location}: must be {EXPECTED}, got {_format_cells(cells)}")


def _format_cells(cells: Sequence[str]) -> str:
    return f"{len(cells)}: {format_printable(repr(' '.join(cells)))}"
