"""The files of the log: table layout, damage, write lock, syncing to disk, and filters of rows."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import struct
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from shlex import quote
from shutil import copyfile
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, NamedTuple
from zlib import crc32

from greval._util.files import is_locked, open_locked, read_status, sync_folder
from greval.errors import StoreError
from greval.records.result import Usage, read_outline

FILE = "results.sqlite"
WAL_FILE = f"{FILE}-wal"
"""The newest part of the log while it is open, and after a kill."""
LOCK_FILE = "lock"
NO_SPACE = ("full", "no space", "quota", "too large", "disk i/o")
"""Words of a full disk in messages of SQLite and the system. A quota or file size limit appears as an I/O error."""
SAME_COMMAND = "run the same command again"
HINTS = {
    **dict.fromkeys(NO_SPACE, f"free some space and {SAME_COMMAND}"),
    **dict.fromkeys(
        ("permission", "read-only", "readonly"), "let this user read and write it, or choose another folder"
    ),
}
"""What to do, by words of messages of SQLite and the system."""
COST_COLUMNS = tuple(Usage.model_fields)
_get_costs = attrgetter(*COST_COLUMNS)
SERVED_MODELS = "served_models"
"""The name of the metadata entry for the models that the replies name."""
TABLE_COLUMNS: Mapping[str, str] = {
    "results": (
        "key INTEGER NOT NULL, content INTEGER, place INTEGER NOT NULL, replaces INTEGER, finished INTEGER NOT NULL, "
        "plan INTEGER NOT NULL, sample_id TEXT NOT NULL, method TEXT NOT NULL, metric TEXT NOT NULL, "
        "repeat INTEGER NOT NULL, tags TEXT NOT NULL, outline TEXT NOT NULL, "
        f"{', '.join(f'{name} INTEGER' for name in COST_COLUMNS)}, row TEXT NOT NULL"
    ),
    "cases": "key INTEGER NOT NULL, source INTEGER NOT NULL, method TEXT NOT NULL, row TEXT NOT NULL",
    "facts": "name TEXT PRIMARY KEY, content TEXT NOT NULL",
    "kept_results": "result INTEGER PRIMARY KEY, plan INTEGER NOT NULL",
    "kept_cases": "judged_case INTEGER PRIMARY KEY, source INTEGER NOT NULL",
    "sources": (
        "id INTEGER PRIMARY KEY, label TEXT NOT NULL, digest TEXT NOT NULL, part TEXT NOT NULL, total INTEGER, "
        "unread INTEGER, stopped TEXT"
    ),
    "plans": (
        "id INTEGER PRIMARY KEY, source INTEGER NOT NULL, metric TEXT NOT NULL, method TEXT, "
        "fingerprint TEXT NOT NULL, judge TEXT NOT NULL, planned INTEGER, current INTEGER NOT NULL"
    ),
    "call_forms": "id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL, body BLOB NOT NULL",
    "calls": (
        "id INTEGER PRIMARY KEY, content INTEGER NOT NULL, request INTEGER NOT NULL, form INTEGER NOT NULL, "
        "judged_case INTEGER NOT NULL, repeat INTEGER NOT NULL, latency INTEGER NOT NULL, "
        f"{', '.join(f'{name} INTEGER' for name in COST_COLUMNS)}, body BLOB NOT NULL"
    ),
    "replayed": "content INTEGER PRIMARY KEY, asked INTEGER NOT NULL",
}
"""The columns of each table with their types, without the checksum of its rows."""
COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    table: tuple(column.split()[0] for column in columns.split(", ")) for table, columns in TABLE_COLUMNS.items()
}
OWN_NUMBER_TABLES = frozenset(table for table, columns in TABLE_COLUMNS.items() if "INTEGER PRIMARY KEY" in columns)
"""The tables whose first column is the number of the row."""
NUMBERED_TABLES = ("results", "cases", "sources", "call_forms", "calls")
"""The tables whose rows are numbered from 1 and never deleted, so that a missing number is a lost row."""
LARGE_TABLES = frozenset({"results", "cases", "calls"})
LOST_ROWS = "lost_rows"
"""The name of the metadata entry for how many rows of each numbered table a repair did not find."""


def _list_statements() -> Iterator[str]:
    """Yield the statements that create the tables. Triggers give rows their checksums that `RowInserter` does not."""
    for table, columns in TABLE_COLUMNS.items():
        names = ", ".join(COLUMN_NAMES[table])
        refresh = f"UPDATE {table} SET checksum = {build_checksum_call(table)} WHERE rowid = NEW.rowid"  # noqa: S608 - constants
        yield f"CREATE TABLE {table} ({columns}, checksum INTEGER)"
        if table not in LARGE_TABLES:
            yield f"CREATE TRIGGER {table}_added AFTER INSERT ON {table} BEGIN {refresh}; END"
        yield f"CREATE TRIGGER {table}_changed AFTER UPDATE OF {names} ON {table} BEGIN {refresh}; END"
    yield "CREATE INDEX replaced ON results (replaces) WHERE replaces IS NOT NULL"


def build_checksum_call(table: str) -> str:
    """Build the SQL expression for the checksum of a row of a table."""
    return f"compute_checksum('{table}', rowid, {', '.join(COLUMN_NAMES[table])})"


def compute_checksum(*values: object) -> int:
    """Compute the checksum of the name of a table, the number of a row in it, and the row's columns."""
    # Not as JSON, because the text of numbers must not depend on the version of a package.
    return crc32("\x1f".join(map(str, values)).encode("utf-8", "surrogatepass"))


