"""Indexes of Microsoft GraphRAG and LightRAG as what questions are drawn from: names, gold, and what is left out."""

from __future__ import annotations

import pytest
from described_worlds import DESCRIPTIONS, write_graphrag_fleet, write_lightrag_fleet
from question_judge import read_fence, script
from question_worlds import FLEET

from greval import read_cases, read_inventory
from greval.analysis import check_gold
from greval.errors import DataError
from greval.reference import generate_questions
from greval.reference.questions.records import DraftQuestion
from greval.reference.questions.sources import open_question_source

WRITERS = {"graphrag": write_graphrag_fleet, "lightrag": write_lightrag_fleet}


@pytest.fixture(params=[*WRITERS])
def fleet(request, tmp_path):
    return WRITERS[request.param](tmp_path / "index")


def draw(index, tmp_path, count=60, **options):
    """Generate questions, and return the report with the drafts."""
    report = generate_questions(index, tmp_path / "q.jsonl", count, **options)
    lines = (tmp_path / "q.drafts.jsonl").read_text(encoding="utf-8").splitlines()
    return report, [DraftQuestion.model_validate_json(line) for line in lines]


def test_names_are_written_as_the_texts_write_them(fleet):
    """Capitals of the index are gone, and the types are kept; an entity is known by the name of the texts."""
    with open_question_source(fleet) as source:
        entities = source.text.entities
    assert entities.keys() == {each for source, target, *_ in DESCRIPTIONS for each in (source, target)} - {"Ghost"}
    assert entities["Ines Marrow"].type.casefold() == "person"


def test_what_lacks_its_evidence_is_left_out_and_counted(fleet, tmp_path):
    """A relation without its entity or chunk is left out; one that is not sure is not asked about; all are counted."""
    report, drafts = draw(fleet, tmp_path, model=script()[0])
    assert set(report.notes) == {
        "left out 1 relation with an end that is no entity with a chunk",
        "left out 1 relation without a chunk",
        "not asked about: 1 relation that several chunks state",
        "not asked about: 1 relation whose description has no sentence with the names of both ends",
        "not asked about: 1 relation whose chunk lacks the name of an end",
        "comparison: cannot be drawn, because it needs two relations with one predicate",
        "aggregation: counts documents that mention a name only, because relations have no predicate to count by",
    }
    told = {fact.sentence for each in drafts for fact in each.evidence if fact.described}
    assert told == {description for *_, description, _ in DESCRIPTIONS[:6]}


def test_without_a_model_sentences_are_asked_about_and_the_report_says_so(fleet, tmp_path):
    """Templates word sentences of the texts, and no description; the types that cannot be drawn are named."""
    report, drafts = draw(fleet, tmp_path)
    answers = {each.question: each.answer for each in drafts if each.rejected is None}
    assert answers["What was built in Lumm?"] == "Black Tansy"
    assert answers["Grey Gull was painted in which year?"] == "1921"
    assert not any(fact.described for each in drafts for fact in each.evidence)
    assert report.accepted["comparison"] == report.drawn["comparison"] == 0
    assert any(note.startswith("relations have descriptions and no predicates") for note in report.notes)
    assert "comparison: cannot be drawn, because it needs two relations with one predicate" in report.notes


def test_a_model_words_descriptions(fleet, tmp_path):
    """The model sees the description, and a draft with a letter in place of the name that is asked for."""
    model, calls = script()
    visible = {}

    def word(messages):
        visible[read_fence(messages, "question")] = read_fence(messages, "chunks")
        return calls.wording(messages)

    calls.changes["wording"] = word
    report, drafts = draw(fleet, tmp_path, model=model, seed=1)
    draft = "X is a ship from the yards of Lumm. What is X?"
    assert "Black Tansy is a ship from the yards of Lumm." in visible[draft]
    worded = next(each for each in drafts if each.template_question == draft)
    assert (worded.rejected, worded.answers) == (None, ("Black Tansy",))
    assert worded.question == f"Please tell me: {draft}"
    assert {kind for kind, count in report.accepted.items() if count} >= {"single_fact", "multi_hop", "temporal"}
    accepted = [each for each in drafts if each.rejected is None and all(fact.described for fact in each.evidence)]
    assert {each.pattern for each in accepted} >= {"edge", "chain", "intersection"}
    assert [each.answers for each in accepted if each.type == "temporal"] == [("1921",)]


def test_gold_of_a_description_is_its_relation_and_document(tmp_path):
    """Edge, nodes, start node and document are those of the relation, in the names of the index and of its methods."""
    index = write_graphrag_fleet(tmp_path / "index")
    _, drafts = draw(f"{index}?document=title", tmp_path, model=script()[0], types=["single_fact"])
    draft = next(each for each in drafts if each.template_question == "X leads Team Petrel. Who is X?")
    assert draft.answer.endswith("Ines Marrow")
    assert draft.gold.essential_docs == ("teams.txt",)
    assert draft.gold.expected_edges == (
        ("Team Petrel", "Ines Marrow leads Team Petrel. She writes letters.", "Ines Marrow"),
    )
    assert set(draft.gold.expected_nodes) == {"Team Petrel", "Ines Marrow"}
    assert draft.gold.start_nodes == ("Team Petrel",)


def test_gold_of_a_sentence_matches_any_description(tmp_path):
    """A sentence need not state all that a description does, so the edge between its names has no label."""
    index = write_graphrag_fleet(tmp_path / "index")
    _, drafts = draw(index, tmp_path, types=["single_fact"])
    draft = next(each for each in drafts if each.question == "What was built in Lumm?")
    assert draft.gold.expected_edges == (("Black Tansy", "", "Lumm"),)


