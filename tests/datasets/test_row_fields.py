"""Retrieval that is recorded as ids, and the parts of chunks that stand in columns of their own."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.datasets.case_reader import read_cases
from greval.datasets.case_records import read_records
from greval.datasets.row_faults import RowFault
from greval.records.case import Case

IDS = st.lists(st.from_regex(r"[a-z]{1,4}-[0-9]{1,3}", fullmatch=True), min_size=1, max_size=6)


def read_one(row, columns=None):
    (case,) = read_records([{"question": "Who?", **row}], columns=columns)
    return case


def rank(case):
    return [chunk.doc_id or chunk.id for chunk in case.chunks]


@pytest.mark.parametrize(
    "row",
    [
        {"retrieved": ["d-3", "d-1"]},
        {"retrieved_context_ids": ["d-3", "d-1"]},
        {"retrieved_ids": ["d-3", "d-1"]},
        {"Retrieved Doc IDs": ["d-3", "d-1"]},
        {"retrievedDocIds": ["d-3", "d-1"]},
        {"doc_ids": ["d-3", "d-1"]},
        {"context_ids": ["d-3", "d-1"], "retrieved_scores": [0.5, 0.25]},
        {"docs": [{"id": "d-3"}, {"doc_id": "d-1", "score": 0.5}]},
        {"chunks": [{"id": "d-3"}, {"id": "d-1"}]},
        {"retrieved": {"d-1": 0.25, "d-3": 0.5}},
        {"retrieved": [["d-3", 0.5], ["d-1", 0.25]]},
        {"contexts": ["d-3", "d-1"], "gold": {"essential_docs": ["d-1"]}},
    ],
)
def test_ids_are_a_ranking(row):
    """Ids in each of the forms are chunks without a text, in their order or by falling score."""
    case = read_one(row)
    assert rank(case) == ["d-3", "d-1"]
    assert {chunk.text for chunk in case.chunks} == {None}
    assert Case.model_validate_json(case.model_dump_json()) == case


@pytest.mark.parametrize(
    "name",
    [
        *("reference_context_ids", "reference_ids", "relevant_docs", "relevant_doc_ids", "gold_docs", "gold_ids"),
        *("essential", "relevant"),
    ],
)
@pytest.mark.parametrize("value", [["d-1"], [{"id": "d-1"}], {"d-1": 2}])
def test_names_of_gold_documents(name, value):
    """The documents that should be found are read from ids, from documents with an id, and with their grades."""
    assert read_one({name: value}).gold.essential == ("d-1",)


@pytest.mark.parametrize("name", ["relevant_docs", "gold.essential_docs", "gold"])
def test_documents_with_a_grade_each_are_grades(name):
    """A list of judged documents holds those that were found irrelevant, too."""
    judged = [{"doc_id": "d-1", "relevance": 2}, {"doc_id": 7, "relevance": 0}]
    case = read_one({name: {"essential_docs": judged} if name == "gold" else judged})
    assert (case.gold.grades, case.gold.essential_docs) == ({"d-1": 2, "7": 0}, None)
    case = read_one({"retrieved": ["Ada", "Bob"], "relevant_docs": [{"id": "Ada", "grade": 1}]})
    assert rank(case) == ["Ada", "Bob"]
    assert read_one({"relevant_docs": [{"id": "d-1", "score": 0.5}]}).gold.essential_docs == ("d-1",)


def test_properties_of_a_row_are_no_documents():
    """A number or a truth value under such a name is a tag."""
    case = read_one({"relevant": True, "relevant_docs": 3, "essential": "yes", "retrieved": "at noon"})
    assert case.gold is None
    assert case.tags == {"relevant": "true", "relevant_docs": "3", "essential": "yes"}


@pytest.mark.parametrize("texts", [["Ada wrote it."], ["Ada."], ["Ada", "Bob"], ["港は九時に開く"]])
def test_texts_stay_texts(texts):
    """Passages are no ids, of whatever length and script, also if the gold is a passage too."""
    for name in ("retrieved", "contexts", "docs", "chunks"):
        assert [chunk.text for chunk in read_one({name: texts}).chunks] == texts
    sentences = [f"{text} It is so." for text in texts]
    beside = read_one({"retrieved": sentences, "relevant_docs": sentences[:1]})
    assert [chunk.text for chunk in beside.chunks] == sentences


@pytest.mark.parametrize("gold", [["Ada Lovelace"], ["Charles Babbage"]])
def test_titles_beside_titles_are_ids(gold):
    """Titles under a name for what was retrieved are ids if the gold names documents by titles, found or not."""
    case = read_one({"retrieved": ["Ada Lovelace", "Washington D.C."], "gold_titles": gold})
    assert (rank(case), {chunk.text for chunk in case.chunks}) == (["Ada Lovelace", "Washington D.C."], {None})


def test_a_list_for_each_method(tmp_path):
    """What several methods retrieved for a question is a case for each of them, and counted so."""
    row = {
        "id": "q1",
        "question": "Who?",
        "retrieved": {"bm25": ["d3"], "graph": ["d1", "d3"]},
        "relevant_docs": ["d1"],
    }
    cases = [*read_records([row])]
    assert [(case.id, case.method, rank(case)) for case in cases] == [
        ("q1", "bm25", ["d3"]),
        ("q1", "graph", ["d1", "d3"]),
    ]
    assert {case.gold.essential_docs for case in cases} == {("d1",)}
    (tmp_path / "a.jsonl").write_text(json.dumps(row), "utf-8")
    assert read_cases(tmp_path / "a.jsonl").count() == 2


@given(ids=IDS)
def test_any_ids_beside_texts_name_them(ids):
    """Each text gets the id at its place; repeated ids are documents of several chunks."""
    texts = [f"text {n}" for n in range(len(ids))]
    case = read_one({"retrieved_contexts": texts, "retrieved_context_ids": ids})
    assert [chunk.text for chunk in case.chunks] == texts
    assert rank(case) == ids
    assert len({chunk.id for chunk in case.chunks}) == len(ids)


def test_parts_of_chunks_have_columns():
    """`chunks.doc_id` and the other parts may be lists in columns of their own, also named by hand."""
    row = {"contexts": ["a b", "c d"], "files": ["x.md", "y.md"], "sims": [0.5, 0.25]}
    case = read_one(row, {"chunks.doc_id": "files", "chunks.score": "sims"})
    assert [(chunk.text, chunk.doc_id, chunk.score) for chunk in case.chunks] == [
        ("a b", "x.md", 0.5),
        ("c d", "y.md", 0.25),
    ]
    assert rank(read_one({"names": ["x.md"]}, {"chunks.doc_id": "names"})) == ["x.md"]


def test_several_ids_in_a_text_are_no_id():
    """Ids with blanks between would be one id that nothing meets; a blank id is none."""
    fault = read_one({"retrieved_ids": "d1 d2"})
    assert isinstance(fault, RowFault)
    assert "retrieved_ids: must be a list, got a text" in fault.message
    case = read_one({"chunks": [{"text": "a", "doc_id": ""}, {"text": "b", "id": ""}]})
    assert [(chunk.id, chunk.doc_id) for chunk in case.chunks] == [("c1", None), ("c2", None)]


def test_a_list_of_another_length_is_reported():
    """A part that was named for the chunks and does not fit them is a fault; one that was guessed is not read."""
    (row,) = read_records([{"question": "?", "contexts": ["a", "b"], "n": ["x"]}], columns={"chunks.doc_id": "n"})
    assert isinstance(row, RowFault)
    assert row.message == "chunks.doc_id: has 1 where contexts has 2; give one for each chunk"
    reading = read_records([{"question": "?", "contexts": ["a b", "b c"], "doc_ids": ["x"]}])
    (case,) = reading
    assert [chunk.doc_id for chunk in case.chunks] == [None, None]
    assert reading.ignored_reasons == {"doc_ids": "has 1 where contexts has 2; give one for each chunk"}
    (row,) = read_records([{"question": "?", "retrieved_ids": "d1, d2"}])
    assert row.message == 'retrieved_ids: must be a list, got a text; write ["d1", "d2"]'


def test_ids_beside_texts_are_reported_as_their_documents():
    """Texts and ids side by side, as ragas keeps them, need no column to be named."""
    row = {"user_input": "Who?", "retrieved_contexts": ["By Oda.", "no"], "retrieved_context_ids": ["k1", "k9"]}
    reading = read_records([row])
    (case,) = reading
    assert rank(case) == ["k1", "k9"]
    assert reading.mapping["retrieved_context_ids"] == "chunks.doc_id"


@pytest.mark.parametrize(
    ("columns", "gold"),
    [
        ({}, ("By Oda.",)),
        ({"reference_context_ids": ["k1"]}, ("By Oda.",)),
        ({"reference_context_ids": ["k1"], "retrieved_context_ids": ["k1", "k9"]}, ("k1",)),
        ({"reference_context_ids": ["k1"], "retrieved_contexts": [{"text": "By Oda.", "id": "k1"}]}, ("k1",)),
    ],
)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_gold_texts_and_gold_ids_beside_each_other(columns, gold, is_reversed):
    """Gold is what the chunks can meet: ids if they have ids, and otherwise texts, without the mark of ragas."""
    row = {"retrieved_contexts": ["By Oda.", "no"], "reference_contexts": ["<1-hop>\n\nBy Oda."], **columns}
    case = read_one(dict(reversed(row.items())) if is_reversed else row)
    assert case.gold.essential_docs == gold
    assert gold[0] in {*rank(case), *(chunk.text for chunk in case.chunks)}


@pytest.mark.parametrize("name", ["passages", "paragraphs", "search_results"])
def test_a_number_of_passages_is_no_chunk(name):
    """A number under a name of chunks is left out with the reason, and the row stays a case."""
    reading = read_records([{"question": "Who?", "answer": "Ada", name: 4}])
    [case] = reading
    assert case.chunks is None
    assert reading.ignored_reasons == {name: "no texts"}


def test_marked_passages_are_gold_unless_the_row_has_gold():
    """The mark of what answers a question is gold; gold of the row itself counts more, and no mark is no gold."""
    passages = [{"title": "Notes", "paragraph_text": "By Ada.", "is_supporting": True}]
    assert read_one({"paragraphs": passages}).gold.essential_docs == ("Notes",)
    assert read_one({"paragraphs": passages, "gold_docs": ["Other"]}).gold.essential_docs == ("Other",)
    assert read_one({"passages": {"is_selected": [0], "passage_text": ["By Ada."]}}).gold is None
