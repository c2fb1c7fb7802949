"""The reference pipeline as a method: specs, responses that name what is in the index, filters and usage."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from small_index import make_harbour_index

from greval import Sample
from greval.errors import DataError, MethodError
from greval.methods.loading import default_name, load_method
from greval.reference.building import build_index
from greval.reference.method import ReferenceMethod, open_shared_index
from greval.reference.settings import IndexSettings, SearchSettings
from greval.testing import ScriptedJudge

QUESTION = "Who owns the ferry MV Tern?"
SEARCHES = ("basic", "bm25", "graph", "local", "hybrid")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of an index that was built from three documents."""
    target = tmp_path_factory.mktemp("indexed")
    documents = target / "docs.jsonl"
    documents.write_text(
        '{"id": "tern", "title": "MV Tern", "text": "MV Tern belongs to Petrel Ferries.", "repo": "fleet"}\n'
        '{"id": "owner", "title": "Petrel Ferries", "text": "Petrel Ferries employs Ada Quill.", "repo": "people"}\n'
        '{"id": "town", "title": "Skerry", "text": "Skerry is a harbour town.", "repo": "places"}\n'
    )
    build_index(documents, target / "index", IndexSettings(embedding="tfidf"))
    return target / "index"


def ask(method, question=QUESTION, **tags):
    return asyncio.run(method(Sample(question=question, tags=tags)))


@examples(max_examples=20)
@given(st.sampled_from(SEARCHES), st.sampled_from([QUESTION, "Skerry and Ada Quill", "why?"]), st.integers(1, 7))
def test_every_id_of_a_response_is_in_the_index(search, question, k):
    """Chunks, triples and nodes of a response are those of the index, with its texts."""
    index = make_harbour_index()
    response = ask(ReferenceMethod(index, search, SearchSettings(k=k), aggregates=False), question)
    assert {chunk.id: chunk.text for chunk in response.chunks}.items() <= {
        name: chunk.content for name, chunk in index.chunks.items()
    }.items()
    stored = {f"{each.source}|{each.label}|{each.target}" for each in index.relations}
    assert {triple.id for triple in response.triples or ()} <= stored
    if response.traversal:
        assert {*response.traversal.visited} <= {*index.entities}
    assert len(response.chunks) <= k
    assert response.answer


def test_triples_that_returned_chunks_state_come_first():
    """Among the relations that were followed, those of the first chunk are the first."""
    method = ReferenceMethod(make_harbour_index(), "graph", SearchSettings(k=1, graph="activation"), aggregates=False)
    response = ask(method)
    assert [chunk.id for chunk in response.chunks] == ["tern#1"]
    assert response.triples[0].id == "MV Tern|belongs to|Petrel Ferries"
    assert len(response.triples) == 4
    fewer = ReferenceMethod(make_harbour_index(), "graph", SearchSettings(triples=2), aggregates=False)
    assert len(ask(fewer).triples) == 2


def test_the_traversal_names_start_edges_and_ends():
    """It starts at the entities of the question, and ends at the reached entities of the returned chunks."""
    settings = SearchSettings(k=2, graph="activation")
    walk = ask(ReferenceMethod(make_harbour_index(), "graph", settings, aggregates=False)).traversal
    assert walk.start_nodes == ("MV Tern",)
    assert ("MV Tern", "belongs to", "Petrel Ferries") in walk.traversed_edges
    assert {*walk.final_nodes} == {"MV Tern", "Petrel Ferries", "Harland Yard"}


@pytest.mark.parametrize("search", ["basic", "bm25"])
def test_searches_without_a_graph_record_none(search):
    """Not recorded differs from recorded and empty."""
    response = ask(ReferenceMethod(make_harbour_index(), search))
    assert (response.triples, response.traversal, response.aggregates) == (None, None, None)
    fallback = ask(ReferenceMethod(make_harbour_index(), "hybrid", aggregates=False), "why?")
    assert fallback.traversal.visited == ()
    assert fallback.triples == ()


def test_a_model_answers_and_its_usage_is_counted():
    """The answer and the tokens are those of the model."""
    judge = ScriptedJudge(["Petrel Ferries."])
    response = ask(ReferenceMethod(make_harbour_index(), "hybrid", answer=judge, aggregates=False))
    assert response.answer == "Petrel Ferries."
    usage = response.usage
    assert (usage.llm_calls, usage.prompt_tokens, usage.output_tokens) == (1, 100, 20)
    assert "MV Tern belongs to Petrel Ferries." in str(judge.calls)
    without = ask(ReferenceMethod(make_harbour_index(), "basic")).usage
    assert (without.llm_calls, without.prompt_tokens, without.cost) == (0, 0, 0)
    assert without.latency > 0


