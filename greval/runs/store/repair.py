"""Repair a damaged log: find every row that is whole, wherever it is in the files, and write the log anew.

SQLite reaches rows through pages that refer to each other, so that one damaged page can hide all rows. Here each page
is read by itself (https://sqlite.org/fileformat2.html), and a row is whole if its checksum is right.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from itertools import chain, count, takewhile
from pathlib import Path
from typing import NamedTuple

from greval._util.files import sync_folder
from greval._util.wording import format_count
from greval.errors import StoreError
from greval.runs.store.disk import (
    COLUMN_NAMES,
    FILE,
    FRAME_BYTES,
    FRAME_HEADER_BYTES,
    INSERT_STATEMENTS,
    LAST_NUMBERS,
    LOST_ROWS,
    NUMBERED_TABLES,
    OWN_NUMBER_TABLES,
    PAGE_BYTES,
    WAL_FILE,
    WAL_HEADER_BYTES,
    complete_row,
    compute_checksum,
    connect_log,
    is_begun,
    lock_folder,
    read_lost_rows,
    translate_errors,
)
from greval.runs.store.plans import RESULT_PLAN
from greval.runs.store.reader import NEWEST

DAMAGED_PREFIX = "damaged-"
"""The prefix of the damaged files, which a repair leaves in the folder."""
WORK_FOLDER = "repairing"
DAMAGE_STOP = "its log was damaged and is repaired; what was lost is judged again by the same command"
"""Why the commands of a run count as stopped until what was lost is judged again."""
LEAF_KIND = 0x0D
"""The first byte of a page with rows."""
ROWLESS_KINDS = frozenset({0x02, 0x05, 0x0A})
"""The first bytes of the pages of indexes, and of those that refer to other pages."""
HEADER_BYTES = 100
"""The size of the header of the file, before the first page's own."""
PAGE_HEADER_BYTES = 8
# What of a row is stored on its page if it is too long for one (section 1.6 of the description of the format).
MAX_LOCAL_BYTES = PAGE_BYTES - 35
MIN_LOCAL_BYTES = (PAGE_BYTES - 12) * 32 // 255 - 23
MAX_VERSIONS = 3
"""The number of versions in which a page may be stored."""
INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8)
FLOAT_CODE, ZERO_CODE, ONE_CODE, FIRST_TEXT_CODE = 7, 8, 9, 12
TABLES_BY_WIDTH: Mapping[int, list[str]] = defaultdict(list)
"""The tables by the number of their columns with the checksum."""
for _table, _columns in COLUMN_NAMES.items():
    TABLES_BY_WIDTH[len(_columns) + 1].append(_table)


class WholeRow(NamedTuple):
    """A row that was found in a damaged log: its table, its number, and its columns."""

    table: str
    number: int
    values: tuple[object, ...]


class RunRepair(NamedTuple):
    """What a repair kept and lost: the numbers of rows by table.

    `is_short` is true if something is to be judged again, which may also be true if no row is known to be lost: rows at
    the end of a log that was cut off leave no trace but in the number of planned judgements.
    """

    kept: Mapping[str, int]
    lost: Mapping[str, int]
    is_short: bool

    def describe(self) -> str:
        """Describe it in a sentence."""
        kept = ", ".join(format_count(self.kept[table], name) for table, name in ROW_NAMES.items())
        lost = ", ".join(
            format_count(self.lost[table], name) for table, name in ROW_NAMES.items() if table in self.lost
        )
        return f"{kept} are whole; " + (f"lost: {lost}" if lost else "no row is known to be lost")


CHANGED_TABLES = frozenset({"plans", "sources", "kept_results", "kept_cases", "replayed"})
"""The tables whose rows are changed or deleted, so that a former version of a row must not come back."""
ROW_NAMES = {"results": "result", "cases": "case", "calls": "call"}
"""The tables whose rows are counted for people, with the word for a row."""


def repair_log(folder: Path) -> RunRepair | None:
    """Write the log of a run anew with every row that is whole; return None if it is not damaged.

    The damaged files stay in the folder. What was lost is judged again by the command that made the run.

    Raises:
        StoreError: If there is no log, no row of it is whole, another process writes to it, or the folder cannot be
            written.
    """
    if not (is_begun(folder) or (folder / FILE).is_file()):
        raise StoreError(f"{folder}: no run is there; name a run folder")
    if not os.access(folder, os.W_OK):
        raise StoreError(f"{folder}: cannot be written, so that nothing can be repaired; copy it, and repair the copy")
    with suppress(StoreError):
        connect_log(folder).close()
        return None
    work = folder / WORK_FOLDER
    with translate_errors(folder), lock_folder(folder), ExitStack() as opened:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        opened.callback(shutil.rmtree, work, ignore_errors=True)
        with closing(connect_log(work, write=True)) as database:
            with database:
                database.execute("BEGIN")
                _insert_rows(database, find_whole_rows(folder))
                repair = _complete_log(database, folder)
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        # From here on, the damaged files have another name and the new one is complete.
        for name in (FILE, WAL_FILE):
            (folder / f"{DAMAGED_PREFIX}{name}").unlink(missing_ok=True)
            if (folder / name).is_file():
                (folder / name).replace(folder / f"{DAMAGED_PREFIX}{name}")
        (folder / f"{FILE}-shm").unlink(missing_ok=True)
        (work / FILE).replace(folder / FILE)
        sync_folder(folder)
    return repair


