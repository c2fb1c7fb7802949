"""Fifty files as tools and people export them: each is read rightly, or refused with what mends it."""

from __future__ import annotations

import pytest
from exported_files import EXPORTS, TRUTHS, Truth, write_export

from greval.datasets.case_reader import read_cases
from greval.datasets.case_records import read_records
from greval.datasets.gold import read_gold
from greval.datasets.row_faults import RowFault
from greval.errors import DataError
from greval.records.case import Case

READ = {name: export for name, export in EXPORTS.items() if not export.refused and not export.gold}
REFUSED = {name: export for name, export in EXPORTS.items() if export.refused}


def read_field(case: Case, name: str) -> object:
    """Return a field of a case as the truth has it."""
    if name == "chunks":
        return tuple(chunk.text for chunk in case.chunks)
    if name == "documents":
        return tuple(chunk.doc_id for chunk in case.chunks)
    if name == "essential":
        return case.gold.essential_docs
    return getattr(case, name)


def list_fields(case: Case) -> set[str]:
    return {name for name in ("answer", "expected_answer", "chunks") if getattr(case, name) is not None}


@pytest.mark.parametrize("name", READ)
def test_each_export_is_read_rightly(tmp_path, name):
    """Each field has the content of the case that the file was made from, and no field has content of another."""
    export = READ[name]
    rows = [*read_cases(write_export(export, tmp_path), columns=export.columns or None)]
    assert [row for row in rows if isinstance(row, RowFault)] == []
    assert len(rows) == len(TRUTHS)
    for case, truth in zip(rows, TRUTHS, strict=True):
        for field in export.read:
            assert read_field(case, field) == getattr(truth, field), field
        if "documents" not in export.read or "chunks" in export.read:
            expected_fields = {field for field in export.read if field in Truth._fields} - {
                "id",
                "question",
                "documents",
            }
            assert list_fields(case) == expected_fields | ({"chunks"} if name == "SQuAD" else set())


@pytest.mark.parametrize("name", REFUSED)
def test_each_other_export_is_refused_with_what_mends_it(tmp_path, name):
    """A file that cannot be read is an error, or its rows are, with the line that mends it; no case comes of it."""
    path = write_export(REFUSED[name], tmp_path)
    try:
        rows = [*read_cases(path)]
        messages = [row.message for row in rows if isinstance(row, RowFault)]
        assert len(messages) == len(rows)
    except DataError as error:
        messages = [str(error)]
    assert any(REFUSED[name].refused in message for message in messages), messages


def test_qrels_are_gold(tmp_path):
    """The grades of TREC qrels are those of the file."""
    path = write_export(EXPORTS["TREC, qrels"], tmp_path)
    gold_by_id = {case.id: case.gold for _, case in read_gold(path)}
    assert gold_by_id["q-1"].grades == {"hours.md": 2, "blog.md": 1}
    assert [*gold_by_id] == [truth.id for truth in TRUTHS]


def read_row(row: dict) -> tuple[Case | RowFault, str | None]:
    """Return the case of a row that a program passes, and the notice."""
    reading = read_records([row], "rows")
    (case,) = reading
    return case, reading.notice()


def test_keys_of_chunks_that_no_chunk_has_are_reported():
    """They are left out and named; a key that may be meant for the text is a fault."""
    case, notice = read_row({"question": "q", "chunks": [{"text": "a", "page": 3, "doc_idd": "d"}, {"text": "b"}]})
    assert [chunk.text for chunk in case.chunks] == ["a", "b"]
    assert "chunks[*].page" in notice
    assert "chunks[*].doc_idd (did you mean doc_id?)" in notice
    fault, _ = read_row({"question": "q", "chunks": [{"txt": "a", "page": 3}]})
    assert "chunks[0].txt: is unknown, nearest: text" in fault.message
    case, notice = read_row({"question": "q", "triples": [{"subject": "a", "predicate": "b", "object": "c", "w": 1}]})
    assert (case.triples[0].object, "triples[*].w" in notice) == ("c", True)


@pytest.mark.parametrize(
    ("row", "field", "value"),
    [
        ({"tags": ["nightly", "easy"]}, "tags", {"nightly": "true", "easy": "true"}),
        (
            {"metadata": {"topic": "a", "page": 3, "vector": [1]}, "level": 2},
            "tags",
            {"topic": "a", "page": "3", "level": "2"},
        ),
        ({"metadata": {"topic": "a"}, "topic": "b"}, "tags", {"topic": "b"}),
        ({"answers": {"text": ["x", "y", "x"], "answer_start": [1, 2, 3]}}, "expected_answer", "x\ny"),
        ({"reference": {"answer": "x", "aliases": ["y"]}}, "expected_answer", "x\ny"),
        ({"answer": "x", "answer_aliases": ["y", "x"]}, "expected_answer", "x\ny"),
        ({"response": "a", "answer": "x", "answer_aliases": []}, "expected_answer", "x"),
        ({"response": "a", "answer": "x", "answer_aliases": ["y"]}, "answer", "a"),
        ({"expected_answer": "x\nz", "answer_aliases": ["y"]}, "expected_answer", "x\nz\ny"),
        ({"prediction": "a", "answer": "x", "alt_ans": ["y"]}, "expected_answer", "x\ny"),
        ({"response": "a", "answer": ["x", "y"]}, "expected_answer", "x\ny"),
        ({"response": "a", "answer": ["x", "y"]}, "answer", "a"),
        ({"response": "a", "answer": "x"}, "answer", "x"),
        ({"prediction": None, "answer": "x"}, "expected_answer", "x"),
        ({"answer": "x", "supporting_facts": [["T", 0], ["T", 2], ["U", 1]]}, "expected_answer", "x"),
        ({"answer": "x", "supporting_facts": [["T", 0], ["T", 2], ["U", 1]]}, "essential", ("T", "U")),
        ({"supporting_facts": {"title": ["T", "U", "T"], "sent_id": [0, 1, 2]}}, "essential", ("T", "U")),
        ({"response": "a", "answer": "x", "wellFormedAnswers": []}, "expected_answer", "x"),
        ({"answer": "a", "reference": "x", "evidence_triple": [["T", "is", "U"]]}, "answer", "a"),
        ({"answer": "a", "evidence": ["T is U"]}, "answer", "a"),
        ({"outputs.groundedness": "5", "response": "a"}, "answer", "a"),
        ({"expected": "x", "Expected Aliases": "y"}, "expected_answer", "x\ny"),
        ({"reference": {"value": "x", "aliases": ["y"], "type": "z"}}, "expected_answer", "x\ny"),
        ({"expected_answer": {"value": "x", "aliases": ["y", "x"]}}, "expected_answer", "x\ny"),
        ({"expected_answer": ["x", "y"]}, "expected_answer", "x\ny"),
        ({"answer": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}, "answer", "a"),
        ({"output": {"answer": "a", "sources": ["s"]}}, "answer", "a"),
        ({"chunks": [{"text": "a", "source": "s.md", "title": "T"}]}, "documents", ("s.md",)),
        ({"chunks": {"text": ["a", "b"], "doc_id": ["d1", "d2"]}}, "documents", ("d1", "d2")),
    ],
)
def test_forms_of_fields(row, field, value):
    """Labels, metadata, accepted answers, conversations and chunks are read in the forms of other tools."""
    case, _ = read_row({"question": "q", **row})
    assert read_field(case, field) == value
