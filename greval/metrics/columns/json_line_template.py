"""The common form of JSON lines that are alike except for their values, as a JSON writer makes them.

    {"query_id":"q1","doc_id":"d7","score":2.5}

Split at its quotes, such a line has the same cells as every other: names, values, and what is between them. A line
of another form has another number of cells, or a cell that is not what it is in the first line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from greval.errors import DataError
from greval.metrics.columns.column_readers import ColumnNames, read_texts
from greval.metrics.columns.text_column import TextChunk

QUOTE = '"'
ESCAPE = b"\\"
_BEGIN, _TEXT = re.compile(r"\{ ?"), re.compile(r" ?: ?")
_NUMBER = re.compile(r"( ?: ?)-?\d[\d.eE+-]*( ?(?:, ?|\}))")
_NEXT, _END = re.compile(r" ?, ?"), re.compile(r" ?\}")


@dataclass(frozen=True)
class LineTemplate:
    """The cells of a line between its quotes.

    Args:
        size: The number of cells.
        constants: The cells that are the same in each line: the names, and what is between names and values.
        numbers: What stands before and after the number, for each cell that holds one.
        cells: The place of the cell of each value by its name.
    """

    size: int
    constants: Mapping[int, bytes]
    numbers: Mapping[int, tuple[bytes, bytes]]
    cells: Mapping[str, int]

    def convert_batch(self, batch: Any, columns: ColumnNames) -> Any:  # noqa: ANN401 - pyarrow is untyped
        """Return a batch of cells as one of the columns that are read.

        Raises:
            DataError: If a line is not of this form, or a text has an escape.
        """
        import pyarrow as pa

        for place, text in self.constants.items():
            _check_constant(batch.column(str(place)), text)
        numbers = {place: _strip_numbers(batch.column(str(place)), *ends) for place, ends in self.numbers.items()}
        found = {}
        for name in columns.used:
            place = self.cells[name]
            if (place in numbers) != (name == columns.number):
                raise DataError(f"{name} is of another type than expected")
            found[name] = numbers[place] if place in numbers else _check_escapes(batch.column(str(place)))
        return pa.RecordBatch.from_pydict(found)


def parse_template(line: bytes) -> LineTemplate | None:
    """Parse the form of a line; None if it has an escape, or a value that is neither a text nor a number.

    Example:
        >>> template = parse_template(b'{"id": "q1", "score": 2.5}')
        >>> template.cells, template.numbers
        ({'id': 3, 'score': 6}, {6: (b': ', b'}')})
    """
    if ESCAPE in line:
        return None
    try:
        cells = line.decode("ascii").strip().split(QUOTE)
    except UnicodeDecodeError:
        return None
    constants, numbers, places = {0: cells[0].encode()}, {}, dict[str, int]()
    place, is_open = 1, bool(_BEGIN.fullmatch(cells[0]))
    while is_open and place + 1 < len(cells):
        name, after = cells[place], cells[place + 1]
        number = _NUMBER.fullmatch(after)
        constants[place] = name.encode()
        if not name or name in places or not (number or (_TEXT.fullmatch(after) and place + 3 < len(cells))):
            return None
        if number:
            numbers[place + 1] = number[1].encode(), number[2].encode()
            places[name], end, place = place + 1, number[2], place + 2
        else:
            end = cells[place + 3]
            constants |= {place + 1: after.encode(), place + 3: end.encode()}
            places[name], place = place + 2, place + 4
        is_open = bool(_NEXT.fullmatch(end))
        if not is_open and not _END.fullmatch(end):
            return None
    return None if is_open or not places or place < len(cells) else LineTemplate(len(cells), constants, numbers, places)


def _check_constant(column: Any, text: bytes) -> None:  # noqa: ANN401 - as above
    """Raise `DataError` if a cell is not the text that it is in the first line."""
    _, data = column.buffers()
    size = len(text)
    cells = np.frombuffer(data, np.uint8)[column.offset * size :][: len(column) * size].reshape(-1, size)
    if not (cells == np.frombuffer(text, np.uint8)).all():
        raise DataError("a line is unlike the first")


def _strip_numbers(column: Any, before: bytes, after: bytes) -> Any:  # noqa: ANN401 - as above
    """Return a column of cells such as `:2.5}` as numbers."""
    import pyarrow as pa
    from pyarrow import compute

    for part in read_texts(column, "numbers").parts:
        _check_ends(part, before, after)
    numbers = compute.binary_slice(column.cast(pa.binary()), len(before), -len(after))
    return numbers.cast(pa.string()).cast(pa.float64())


def _check_ends(cells: TextChunk, before: bytes, after: bytes) -> None:
    """Raise `DataError` if a cell does not begin and end with some texts, or has nothing between them."""
    starts, ends = cells.edges[:-1], cells.edges[1:]
    if ((ends - starts) <= len(before) + len(after)).any():
        raise DataError("a number is missing")
    bounds = [(starts + n, code) for n, code in enumerate(before)]
    bounds += [(ends - len(after) + n, code) for n, code in enumerate(after)]
    if not all((cells.data[places] == code).all() for places, code in bounds):
        raise DataError("a line is unlike the first")


def _check_escapes(column: Any) -> Any:  # noqa: ANN401 - as above
    """Return a column of texts; raise `DataError` if one has an escape."""
    for part in read_texts(column, "texts").parts:
        if (part.data[part.edges[0] : part.edges[-1]] == ESCAPE[0]).any():
            raise DataError("a text has an escape")
    return column
