"""Search in the texts of a run: questions, answers and expected answers of its cases, and reasons of its verdicts.

A search reads all texts, which takes seconds in a large run. A text index is a file with these texts alone, folded and
ready to be compared, which a search reads in some ten milliseconds. It holds the state of the run that it was built of,
and is not used for another one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from pydantic_core import from_json

from greval.records.record import Record
from greval.runs.store import Store

CASE_TEXTS = ("question", "answer", "expected_answer")
_TABLES = """
CREATE TABLE state (stamp TEXT NOT NULL);
CREATE TABLE samples (number INTEGER PRIMARY KEY, id BLOB NOT NULL);
CREATE TABLE texts (sample INTEGER NOT NULL, text BLOB NOT NULL);
"""


class FoundSamples(Record):
    """The ids of the samples that a search found, in the order of the run."""

    sample_ids: tuple[str, ...]


def search_texts(store: Store, query: str) -> FoundSamples:
    """Find the samples of which a case or a result has all words of a query in its texts, in any case of letters.

    The texts of a case are its question, answer and expected answer; those of a result are its reasons, and the
    messages of what failed.
    """
    words = query.casefold().split()
    texts = _iterate_texts(store)
    samples = dict.fromkeys(sample for sample, text in texts if all(word in text for word in words))
    return FoundSamples(sample_ids=tuple(samples))


def build_text_index(store: Store, path: Path, stamp: str) -> None:
    """Write the texts of a run to an index, which replaces a former one once it is whole.

    `stamp` is the state of the run. It is read before the run is opened, so that a later change is noticed.
    """
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        temporary = Path(file.name)
    try:
        with closing(sqlite3.connect(temporary, isolation_level=None)) as database:
            # A file that is not whole is never used, so that nothing has to survive a crash.
            database.execute("PRAGMA journal_mode = OFF")
            database.executescript(f"PRAGMA synchronous = OFF; BEGIN; {_TABLES}")
            numbers: dict[str, int] = {}
            for sample, text in _iterate_texts(store):
                number = numbers.setdefault(sample, len(numbers))
                database.execute("INSERT INTO texts VALUES (?, ?)", (number, _encode(text)))
            samples = ((number, _encode(sample)) for sample, number in numbers.items())
            database.executemany("INSERT INTO samples VALUES (?, ?)", samples)
            database.execute("INSERT INTO state VALUES (?)", (stamp,))
            database.execute("COMMIT")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def search_text_index(path: Path, stamp: str, query: str) -> FoundSamples | None:
    """Find what `search_texts` finds in a run of this state; return None if there is no index of it."""
    if not path.exists():
        return None
    words = [_encode(word) for word in query.casefold().split()]
    condition = " AND ".join(["instr(text, ?)"] * len(words)) or "1"
    statement = f"SELECT id FROM samples WHERE number IN (SELECT sample FROM texts WHERE {condition}) ORDER BY number"  # noqa: S608 - question marks
    try:
        # A finished index never changes, so that it can be read without locks.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
            if database.execute("SELECT stamp FROM state").fetchone() != (stamp,):
                return None
            rows = database.execute(statement, words)
            return FoundSamples(sample_ids=tuple(sample.decode("utf-8", "surrogatepass") for (sample,) in rows))
    except sqlite3.DatabaseError:
        # It is damaged, and will be replaced.
        return None


def _iterate_texts(store: Store) -> Iterator[tuple[str, str]]:
    """Yield the sample id of each case and each result with its texts, joined and without case of letters."""
    with store.snapshot():
        for line in store.case_lines():
            case = from_json(line)
            yield str(case.get("id") or ""), _fold_texts(map(case.get, CASE_TEXTS))
        for sample, line in store.select(("sample_id", "row")):
            yield sample, _fold_texts(_list_result_texts(from_json(line)))


def _fold_texts(texts: Iterable[str | None]) -> str:
    return "\n".join(filter(None, texts)).casefold()


def _list_result_texts(result: Mapping[str, Any]) -> Iterator[str | None]:
    outcome = result["outcome"]
    yield outcome.get("reason")
    yield from (judgement["reason"] for judgement in outcome.get("judgements", ()))
    failures = outcome.get("failures") or ([outcome["error"]] if "error" in outcome else [])
    yield from (failure["message"] for failure in failures)


def _encode(text: str) -> bytes:
    """Return a text as bytes, which SQLite compares as they are, NUL and lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")
