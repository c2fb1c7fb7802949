"""Replies of systems are read the same in a file of cases, from a function and from an endpoint."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import pandas as pd
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from greval.datasets.case_reader import read_cases
from greval.datasets.case_records import read_records
from greval.datasets.record_rows import to_plain
from greval.errors import MethodError
from greval.methods.endpoint import ReplyMapping
from greval.methods.responses import as_response
from greval.records.case import Case, Response

TEXT = "The pier was built by Oda."
ENTITIES = [
    {"entity_name": "Pier", "entity_type": "place", "description": "a pier", "source_id": "k1", "file_path": "pier.md"},
    {"entity_name": "Oda", "entity_type": "person", "description": "", "source_id": "k1", "file_path": "pier.md"},
]
RELATIONS = [{"src_id": "Oda", "tgt_id": "Pier", "description": "Oda built the pier", "weight": 1.0}]
CHUNKS = [{"reference_id": "1", "content": TEXT, "file_path": "pier.md", "chunk_id": "k1"}]
LIGHT = {"entities": ENTITIES, "relationships": RELATIONS, "chunks": CHUNKS, "references": []}
FOUND = {"status": "success", "message": "done", "data": LIGHT, "metadata": {"query_mode": "mix"}}
TABLES = {
    "sources": [{"id": "4", "text": TEXT}],
    "entities": [{"id": "2", "entity": "ODA", "description": "A builder."}],
    "relationships": [{"id": "7", "source": "ODA", "target": "PIER", "description": "built"}],
}
NODE = {
    "node": {"id_": "n1", "text": TEXT, "metadata": {"file_name": "pier.md"}, "class_name": "TextNode"},
    "score": 0.5,
}
ITEMS = {"items": [{"content": TEXT, "metadata": {"score": 0.5, "id": "n1"}}], "metadata": {"__retriever": "Vector"}}
PRINTED = f"""-----Entities-----
```csv
id,\tentity,\ttype,\tdescription,\trank
0,\t"ODA",\t"PERSON",\t"A builder.",\t2
```
-----Relationships-----
```csv
id,\tsource,\ttarget,\tdescription
0,\t"ODA",\t"PIER",\tbuilt
```
-----Sources-----
```csv
id,\tcontent
0,\t{TEXT}
```
"""


class Form(NamedTuple):
    """A reply, and what it holds."""

    reply: Any
    answer: str | None
    texts: list[str] | None = [TEXT]  # noqa: RUF012 - never changed
    starts: tuple[str, ...] = ()
    edges: int = 0


FORMS = {
    "LightRAG": Form(FOUND, None, starts=("Pier", "Oda"), edges=1),
    "LightRAG with an answer": Form(
        {**FOUND, "llm_response": {"content": "Oda."}}, "Oda.", starts=("Pier", "Oda"), edges=1
    ),
    "LightRAG, empty": Form({**FOUND, "data": {"entities": [], "relationships": [], "chunks": []}}, None, []),
    "LightRAG, context": Form(LIGHT, None, starts=("Pier", "Oda"), edges=1),
    "LightRAG, answer": Form(
        {"response": "Oda.", "references": [{"reference_id": "1", "file_path": "pier.md", "content": [TEXT]}]}, "Oda."
    ),
    "LightRAG, files": Form(
        {"response": "Oda.", "references": [{"reference_id": "1", "file_path": "pier.md"}]}, "Oda.", [None]
    ),
    "nano-graphrag, printed": Form(PRINTED, None, starts=("ODA",), edges=1),
    "GraphRAG": Form(["Oda.", TABLES], "Oda.", starts=("ODA",), edges=1),
    "GraphRAG, DRIFT": Form(["Oda.", {"Who?": TABLES, "When?": TABLES}], "Oda.", starts=("ODA",), edges=1),
    "GraphRAG, contexts in a list": Form(["Oda.", [TABLES]], "Oda.", starts=("ODA",), edges=1),
    "GraphRAG, search result": Form({"response": "Oda.", "context_data": TABLES}, "Oda.", starts=("ODA",), edges=1),
    "GraphRAG, columns": Form(["Oda.", {"sources": {"id": {"0": "4"}, "text": {"0": TEXT}}}], "Oda."),
    "neo4j, retriever": Form(ITEMS, None),
    "neo4j, answer": Form({"answer": "Oda.", "retriever_result": ITEMS}, "Oda."),
    "neo4j, records": Form({"records": [{"node": {"text": TEXT}, "score": 0.5}], "metadata": {}}, None),
    "LlamaIndex": Form({"response": "Oda.", "source_nodes": [NODE], "metadata": {}}, "Oda."),
    "LangChain, document": Form({"page_content": TEXT, "metadata": {}, "type": "Document"}, None),
    "LangChain, chain": Form({"query": "Who?", "result": "Oda.", "source_documents": [{"page_content": TEXT}]}, "Oda."),
    "LangChain, answer": Form({"answer": "Oda.", "context": [{"page_content": TEXT, "metadata": {}}]}, "Oda."),
}


def outline(response: Response | Case) -> tuple:
    """What a response holds, in the terms of a form."""
    walk = response.traversal
    return (
        response.answer,
        None if response.chunks is None else [chunk.text for chunk in response.chunks],
        walk.start_nodes if walk else (),
        len(walk.traversed_edges) if walk else 0,
    )


def read_row(folder, row):
    (folder / "a.jsonl").write_text(json.dumps(row), "utf-8")
    (case,) = read_cases(folder / "a.jsonl")
    return case


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_the_same_at_each_door(tmp_path, name):
    """A column of a file, the result of a function and the reply of an endpoint hold the same response."""
    form = FORMS[name]
    response = as_response(form.reply)
    assert outline(response) == form[1:]
    assert as_response(ReplyMapping({}).read(json.loads(json.dumps(form.reply)))) == response
    column = "context" if form.answer is None else "reply"
    case = read_row(tmp_path, {"id": "q1", "question": "Who built it?", column: form.reply})
    assert outline(case) == form[1:]
    assert {name: getattr(case, name) for name in ("chunks", "triples", "traversal")} == {
        name: getattr(response, name) for name in ("chunks", "triples", "traversal")
    }


ROWS = [name for name, form in FORMS.items() if isinstance(form.reply, dict) and "document" not in name]


@pytest.mark.parametrize("name", [name for name in ROWS if "records" not in name])
def test_a_row_may_be_the_reply(tmp_path, name):
    """A reply may be kept as the row itself, with the question beside it; the mapping tells its places."""
    form = FORMS[name]
    case = read_row(tmp_path, {"id": "q1", "question": "Who built it?", **form.reply})
    assert case.id == "q1"
    assert outline(case) == form[1:]


def test_the_places_of_a_reply_are_reported():
    """The columns are named by their paths, as `--column` takes them."""
    reading = read_records([{"question": "Who?", **FOUND}, {"question": "When?", "kept": FOUND}])
    assert [type(case) for case in reading] == [Case, Case]
    assert {"data.chunks": "chunks", "kept.data.relationships": "triples"}.items() <= reading.mapping.items()
    assert reading.ignored_columns == ()


@pytest.mark.parametrize(
    "reply",
    [
        {"status": "failure", "message": "No context", "data": {}, "metadata": {"failure_reason": "no_results"}},
        {"status": "failure", "message": "No context", "data": {}},
        {"status": "error", "message": "No context", "data": None, "metadata": {}},
        {"status": "failure", "message": "No context", "data": {}, "llm_response": {"content": None}},
    ],
)
def test_a_failed_reply_is_no_answer(tmp_path, reply):
    """LightRAG's failure is the error of a response, in which there is neither an answer nor a chunk."""
    assert as_response(reply) == Response(error="No context")
    for row in (reply, {"reply": reply}):
        case = read_row(tmp_path, {"question": "Who?", **row})
        assert (case.error, case.answer, case.chunks) == ("No context", None, None)


