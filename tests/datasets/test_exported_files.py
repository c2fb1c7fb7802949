"""Files as people have them: tables of pandas, Excel and other tools are read as they are, or say what mends them."""

from __future__ import annotations

import csv
import io
import json

import pytest

from greval.datasets.case_reader import CaseReader, read_cases
from greval.errors import DataError
from greval.records.case import Case

CONTEXTS = ["It's at nine.", 'They say "ten", too.']
READ = Case(
    id="row-1",
    question="Wann öffnet das Café?",
    answer="Um neun \u2013 glaube ich.",
    expected_answer="Um neun.",
    chunks=CONTEXTS,
    tags={"topic": "hours", "page": "4"},
)
ROW = {
    "user_input": READ.question,
    "response": READ.answer,
    "retrieved_contexts": repr(CONTEXTS),
    "reference": "Um neun.",
    "topic": "hours",
    "page": "4",
}
SPOKEN = {"user_input": "User Input", "response": "Response", "retrieved_contexts": "Retrieved Contexts"}


def table(row: dict[str, str], delimiter: str = ",", line: str = "\r\n") -> str:
    """Write one row as a table."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [*row], delimiter=delimiter, lineterminator=line)
    writer.writeheader()
    writer.writerow(row)
    return stream.getvalue()


def wrote(folder, name: str, content: str | bytes) -> CaseReader:
    """Write a file and read it."""
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_cases(folder / name)


TABLES = {
    "pandas with its index": ("a.csv", table({"": "0", **ROW}), ""),
    "pandas read and written again": ("a.csv", table({"Unnamed: 0": "0", **ROW}), ""),
    "numpy arrays in cells": (
        "a.csv",
        table({**ROW, "retrieved_contexts": repr(CONTEXTS).replace(", ", "\n ", 1)}),
        "",
    ),
    "JSON in cells": (
        "a.csv",
        table({**ROW, "retrieved_contexts": '["It\'s at nine.", "They say \\"ten\\", too."]'}),
        "",
    ),
    "documents in cells": (
        "a.csv",
        table({**ROW, "retrieved_contexts": f"[{', '.join(f'Document(page_content={text!r})' for text in CONTEXTS)}]"}),
        "",
    ),
    "semicolons": ("a.csv", table(ROW, ";"), ""),
    "tabs in .csv": ("a.csv", table(ROW, "\t"), ""),
    "commas in .tsv": ("a.tsv", table(ROW), ""),
    "Excel's line with the delimiter": ("a.csv", "sep=;\r\n" + table(ROW, ";"), ""),
    "UTF-8 with a mark": ("a.csv", table(ROW).encode("utf-8-sig"), ""),
    "Excel in Germany": ("a.csv", table(ROW, ";").encode("cp1252"), "Windows-1252"),
    "Excel's Unicode text": ("a.tsv", table(ROW, "\t").encode("utf-16"), "UTF-16"),
    "headers of people": ("a.csv", table({SPOKEN.get(name, name.title()): cell for name, cell in ROW.items()}), ""),
    "columns left empty by Excel": ("a.csv", table({**ROW, " ": "", "  ": ""}), ""),
}


@pytest.mark.parametrize("form", TABLES)
def test_each_form_of_a_table_gives_the_same_case(tmp_path, form):
    """Delimiters, encodings, spellings of headers and of lists make no difference; an encoding is named."""
    name, content, encoding = TABLES[form]
    reading = wrote(tmp_path, name, content)
    tags = READ.tags if form != "headers of people" else {name.title(): value for name, value in READ.tags.items()}
    assert [*reading] == [READ.model_copy(update={"tags": tags})]
    assert (f"read as {encoding}" in reading.notice()) is bool(encoding)
    assert f"; tags are {', '.join(tags)}." in reading.notice()
    assert reading.ignored_columns == ()


def test_columns_that_are_no_tags_are_told(tmp_path):
    """Long texts are no groups, a name that is nearly a field's is told, and `tags` is not changed."""
    row = {"question": "q", "Anwser": "x", "prompt": "p" * 201, "tags": '{"topic": "a"}', "topic": "b", "Question": "r"}
    reading = wrote(tmp_path, "a.csv", table(row))
    assert [*reading] == [Case(id="row-1", question="q", tags={"topic": "a"})]
    told = (
        "Anwser (did you mean answer?), prompt (longer than 200 characters), topic (tags is there), Question (question"
    )
    assert f"ignored {told} is there)" in reading.notice()


def test_a_file_in_another_language_names_its_columns(tmp_path):
    """Where no name is known, the columns are split rightly, and all of them are listed."""
    with pytest.raises(DataError, match=r"\(columns: Frage, Antwort\)"):
        [*wrote(tmp_path, "a.csv", "Frage;Antwort\nWer?;Ada")]


def test_a_table_that_cannot_be_decoded_says_what_to_do(tmp_path):
    """A cut UTF-16 file is an error of the file."""
    with pytest.raises(DataError, match=r"is not UTF-16 throughout.*save the file as UTF-8"):
        [*wrote(tmp_path, "a.csv", table(ROW).encode("utf-16")[:-1])]


