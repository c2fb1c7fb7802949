"""The one reader of cells: a written list, object or answer is the same case in every kind of file and table."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from greval.datasets.case_reader import CaseReader, read_cases
from greval.datasets.case_records import read_records
from greval.datasets.cells import read_cells, split_passages
from greval.datasets.json_files import RawRow
from greval.datasets.row_faults import RowFault
from greval.records.case import Case

Cells = dict[str, str]
Rows = list[Cells]
BASE: Cells = {"id": "q1", "question": "Who wrote it?", "answer": "Ada."}
ADA = Case(**BASE)
TWO = ["It's at nine.", 'They say "ten", too.']
MARKDOWN = "| plan | price |\n|---|---|\n| Pro | $20 |"
DEEPEVAL = {"actual_output": "Ada.", "context": "", "source_file": "", "id": "q1", "question": "Who wrote it?"}


def with_chunks(*chunks: object) -> Case:
    return Case(**BASE, chunks=chunks)


def with_expected(answer: str) -> Case:
    return Case(**BASE, expected_answer=answer)


SHAPES: dict[str, tuple[Cells, Case | str]] = {
    "a list of Python": ({"contexts": repr(TWO)}, with_chunks(*TWO)),
    "a list in JSON": ({"contexts": json.dumps(TWO)}, with_chunks(*TWO)),
    "a list of NumPy": ({"contexts": repr(TWO).replace(", ", " ", 1)}, with_chunks(*TWO)),
    "a list of NumPy over lines": ({"contexts": repr(TWO).replace(", ", "\n ", 1)}, with_chunks(*TWO)),
    "an array of NumPy": ({"contexts": f"array({TWO!r}, dtype=object)"}, with_chunks(*TWO)),
    "a tuple": ({"contexts": repr(tuple(TWO))}, with_chunks(*TWO)),
    "a tuple of one": ({"essential_docs": "('d1',)"}, Case(**BASE, gold={"essential_docs": ["d1"]})),
    "a passage in quotation marks and brackets": ({"context": '("It rained")'}, with_chunks('("It rained")')),
    "a passage that begins so": ({"context": '("It rained"), he said.'}, with_chunks('("It rained"), he said.')),
    "a tuple in a list": ({"contexts": "[('A.', 'B.')]"}, "contexts[0] (chunks): must be an object, got a list"),
    "documents of LangChain": (
        {"contexts": "[Document(metadata={'source': 's.md'}, page_content='A.')]"},
        with_chunks({"id": "c1", "text": "A.", "doc_id": "s.md"}),
    ),
    "objects in JSON": ({"chunks": '[{"id": "c7", "text": "A."}]'}, with_chunks({"id": "c7", "text": "A."})),
    "a list that is JSON twice": ({"contexts": '"[\\"A.\\", \\"B.\\"]"'}, with_chunks("A.", "B.")),
    "a passage that begins with a quoted bracket": ({"context": '"[sic]" they say'}, with_chunks('"[sic]" they say')),
    "accepted answers that are JSON twice": ({"answers": '"[\\"Ada\\"]"'}, with_expected("Ada")),
    "answers that are numbers": (
        {"answer": "1912", "expected_answer": "0.5"},
        Case(**{**BASE, "answer": "1912"}, expected_answer="0.5"),
    ),
    "answers that are flags": (
        {"answer": "true", "expected_answer": "false"},
        Case(**{**BASE, "answer": "true"}, expected_answer="false"),
    ),
    "accepted answers that are numbers": (
        {"gold_answers": "[1912, 'in 1912', True]"},
        with_expected("1912\nin 1912\ntrue"),
    ),
    "an answer that is a list": ({"reference": "[1, 2]"}, with_expected("[1, 2]")),
    "an answer in quotation marks": ({"reference": '"[1, 2]"'}, with_expected('"[1, 2]"')),
    "bytes": ({"contexts": "[b'A.', b'B.']"}, with_chunks("A.", "B.")),
    "a deque": ({"contexts": "deque(['A.', 'B.'], maxlen=2)"}, with_chunks("A.", "B.")),
    "objects of a database": (
        {"chunks": "[{'_id': ObjectId('65a'), 'text': 'A.', 'at': datetime.datetime(2024, 1, 2, 3, 4)}]"},
        with_chunks({"id": "65a", "text": "A."}),
    ),
    "an object of lists": (
        {"context": "{'title': ['T', 'U'], 'sentences': [array(['A. ', 'B.'], dtype=object), array(['C.'])]}"},
        with_chunks({"id": "c1", "text": "A. B.", "doc_id": "T"}, {"id": "c2", "text": "C.", "doc_id": "U"}),
    ),
    "a passage": ({"context": "Ada wrote it."}, with_chunks("Ada wrote it.")),
    "a passage in brackets": ({"context": "[sic] Here."}, with_chunks("[sic] Here.")),
    "a passage with a reference": ({"context": "[1] By Ada. [2] By Bob."}, with_chunks("[1] By Ada. [2] By Bob.")),
    "a passage that is a set": ({"context": "{a} is a set."}, with_chunks("{a} is a set.")),
    "an empty list": ({"contexts": "[]"}, with_chunks()),
    "a list that is cut": ({"contexts": "['A.', 'B"}, "contexts: begins like a list or an object but is no JSON"),
    "a call in a list": ({"contexts": "['A.', open('B')]"}, "contexts: begins like a list or an object but is no JSON"),
    "infinity in an object": ({"usage": '{"latency": Infinity}'}, "usage.latency: Infinity is no JSON value"),
    "a list in a list": ({"contexts": "[['A.', 'B.']]"}, "contexts[0] (chunks): must be an object, got a list"),
    "blanks in place of a list": ({"contexts": "  "}, ADA),
    "nothing in place of a list": ({"contexts": "None", "gold.essential_docs": " nan"}, ADA),
    "words for nothing in place of a list": ({"contexts": "NA", "gold.essential_docs": "-", "usage": "n/a"}, ADA),
    "numbers of NumPy 2": (
        {"chunks": "[{'id': 'c1', 'text': np.str_('A.'), 'score': np.float64(0.5)}]"},
        with_chunks({"id": "c1", "text": "A.", "score": 0.5}),
    ),
    "NaN in JSON": ({"usage": '{"latency": NaN, "llm_calls": 2}'}, Case(**BASE, usage={"llm_calls": 2})),
    "accepted answers": ({"ground_truths": "['Ada', 'A. L.']"}, with_expected("Ada\nA. L.")),
    "accepted answers in an array": ({"answers": "array(['Ada', 'A. L.'], dtype=object)"}, with_expected("Ada\nA. L.")),
    "aliases of an answer": ({"reference": "Ada", "answer_aliases": "['A. L.']"}, with_expected("Ada\nA. L.")),
    "no further accepted answer": ({"reference": "Ada", "answer_aliases": "[]"}, with_expected("Ada")),
    "accepted answers beside a prediction": (
        {"id": "q1", "question": "Who wrote it?", "answer": "['Ada', 'A. L.']", "prediction": "Ada."},
        with_expected("Ada\nA. L."),
    ),
    "accepted answers beside a response": (
        {"id": "q1", "question": "Who wrote it?", "answer": "['Ada', 'A. L.']", "response": "Ada."},
        with_expected("Ada\nA. L."),
    ),
    "accepted answers with their tokens": ({"answers": "[{'text': 'Ada', 'tokens': ['Ada']}]"}, with_expected("Ada")),
    "messages in the place of texts": (
        {
            "id": "q1",
            "user_input": "[{'content': 'Who wrote it?', 'type': 'human'}]",
            "output": '{"role": "assistant", "content": "Ada."}',
        },
        ADA,
    ),
    "objects of Langfuse": (
        {
            "id": "q1",
            "input": '{"question": "Who wrote it?"}',
            "output": '{"answer": "Ada."}',
            "expectedOutput": '{"answer": "Ada L."}',
        },
        with_expected("Ada L."),
    ),
    "a reference of Phoenix": (
        {"context.span_id": "s1", "reference": "By Ada."},
        Case(**BASE, chunks=["By Ada."], tags={"context.span_id": "s1"}),
    ),
    "one accepted answer": ({"ground_truth": "[1] Ada"}, with_expected("[1] Ada")),
    "an answer that is a list of numbers": ({"reference": "[1, 2]"}, with_expected("[1, 2]")),
    "an answer that is an object": ({"reference": '{"year": 1843}'}, with_expected('{"year": 1843}')),
    "SQuAD by pandas": (
        {"answers": "{'text': array(['Ada', 'A. L.'], dtype=object), 'answer_start': array([1, 9])}"},
        with_expected("Ada\nA. L."),
    ),
    "SQuAD with types": (
        {"answers": "{'text': array(['Ada'], dtype=object), 'answer_start': array([1], dtype=int32)}"},
        with_expected("Ada"),
    ),
    "SQuAD under a name that may have fields": (
        {"reference": "{'text': array(['Ada', 'A. L.'], dtype=object), 'answer_start': array([1, 9])}"},
        with_expected("Ada\nA. L."),
    ),
    "DROP under a name that may have fields": (
        {"expected_output": "{'spans': ['Ada'], 'types': ['span']}"},
        with_expected("Ada"),
    ),
    "SQuAD as the outputs of an example": ({"reference_outputs": '{"text": ["Ada"]}'}, with_expected("Ada")),
    "SQuAD by datasets": ({"answers": "{'text': ['Ada'], 'answer_start': [1]}"}, with_expected("Ada")),
    "SQuAD in JSON": ({"answers": '{"text": ["Ada"], "answer_start": [1]}'}, with_expected("Ada")),
    "SQuAD's own answers": ({"answers": "[{'answer_start': 1, 'text': 'Ada'}]"}, with_expected("Ada")),
    "TriviaQA": (
        {"expected_answer": "{'aliases': array(['A. L.'], dtype=object), 'type': 'X', 'value': 'Ada'}"},
        with_expected("Ada\nA. L."),
    ),
    "DROP": ({"gold_answers": "{'spans': ['Ada'], 'types': ['span']}"}, with_expected("Ada")),
    "gold documents": ({"gold.essential_docs": "['d1', 'd2']"}, Case(**BASE, gold={"essential_docs": ["d1", "d2"]})),
    "gold documents by their name": ({"essential_docs": '["d1"]'}, Case(**BASE, gold={"essential_docs": ["d1"]})),
    "a blank name in gold": ({"essential_docs": '["d1", ""]'}, Case(**BASE, gold={"essential_docs": ["d1"]})),
    "ids with blanks between": ({"essential_docs": "d1 d2"}, "gold.essential_docs: must be a list, got 'd1 d2'"),
    "a name with a blank": ({"essential_docs": "Apollo 11"}, Case(**BASE, gold={"essential_docs": ["Apollo 11"]})),
    "gold as an object": ({"gold": "{'expected_nodes': ['Ada']}"}, Case(**BASE, gold={"expected_nodes": ["Ada"]})),
    "triples": ({"triples": "[('Ada', 'wrote', 'it')]"}, Case(**BASE, triples=[("Ada", "wrote", "it")])),
    "edges": (
        {"traversed_edges": "[['a', 'calls', 'b']]"},
        Case(**BASE, traversal={"traversed_edges": [("a", "calls", "b")]}),
    ),
    "sources of nodes": (
        {"traversal": "{'start_nodes': ['a'], 'nodes': {'a': {'repo': 'core', 'version': 2}}}"},
        Case(**BASE, traversal={"start_nodes": ["a"], "nodes": {"a": {"repo": "core", "version": "2"}}}),
    ),
    "usage": ({"usage": "{'latency': 2.5}"}, Case(**BASE, usage={"latency": 2.5})),
    "tags": ({"tags": '{"topic": "hours"}'}, Case(**BASE, tags={"topic": "hours"})),
    "labels as tags": ({"tags": "['nightly']"}, Case(**BASE, tags={"nightly": "true"})),
    "a tag that is a list": ({"tag:topic": "['a']"}, Case(**BASE, tags={"topic": "['a']"})),
    "an answer that looks like a list": ({"answer": "['Ada']"}, Case(**{**BASE, "answer": "['Ada']"})),
    "LangSmith's columns": (
        {"outputs.documents": "['A.']", "reference_outputs.answer": "Ada L."},
        Case(**BASE, chunks=["A."], expected_answer="Ada L."),
    ),
    "outputs as an object": (
        {"outputs": "{'documents': ['A.']}", "id": "q1", "question": "Who wrote it?", "reference_outputs": ""},
        Case(id="q1", question="Who wrote it?", chunks=["A."]),
    ),
    "the index of pandas": ({"Unnamed: 0": "3", "topic": "hours"}, Case(**BASE, tags={"topic": "hours"})),
    "deepeval's passages": ({**DEEPEVAL, "retrieval_context": "A.|B."}, with_chunks("A.", "B.")),
    "deepeval's passages with a table": (
        {**DEEPEVAL, "retrieval_context": f"A.|{MARKDOWN}|B."},
        with_chunks("A.", MARKDOWN, "B."),
    ),
    "deepeval's passages with a pipe": (
        {**DEEPEVAL, "retrieval_context": "Run cat x | sort.|B."},
        with_chunks("Run cat x | sort.", "B."),
    ),
    "deepeval's only passage": ({**DEEPEVAL, "retrieval_context": "A."}, with_chunks("A.")),
}


def write_csv(rows: Rows, path: Path, delimiter: str = ",") -> Path:
    """Write rows of texts as a table."""
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, [*rows[0]], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(stream.getvalue(), "utf-8", newline="")
    return path


def write_excel(rows: Rows, path: Path) -> Path:
    """Write rows of texts as a workbook."""
    book = openpyxl.Workbook()
    book.active.append([*rows[0]])
    for row in rows:
        book.active.append([row[name] or None for name in rows[0]])
    book.save(path)
    return path


def blank_to_none(rows: Rows) -> list[dict[str, str | None]]:
    """Return rows with None in place of empty texts, as tables have it."""
    return [{name: cell or None for name, cell in row.items()} for row in rows]


def write_text(path: Path, text: str) -> Path:
    """Write a file."""
    path.write_text(text, "utf-8")
    return path


def write_parquet(rows: Rows, path: Path) -> Path:
    """Write rows of texts as Parquet."""
    parquet.write_table(pa.Table.from_pylist(blank_to_none(rows)), path)
    return path


def read_frame(rows: Rows, folder: Path) -> pd.DataFrame:
    return pd.read_csv(write_csv(rows, folder / "a.csv"), keep_default_na=True, dtype={"id": str, "topic": str})


DOORS: dict[str, Callable[[Rows, Path], CaseReader]] = {
    "csv": lambda rows, folder: read_cases(write_csv(rows, folder / "a.csv")),
    "tsv": lambda rows, folder: read_cases(write_csv(rows, folder / "a.tsv", "\t")),
    "semicolons": lambda rows, folder: read_cases(write_csv(rows, folder / "a.csv", ";")),
    "xlsx": lambda rows, folder: read_cases(write_excel(rows, folder / "a.xlsx")),
    "parquet": lambda rows, folder: read_cases(write_parquet(rows, folder / "a.parquet")),
    "jsonl": lambda rows, folder: read_cases(
        write_text(folder / "a.jsonl", "".join(f"{json.dumps(row)}\n" for row in blank_to_none(rows)))
    ),
    "json": lambda rows, folder: read_cases(write_text(folder / "a.json", json.dumps(blank_to_none(rows)))),
    "frame": lambda rows, folder: read_records(read_frame(rows, folder)),
    "records": lambda rows, folder: read_records(read_frame(rows, folder).to_dict("records")),
    "polars": lambda rows, _: read_records(pl.DataFrame(blank_to_none(rows))),
    "arrow": lambda rows, _: read_records(pa.Table.from_pylist(blank_to_none(rows))),
    "rows": lambda rows, folder: read_records(
        csv.DictReader(io.StringIO(write_csv(rows, folder / "a.csv").read_text("utf-8"), newline=""))
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_each_shape_of_a_cell_is_the_same_at_every_door(tmp_path, door):
    """Each written list, object and answer gives the same case, or the same message, in every file and table."""
    for name, (cells, expected) in SHAPES.items():
        (row,) = DOORS[door]([cells if "id" in cells else {**BASE, **cells}], tmp_path)
        if isinstance(expected, str):
            assert isinstance(row, RowFault), name
            assert row.message.startswith(expected), name
        else:
            assert row == expected, name


def test_numbers_and_flags_as_answers_are_texts(tmp_path):
    """JSON and pandas have an answer that is a year or a flag as such; equal numbers give equal texts."""
    rows = [
        {**BASE, "id": "a", "answer": 1912, "gold_answers": [1912.0, True]},
        {**BASE, "id": "b", "answer": False, "gold_answers": 0.5},
    ]
    expected = [
        Case(**{**BASE, "id": "a", "answer": "1912"}, expected_answer="1912\ntrue"),
        Case(**{**BASE, "id": "b", "answer": "false"}, expected_answer="0.5"),
    ]
    assert [*read_records(rows)] == [*read_records(pd.DataFrame(rows))] == expected
    assert [*read_cases(write_text(tmp_path / "a.json", json.dumps(rows)))] == expected
    years = pa.table({"id": ["a", "b"], "question": ["When?"] * 2, "answer": [1912, 1913]})
    parquet.write_table(years, tmp_path / "a.parquet")
    assert [case.answer for case in read_cases(tmp_path / "a.parquet")] == ["1912", "1913"]


def test_standard_input_is_read_alike(tmp_path, monkeypatch):
    """A line of JSON from standard input has its cells read as the others."""
    line = json.dumps({**BASE, "contexts": repr(TWO)}).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line)))
    assert [*read_cases("-")] == [with_chunks(*TWO)]


WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=12
).filter(lambda text: text.strip() == text and not text.startswith("="))
TABLES = st.lists(
    st.fixed_dictionaries(
        {
            "question": WORDS,
            "answer": st.none() | WORDS,
            "contexts": st.none() | st.lists(WORDS, max_size=3),
            "expected_answer": st.none() | st.lists(WORDS, min_size=1, max_size=2, unique=True),
            "gold.essential_docs": st.none() | st.lists(WORDS, max_size=2),
        }
    ),
    min_size=1,
    max_size=4,
)


@given(TABLES, st.sampled_from([repr, json.dumps]), st.sampled_from(sorted(DOORS)))
def test_any_table_gives_equal_cases_at_every_door(tmp_path_factory, table, write, door):
    """Lists as Python or JSON writes them, in any file or table, give the cases of the lists themselves."""
    rows = [{"id": f"q{n}", "method": "walk", **row} for n, row in enumerate(table)]
    written = [
        {name: write(cell) if isinstance(cell, list) else cell or "" for name, cell in row.items()} for row in rows
    ]
    folder = tmp_path_factory.mktemp("table")
    if door == "frame":  # pandas itself turns numbers and flags among texts into others
        assert [*read_records(pd.DataFrame(blank_to_none(written)))] == [*read_records(rows)]
    elif door != "records":
        assert [*DOORS[door](written, folder)] == [*read_records(rows)]


def test_what_python_writes_for_nothing_is_not_recorded(tmp_path):
    """NaN is not recorded, in lines of JSON as in tables; a byte order mark is no part of a name."""
    line = '{"id": "q1", "question": "Who wrote it?", "answer": NaN, "chunks": [{"text": "A.", "score": NaN}]}'
    rows = [{"\ufeffid": "q1", "question": "Who wrote it?", "answer": float("nan"), "chunks": ["A."]}]
    expected = Case(id="q1", question="Who wrote it?", chunks=["A."])
    assert [*read_cases(write_text(tmp_path / "a.jsonl", line))] == [expected] == [*read_records(rows)]


def test_deepeval_s_bars(tmp_path):
    """Bars between passages split them; those of tables, pipes and other files do not."""
    assert split_passages("|a|b|\n|--|--|\n|1|2||C.|D.") == ["|a|b|\n|--|--|\n|1|2|", "C.", "D."]
    assert split_passages("A.||x|y|\n|--|--|\n|1|2|") == ["A.", "|x|y|\n|--|--|\n|1|2|"]
    row = RawRow(1, {"retrieval_context": "a|b", "input": "?"})
    assert read_cells(row) is row


@pytest.mark.parametrize("path", ['["model.answer"]', "model.answer", 'model["answer"]'])
def test_a_column_with_a_dot_is_named_as_a_path_or_by_its_name(tmp_path, path):
    """A text in a column whose name has a dot stays a text, whichever way the column is named."""
    file = write_csv([{"question": "Who?", "model.answer": "Ada"}], tmp_path / "a.csv")
    if path.startswith("model["):
        file = write_text(tmp_path / "a.json", '[{"question": "Who?", "model": {"answer": "Ada"}}]')
    assert [case.answer for case in read_cases(file, columns={"answer": path})] == ["Ada"]