def complete_row(table: str, number: int, values: Sequence[object]) -> tuple[object, ...]:
    """Return the values for `INSERT_STATEMENTS` of a new row: its number, its columns after that, and its checksum."""
    columns = (number, *values) if table in OWN_NUMBER_TABLES else values
    return (number, *values, compute_checksum(table, number, *columns))


def _build_insert(table: str, columns: Sequence[str]) -> str:
    names = (*(() if table in OWN_NUMBER_TABLES else ("rowid",)), *columns, "checksum")
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608 - constants


INSERT_STATEMENTS = {table: _build_insert(table, columns) for table, columns in COLUMN_NAMES.items()}
LAST_NUMBERS = {table: f"SELECT max(rowid) FROM {table}" for table in TABLE_COLUMNS}  # noqa: S608 - constants


class RowInserter:
    """Inserts rows at the end of large tables, for which a trigger would take twice the time.

    It remembers the last numbers, because only one process writes. Rows that are held have the numbers that they will
    have in the tables, so that nothing else may be written before them.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._db = database
        self._last_numbers: dict[str, int] = {}
        self._held: dict[str, list[tuple[object, ...]]] = {"cases": [], "results": []}

    @property
    def held_results(self) -> int:
        """The number of results that are held; a case is held with its first result only."""
        return len(self._held["results"])

    def insert(self, table: str, values: Sequence[object]) -> int:
        """Insert a row, and return its number."""
        self._db.execute(INSERT_STATEMENTS[table], self._build_row(table, values))
        return self._last_numbers[table]

    def hold(self, table: str, values: Sequence[object]) -> int:
        """Keep a row that is inserted together with others, and return its number."""
        self._held[table].append(self._build_row(table, values))
        return self._last_numbers[table]

    def insert_held(self) -> None:
        """Insert the rows that are held."""
        for table, rows in self._held.items():
            self._db.executemany(INSERT_STATEMENTS[table], rows)
            rows.clear()

    def forget(self) -> None:
        """Drop the rows that are held, and look the last numbers up again, after rows were not written."""
        for rows in self._held.values():
            rows.clear()
        self._last_numbers.clear()

    def _build_row(self, table: str, values: Sequence[object]) -> tuple[object, ...]:
        if table not in self._last_numbers:
            (last,) = self._db.execute(LAST_NUMBERS[table]).fetchone()
            self._last_numbers[table] = last or 0
        self._last_numbers[table] += 1
        return complete_row(table, self._last_numbers[table], values)


def list_costs(usage: Usage) -> tuple[object, ...]:
    """List the cost columns of a usage."""
    *counts, cost = _get_costs(usage)
    return (*counts, reduce_number(cost))


def reduce_number(number: float | None) -> float | None:
    """Return a whole number as an integer, as SQLite stores it in a column of integers."""
    return int(number) if number is not None and number.is_integer() else number


STATEMENTS = (*_list_statements(),)
# SQLite stores the version as a signed number of 32 bits.
LAYOUT_VERSION = crc32(";".join(STATEMENTS).encode()) >> 1
"""The version number of the table layout, stored by SQLite as `user_version`."""
PAGE_BYTES = 4_096
"""The size of a page of the file. A log without tables has one page."""
WAL_HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24
FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES
IMMUTABLE = "mode=ro&immutable=1"
DAMAGE_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""The codes of SQLite for a file whose content cannot be what was written."""


