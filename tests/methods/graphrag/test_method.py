"""The adapter of Microsoft GraphRAG, but for the package itself: benchmarks/graphrag_adapter.py runs that."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pandas as pd
import pytest

from greval.errors import MethodError
from greval.methods.graphrag.engines import build_search
from greval.methods.graphrag.method import GraphRagMethod, load
from greval.methods.graphrag.records import IndexIds, build_response
from greval.methods.query_trace import get_current_trace, trace_chat_model, trace_query
from greval.records.case import Effort, Sample, Traversal

TABLES = {
    "documents": pd.DataFrame({"id": ["d1", "d2"], "title": ["one.txt", "two.txt"]}),
    "text_units": pd.DataFrame({"id": ["u-a", "u-b"], "human_readable_id": [0, 1], "document_id": ["d1", "d2"]}),
    "entities": pd.DataFrame({"id": ["e-a"], "human_readable_id": [4]}),
    "relationships": pd.DataFrame({"id": ["r-a"], "human_readable_id": [7]}),
    "communities": pd.DataFrame({"community": [2, 3], "text_unit_ids": [["u-a"], ["u-a", "u-b"]]}),
    "covariates": None,
}
SOURCES = pd.DataFrame({"id": ["1", "0"], "text": ["second", "first"]})
CONTEXT = {
    "sources": SOURCES,
    "entities": pd.DataFrame({"id": ["4", "9"], "entity": ["ADA", "BOB"], "description": ["A writer.", ""]}),
    "relationships": pd.DataFrame(
        {"id": ["7"], "source": ["ADA"], "target": ["NOTES"], "description": ["Ada wrote\n them."], "weight": ["1"]}
    ),
    "claims": pd.DataFrame({"id": ["3"], "entity": ["ADA"], "description": ["Ada was first."], "status": ["TRUE"]}),
    "reports": pd.DataFrame({"id": ["2", "3"], "title": ["x", "y"], "content": ["All about Ada.", "All."]}),
}


def chunk(text, usage=None):
    """Give a streamed part of an answer, in OpenAI's form."""
    return SimpleNamespace(choices=[SimpleNamespace(delta=SimpleNamespace(content=text))], usage=usage)


def words(text):
    """Count words as tokens."""
    return len(text.split())


async def streamed(*texts, fails=False):
    """Stream these texts, and break off where it shall fail."""
    for text in texts:
        yield chunk(text)
    if fails:
        raise ConnectionError("gone")


def test_numbers_become_ids():
    """Numbers of the context become the ids of the index, and chunks know their documents."""
    response = build_response("It was Ada.", [CONTEXT], IndexIds.from_tables(TABLES))
    assert [(c.id, c.text, c.doc_id) for c in response.chunks] == [
        ("u-b", "second", "d2"),
        ("u-a", "first", "d1"),
        ("report:2", "All about Ada.", "d1"),
        ("report:3", "All.", None),
    ]
    assert [c.doc_id for c in build_response("", [CONTEXT], IndexIds.from_tables(TABLES, "title")).chunks[:2]] == [
        "two.txt",
        "one.txt",
    ]


def test_triples_and_walk():
    """Relationships come first, then descriptions and claims; the walk begins at the entities."""
    response = build_response("It was Ada.", [CONTEXT], IndexIds.from_tables(TABLES))
    assert [(t.id, t.subject, t.predicate, t.object) for t in response.triples] == [
        ("r-a", "ADA", "Ada wrote them.", "NOTES"),
        ("e-a", "ADA", "description", "A writer."),
        ("claims:3", "ADA", "claim", "Ada was first."),
    ]
    assert response.traversal == Traversal(
        start_nodes=("ADA", "BOB"),
        traversed_edges=(("ADA", "Ada wrote them.", "NOTES"),),
        final_nodes=("ADA", "BOB", "NOTES"),
    )


def test_no_graph_no_walk():
    """Without entities in the context there is no walk, and that there are no triples is recorded."""
    response = build_response("So.", [{"sources": SOURCES}], IndexIds.from_tables(TABLES))
    assert response.traversal is None
    assert response.triples == ()
    assert build_response("So.", [{}], IndexIds()).chunks == ()


