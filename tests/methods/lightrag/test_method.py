"""The adapter of LightRAG, but for the package itself: benchmarks/graphrag_adapter.py runs that."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest
from lightrag_stand_in import DATA, Rag, param

from greval.errors import DataError, MethodError
from greval.methods.inventories import read_inventory
from greval.methods.lightrag.index import read_lightrag
from greval.methods.lightrag.method import LightRagMethod, load
from greval.methods.lightrag.records import build_response
from greval.records.case import Effort, Sample, Traversal
from greval.records.inventory import Inventory

STORES = {
    "doc_status": {
        "doc-1": {"chunks_list": ["c1"], "file_path": "one.txt"},
        "doc-2": {"chunks_list": ["c2"], "file_path": "unknown_source"},
    },
    "full_entities": {"doc-1": {"entity_names": ["Ada"]}, "doc-2": {"entity_names": ["Ada", "Notes"]}},
    "full_relations": {"doc-2": {"relation_pairs": [["Notes", "Ada"], ["Ada", "Bob"]]}},
}
GRAPH = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="source_id" attr.type="string" />
  <key id="d1" for="edge" attr.name="description" attr.type="string" />
  <key id="d2" for="edge" attr.name="source_id" attr.type="string" />
  <graph edgedefault="undirected">
    <node id="Ada"><data key="d0">c1&lt;SEP&gt;c9</data></node>
    <node id="Notes"><data key="d0">c1</data></node>
    <edge source="Notes" target="Ada">
      <data key="d1">Ada wrote them.&lt;SEP&gt;She was first.</data><data key="d2">c1</data>
    </edge>
  </graph>
</graphml>
"""
EDGE = ("Ada", "Ada wrote them. She was first.", "Notes")


