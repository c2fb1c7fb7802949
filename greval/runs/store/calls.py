"""The calls of a run: what each judge was sent and what it replied, in tables of the log.

A call belongs to judged content (`greval.records.metric_input.compute_content_key`), so that equal cases share it. What
all calls of a metric share is stored once. The rest is compressed with a dictionary of the shared part and the stored
case, because it repeats the texts of the case (docs/design/decisions/0043-what-the-judge-saw.md).
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from greval._util.row_index import hash_key
from greval.judging.model.call_context import CallForm, CallRecord
from greval.judging.model.reply_cache import Reply, ReplyOrigin
from greval.records.result import Failure, Usage
from greval.runs.store.disk import COLUMN_NAMES, COST_COLUMNS, RowInserter, list_costs, reduce_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from greval.records.judge_call import JudgeCall

SELECT = f"SELECT {', '.join(COLUMN_NAMES['calls'][1:])} FROM calls WHERE id = ?"  # noqa: S608 - constant
NO_CASE = 0
"""The row number of a call that is compressed without a case."""
COMPRESSION_LEVEL = 3
"""Higher levels take twice the time and save a tenth."""
# A negative number of bits: without zlib's header and checksum.
RAW_DEFLATE = -15
MAX_DICTIONARY_BYTES = 32_768
"""The window of the compression: a longer dictionary has no effect."""
MAX_CACHED_CASES = 64
"""The number of cases and dictionaries kept in memory: the calls of one case usually follow each other."""
LATENCY_DIGITS = 6


class CallTable:
    """The calls of a log that is open for writing. Its methods write within the transaction of the caller."""

    def __init__(self, database: sqlite3.Connection, inserter: RowInserter) -> None:
        self._db = database
        self._inserter = inserter
        self._forms: dict[tuple[str, str], int] = {}
        self._cases: OrderedDict[tuple[str, str], tuple[int, str]] = OrderedDict()

    def note_case(self, case_key: tuple[str, str], row: int, text: str) -> None:
        """Remember the row and the JSON of a case for the calls that follow for its sample id and method."""
        self._cases[case_key] = row, text
        self._cases.move_to_end(case_key)
        if len(self._cases) > MAX_CACHED_CASES:
            self._cases.popitem(last=False)

    def insert(self, content: int, fingerprint: str, case_key: tuple[str, str], calls: Iterable[CallRecord]) -> None:
        """Insert the calls for judged content, which is given by the number of its key, in order."""
        case_row, case_text = self._cases.get(case_key, (NO_CASE, ""))
        for call in calls:
            form = self._find_form(fingerprint, call.form.text)
            body = _compress(_format_body(call), _build_dictionary(call.form.text, case_text))
            latency = reduce_number(round(call.reply.latency, LATENCY_DIGITS))
            request = hash_key(call.reply.key)
            columns = (content, request, form, case_row, call.repeat, latency, *list_costs(call.reply.usage), body)
            self._inserter.insert("calls", columns)

    def set_asked(self, content: int, asked_content: int) -> None:
        """Store that a result of `content` was read from the calls of the content `asked_content`."""
        self._db.execute("INSERT OR REPLACE INTO replayed (content, asked) VALUES (?, ?)", (content, asked_content))

    def copy_calls(self, source: CallReader, find_case: Callable[[str], int | None]) -> int:
        """Copy the calls of another log that are not stored yet, and return their number.

        `find_case` returns the row number of a case in this log, given its JSON, or None.
        """
        stored_hashes = {_hash_call(row) for row in CallReader(self._db).rows()}
        copied = 0
        for row in source.rows():
            if _hash_call(row) in stored_hashes:
                continue
            form = self._find_form(row.fingerprint, row.form)
            at = find_case(row.case) if row.case else None
            body = _compress(row.body, _build_dictionary(row.form, row.case if at else ""))
            content, request, *_ = row.values
            self._inserter.insert("calls", (content, request, form, at or NO_CASE, *row.values[2:], body))
            copied += 1
        for content, asked_content in source.replayed():
            self.set_asked(content, asked_content)
        return copied

    def _find_form(self, fingerprint: str, text: str) -> int:
        """Return the row number of a form, and store the form if it is new."""
        if not self._forms:
            self._forms = {form: number for number, form in _read_forms(self._db).items()}
        number = self._forms.get((fingerprint, text))
        if number is None:
            # Texts of a case may hold lone surrogates.
            row = (fingerprint, zlib.compress(text.encode("utf-8", "surrogatepass")))
            cursor = self._db.execute("INSERT INTO call_forms (fingerprint, body) VALUES (?, ?)", row)
            number = self._forms[fingerprint, text] = cursor.lastrowid or 0
        return number


class _CallRow(NamedTuple):
    """A row of `calls`, decompressed: `values` are the columns before the body, without form and case."""

    values: tuple[Any, ...]
    fingerprint: str
    form: str
    case: str
    body: str


class CallReader:
    """The calls of a log that is open for reading."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._db = database
        self._read_case = lru_cache(MAX_CACHED_CASES)(self._find_case)

    def read(self, content: int | None, sample_id: str, method: str, metric: str) -> Iterator[JudgeCall]:
        """Yield the calls of the content that a result judged, in order of time; none if it has no content."""
        for number in () if content is None else self.find(content):
            row = self._read_row(number)
            yield _build_call(row, sample_id=sample_id, method=method, metric=metric)

    def find(self, content: int) -> list[int]:
        """Return the row numbers of the calls for judged content."""
        contents, numbers = self._index
        # Both arrays are sorted by content, so that the calls of one lie side by side.
        first, last = contents.searchsorted(content, "left"), contents.searchsorted(content, "right")
        return [int(number) for number in numbers[first:last]]

    def rows(self) -> Iterator[_CallRow]:
        """Yield all calls, oldest first."""
        numbers = self._db.execute("SELECT id FROM calls ORDER BY id").fetchall()
        yield from (self._read_row(number) for (number,) in numbers)

    def requests(self) -> Iterator[tuple[int, int]]:
        """Yield the number of the request and the row number of all calls, oldest first."""
        yield from self._db.execute("SELECT request, id FROM calls ORDER BY id")

    def replayed(self) -> list[tuple[int, int]]:
        """Return the content of each replayed result, and the content of its calls."""
        return self._db.execute("SELECT content, asked FROM replayed").fetchall()

    def read_call(self, number: int) -> CallRecord:
        """Return a call. The origin of its reply is the content that it was asked for."""
        return _parse_call(self._read_row(number))

    def forms(self) -> dict[str, CallForm]:
        """Return the form of the last call by each fingerprint."""
        rows = self._db.execute("SELECT id, fingerprint FROM call_forms ORDER BY id")
        return {fingerprint: CallForm.from_text(self._forms[number][1]) for number, fingerprint in rows}

    def count_repeats(self, fingerprint: str) -> int:
        """Return how often each case was judged by a definition: the highest number of a repeat, and one."""
        query = "SELECT max(repeat) FROM calls WHERE form IN (SELECT id FROM call_forms WHERE fingerprint = ?)"
        (highest,) = self._db.execute(query, (fingerprint,)).fetchone()
        return 1 + (highest or 0)

    @cached_property
    def _index(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The contents of all calls in ascending order, and their row numbers in order of time for each."""
        import numpy as np

        pairs = self._db.execute("SELECT content, id FROM calls ORDER BY id")
        numbers = np.array([*pairs], dtype=np.int64).reshape(-1, 2)
        # A stable sort keeps the calls of one content in the order of time.
        order = numbers[:, 0].argsort(kind="stable")
        return numbers[order, 0], numbers[order, 1]

    @cached_property
    def _forms(self) -> dict[int, tuple[str, str]]:
        return _read_forms(self._db)

    def _read_row(self, number: int) -> _CallRow:
        content, request, form, judged_case, *columns, body = self._db.execute(SELECT, (number,)).fetchone()
        # A run that is still written to may have a new form.
        if form not in self._forms:
            del self._forms
        fingerprint, text = self._forms[form]
        case = self._read_case(judged_case)
        opened = zlib.decompressobj(RAW_DEFLATE, zdict=_build_dictionary(text, case))
        body_text = (opened.decompress(body) + opened.flush()).decode("utf-8", "surrogatepass")
        return _CallRow((content, request, *columns), fingerprint, text, case, body_text)

    def _find_case(self, row: int) -> str:
        if row == NO_CASE:
            return ""
        (text,) = self._db.execute("SELECT row FROM cases WHERE rowid = ?", (row,)).fetchone()
        return str(text)


def _read_forms(database: sqlite3.Connection) -> dict[int, tuple[str, str]]:
    """Read the fingerprint and the text of each form, by its row number."""
    rows = database.execute("SELECT id, fingerprint, body FROM call_forms")
    return {number: (mark, zlib.decompress(body).decode("utf-8", "surrogatepass")) for number, mark, body in rows}


@lru_cache(MAX_CACHED_CASES)
def _build_dictionary(form: str, case: str) -> bytes:
    # The case is last, because nearer texts are found first.
    return f"{form}{case}".encode("utf-8", "surrogatepass")[-MAX_DICTIONARY_BYTES:]


def _compress(text: str, dictionary: bytes) -> bytes:
    packed = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, RAW_DEFLATE, zdict=dictionary)
    return packed.compress(text.encode("utf-8", "surrogatepass")) + packed.flush()


def _format_body(call: CallRecord) -> str:
    """Format what a call does not share with others as JSON."""
    reply = call.reply
    failure = reply.failure and reply.failure.model_dump(mode="json", exclude_defaults=True)
    served_by = [reply.served_by] if reply.served_by else []
    content = [call.messages, reply.text, failure, call.items, [*reply.tokens], *served_by]
    return json.dumps(content, ensure_ascii=False)


def _parse_call(row: _CallRow) -> CallRecord:
    messages, text, failure, items, tokens, *served_by = json.loads(row.body)
    content, _, repeat, latency, *costs = row.values
    usage = Usage(**dict(zip(COST_COLUMNS, costs, strict=True)))
    reply = Reply(
        text,
        usage,
        failure and Failure(**failure),
        tokens,
        latency=latency,
        origin=ReplyOrigin(content, row.fingerprint),
        # Nothing is stored of a reply that names no model.
        served_by="".join(served_by),
    )
    return CallRecord(_parse_form(row.form), messages, reply, items, repeat)


def _build_call(row: _CallRow, **names: str) -> JudgeCall:
    from greval.records.judge_call import CallMessage, JudgeCall

    call = _parse_call(row)
    form, reply = call.form, call.reply
    return JudgeCall(
        **names,
        fingerprint=row.fingerprint,
        judge=form.label,
        tier=form.tier,
        repeat=call.repeat,
        items=call.items,
        messages=tuple(CallMessage(role=role, text=text) for role, text in (*form.messages, *call.messages)),
        answer_schema=dict(form.answer_schema),
        reply=reply.text,
        failure=reply.failure,
        usage=reply.usage,
        latency=reply.latency,
        served_by=reply.served_by,
    )


_parse_form = lru_cache(MAX_CACHED_CASES)(CallForm.from_text)


def _hash_call(row: _CallRow) -> int:
    """Return a number that two stored calls share only if one is a copy of the other."""
    return hash_key(json.dumps([*row.values, row.fingerprint, row.form, row.body]))
