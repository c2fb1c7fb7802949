"""The adapter of Microsoft GraphRAG, but for the package itself: benchmarks/graphrag_adapter.py runs that."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from chat_streams import count_words, streamed
from graphrag_tables import SOURCES, TABLES

from greval.datasets.replies.graphrag import IndexIds
from greval.errors import MethodError
from greval.methods.graphrag.method import GraphRagMethod, build_search, load
from greval.methods.query_trace import get_current_trace
from greval.records.case import ResponseUsage, Sample


def engine(*, fails=False, answer=("Ada ", "wrote it.")):
    """Give an engine as GraphRAG's: its search is broken, and its streaming search swallows errors."""

    async def completion_async(**_):
        return streamed(*answer, fails=fails)

    def found(**_):
        return [
            SimpleNamespace(document=SimpleNamespace(id=unit), score=score)
            for unit, score in (("u-a", 0.9), ("u-b", 0.2))
        ]

    model = SimpleNamespace(completion_async=completion_async, tokenizer=SimpleNamespace(num_tokens=count_words))
    store = SimpleNamespace(similarity_search_by_text=found)

    async def stream_search(query):
        store.similarity_search_by_text(text=query)
        get_current_trace().contexts.append({"sources": SOURCES})
        try:
            async for part in await built.model.completion_async(messages=query, stream=True):
                yield part.choices[0].delta.content
        except ConnectionError:
            yield ""

    builder = SimpleNamespace(text_unit_embeddings=store)
    built = SimpleNamespace(model=model, context_builder=builder, stream_search=stream_search)
    return built


async def test_answer_arrives():
    """A question gives the answer, the context and what was spent."""
    method = GraphRagMethod(build_search(engine(), "local"), IndexIds.from_tables(TABLES))
    response = await method(Sample(question="Who wrote it?"))
    assert response.answer == "Ada wrote it."
    assert [c.id for c in response.chunks] == ["u-b", "u-a"]
    counted = response.usage.model_copy(update={"latency": None, "waited": None})
    assert counted == ResponseUsage(llm_calls=1, prompt_tokens=3, output_tokens=3)
    assert response.usage.latency > 0


async def test_basic_is_ranked():
    """The chunks of basic search are in the order of their similarity, which the context does not keep."""
    method = GraphRagMethod(build_search(engine(), "basic"), IndexIds.from_tables(TABLES))
    response = await method(Sample(question="Who wrote it?"))
    assert [(c.id, c.score) for c in response.chunks] == [("u-a", 0.9), ("u-b", 0.2)]


async def test_engines_with_one_model():
    """GraphRAG's engines share a model: each call of it is counted once."""
    first_engine, second_engine = engine(), engine()
    second_engine.model = first_engine.model
    first, second = build_search(first_engine, "local"), build_search(second_engine, "local")
    for search in (first, second):
        response = await GraphRagMethod(search, IndexIds())(Sample(question="Who wrote it?"))
        assert (response.usage.llm_calls, response.usage.prompt_tokens) == (1, 3)


async def test_swallowed_error_is_raised():
    """An error that GraphRAG passes over is the method's error, also where it has an answer."""
    method = GraphRagMethod(build_search(engine(fails=True), "local"), IndexIds())
    with pytest.raises(MethodError, match="it continued after an error: ConnectionError: gone"):
        await method(Sample(question="Who wrote it?"))


def test_wrong_specs(tmp_path):
    """A folder that is no project and a missing package are errors that say what to do."""
    with pytest.raises(MethodError, match=r"settings\.yaml is not there; name the root"):
        load(str(tmp_path))
    (tmp_path / "settings.yaml").touch()
    with pytest.raises(MethodError, match="graphrag is not installed beside greval: pip install 'graphrag>=3,<4'"):
        load(str(tmp_path))