def test_several_contexts():
    """What several contexts of a search hold is there once, at its first place."""
    other = {"sources": pd.DataFrame({"id": ["5", "0"], "text": ["new", "first, cut"]})}
    response = build_response("So.", [CONTEXT, other, CONTEXT], IndexIds.from_tables(TABLES))
    assert [c.id for c in response.chunks] == ["u-b", "u-a", "sources:5", "report:2", "report:3"]
    assert [c.text for c in response.chunks[:3]] == ["second", "first", "new"]
    assert len(response.triples) == 3


def test_candidates_are_left_out():
    """A row that was a candidate and is not in the context was not given to the model."""
    sources = SOURCES.assign(in_context=[False, True])
    assert [c.id for c in build_response("So.", [{"sources": sources}], IndexIds.from_tables(TABLES)).chunks] == ["u-a"]


def test_reports_as_aggregates():
    """Community reports are aggregates where that is asked for."""
    response = build_response("So.", [CONTEXT], IndexIds.from_tables(TABLES), reports="aggregates")
    assert response.aggregates == ("All about Ada.", "All.")
    assert [c.id for c in response.chunks] == ["u-b", "u-a"]


async def test_usage_of_a_call():
    """Tokens are the endpoint's where it tells them, else those of the texts."""
    usage = SimpleNamespace(prompt_tokens=70, completion_tokens=9)
    whole = SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="a b"))], usage=usage)

    async def ask(**given):
        return streamed("one ", "two") if given.get("stream") else whole

    asked = trace_chat_model(ask, words)
    with trace_query("graphrag") as watch:
        await asked(messages="who was it")
        messages = [{"role": "system", "content": "be short"}, {"role": "user", "content": "who was it"}]
        parts = [part async for part in await asked(messages=messages, stream=True)]
    assert [part.choices[0].delta.content for part in parts] == ["one ", "two"]
    assert (watch.calls, watch.prompt_tokens, watch.output_tokens) == (2, 70 + 5, 9 + 2)


async def test_usage_of_a_stream():
    """A stream that tells its usage, in its last part, is counted by that; a call outside a query by none."""

    async def told():
        yield chunk("one two")
        yield chunk("", SimpleNamespace(prompt_tokens=70, completion_tokens=9))

    async def ask(**_):
        return told()

    with trace_query("graphrag") as watch:
        assert len([part async for part in await trace_chat_model(ask, words)(messages="who")]) == 2
    assert len([part async for part in await trace_chat_model(ask, words)(messages="who")]) == 2
    assert (watch.calls, watch.prompt_tokens, watch.output_tokens) == (1, 70, 9)


async def test_failed_calls():
    """A call that fails is counted and told to the watch, and so is a stream that breaks off."""

    async def ask(**given):
        if given.get("stream"):
            return streamed("one ", fails=True)
        raise TimeoutError("late")

    with trace_query("graphrag") as watch:
        with pytest.raises(TimeoutError):
            await trace_chat_model(ask, words)(messages="who")
        with pytest.raises(ConnectionError):
            [part async for part in await trace_chat_model(ask, words)(messages="who", stream=True)]
    assert [str(error) for error in watch.errors] == ["late", "gone"]
    assert (watch.calls, watch.prompt_tokens, watch.output_tokens) == (2, 1, 1)


async def test_queries_at_once():
    """Each query counts its own calls, those of its tasks too."""

    async def ask(**_):
        await asyncio.sleep(0.001)
        return streamed("so")

    asked = trace_chat_model(ask, words)

    async def call():
        return [part async for part in await asked(messages="x")]

    async def query(calls):
        with trace_query("graphrag") as watch:
            await asyncio.gather(*[call() for _ in range(calls)])
        return watch.calls, watch.output_tokens

    assert await asyncio.gather(*map(query, range(1, 6))) == [(n, n) for n in range(1, 6)]