def _insert_rows(database: sqlite3.Connection, rows: Iterator[WholeRow]) -> None:
    """Insert the rows; of several with one number, the last one is the newest."""
    facts: dict[object, tuple[int, object]] = {}
    for table, number, values in rows:
        if table == "facts":
            # An entry that replaces another has a higher number.
            name, content = values
            facts[name] = max(facts.get(name, (0, "")), (number, content), key=lambda entry: entry[0])
        else:
            own = values[1:] if table in OWN_NUMBER_TABLES else values
            statement = INSERT_STATEMENTS[table].replace("INSERT", "INSERT OR REPLACE", 1)
            database.execute(statement, complete_row(table, number, own))
    entries = ((name, content) for name, (_, content) in facts.items())
    database.executemany("INSERT INTO facts (name, content) VALUES (?, ?)", entries)


def _complete_log(database: sqlite3.Connection, folder: Path) -> RunRepair:
    """Remove references to lost rows, plan again what has lost its plan, and note what was lost."""
    for statement in REMOVED_REFERENCES:
        database.execute(statement)
    unplanned = database.execute(UNPLANNED).fetchall()
    for plan, row, _ in unplanned:
        _restore_plan(database, plan, json.loads(row))
    without_plan = database.execute(PLAN_METRICS).rowcount
    if not _count_rows(database, "plans"):
        raise StoreError(f"{folder / FILE}: no result of this version of greval is whole; choose another run")
    database.execute(
        "INSERT INTO sources (id, label, digest, part) SELECT DISTINCT source, '', '', '' FROM plans "
        "WHERE source NOT IN (SELECT id FROM sources)"
    )
    kept = {table: _count_rows(database, table) for table in NUMBERED_TABLES}
    last = {table: database.execute(LAST_NUMBERS[table]).fetchone()[0] or 0 for table in NUMBERED_TABLES}
    missing = {table: last[table] - kept[table] for table in NUMBERED_TABLES if last[table] > kept[table]}
    earlier = read_lost_rows(database)
    lost = {table: rows - earlier.get(table, 0) for table, rows in missing.items() if rows > earlier.get(table, 0)}
    database.execute("INSERT OR REPLACE INTO facts (name, content) VALUES (?, ?)", (LOST_ROWS, json.dumps(missing)))
    (names,) = database.execute("SELECT count(*) FROM facts WHERE name = 'metrics'").fetchone()
    (short,) = database.execute(MISSES_PLANNED).fetchone()
    is_short = bool(lost or short or unplanned or without_plan > 0 or not names)
    if is_short:
        query = "UPDATE sources SET stopped = ? WHERE id IN (SELECT source FROM plans WHERE current)"
        database.execute(query, (DAMAGE_STOP,))
    return RunRepair(kept, lost, is_short)