def lock_folder(folder: Path) -> IO[str]:
    """Create a run folder if it does not exist, and acquire its write lock."""
    try:
        lock = open_locked(folder / LOCK_FILE)
    except OSError as error:
        cause = describe_system_error(folder, error)
        message = f"{folder}: cannot be used as a run folder: {cause}; choose another with -o"
        raise StoreError(message) from error
    if lock is None:
        raise StoreError(f"{folder}: another run writes to this folder; wait for it or choose another with -o")
    return lock


def is_begun(folder: Path) -> bool:
    """Return whether the log of a run folder has tables; one without them, such as an empty file, is none."""
    return _read_size(folder / FILE) > PAGE_BYTES or _read_size(folder / WAL_FILE) > 0


def connect_log(folder: Path, *, write: bool = False) -> sqlite3.Connection:
    """Open a connection to the log of a run folder. One that writes creates the log if it does not exist.

    Raises:
        StoreError: If it cannot be opened, another version of greval wrote it, or it is damaged. A log to which a
            process writes is not searched for damage.
    """
    file = folder / FILE
    with translate_errors(folder), ExitStack() as opened:
        if _read_size(folder / WAL_FILE) and not _read_size(file):
            # SQLite would delete what is in the "-wal" file.
            raise StoreError(_describe_damage(folder, f"{FILE} is missing beside its -wal file"))
        if write:
            if is_begun(folder):
                _open_verified(folder, trust_writer=False).close()
            connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
            opened.callback(connection.close)
            add_sql_functions(connection)
            prepare_tables(connection, folder, write=True)
        elif file.is_file():
            connection = _open_verified(folder, trust_writer=True)
        else:
            raise StoreError(f"{folder}: no run is there; greval evaluate CASES -m METRIC -o {folder} makes one")
        # From here on, the caller closes the connection.
        opened.pop_all()
        return connection


def _open_verified(folder: Path, *, trust_writer: bool) -> sqlite3.Connection:
    """Open the log of a run folder to read, or raise `StoreError` if it is damaged.

    With `trust_writer`, a log to which a process writes is not verified.
    """
    state = read_log_state(folder)
    with ExitStack() as opened:
        connection = _open_to_read(folder / FILE)
        opened.callback(connection.close)
        add_sql_functions(connection)
        prepare_tables(connection, folder, write=False)
        if _VERIFIED_STATES.get(folder) != state and not (trust_writer and _is_being_written(folder)):
            fault = find_damage(connection) or _find_damaged_frame(connection, folder)
            # What a writer changed meanwhile looks like damage.
            if fault and not (trust_writer and (read_log_state(folder) != state or _is_being_written(folder))):
                raise StoreError(_describe_damage(folder, fault))
            if not fault:
                _VERIFIED_STATES[folder] = state
        opened.pop_all()
        return connection


_FileState = tuple[tuple[int, int, int], ...]
_VERIFIED_STATES: dict[Path, _FileState] = {}
"""The state of the files in which this process verified the log of a folder last: a large one takes seconds."""


def read_log_state(folder: Path) -> _FileState:
    """Read what changes with the content of a log."""
    files = [read_status(folder / name) for name in (FILE, WAL_FILE)]
    return tuple((file.st_ino, file.st_size, file.st_mtime_ns) for file in files if file and file.st_size)


def _read_size(path: Path) -> int:
    """Return the size of a file, 0 without one. A reader that closes the log removes an empty "-wal" file."""
    file = read_status(path)
    return file.st_size if file else 0


def _is_being_written(folder: Path) -> bool:
    """Return whether a process writes to the log; only then there is a "-wal" file and the lock is held."""
    return bool(_read_size(folder / WAL_FILE)) and is_locked(folder / LOCK_FILE)


