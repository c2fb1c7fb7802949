"""A table of triples becomes an index: each row is a chunk and a relation, and nothing else is extracted from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_indexes import SETTINGS, make_documents, make_index, make_model

from greval.methods.index_records import IndexedChunk
from greval.reference.building import build_index
from greval.reference.documents import read_documents
from greval.reference.index import ReferenceIndex
from greval.reference.records import Document
from greval.reference.triple_tables import (
    TripleColumns,
    build_triple_document,
    format_triple,
    read_triple,
)

TABLE = """head,relation,tail,doc_id
booking,owned by,Harbour Team,teams.md
Harbour Team,led by,Wanda Okello,teams.md
Harbour Team,led by,Wanda Okello,teams.md
fare-engine,calls,tide-clock,code.md
,calls,x,code.md
a → b,calls,x,code.md
"""
STATED = {
    ("booking", "owned by", "Harbour Team"),
    ("Harbour Team", "led by", "Wanda Okello"),
    ("fare-engine", "calls", "tide-clock"),
}


def list_relations(folder):
    """Return the relations of an index with the documents that state them."""
    with ReferenceIndex.open(folder) as index:
        return {(each.source, each.label, each.target): each.documents for each in index.read_relations()}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("triples.csv", TABLE),
        ("triples.tsv", TABLE.replace(",", "\t")),
        ("triples.csv", TABLE.replace("head,relation,tail,doc_id", "Subject,Predicate,Object,source")),
        ("triples.csv", TABLE.replace(",", ";")),
    ],
)
def test_a_table_of_triples_is_an_index(tmp_path, name, text):
    """The graph has the triples and no other relation; rows that are none are reported with their lines."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    report = build_index(tmp_path / name, tmp_path / "index", SETTINGS)
    assert (report.documents, report.chunks, report.relations, report.failed) == (2, 3, 3, 2)
    assert [fault.place for fault in report.faults] == [f"{tmp_path / name}:{n}" for n in (6, 7)]
    assert "is empty; a triple has" in report.faults[0].message
    relations = list_relations(tmp_path / "index")
    assert {*relations} == STATED
    assert relations["fare-engine", "calls", "tide-clock"] == ("code.md",)
    with ReferenceIndex.open(tmp_path / "index") as index:
        (first, *_) = index.read_chunks(["teams.md#1"])
        assert (first.text, first.triples) == ("booking → owned by → Harbour Team", True)
    second_report = build_index(tmp_path / name, tmp_path / "index", SETTINGS)
    assert (second_report.unchanged, second_report.rebuilt) == (2, False)


def test_without_a_column_of_documents_each_row_is_one(tmp_path):
    """The document of a row is the file and its line, as of rows with a text."""
    (tmp_path / "t.csv").write_text("head,relation,tail\na,b,c\nd,e,f\n", encoding="utf-8")
    assert [each.id for each in read_documents(tmp_path / "t.csv")] == ["t.csv#2", "t.csv#3"]


def test_a_table_with_a_text_holds_texts(tmp_path):
    """Columns that look like those of triples beside a text are tags, as before."""
    (tmp_path / "t.csv").write_text("text,head,relation,tail\nAt nine.,a,b,c\n", encoding="utf-8")
    (document,) = read_documents(tmp_path / "t.csv")
    assert (document.text, document.triples, document.tags["head"]) == ("At nine.", False, "a")


def test_triples_cost_no_call_of_a_model(tmp_path):
    """A model is asked about the texts, and never about what a table states."""
    triples = build_triple_document("t", ["Pier 1 → leads to → Tower 2"])
    model = make_model()
    make_index(tmp_path / "both", [*make_documents(2), triples], model=model)
    alone = make_model()
    make_index(tmp_path / "texts", make_documents(2), model=alone)
    assert len(model.calls) == len(alone.calls)
    assert list_relations(tmp_path / "both").keys() - list_relations(tmp_path / "texts").keys() == {
        ("Pier 1", "leads to", "Tower 2")
    }


def test_a_text_that_looks_like_a_triple_is_a_text(tmp_path):
    """What a model finds in a text does not take the place of a triple with the same words, nor the reverse."""
    line = "Pier 1 → leads to → Tower 2"
    both = [Document(id="text", text=line), build_triple_document("triples", [line])]
    make_index(tmp_path / "index", both, model=make_model())
    relations = list_relations(tmp_path / "index")
    assert relations["Pier 1", "leads to", "Tower 2"] == ("triples",)
    assert [documents for (_, label, _), documents in relations.items() if label == "leaves"] == [("text",)]


PARTS = st.text(st.characters(exclude_categories=["C"], exclude_characters="→"), min_size=1).filter(str.strip)


@given(PARTS, PARTS, PARTS)
def test_a_triple_is_read_as_it_was_written(head, relation, tail):
    """Whatever the names are, the statement has them, apart from the white space around and within them."""
    line = format_triple({"h": head, "r": relation, "t": tail}, TripleColumns("h", "r", "t"))
    extraction = read_triple(IndexedChunk(id="d#1", doc_id="d", text=line, triples=True))
    (stated,) = extraction.statements
    written = tuple(" ".join(part.split()) for part in (head, relation, tail))
    assert (stated.subject, stated.predicate, stated.object) == written
    assert {mention.name for mention in extraction.mentions} == {written[0], written[2]}