ADA = Case(id="row-1", question="Who?", answer="Ada", expected_answer="Ada Lovelace", chunks=["Ada wrote it."])
TOOLS = {
    "ragas": {
        "user_input": "Who?",
        "response": "Ada",
        "reference": "Ada Lovelace",
        "retrieved_contexts": ["Ada wrote it."],
    },
    "ragas before 0.2": {
        "question": "Who?",
        "answer": "Ada",
        "ground_truths": ["Ada Lovelace"],
        "contexts": ["Ada wrote it."],
    },
    "deepeval": {
        "input": "Who?",
        "actualOutput": "Ada",
        "expectedOutput": "Ada Lovelace",
        "retrievalContext": ["Ada wrote it."],
    },
    "openevals": {
        "inputs": {"question": "Who?", "context": ["Ada wrote it."]},
        "outputs": {"answer": "Ada"},
        "reference_outputs": {"answer": "Ada Lovelace"},
    },
    "openevals with texts": {
        "inputs": "Who?",
        "outputs": "Ada",
        "reference_outputs": "Ada Lovelace",
        "context": ["Ada wrote it."],
    },
    "LangSmith": {
        "inputs": {"query": "Who?"},
        "outputs": {"output": "Ada", "documents": [{"page_content": "Ada wrote it.", "metadata": {}}]},
        "reference_outputs": {"label": "Ada Lovelace"},
    },
    "MLflow": {
        "inputs": {"question": "Who?"},
        "outputs": "Ada",
        "expectations": {"expected_response": "Ada Lovelace"},
        "retrieved_context": ["Ada wrote it."],
    },
    "MLflow before 3": {
        "request": "Who?",
        "response": "Ada",
        "expected_response": "Ada Lovelace",
        "retrieved_context": [{"content": "Ada wrote it."}],
    },
    "autoevals": {"input": "Who?", "output": "Ada", "expected": "Ada Lovelace", "context": ["Ada wrote it."]},
    "promptfoo": {
        "vars": {"question": "Who?", "context": "Ada wrote it.", "reference": "Ada Lovelace"},
        "response": {"output": "Ada"},
    },
    "GraphRAG-Bench": {
        "question": "Who?",
        "answer": "Ada Lovelace",
        "generated_answer": "Ada",
        "context": ["Ada wrote it."],
    },
    "BenchmarkQED": {
        "question_text": "Who?",
        "answer": "Ada",
        "reference_answer": "Ada Lovelace",
        "context_text": "Ada wrote it.",
    },
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("form", ["json", "csv"])
def test_the_files_of_each_tool_give_the_same_case(tmp_path, tool, form):
    """Fields are found in objects of several tools, in JSON and in the cells of a table."""
    row = TOOLS[tool]
    cells = {name: value if isinstance(value, str) else json.dumps(value) for name, value in row.items()}
    content = json.dumps([row]) if form == "json" else table(cells)
    reading = wrote(tmp_path, f"a.{form}", content)
    assert [*reading] == [ADA]
    assert reading.ignored_columns == ()


def test_an_export_of_promptfoo(tmp_path):
    """The rows are in `results` of `results`; what a row has besides is a tag, or is told."""
    row = {**TOOLS["promptfoo"], "success": True, "gradingResult": {"score": 1}}
    reading = wrote(tmp_path, "a.json", json.dumps({"evalId": "e", "results": {"version": 3, "results": [row]}}))
    assert [*reading] == [ADA.model_copy(update={"tags": {"success": "true"}})]
    assert "vars.question as question" in reading.notice()
    assert reading.ignored_columns == ("gradingResult",)


def test_examples_of_a_langsmith_data_set_hold_no_answers(tmp_path):
    """In a data set `outputs` is what is expected, and must not be judged as an answer."""
    row = {"inputs": {"question": "Who?"}, "outputs": {"answer": "Ada Lovelace"}, "dataset_id": "d"}
    (case,) = wrote(tmp_path, "a.jsonl", json.dumps(row))
    assert (case.answer, case.expected_answer) == (None, "Ada Lovelace")


def test_a_message_is_not_taken_apart(tmp_path):
    """An answer that is a message stays one text."""
    row = {"question": "Who?", "response": {"role": "assistant", "content": "Ada"}}
    assert [case.answer for case in wrote(tmp_path, "a.jsonl", json.dumps(row))] == ["Ada"]


def test_chunks_with_the_ids_of_other_tools(tmp_path):
    """A chunk with its text under another name has its document and its score under other names too."""
    chunk = {"content": "Ada wrote it.", "doc_uri": "ada.md", "relevance_score": 0.5}
    (case,) = wrote(tmp_path, "a.jsonl", json.dumps({"question": "Who?", "retrieved_context": [chunk]}))
    assert [(one.text, one.doc_id, one.score) for one in case.chunks] == [("Ada wrote it.", "ada.md", 0.5)]
