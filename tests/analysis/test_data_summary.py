"""What `summarise_data` counts in a file of cases."""

from __future__ import annotations

import json
from io import StringIO

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from greval.analysis.data_summary import summarise_data
from greval.datasets.case_reader import read_cases
from greval.datasets.case_records import read_records
from greval.records.recorded_fields import list_recorded_fields
from greval.report.data_summary import render

FIELDS = {
    "answer": "Ada",
    "reference": "Ada Lovelace",
    "contexts": ["Ada wrote it."],
    "essential_docs": ["d1"],
    "usage": {"latency": 1},
}


@settings(max_examples=10)  # there are 32 kinds of rows, up to eight in an example, and each tries every metric twice
@given(st.lists(st.sets(st.sampled_from([*FIELDS])), min_size=1, max_size=8))
def test_counts_are_those_of_the_cases(rows):
    """Each field and each metric is counted in as many cases as have it, whatever else they lack."""
    given = [{"question": "Who?", **{name: FIELDS[name] for name in row}} for row in rows]
    found = summarise_data(read_records(given))
    cases = [*read_records(given)]
    for one in found.fields:
        assert one.cases == sum(one.field in list_recorded_fields(case) for case in cases), one.field
    counts = {one.metric: one.cases for one in found.fitting}
    answered = sum(case.answer is not None for case in cases)
    assert counts.get("answer_quality", 0) == answered
    assert counts.get("correctness", 0) == sum({"answer", "reference"} <= row for row in rows)
    assert counts.get("latency", 0) == sum("usage" in row for row in rows)
    assert not counts.keys() & {one.metric for one in found.nearly}
    assert (found.cases, found.own_ids, found.examples) == (len(rows), False, tuple(cases[:3]))


def test_a_pair_is_not_counted_as_a_method():
    """Methods are those of single answers; pairs are counted apart, and printed so."""
    pair = {"question": "Who?", "answer": "Ada", "method": "a vs b", "other_response": {"method": "b", "answer": "Bob"}}
    rows = [{"question": "Who?", "answer": name, "method": name} for name in ("a", "b", "c vs d")]
    found = summarise_data(read_records([*rows, pair, pair]))
    assert (found.methods, found.pairs) == ({"a": 1, "b": 1, "c vs d": 1}, {"a vs b": 2})
    console = Console(file=StringIO(), width=100)
    render(found, console)
    assert "methods: a (1), b (1), c vs d (1)\npairs: a vs b (2)\n" in console.file.getvalue()


def test_columns_of_fields(tmp_path):
    """Each field names its columns: of other tools, spelt otherwise, dotted, named by `columns`, and in objects."""
    rows = [
        {"User Input": "Who?", "essential_docs": ["d1"], "usage.latency": 2, "level": 3, "vector": [1, 2]},
        {"inputs": {"query": "Why?"}, "gen": "Ada", "contexts": [{"text": "a", "doc_id": "d1"}], "id": "q2"},
        {"answer": "Ada"},
    ]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    found = summarise_data(read_cases(path, columns={"answer": "gen"}))
    assert {one.field: one.columns for one in found.fields} == {
        "id": ("id",),
        "question": ("User Input", "inputs.query"),
        "answer": ("gen",),
        "chunks": ("contexts",),
        "chunks.doc_id": ("contexts",),
        "gold.essential_docs": ("essential_docs",),
        "usage.latency": ("usage.latency",),
        "tags.level": ("level",),
    }
    assert [(one.column, one.reason) for one in found.ignored] == [("vector", "")]
    assert (found.cases, found.fault_count, found.faults[0].place) == (2, 1, f"{path}, row 3")


def test_a_file_without_a_case_names_its_columns(tmp_path):
    """If no question was found, the columns to choose from are listed."""
    path = tmp_path / "cases.jsonl"
    path.write_text('{"Frage": "Wer?", "Quellen": ["a"]}\n', encoding="utf-8")
    found = summarise_data(read_cases(path))
    assert (found.cases, found.remarks) == (0, ("its columns are Frage, Quellen",))
    assert "--column question=NAME" in found.faults[0].message
    assert found.fitting == found.nearly == ()
