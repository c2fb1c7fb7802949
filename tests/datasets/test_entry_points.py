"""One reader for all doors: a shape of input reads the same from a program, from a file and from standard input."""

from __future__ import annotations

import dataclasses
import io
import json
import sys
from typing import Any, NamedTuple

import polars as pl
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel

from greval.datasets.case_reader import read_cases
from greval.datasets.case_records import read_records
from greval.datasets.row_faults import RowFault
from greval.records.case import Case


class Shape(NamedTuple):
    """Input: its rows as JSON, what a program has in their place, and the cases and faults that come of it."""

    rows: Any
    read: list[Case]
    sdk: Any = None
    ignored: str | None = None
    faults: tuple[str, ...] = ()


class Turn(BaseModel):
    """A sample as ragas has it, with the fields that one turn leaves open."""

    user_input: str
    response: str | None = None
    retrieved_contexts: list[str] | None = None
    rubrics: dict[str, str] | None = None


@dataclasses.dataclass
class GoldStandard:
    """What a team keeps for each query."""

    query_id: str
    essential_docs: set[str]
    traversed_edges: list[tuple]


def pandas(rows):
    return pytest.importorskip("pandas").DataFrame(rows)


def records(rows):
    """Give what `to_dict("records")` gives of a table of pandas: missing texts are NaN there."""
    return pandas(rows).to_dict("records")


BASE = {"id": "q1", "question": "Who wrote it?", "answer": "Ada.", "expected_answer": "Ada Lovelace"}
ADA = Case(**BASE)
DOC = Document("Ada wrote it.", id="c9", metadata={"source": "notes.md", "page": 4})
SAID = AIMessage("Ada.")
DETAILED = {
    "metadata": {"methods": ["walk", "basic"]},
    "results": [
        {
            "imdb_key": "tt1",
            "question": "Who?",
            "ground_truth": "Ada",
            "methods": {
                "walk": {
                    "response": "Ada",
                    "scores": {"correctness": 1},
                    "efficiency": {"latency": 2.5, "llm_calls": 3},
                },
                "basic": {
                    "response": None,
                    "scores": {"correctness": None},
                    "efficiency": {"latency": None},
                    "failures": {"response": {"kind": "method", "message": "TimeoutError: 30 s"}},
                },
            },
        }
    ],
}
TWO = [{"question": "Who?", "answer": "Ada", "method": m} for m in ("walk", "basic")]
EDGES = {
    **BASE,
    "traversal": {"traversed_edges": [["a", "b"]]},
    "gold": {"expected_edges": [["a", "b"], ["b", "x", "c"]]},
}
TABLE = [{"id": 1, "question": "Who?", "answer": "Ada"}, {"id": 2, "question": "When?", "answer": None}]
READ = [Case(id="1", question="Who?", answer="Ada"), Case(id="2", question="When?")]
LOG = {"query_id": 4, "start_nodes": ["a"], "traversed_edges": [["a", "calls", "b"]], "final_nodes": ["b"]}
WALK = {"start_nodes": ["a"], "traversed_edges": [("a", "calls", "b")], "final_nodes": ["b"]}
TEXT = "The harbour team owns the booking service. It has three members."

