"""The adapter of LightRAG, but for the package itself: benchmarks/graphrag_adapter.py runs that."""

from __future__ import annotations

import asyncio
import sys

import pytest
from lightrag_stand_in import Rag, param

from greval.errors import MethodError
from greval.methods.lightrag.method import LightRagMethod, load
from greval.records.case import ResponseUsage, Sample


async def test_answer_arrives():
    """A question gives the answer, the context and what was spent; the cache is off."""
    rag = Rag()
    response = await LightRagMethod(rag, param)(Sample(question="Who was it?"))
    assert response.answer == "It was Ada."
    assert [(c.id, c.doc_id) for c in response.chunks] == [("c1", "doc-1")]
    counted = response.usage.model_copy(update={"latency": None, "waited": None})
    assert counted == ResponseUsage(llm_calls=2, prompt_tokens=12, output_tokens=4)
    assert not rag.enable_llm_cache
    assert not rag.llm_response_cache.global_config["enable_llm_cache"]


async def test_queries_at_once():
    """The object is made and opened once, and each query counts its own calls."""
    built = []

    async def build():
        built.append(Rag())
        await asyncio.sleep(0.001)
        return built[-1]

    numbers = iter(range(1, 6))
    method = LightRagMethod(build, lambda: param(calls=next(numbers)), "path")
    responses = await asyncio.gather(*[method(Sample(question="Who was it?")) for _ in range(5)])
    assert sorted(response.usage.llm_calls for response in responses) == [1, 2, 3, 4, 5]
    assert [rag.opened for rag in built] == [1]
    assert responses[0].chunks[0].doc_id == "one.txt"


async def test_one_object_for_several_modes():
    """Methods that share an object count each call once, and each has its own."""
    rag = Rag()
    methods = [LightRagMethod(rag, lambda n=n: param(calls=n)) for n in (1, 2, 3)]
    responses = await asyncio.gather(*[method(Sample(question="Who was it?")) for method in methods])
    assert [response.usage.llm_calls for response in responses] == [1, 2, 3]


@pytest.mark.parametrize(
    ("rag", "told"),
    [
        (Rag({"status": "failure", "message": "Query failed: no disk"}), "lightrag: Query failed: no disk"),
        (Rag({"status": "success", "llm_response": {"content": " "}}), "the answer is empty"),
        (Rag(fails=True), "it continued after an error: ConnectionError: gone"),
        (lambda: 1 / 0, "cannot be opened: ZeroDivisionError"),
        (Rag({"status": "success", "llm_response": None}), "the answer is empty"),
    ],
)
async def test_failures_are_raised(rag, told):
    """What LightRAG tells as a failure, passes over or answers with nothing is an error."""
    with pytest.raises(MethodError, match=told):
        await LightRagMethod(rag, param)(Sample(question="Who was it?"))


async def test_loading(tmp_path, monkeypatch):
    """A spec names the object and sets the parameters of its queries."""
    (tmp_path / "lightrag.py").write_text(
        "from types import SimpleNamespace\n\ndef QueryParam(**given):\n    return SimpleNamespace(calls=1, **given)\n",
        encoding="utf-8",
    )
    (tmp_path / "my_rag.py").write_text("from lightrag_stand_in import Rag\n\nrag = Rag()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    method = load("my_rag:rag?mode=local&top_k=3&enable_rerank=false&document=path")
    response = await method(Sample(question="Who was it?"))
    assert response.chunks[0].doc_id == "one.txt"
    params = sys.modules["my_rag"].rag.asked
    assert [*map(vars, params)] == [{"calls": 1, "mode": "local", "stream": False, "top_k": 3, "enable_rerank": False}]
    with pytest.raises(MethodError, match="top_k: expected a whole number, got 'few'"):
        load("my_rag:rag?top_k=few")
    for name in ("lightrag", "my_rag"):
        del sys.modules[name]


async def test_nothing_found():
    """Where LightRAG finds nothing its answer says so: that is an answer, from an empty context."""
    told = {"content": "Sorry, I'm not able to provide an answer."}
    rag = Rag({"status": "failure", "metadata": {"failure_reason": "no_results"}, "llm_response": told})
    response = await LightRagMethod(rag, param)(Sample(question="Who was it?"))
    assert (response.answer, response.chunks, response.triples) == (told["content"], (), ())