def write(folder, stores=STORES, graph=GRAPH):
    """Write the files of a working folder."""
    for name, rows in stores.items():
        (folder / f"kv_store_{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    if graph:
        (folder / "graph_chunk_entity_relation.graphml").write_text(graph, encoding="utf-8")
    return folder


def test_whole_files(data_set):
    """The files of several documents load; their counts are those of the files themselves."""
    folder = data_set("lightrag_novel_kv")
    entities, relations, status = (
        json.loads((folder / f"kv_store_{name}.json").read_text(encoding="utf-8"))
        for name in ("full_entities", "full_relations", "doc_status")
    )
    found = read_inventory(folder)
    assert found.documents == {*status}
    assert len(found.chunks) == sum(row["chunks_count"] for row in status.values()) > 0
    assert {*found.nodes} == {name for row in entities.values() for name in row["entity_names"]}
    pairs = {frozenset(pair) for row in relations.values() for pair in row["relation_pairs"]}
    assert {frozenset((source, target)) for source, _, target in found.edges} == pairs
    assert len(found.edges) == len(pairs)
    assert {label for _, label, _ in found.edges} == {"related"}
    assert found.notes == ()


def test_graph_and_names(tmp_path):
    """The graph's file and the names of each document are put together; an end that is no node is told."""
    assert read_lightrag(write(tmp_path)) == Inventory(
        documents=frozenset({"doc-1", "doc-2"}),
        chunks={"c1": "doc-1", "c2": "doc-2"},
        nodes={"Ada": ("doc-1", "doc-2"), "Notes": ("doc-1", "doc-2")},
        edges={EDGE: ("doc-1", "doc-2"), ("Ada", "related", "Bob"): ("doc-2",)},
        notes=("1 edge has an end that is no node of the graph: 'Bob'",),
    )


def test_paths(tmp_path):
    """`?document=path` names documents by their files; where the path is not known the id stands."""
    found = read_inventory(f"{write(tmp_path)}?document=path")
    assert found.documents == {"one.txt", "doc-2"}
    assert found.edges[EDGE] == ("one.txt", "doc-2")
    assert found.chunks == {"c1": "one.txt", "c2": "doc-2"}


def test_missing_and_broken_files(tmp_path):
    """What is missing is told; a file that cannot be read is named."""
    write(tmp_path, {"text_chunks": {"c1": {"full_doc_id": "doc-1"}}}, graph=None)
    found = read_lightrag(tmp_path)
    assert found.documents == {"doc-1"}
    assert [note.split(" are unknown")[0] for note in found.notes] == ["its nodes", "its edges"]
    for name in ("kv_store_doc_status.json", "graph_chunk_entity_relation.graphml"):
        (tmp_path / name).write_text("<graphml>[", encoding="utf-8")
        with pytest.raises(DataError, match=rf"{name}: cannot be read as"):
            read_lightrag(tmp_path)
        (tmp_path / name).unlink()
    (tmp_path / "kv_store_text_chunks.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match="holds no object"):
        read_lightrag(tmp_path)
    with pytest.raises(DataError, match="no index of LightRAG"):
        read_lightrag(tmp_path / "nowhere")


def test_context_becomes_a_response(tmp_path):
    """Chunks, triples and the walk have the ids, the labels and the names of the inventory."""
    inventory = read_lightrag(write(tmp_path))
    response = build_response("It was Ada.", DATA, {"c1": "doc-1"}, "mix")
    assert [(c.id, c.doc_id) for c in response.chunks] == [*inventory.chunks.items()][:1]
    assert [(t.id, t.subject, t.predicate, t.object) for t in response.triples] == [
        ("relation:Ada|Notes", *EDGE),
        ("entity:Notes", "Notes", "description", "A text."),
    ]
    assert response.traversal == Traversal(
        start_nodes=("Notes", "Ada"), traversed_edges=(EDGE,), final_nodes=("Notes", "Ada")
    )
    assert {*response.traversal.traversed_edges} <= {*inventory.edges}


def test_modes_without_a_start():
    """The mode `global` begins at relations, and `naive` has no walk at all."""
    assert build_response("So.", DATA, {}, "global").traversal.start_nodes == ()
    assert build_response("So.", {"chunks": DATA["chunks"]}, {}, "naive").traversal is None


async def test_answer_arrives():
    """A question gives the answer, the context and what was spent; the cache is off."""
    rag = Rag()
    response = await LightRagMethod(rag, param)(Sample(question="Who was it?"))
    assert response.answer == "It was Ada."
    assert [(c.id, c.doc_id) for c in response.chunks] == [("c1", "doc-1")]
    assert response.usage == Effort(latency=response.usage.latency, llm_calls=2, prompt_tokens=12, output_tokens=4)
    assert not rag.enable_llm_cache
    assert not rag.llm_response_cache.global_config["enable_llm_cache"]


async def test_queries_at_once():
    """The object is made and opened once, and each query counts its own calls."""
    made = []

    async def build():
        made.append(Rag())
        await asyncio.sleep(0.001)
        return made[-1]

    numbers = iter(range(1, 6))
    method = LightRagMethod(build, lambda: param(calls=next(numbers)), "path")
    responses = await asyncio.gather(*[method(Sample(question="Who was it?")) for _ in range(5)])
    assert sorted(response.usage.llm_calls for response in responses) == [1, 2, 3, 4, 5]
    assert [rag.opened for rag in made] == [1]
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


async def test_error_of_a_query_is_raised():
    """What a query raises, such as for a question of one letter, is told with its kind."""
    rag = Rag()
    rag.text_chunks = None
    rag.aquery_llm = lambda question, param: 1 / 0
    with pytest.raises(MethodError, match="lightrag: ZeroDivisionError"):
        await LightRagMethod(rag, param)(Sample(question="?"))


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
    asked = sys.modules["my_rag"].rag.asked
    assert [*map(vars, asked)] == [{"calls": 1, "mode": "local", "stream": False, "top_k": 3, "enable_rerank": False}]
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


def test_wrong_specs():
    """A wrong option and a missing package are told with what to do."""
    with pytest.raises(MethodError, match="mode: expected one of mix, local, global, hybrid, naive, got 'walk'"):
        load("my_rag:rag?mode=walk")
    with pytest.raises(MethodError, match="lightrag is not installed beside greval: pip install 'lightrag-hku"):
        load("my_rag:rag?mode=mix")