@pytest.mark.parametrize(("with_model", "option"), [(False, ""), (True, "name")])
def test_the_gold_fits_the_inventory_of_the_index(fleet, tmp_path, with_model, option):
    """Whatever identifies documents, `check_gold` finds no fault in documents, nodes and edges."""
    names = {"kv_store_text_chunks.json": "path", "text_units.parquet": "title"}
    option_value = next(name for file, name in names.items() if (fleet / file).exists())
    index = f"{fleet}?document={option_value}" if option else str(fleet)
    draw(index, tmp_path, model=script()[0] if with_model else None)
    cases = [*read_cases(tmp_path / "q.jsonl")]
    assert len(cases) > 5
    assert not [each for each in check_gold(cases, read_inventory(index)) if each.level == "fault"]
    documents = {each for case in cases for each in case.gold.essential_docs}
    assert documents <= ({f"{name}.txt" for name in FLEET} if option else read_inventory(index).documents)


def test_no_hidden_name_stands_in_a_draft(fleet, tmp_path):
    """A letter stands for each hidden name, and no capitalised part of the name is left beside it."""
    _, drafts = draw(fleet, tmp_path, model=script()[0], seed=1)
    chains = [each for each in drafts if each.pattern == "chain"]
    assert chains
    for each in chains:
        visible = {*each.gold.start_nodes}
        hidden = {*each.gold.expected_nodes} - visible
        assert len(hidden) == 2
        assert not [name for name in hidden if name in each.template_question]


def test_a_name_within_a_longer_name_is_not_replaced(tmp_path):
    """An entity may be named "Petrel", but a sentence about Team Petrel is no evidence for it."""
    entities = [
        {"title": name, "type": "ORGANIZATION", "text_unit_ids": ["unit-tansy"]}
        for name in ("PETREL", "TEAM PETREL", "BLACK TANSY")
    ]
    relations = [
        {
            "source": "BLACK TANSY",
            "target": "PETREL",
            "description": "Black Tansy is owned by Team Petrel.",
            "text_unit_ids": ["unit-tansy"],
        }
    ]
    index = write_graphrag_fleet(tmp_path / "index", entities=entities, relationships=relations)
    report, drafts = draw(index, tmp_path, model=script()[0], types=["single_fact"])
    assert not [each for each in drafts if any(fact.described for fact in each.evidence)]
    assert "1 relation whose description has no sentence with the names of both ends" in " ".join(report.notes)


def test_a_description_may_give_another_answer(tmp_path):
    """What only the graph says of another entity makes a question of a sentence ambiguous."""
    relations = [
        {
            "source": "BRAMBLE",
            "target": "LUMM",
            "description": "Bramble was built in Lumm as well.",
            "text_unit_ids": ["unit-log"],
        }
    ]
    index = write_graphrag_fleet(tmp_path / "index", relationships=relations)
    _, drafts = draw(index, tmp_path, types=["single_fact"])
    draft = next(each for each in drafts if each.question == "What was built in Lumm?")
    assert draft.rejected == "several_answers"


@pytest.mark.parametrize("schema", ["v2_dulce", "v3_dulce"])
def test_tables_of_graphrag_itself(data_set, tmp_path, schema):
    """A dry run over whole tables draws from descriptions, and counts what it does not use."""
    folder = data_set("msgraphrag_output") / schema
    report = generate_questions(folder, tmp_path / "q.jsonl", 20, model=script()[0], write=False)
    read = read_inventory(folder)
    dangling = [edge for edge in read.edges if not {edge[0], edge[2]} <= {*read.nodes}]
    assert report.documents.total == len(read.documents)
    assert report.relations.total == len(read.edges) - len(dangling)
    assert report.forecast is not None
    unused = [int(note.split()[3]) for note in report.notes if note.startswith("not asked about")]
    assert sum(unused) <= report.relations.total
    if len(read.documents) == 1:  # the published tables, whose texts name what the descriptions do
        assert report.accepted["single_fact"] > 5
        assert report.accepted["multi_hop"] > 5


@pytest.mark.parametrize("table", ["text_units", "entities", "relationships"])
def test_a_missing_table_is_refused(tmp_path, table):
    """The message names the table and says what to do."""
    index = write_graphrag_fleet(tmp_path / "index", **{table: None})
    with pytest.raises(DataError, match=rf"found no {table}.parquet; index again with GraphRAG, or give"):
        generate_questions(index, tmp_path / "q.jsonl")


def test_chunks_without_texts_are_refused(tmp_path):
    """Without any text there is nothing to draw from."""
    units = [{"id": "unit-tansy", "text": " ", "document_id": "hash-tansy"}]
    index = write_graphrag_fleet(tmp_path / "index", text_units=units)
    with pytest.raises(DataError, match=r"expected chunks with a text and a document, found none in 1 chunks"):
        generate_questions(index, tmp_path / "q.jsonl")


def test_a_missing_table_of_documents_leaves_their_ids(tmp_path):
    """Text units have the ids of their documents, so that the table of documents is not needed."""
    index = write_graphrag_fleet(tmp_path / "index", documents=None)
    draw(index, tmp_path, 3, types=["single_fact"])
    documents = {each for case in read_cases(tmp_path / "q.jsonl") for each in case.gold.essential_docs}
    assert documents
    assert documents <= {f"hash-{name}" for name in FLEET}