def _open_to_read(file: Path) -> sqlite3.Connection:
    """Open the file of a log to read. No file need be created beside it: the disk may be read-only or full."""
    wal = file.with_name(WAL_FILE)
    # SQLite would move what is in the "-wal" file when it closes the last connection that may write, which makes a
    # damaged log worse.
    connection = _connect_uri(file, "mode=ro") if _read_size(wal) else _connect_uri(file, "mode=rw")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        connection.close()
        if read_error_code(error) not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
            raise
    else:
        return connection
    if not _read_size(wal):
        return _connect_uri(file, IMMUTABLE)
    # SQLite reads a "-wal" file only if it can write beside it.
    with TemporaryDirectory(prefix="greval-", ignore_cleanup_errors=True) as copies:
        copy = Path(copies, FILE)
        copyfile(file, copy)
        copyfile(wal, copy.with_name(WAL_FILE))
        with closing(sqlite3.connect(copy)) as writer:
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
        # The file is open before its name goes.
        return _connect_uri(copy, IMMUTABLE)


def _connect_uri(file: Path, parameters: str) -> sqlite3.Connection:
    uri = f"{file.absolute().as_uri()}?{parameters}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)


def prepare_tables(database: sqlite3.Connection, folder: Path, *, write: bool) -> None:
    """Configure a connection, and create the tables if the file is new."""
    if write:
        # A commit need not wait for the disk: `LogSync` syncs the log, and only its connection checkpoints.
        settings = f"PRAGMA page_size={PAGE_BYTES}; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"
        database.executescript(f"{settings}; PRAGMA wal_autocheckpoint=0")
    (layout,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if write and not tables:
        # One transaction, so that a killed process leaves no file with tables and without a version.
        script = "; ".join(STATEMENTS)
        database.executescript(f"BEGIN; {script}; PRAGMA user_version={LAYOUT_VERSION}; COMMIT")
    elif not tables:
        raise StoreError(
            f"{folder}: its log is empty, because the run was never started or was copied without {WAL_FILE}; "
            f"copy that file too, or run greval evaluate with -o {folder} again"
        )
    elif layout != LAYOUT_VERSION:
        raise StoreError(
            f"{folder / FILE}: written by another version of greval (layout {layout}, this one "
            f"reads {LAYOUT_VERSION}); choose another folder with -o, or read it with the version that wrote it; "
            f"if this one did, greval repair {quote(str(folder))}"
        )


def find_damage(database: sqlite3.Connection) -> str | None:
    """Return what shows that a log is damaged, or None: a fault of the file, a changed row, or a missing one."""
    try:
        return next(_find_damages(database), None)
    except (sqlite3.Error, ValueError) as error:
        # The checksum of a row takes no text that is not in UTF-8.
        if read_error_code(error) == sqlite3.SQLITE_ERROR:
            return "a row has a text that cannot be read"
        if isinstance(error, sqlite3.Error) and read_error_code(error) not in DAMAGE_CODES:
            raise
        return str(error)


def _find_damages(database: sqlite3.Connection) -> Iterator[str]:
    statements = {sql for (sql,) in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if statements != {*STATEMENTS}:
        yield "its tables are not those that greval makes"
    (fault,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if fault != "ok":
        yield str(fault)
    lost = read_lost_rows(database)
    for table in TABLE_COLUMNS:
        query = f"""
            SELECT count(*), coalesce(max(rowid), 0), coalesce(sum(checksum IS NOT {build_checksum_call(table)}), 0)
            FROM {table}
        """  # noqa: S608 - constants
        count, last, changed = database.execute(query).fetchone()
        if changed:
            yield f"{changed:,} of {count:,} rows of {table!r} were changed"
        if table in NUMBERED_TABLES and count + lost.get(table, 0) != last:
            yield f"{last - count:,} of {last:,} rows of {table!r} are missing"
    query = "SELECT (SELECT max(plan) FROM results) > (SELECT coalesce(max(id), 0) FROM plans)"
    if database.execute(query).fetchone()[0]:
        yield "rows of 'plans' are missing"


def _find_damaged_frame(database: sqlite3.Connection, folder: Path) -> str | None:
    """Return that a "-wal" file has a damaged part, before which SQLite silently ends; None if not.

    The last frames may be incomplete after a kill, and older ones may follow (https://sqlite.org/walformat.html).
    """
    wal, is_last_doubtful = folder / WAL_FILE, False
    if _read_size(wal) < WAL_HEADER_BYTES + FRAME_BYTES:
        return None
    # Whoever closes the log last removes the file; what was in it is then in the main file.
    with suppress(FileNotFoundError), wal.open("rb") as file:
        header, frame = file.read(WAL_HEADER_BYTES), file.read(FRAME_BYTES)
        order = ">" if header[3] & 1 else "<"
        sums = _add_to_sums((0, 0), struct.unpack(f"{order}6I", header[:24]))
        is_sound = sums == struct.unpack(">2I", header[24:])
        salt = header[16:24] if is_sound else frame[8:16]
        while len(frame) == FRAME_BYTES:
            is_newer, is_commit = frame[8:16] == salt, any(frame[4:8])
            if is_sound:
                words = struct.unpack(f"{order}{PAGE_BYTES // 4 + 2}I", frame[:8] + frame[FRAME_HEADER_BYTES:])
                sums = _add_to_sums(sums, words)
                is_sound = is_newer and sums == struct.unpack(">2I", frame[16:FRAME_HEADER_BYTES])
                is_last_doubtful = is_newer and not is_sound
            elif is_newer and is_commit:
                return f"a part of {wal.name} was changed"
            frame = file.read(FRAME_BYTES)
    return _find_hidden_rows(database, folder) if is_last_doubtful else None


def _find_hidden_rows(database: sqlite3.Connection, folder: Path) -> str | None:
    """Return that the main file has rows which its "-wal" file hides, None if it has none.

    A damaged last commit of the "-wal" file looks like one that was interrupted. If it had been copied to the main file
    before, SQLite lays the older pages before it over the newer ones of that file.
    """
    with suppress(sqlite3.Error), closing(_connect_uri(folder / FILE, IMMUTABLE)) as main_file:
        for table in NUMBERED_TABLES:
            query = f"SELECT coalesce(max(rowid), 0) FROM {table}"  # noqa: S608 - constants
            (last,), (last_shown,) = (opened.execute(query).fetchone() for opened in (main_file, database))
            if last > last_shown:
                return f"{last - last_shown:,} rows of {table!r} are hidden by {WAL_FILE}"
    return None


def _add_to_sums(sums: tuple[int, int], words: Sequence[int]) -> tuple[int, int]:
    """Continue the two sums that SQLite keeps over the frames of a "-wal" file."""
    first, second = sums
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


def read_lost_rows(database: sqlite3.Connection) -> dict[str, int]:
    """Read how many rows of each numbered table repairs did not find."""
    (content,) = database.execute("SELECT max(content) FROM facts WHERE name = ?", (LOST_ROWS,)).fetchone()
    lost: dict[str, int] = json.loads(content or "{}")
    return lost


def read_error_code(error: BaseException) -> int:
    """Read the primary code of an error of SQLite, 0 of another error."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _describe_damage(folder: Path, fault: str) -> str:
    return (
        f"{folder / FILE}: is damaged, so that no figure of it can be trusted ({fault}); greval repair "
        f"{quote(str(folder))} keeps every row that is whole, and says what is lost"
    )


class LogSync:
    """Syncs the newest part of the log to disk, from any thread and without blocking `append`.

    The newest part is the file "-wal", to which SQLite appends. A separate connection then runs the checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        self._closing = threading.Lock()
        self._db = sqlite3.connect(folder / FILE, isolation_level=None, check_same_thread=False)
        self._checkpointed_version = self._read_version()
        # Syncing this file is enough, because SQLite syncs before it moves content to the main file. Closing a
        # descriptor of the main file would release SQLite's locks.
        self._wal: int | None = os.open(folder / WAL_FILE, os.O_RDONLY | os.O_CREAT, 0o644)
        sync_folder(folder)

    def flush(self) -> None:
        """Sync everything written so far to disk. Do nothing after `close`."""
        with self._closing:
            if self._wal is not None:
                os.fsync(self._wal)
                # Before 3.51.3, SQLite damages the file if a commit reuses an emptied log while a checkpoint begins
                # (https://sqlite.org/wal.html#walresetbug). After a further commit the log is not empty.
                if self._read_version() != self._checkpointed_version:
                    self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
                    self._checkpointed_version = self._read_version()

    def _read_version(self) -> int:
        """Return a number that changes with each commit of the connection that appends."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(version)

    def close(self) -> None:
        """Close the files, after a running flush has finished."""
        with self._closing:
            if self._wal is not None:
                os.close(self._wal)
                self._db.close()
            self._wal = None


@contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Context manager that turns errors of SQLite and the system into a `StoreError` with a hint for the user."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        if read_error_code(error) in DAMAGE_CODES:
            raise StoreError(_describe_damage(folder, str(error))) from error
        cause = _find_cause(folder, error)
        hint = next((hint for word, hint in HINTS.items() if word in cause.lower()), "is it a run folder?")
        raise StoreError(f"{folder / FILE}: {cause}; {hint} (what was written before stays)") from error


def _find_cause(folder: Path, error: Exception) -> str:
    """Find out why a file could not be opened, which SQLite does not say: the system does, if asked for one."""
    try:
        if read_error_code(error) == sqlite3.SQLITE_CANTOPEN:
            if (folder / FILE).is_file() and not os.access(folder / FILE, os.R_OK):
                return os.strerror(errno.EACCES)
            TemporaryFile(dir=folder).close()
    except OSError as refusal:
        error = refusal
    return describe_system_error(folder, error) if isinstance(error, OSError) else str(error)


def describe_system_error(folder: Path, error: OSError) -> str:
    """Describe an error of the system. A disk without inodes says that it has no space, although it may have."""
    text = error.strerror or str(error)
    if error.errno != errno.ENOSPC or not folder.is_dir() or not hasattr(os, "statvfs"):
        return text
    disk = os.statvfs(folder)
    return f"{text} for a further file (no inode is left; delete files)" if disk.f_files and not disk.f_favail else text


MAX_CACHED_TAGS = 1_024


class ResultFilter(NamedTuple):
    """A filter for results; a result must meet every part.

    None and an empty tuple match any. `metrics` are names, one of which must be that of the result. `status` is that
    of the outcome. `value` is a judgement value as text. `tags` are names with values: of each name, one of the values
    given must be that of the case.
    """

    sample_id: str | None = None
    method: str | None = None
    metrics: tuple[str, ...] = ()
    status: str | None = None
    value: str | None = None
    tags: tuple[tuple[str, str], ...] = ()

    def build_conditions(self) -> tuple[list[str], list[str]]:
        """Return the SQL conditions on a row of `results`, and the values of their parameters."""
        values_by_tag = self.group_tags()
        parameters = {
            "sample_id = ?": self.sample_id,
            "method = ?": self.method,
            "metric IN (SELECT value FROM json_each(?))": json.dumps(self.metrics) if self.metrics else None,
            "json_extract(outline, '$[0]') = ?": self.status,
            "has_value(outline, ?)": self.value,
            "has_tags(tags, ?)": json.dumps(values_by_tag) if values_by_tag else None,
        }
        conditions = {condition: value for condition, value in parameters.items() if value is not None}
        return [*conditions], [*conditions.values()]

    def group_tags(self) -> dict[str, list[str]]:
        """Group the values by the names of their tags."""
        values_by_tag: dict[str, list[str]] = defaultdict(list)
        for name, value in self.tags:
            values_by_tag[name].append(value)
        return values_by_tag


ANY_RESULT = ResultFilter()


def add_sql_functions(database: sqlite3.Connection) -> None:
    """Add the functions that triggers and conditions call.

    SQLite's own functions would cut a text that they extract from JSON at a NUL.
    """
    database.create_function("compute_checksum", -1, compute_checksum, deterministic=True)
    database.create_function("has_value", 2, lambda outline, value: value in read_outline(outline).values)
    database.create_function("has_tags", 2, _has_tags)


# Few distinct tags occur, many times.
@lru_cache(MAX_CACHED_TAGS)
def _has_tags(tags: str, values_by_tag: str) -> bool:
    """Return whether each of these tags has one of its values."""
    tag_values = json.loads(tags)
    return all(tag_values.get(name) in values for name, values in json.loads(values_by_tag).items())