def test_a_model_names_what_a_question_describes():
    """Its names are linked besides those of the question; several searches ask once, and each counts the call."""

    def reply(messages):
        if '"names"' in messages[0].content:
            assert "<question>" in messages[-1].content
            return '{"names": ["MV Tern", "", 7, "MV Tern", "Nobody"]}'
        return "Petrel Ferries."

    index, judge = make_harbour_index(), ScriptedJudge(reply)
    question = "Who owns the blue ship of Skerry?"
    named = SearchSettings(entities="model")
    methods = [ReferenceMethod(index, search, named, answer=judge, aggregates=False) for search in ("local", "hybrid")]
    for method in methods:
        response = ask(method, question)
        assert response.traversal.start_nodes == ("Skerry", "MV Tern")
        assert (response.usage.llm_calls, response.usage.prompt_tokens) == (2, 200)
    assert len(judge.calls) == 3
    by_words = ask(ReferenceMethod(index, "local", answer=judge, aggregates=False), question)
    assert by_words.traversal.start_nodes == ("Skerry",)
    # A search of texts links no entity, and so asks for none.
    assert ask(ReferenceMethod(index, "basic", named, answer=judge), question).usage.llm_calls == 1
    with pytest.raises(MethodError, match="entities: model asks the answering model"):
        ReferenceMethod(index, "local", named)


def test_names_that_cannot_be_read_are_none():
    """The question is then searched for by its words."""
    judge = ScriptedJudge(lambda messages: "no JSON" if '"names"' in messages[0].content else "Petrel Ferries.")
    settings = SearchSettings(entities="model")
    method = ReferenceMethod(make_harbour_index(), "local", settings, answer=judge, aggregates=False)
    response = ask(method, "Who owns the ships of Skerry?")
    assert response.traversal.start_nodes == ("Skerry",)
    assert response.answer == "Petrel Ferries."


def test_tags_of_the_sample_filter_chunks():
    """The value of each named tag must be that of the chunk; a sample without the tag is an error."""
    method = ReferenceMethod(make_harbour_index(), "hybrid", where=["repo"], aggregates=False)
    assert {chunk.repo for chunk in ask(method, repo="people").chunks} == {"people"}
    with pytest.raises(MethodError, match="no tag 'repo'"):
        ask(method)
    unknown_field = ReferenceMethod(make_harbour_index(), "hybrid", where=["colour"], aggregates=False)
    with pytest.raises(DataError, match="colour"):
        ask(unknown_field, colour="red")


def test_a_spec_loads_every_search_of_an_index(folder):
    """Each search answers from the folder, with the given number of chunks."""
    for search in SEARCHES:
        spec = f"reference:{folder}?search={search}&k=2&alpha=0.5&aggregates=false"
        assert default_name(spec) == search
        response = ask(load_method(spec))
        assert response.chunks[0].doc_id in {"tern", "owner"}
        assert len(response.chunks) <= 2
    assert repr(load_method(f"reference:{folder}")) == f"ReferenceMethod('{folder}', 'hybrid')"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("search=best", "search: expected one of basic, bm25"),
        ("search=tog", "answer=local"),
        ("alpha=2", "alpha: should be less than or equal to 1, got '2'"),
        ("k=many", "k: should be a valid integer"),
        ("fusion=sum", "fusion: expected one of weighted, minmax, rrf"),
        ("alpa=1", "unknown option 'alpa'"),
        ("k=1&k=2", "given twice"),
    ],
)
def test_what_is_wrong_in_a_spec_is_named(folder, options, message):
    """The message has the option, what was expected and what was found."""
    with pytest.raises(MethodError) as raised:
        load_method(f"reference:{folder}?{options}")
    assert message in str(raised.value)


def test_a_folder_without_an_index_is_an_error(tmp_path):
    """The message says how to make one."""
    with pytest.raises(MethodError, match="greval index build"):
        load_method(f"reference:{tmp_path}?search=basic")


def test_methods_of_one_folder_share_its_index_until_it_is_built_anew(folder):
    """The same object is returned while the index is the same."""
    first = load_method(f"reference:{folder}?search=basic")
    assert load_method(f"reference:{folder}/?search=hybrid").index is first.index
    build_index([folder.parent / "docs.jsonl"], folder, IndexSettings(embedding="tfidf", chunk_chars=900))
    assert open_shared_index(folder) is not first.index


async def test_many_questions_at_once(folder):
    """Concurrent questions get the responses that they get alone."""
    method = load_method(f"reference:{folder}?search=hybrid&aggregates=false")
    questions = [QUESTION, "Where is Skerry?", "Who employs Ada Quill?"] * 4
    together = await asyncio.gather(*(method(Sample(question=each)) for each in questions))
    for question, response in zip(questions, together, strict=True):
        alone = await method(Sample(question=question))
        assert alone.model_copy(update={"usage": None}) == response.model_copy(update={"usage": None})
