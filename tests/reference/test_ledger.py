"""The ledger of an index: what is written stays, as a whole, and is found by its key."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from greval.errors import DataError, StoreError
from greval.methods.index_records import IndexedChunk
from greval.methods.reference_index import LEDGER_FILE
from greval.records.result import Usage
from greval.reference.ledger import IndexLedger, compute_text_key
from greval.reference.records import Document, Extraction, Mention

FOUND = Extraction(mentions=(Mention(name="Ada"),))


def put(ledger, name, *texts):
    """Write a document with a chunk for each text."""
    document = Document(id=name, text=" ".join(texts), title=f"T {name}", tags={"k": "v"})
    shared = {"doc_id": name, "title": document.title, "tags": document.tags}
    chunks = [IndexedChunk(id=f"{name}#{n}", text=text, **shared) for n, text in enumerate(texts, 1)]
    ledger.put_document(document, compute_text_key(*texts), chunks)
    return chunks


@pytest.fixture
def ledger(tmp_path):
    with IndexLedger(tmp_path, write=True) as opened:
        yield opened


def test_chunks_come_back_as_they_were_written(ledger):
    """Chunks are sorted by document and position, with all their fields, and are read by their rows."""
    chunks = [*put(ledger, "a", *map(str, range(12))), *put(ledger, "B", "x")]
    stored = [*ledger.iterate_chunks()]
    assert [record.chunk for record in stored] == [*chunks[-1:], *chunks[:-1]]
    assert ledger.read_chunks([record.row for record in reversed(stored)]) == [
        record.chunk for record in reversed(stored)
    ]


def test_a_changed_document_stays_readable_until_it_is_deleted(ledger):
    """The current build reads the old chunks until the next one takes its place; then they are gone."""
    put(ledger, "a", "old")
    (old,) = ledger.iterate_chunks()
    put(ledger, "a", "new", "newer")
    assert ledger.read_chunks([old.row]) == [old.chunk]
    assert [record.chunk.text for record in ledger.iterate_chunks()] == ["new", "newer"]
    ledger.delete_retired()
    with pytest.raises(DataError, match="was made anew since it was opened; open it again"):
        ledger.read_chunks([old.row])


def test_a_document_that_comes_back_before_it_is_deleted_has_its_rows_again(ledger):
    """A change that is undone before the next build changes no row, so that the build is still right."""
    put(ledger, "a", "old")
    rows = ledger.list_document_rows()
    put(ledger, "a", "new")
    put(ledger, "a", "old")
    assert ledger.list_document_rows() == rows
    ledger.delete_retired()
    assert [record.chunk.text for record in ledger.iterate_chunks()] == ["old"]


def test_what_was_paid_for_is_kept_when_its_text_goes(ledger):
    """Extractions by a model stay, with their usage; those by rules and vectors go with their texts."""
    put(ledger, "a", "old")
    (old,) = ledger.iterate_chunks()
    ledger.put_extractions("model", [((old.text_key, ""), FOUND)], Usage(calls=2, input_tokens=7))
    ledger.put_extractions("rules", [((old.text_key, ""), FOUND)])
    ledger.put_embeddings("e", [old.text_key], np.ones((1, 2), np.float32))
    ledger.retire_documents(["a"])
    ledger.delete_retired()
    assert dict(ledger.iterate_extractions("model")) == {(old.text_key, ""): FOUND}
    assert not ledger.list_extracted("rules")
    assert not ledger.list_embedded("e")
    assert ledger.sum_usage() == Usage(calls=2, input_tokens=7)


def test_vectors_are_read_by_the_keys_of_their_texts(ledger):
    """Each key gets its own vector, also twice; a vector that is missing is an error."""
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    ledger.put_embeddings("e", ["a", "b", "c"], vectors)
    assert ledger.read_embeddings("e", ["c", "a", "c"], 2).tolist() == [[4, 5], [0, 1], [4, 5]]
    with pytest.raises(StoreError, match="2 chunks without a vector"):
        ledger.read_embeddings("e", ["x", "a", "y"], 2)


def test_a_transaction_that_fails_leaves_nothing(ledger):
    """If one of several documents cannot be written, none of them is."""

    def write_two():
        with ledger.write_together():
            put(ledger, "a", "one")
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        write_two()
    assert not ledger.list_document_rows()


def test_a_ledger_of_another_layout_is_refused(tmp_path):
    """A folder of another version is neither read nor changed, and the message says what to do."""
    with IndexLedger(tmp_path, write=True):
        pass
    with sqlite3.connect(tmp_path / LEDGER_FILE) as database:
        database.execute("PRAGMA user_version=7")
    for write in (True, False):
        with pytest.raises(StoreError, match=r"another version of greval .* index the documents again into another"):
            IndexLedger(tmp_path, write=write)


def test_a_folder_without_a_ledger_is_refused(tmp_path):
    """A ledger is only created by a writer; a file that is none is named."""
    with pytest.raises(DataError, match="holds no index; make one with greval index build"):
        IndexLedger(tmp_path)
    assert not [*tmp_path.iterdir()]
    (tmp_path / LEDGER_FILE).write_text("no database, but long enough to be read as one")
    with pytest.raises(StoreError, match="is it the folder of an index"):
        IndexLedger(tmp_path)