def _count_rows(database: sqlite3.Connection, table: str) -> int:
    (rows,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - constant
    return int(rows)


REMOVED_REFERENCES = (
    "DELETE FROM kept_results WHERE result NOT IN (SELECT rowid FROM results)",
    "DELETE FROM kept_cases WHERE judged_case NOT IN (SELECT rowid FROM cases)",
    "DELETE FROM calls WHERE form NOT IN (SELECT id FROM call_forms)",
    "DELETE FROM calls WHERE judged_case > 0 AND judged_case NOT IN (SELECT rowid FROM cases)",
)
"""References to lost rows. A later row may get the number of one that was lost at the end."""
UNPLANNED = f"""
SELECT plan, row, max(number) FROM (SELECT rowid AS number, row, {RESULT_PLAN} AS plan FROM results)
WHERE plan > 0 AND plan NOT IN (SELECT id FROM plans) GROUP BY plan
"""  # noqa: S608 - constants
"""The plans of results that are lost, each with its newest result."""
PLAN_METRICS = """
INSERT INTO plans (source, metric, fingerprint, judge, current)
SELECT coalesce((SELECT max(id) FROM sources), 1), json_extract(value, '$.name'), '', '', 1
FROM json_each((SELECT content FROM facts WHERE name = 'metrics')) WHERE NOT EXISTS (SELECT 1 FROM plans WHERE current)
"""
"""If no plan is left, each metric is planned, so that reports say that something was lost."""
MISSES_PLANNED = f"""
SELECT EXISTS (SELECT 1 FROM plans WHERE current AND planned > (
    SELECT count(*) FROM results WHERE {NEWEST} AND {RESULT_PLAN} = plans.id))
"""  # noqa: S608 - constants


def _restore_plan(database: sqlite3.Connection, plan: int, row: Mapping[str, object]) -> None:
    """Plan the results of a lost plan again. They count unless another plan of their metric and method does."""
    names = row["metric"], row["method"]
    query = "SELECT count(*) FROM plans WHERE current AND metric = ? AND method = ?"
    (others,) = database.execute(query, names).fetchone()
    (source,) = database.execute("SELECT coalesce(max(id), 1) FROM sources").fetchone()
    database.execute(
        "INSERT INTO plans (id, source, metric, method, fingerprint, judge, current) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (plan, source, *names, row["fingerprint"], row["judge"] or "", int(not others)),
    )


def find_whole_rows(folder: Path) -> Iterator[WholeRow]:
    """Yield every row of a log whose checksum is right, in the order in which the pages were written."""
    with ExitStack() as opened:
        pages = _LogPages(folder, opened)
        for page, header, is_newest in pages.list_pages():
            for row, is_listed in _find_rows_on_page(pages, page, header):
                if (is_newest and is_listed) or row.table not in CHANGED_TABLES:
                    yield row


class _LogPages:
    """The pages of a log: those of its main file, and other versions of them in its "-wal" file.

    Frames of that file that are newer than the main file follow it in time. Older ones come first: in a copy that was
    made while the run went on, they may have rows that the main file lacks.
    """

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        file, wal = folder / FILE, folder / WAL_FILE
        self._main = opened.enter_context(file.open("rb")) if file.is_file() else None
        self._wal = wal.read_bytes() if wal.is_file() else b""
        self._older, self._newer = _list_frames(self._wal)
        self._places = dict(self._newer), dict(self._older)

    def list_pages(self) -> Iterator[tuple[bytes, int, bool]]:
        """Yield each page, older ones first, the place of its own header, and whether it is the newest version."""
        newest, _ = self._places
        main = takewhile(lambda version: version[1], ((number, self._read_main(number)) for number in count(1)))
        versions = chain(
            ((number, self._read_frame(at), False) for number, at in self._older),
            ((number, page, number not in newest) for number, page in main),
            ((number, self._read_frame(at), newest[number] == at) for number, at in self._newer),
        )
        for number, page, is_newest in versions:
            yield page, HEADER_BYTES if number == 1 else 0, is_newest

    def list_versions(self, number: int) -> Iterator[bytes]:
        """Yield the newest version of a page, that of the main file, and the last older one, as far as they exist."""
        newest, last_older = self._places
        versions = (self._read_frame(newest.get(number)), self._read_main(number))
        yield from filter(None, (*versions, self._read_frame(last_older.get(number))))

    def _read_frame(self, at: int | None) -> bytes:
        return b"" if at is None else self._wal[at : at + PAGE_BYTES]

    def _read_main(self, number: int) -> bytes:
        if self._main is None or number < 1:
            return b""
        self._main.seek((number - 1) * PAGE_BYTES)
        return self._main.read(PAGE_BYTES)


def _list_frames(wal: bytes) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """List number and place of each page in a "-wal" file: those from before it was begun anew, and newer ones."""
    starts = range(WAL_HEADER_BYTES, len(wal) - FRAME_BYTES + 1, FRAME_BYTES)
    salts = [wal[start + 8 : start + 16] for start in starts]
    # The header names the salt of the newer frames; if it is damaged, the first frame is one of them.
    salt = wal[16:24] if wal[16:24] in salts else next(iter(salts), b"")
    older: list[tuple[int, int]] = []
    newer: list[tuple[int, int]] = []
    for start, frame_salt in zip(starts, salts, strict=True):
        frames = newer if frame_salt == salt else older
        frames.append((int.from_bytes(wal[start : start + 4]), start + FRAME_HEADER_BYTES))
    return older, newer


def _find_rows_on_page(pages: _LogPages, page: bytes, header: int) -> Iterator[tuple[WholeRow, bool]]:
    """Yield the whole rows that begin on a page, and whether each is in the page's list of rows.

    If the list is damaged, every byte of the page is tried, which may also find rows that were deleted.
    """
    begin = header + PAGE_HEADER_BYTES
    # The rest of a long row begins with the number of the page that follows.
    if len(page) < begin or (page[header] == 0 and any(page[header:begin])):
        return
    (listed,) = struct.unpack_from(">H", page, header + 3)
    places = set[int]()
    at, is_sound = begin, page[header] == LEAF_KIND
    while at + 2 <= len(page):
        (place,) = struct.unpack_from(">H", page, at)
        row = _read_row(pages, page, place)
        is_listed = at < begin + 2 * listed
        if row is None and not is_listed:
            break
        is_sound = is_sound and row is not None and is_listed
        if row:
            places.add(place)
            yield row, True
        at += 2
    # Rows may be on a page whose kind has changed to another one.
    if not is_sound and (places or page[header] not in ROWLESS_KINDS):
        for place in range(begin, len(page)):
            if place not in places and (row := _read_row(pages, page, place)):
                yield row, False


def _read_row(pages: _LogPages, page: bytes, place: int) -> WholeRow | None:
    """Return the row that begins at a place of a page, or None if none does or it is not whole."""
    try:
        size, at = _read_varint(page, place)
        number, at = _read_varint(page, at)
        codes, header_size = _read_codes(page, at)
        if header_size + sum(map(_get_size, codes)) != size:
            return None
        # A negative number of 64 bits.
        number -= number >> 63 << 64
    except (IndexError, ValueError):
        # The bytes at this place are no row.
        return None
    for record in _read_records(pages, page, at, size):
        with suppress(ValueError):
            if row := _match_table(number, [*_parse_values(record[header_size:], codes)]):
                return row
    return None


def _read_codes(page: bytes, at: int) -> tuple[list[int], int]:
    """Read the types of the columns of a row, and the size of their list."""
    size, place = _read_varint(page, at)
    codes = []
    while place < at + size:
        code, place = _read_varint(page, place)
        codes.append(code)
    if place != at + size or len(codes) not in TABLES_BY_WIDTH:
        raise ValueError(size)
    return codes, size


def _read_records(pages: _LogPages, page: bytes, at: int, size: int) -> Iterator[bytes]:
    """Yield what a row may hold: its begin on its page, and the rest in a chain of further pages of either version."""
    if size <= MAX_LOCAL_BYTES:
        yield page[at : at + size]
        return
    local = MIN_LOCAL_BYTES + (size - MIN_LOCAL_BYTES) % (PAGE_BYTES - 4)
    local = local if local <= MAX_LOCAL_BYTES else MIN_LOCAL_BYTES
    for preferred in range(MAX_VERSIONS):
        parts, missing = [page[at : at + local]], size - local
        following = int.from_bytes(page[at + local : at + local + 4])
        while missing > 0 and (versions := [*pages.list_versions(following)]):
            version = versions[min(preferred, len(versions) - 1)]
            parts.append(version[4:])
            missing -= PAGE_BYTES - 4
            following = int.from_bytes(version[:4])
        yield b"".join(parts)[:size]


def _match_table(number: int, values: list[object]) -> WholeRow | None:
    """Return the row of the table whose checksum these values have, or None."""
    first, *others, checksum = values
    for table in TABLES_BY_WIDTH.get(len(values), ()):
        # The number of a row is not stored again in a column that holds it.
        columns = (number if table in OWN_NUMBER_TABLES else first, *others)
        if compute_checksum(table, number, *columns) == checksum:
            return WholeRow(table, number, columns)
    return None


def _parse_values(content: bytes, codes: Iterable[int]) -> Iterator[object]:
    """Parse the columns of a row, or raise `ValueError`."""
    at = 0
    for code in codes:
        size = _get_size(code)
        if at + size > len(content):
            raise ValueError(code)
        yield _parse_value(code, content[at : at + size])
        at += size


def _get_size(code: int) -> int:
    if code >= FIRST_TEXT_CODE:
        return (code - FIRST_TEXT_CODE) // 2
    return (*INTEGER_BYTES, 8, 0, 0)[code]


def _parse_value(code: int, content: bytes) -> object:
    if code >= FIRST_TEXT_CODE:
        return content.decode() if code % 2 else content
    if code == FLOAT_CODE:
        return struct.unpack(">d", content)[0]
    if code in {ZERO_CODE, ONE_CODE}:
        return code - ZERO_CODE
    return int.from_bytes(content, signed=True) if code else None


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    """Read a number of one to nine bytes, and return it with the place after it."""
    number = 0
    for place in range(at, at + 8):
        byte = content[place]
        number = number << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004 - the highest bit is set if a byte follows
            return number, place + 1
    return number << 8 | content[at + 8], at + 9