def engine(*, fails=False, answer=("Ada ", "wrote it.")):
    """Give an engine as GraphRAG's: its search is broken, and its streaming search swallows errors."""

    async def completion_async(**_):
        return streamed(*answer, fails=fails)

    def found(**_):
        return [
            SimpleNamespace(document=SimpleNamespace(id=unit), score=score)
            for unit, score in (("u-a", 0.9), ("u-b", 0.2))
        ]

    model = SimpleNamespace(completion_async=completion_async, tokenizer=SimpleNamespace(num_tokens=words))
    store = SimpleNamespace(similarity_search_by_text=found)

    async def stream_search(query):
        store.similarity_search_by_text(text=query)
        get_current_trace().contexts.append({"sources": SOURCES})
        try:
            async for part in await made.model.completion_async(messages=query, stream=True):
                yield part.choices[0].delta.content
        except ConnectionError:
            yield ""

    builder = SimpleNamespace(text_unit_embeddings=store)
    made = SimpleNamespace(model=model, context_builder=builder, stream_search=stream_search)
    return made


async def test_answer_arrives():
    """A question gives the answer, the context and what was spent."""
    method = GraphRagMethod(build_search(engine(), "local"), IndexIds.from_tables(TABLES))
    response = await method(Sample(question="Who wrote it?"))
    assert response.answer == "Ada wrote it."
    assert [c.id for c in response.chunks] == ["u-b", "u-a"]
    assert response.usage == Effort(latency=response.usage.latency, llm_calls=1, prompt_tokens=3, output_tokens=3)
    assert response.usage.latency > 0


async def test_basic_is_ranked():
    """The chunks of basic search are in the order of their similarity, which the context does not keep."""
    method = GraphRagMethod(build_search(engine(), "basic"), IndexIds.from_tables(TABLES))
    response = await method(Sample(question="Who wrote it?"))
    assert [(c.id, c.score) for c in response.chunks] == [("u-a", 0.9), ("u-b", 0.2)]


async def test_engines_with_one_model():
    """GraphRAG's engines share a model: each call of it is counted once."""
    one, other = engine(), engine()
    other.model = one.model
    first, second = build_search(one, "local"), build_search(other, "local")
    for search in (first, second):
        response = await GraphRagMethod(search, IndexIds())(Sample(question="Who wrote it?"))
        assert (response.usage.llm_calls, response.usage.prompt_tokens) == (1, 3)


async def test_swallowed_error_is_raised():
    """An error that GraphRAG passes over is the method's error, also where it has an answer."""
    method = GraphRagMethod(build_search(engine(fails=True), "local"), IndexIds())
    with pytest.raises(MethodError, match="it continued after an error: ConnectionError: gone"):
        await method(Sample(question="Who wrote it?"))


async def test_empty_answer_is_raised():
    """An empty answer is an error, never an answer."""
    method = GraphRagMethod(build_search(engine(answer=(" ",)), "local"), IndexIds())
    with pytest.raises(MethodError, match="the answer is empty"):
        await method(Sample(question="Who wrote it?"))


async def test_error_of_a_search_is_raised():
    """What a search raises is told with its kind."""

    async def search(_):
        raise KeyError("u9")

    with pytest.raises(MethodError, match="graphrag: KeyError: 'u9'"):
        await GraphRagMethod(search, IndexIds())(Sample(question="Who wrote it?"))


def test_wrong_specs(tmp_path):
    """A wrong option, a folder that is no project and a missing package are told with what to do."""
    with pytest.raises(MethodError, match="method: expected one of local, global, drift, basic, got 'walk'"):
        load(f"{tmp_path}?method=walk")
    with pytest.raises(MethodError, match="unknown option 'mode'; the options are method, community_level"):
        load(f"{tmp_path}?mode=local")
    with pytest.raises(MethodError, match=r"settings\.yaml is not there; name the root"):
        load(str(tmp_path))
    (tmp_path / "settings.yaml").touch()
    with pytest.raises(MethodError, match="graphrag is not installed beside greval: pip install 'graphrag>=3,<4'"):
        load(str(tmp_path))