SHAPES = {
    "greval's own names": Shape([BASE], [ADA]),
    "a record of ragas": Shape(
        [{"user_input": "Who?", "response": "Ada", "retrieved_contexts": ["A."]}],
        [Case(id="row-1", question="Who?", answer="Ada", chunks=["A."])],
        sdk=[Turn(user_input="Who?", response="Ada", retrieved_contexts=["A."])],
    ),
    "documents": Shape(
        [{**BASE, "chunks": [DOC.model_dump()]}],
        [Case(**BASE, chunks=[{"id": "c9", "text": "Ada wrote it.", "doc_id": "notes.md"}])],
        sdk=[{**BASE, "chunks": [DOC]}],
    ),
    "documents with scores": Shape(
        [{**BASE, "chunks": [[{"page_content": "A.", "metadata": {}}, 0.5]]}],
        [Case(**BASE, chunks=[{"id": "c1", "text": "A.", "score": 0.5}])],
        sdk=[{**BASE, "chunks": [(Document("A."), 0.5)]}],
    ),
    "messages": Shape(
        [{**BASE, "question": HumanMessage("Who wrote it?").model_dump(), "answer": SAID.model_dump()}],
        [ADA],
        sdk=[{**BASE, "question": HumanMessage("Who wrote it?"), "answer": SAID}],
    ),
    "dotted names": Shape(
        [{**BASE, "gold.essential_docs": ["d1"], "tags.movie": "tt1", "usage.latency": 2.5}],
        [Case(**BASE, gold={"essential_docs": ["d1"]}, tags={"movie": "tt1"}, usage={"latency": 2.5})],
    ),
    "edges of two": Shape(
        [EDGES],
        [
            Case(
                **BASE,
                traversal={"traversed_edges": [("a", "", "b")]},
                gold={"expected_edges": [("a", "", "b"), ("b", "x", "c")]},
            )
        ],
    ),
    "the log of a walk": Shape([LOG], [Case(id="4", question="4", traversal=WALK)]),
    "a dataclass with a set": Shape(
        [{"query_id": "q1", "essential_docs": ["d1", "d2"], "traversed_edges": [["a", "b"]]}],
        [
            Case(
                id="q1",
                question="q1",
                gold={"essential_docs": ["d1", "d2"]},
                traversal={"traversed_edges": [("a", "b")]},
            )
        ],
        sdk=[GoldStandard("q1", {"d2", "d1"}, [("a", "b")])],
    ),
    "results of greval eval": Shape(
        DETAILED,
        [
            Case(
                id="row-1",
                question="Who?",
                expected_answer="Ada",
                answer="Ada",
                method="walk",
                usage={"latency": 2.5, "llm_calls": 3},
                tags={"imdb_key": "tt1"},
            ),
            Case(
                id="row-1",
                question="Who?",
                expected_answer="Ada",
                method="basic",
                usage={},
                tags={"imdb_key": "tt1"},
                error="TimeoutError: 30 s",
            ),
        ],
        ignored="ignored scores",
    ),
    "context of ids beside its text": Shape(
        [{**BASE, "context": ["d1", "d2"], "context_text": TEXT}],
        [Case(**BASE, chunks=[TEXT])],
        ignored="ignored context (context_text holds what was retrieved, this does not)",
    ),
    "context of tables beside its text": Shape(
        [{**BASE, "context": {"entities": [1]}, "context_text": TEXT}],
        [Case(**BASE, chunks=[TEXT])],
        ignored="ignored context (context_text holds what was retrieved, this does not)",
    ),
    "context of other passages beside its text": Shape(
        [{**BASE, "context": ["What should have been retrieved is this long sentence."], "context_text": TEXT}],
        [Case(**BASE, chunks=[TEXT])],
        ignored="ignored context (context_text holds what was retrieved, this does not)",
    ),
    "context of passages beside its text": Shape(
        [{**BASE, "context": TEXT.split(". "), "context_text": TEXT}],
        [Case(**BASE, chunks=TEXT.split(". "))],
        ignored="ignored context_text (context is there)",
    ),
    "a table of pandas": Shape(TABLE, READ, sdk=lambda: pandas(TABLE)),
    "a table of pandas by its index": Shape(TABLE, READ, sdk=lambda: pandas(TABLE).set_index("id")),
    "records of a table": Shape(TABLE, READ, sdk=lambda: records(TABLE)),
    "a table of polars": Shape(TABLE, READ, sdk=lambda: pl.DataFrame(TABLE)),
    "several methods without ids": Shape(
        [*TWO, {"question": "When?", "method": "basic"}, {"question": "Who?", "method": "walk"}],
        [
            *(Case(id="row-1", **row) for row in TWO),
            Case(id="row-3", question="When?", method="basic"),
            Case(id="row-4", question="Who?", method="walk"),
        ],
    ),
    "an id twice": Shape(
        [BASE, {**BASE, "answer": "x"}],
        [ADA],
        faults=("PLACE 2: id: q1 is at PLACE 1 already; give each case its own",),
    ),
    "a wrong part of a chunk": Shape(
        [{**BASE, "chunks": [{"text": "A.", "score": "high"}]}],
        [],
        faults=("PLACE 1: chunks[0].score: must be a valid number, unable to parse string as a number, got 'high'",),
    ),
}


def open_shape(door, shape, tmp_path, monkeypatch):
    """Open a shape at a door."""
    if door == "program":
        rows = shape.rows if shape.sdk is None else shape.sdk
        return read_records(rows() if callable(rows) else rows)
    is_whole = isinstance(shape.rows, dict)
    text = json.dumps(shape.rows) if is_whole else "".join(f"{json.dumps(row)}\n" for row in shape.rows)
    if door == "stdin":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return read_cases("-")
    path = tmp_path / ("cases.json" if is_whole else "cases.jsonl")
    path.write_text(text, "utf-8")
    return read_cases(path)


@pytest.mark.parametrize("door", ["program", "file", "stdin"])
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_reads_the_same_at_every_door(name, door, tmp_path, monkeypatch):
    """Each shape gives the same cases, faults and ignored names."""
    shape = SHAPES[name]
    reading = open_shape(door, shape, tmp_path, monkeypatch)
    rows = [*reading]
    assert [row for row in rows if isinstance(row, Case)] == shape.read
    separator = ", row " if door == "program" else ":"
    faults = [str(row) for row in rows if isinstance(row, RowFault)]
    assert tuple(fault.replace(f"{reading.name}{separator}", "PLACE ") for fault in faults) == shape.faults
    assert reading.describe_ignored() == shape.ignored