def test_a_status_of_its_own_is_no_reply(tmp_path):
    """A row with columns that are only called alike stays as it is."""
    row = {
        "question": "Who?",
        "answer": "Oda.",
        "status": "failed",
        "data": "x",
        "message": "late",
        "entities": ["Oda"],
    }
    case = read_row(tmp_path, row)
    assert (case.answer, case.error, case.tags) == ("Oda.", None, {"status": "failed", "data": "x", "message": "late"})


class Item(BaseModel):
    content: Any
    metadata: dict | None = None


class Found(BaseModel):
    items: list[Item]
    metadata: dict | None = None


@dataclass
class LlamaResponse:
    response: str
    source_nodes: list = field(default_factory=list)
    metadata: dict = field(default_factory=dict)


class LlamaNode:
    """A node as a class of its own, which is no record."""

    def __init__(self) -> None:
        self.id_, self.text, self.metadata = "n1", TEXT, {"file_name": "pier.md"}


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (("Oda.", {"sources": pd.DataFrame([{"id": "4", "text": TEXT}])}), "Oda."),
        (Found(items=[Item(content=TEXT)]), None),
        (SimpleNamespace(answer="Oda.", retriever_result=Found(items=[Item(content=TEXT)])), "Oda."),
        (LlamaResponse("Oda.", [SimpleNamespace(node=LlamaNode(), score=0.5)]), "Oda."),
        ([SimpleNamespace(node=LlamaNode(), score=0.5)], None),
        (Document(page_content=TEXT), None),
        ([Document(page_content=TEXT)], None),
        ([(Document(page_content=TEXT), 0.5)], None),
        (("Oda.", [Document(page_content=TEXT)]), "Oda."),
        (("Oda.", TEXT), "Oda."),
        (("Oda.", [pd.DataFrame([{"id": "4", "text": TEXT}])]), "Oda."),
        ({"answer": AIMessage("Oda."), "context": [Document(page_content=TEXT)]}, "Oda."),
        ([TEXT], None),
    ],
)
def test_objects_of_a_function(result, answer):
    """What a function returns is read by its attributes, without an import of the package that it is from."""
    response = as_response(result)
    assert response.answer == answer
    assert [chunk.text for chunk in response.chunks] == [TEXT]


def test_nodes_know_their_documents():
    """The id, the score and the file of a node are those of the chunk."""
    (chunk,) = as_response({"response": "Oda.", "source_nodes": [NODE]}).chunks
    assert (chunk.id, chunk.doc_id, chunk.score) == ("n1", "pier.md", 0.5)
    related = {"text": TEXT, "id_": "n2", "relationships": {"1": {"node_id": "pier"}}}
    (chunk,) = as_response([{"node": related, "score": None}]).chunks
    assert (chunk.id, chunk.doc_id) == ("n2", "pier")


def test_records_of_a_graph_are_texts():
    """The records that a graph chain found, and contents that are no text, become JSON."""
    steps = [{"query": "MATCH (n) RETURN n"}, {"context": [{"n.name": "Oda"}]}]
    response = as_response({"result": "Oda.", "intermediate_steps": steps})
    assert (response.answer, response.chunks[0].text) == ("Oda.", '{"n.name": "Oda"}')
    response = as_response({"items": [{"content": {"name": "Oda"}}, {"content": {"text": TEXT, "n": 1}}]})
    assert [chunk.text for chunk in response.chunks] == ['{"name": "Oda"}', TEXT]


def test_a_table_of_a_reply_is_plain():
    """A table inside a record is its rows."""
    assert to_plain({"sources": pd.DataFrame([{"id": "4"}])}) == {"sources": [{"id": "4"}]}


@pytest.mark.parametrize("answer", ["Sources:\n```json\n[{}]\n```", "-----\nNo table.", PRINTED])
def test_an_answer_with_tables_is_an_answer(tmp_path, answer):
    """A text in the column of the answer, or of what is expected, stays what it is, whatever it looks like."""
    case = read_row(tmp_path, {"question": "Who?", "answer": answer, "reference": answer})
    assert (case.answer, case.expected_answer, case.chunks) == (answer, answer, None)
    pair = ["Oda.", TABLES]
    (case,) = read_records([{"question": "Who?", "answer": "Oda.", "tags": {"a": 1}, "steps": ["a", "b"], "x": pair}])
    assert [chunk.text for chunk in case.chunks] == [TEXT]


def test_what_is_no_reply_is_refused():
    """An unknown name in a mapping of a function is an error also beside a reply that is known."""
    with pytest.raises(MethodError, match="answr: is not known; did you mean answer"):
        as_response({**FOUND, "answr": "x"})
