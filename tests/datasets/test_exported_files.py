"""Files as people have them: tables of pandas, Excel and other tools are read as they are, or say what mends them."""

from __future__ import annotations

import csv
import io

import pytest

from greval.datasets.case_reader import CaseReader, read_cases
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


def test_columns_that_are_no_tags_are_reported(tmp_path):
    """Long texts are no groups, a name that is nearly a field's is told, and `tags` is not changed."""
    row = {"question": "q", "Anwser": "x", "prompt": "p" * 201, "tags": '{"topic": "a"}', "topic": "b", "Question": "r"}
    reading = wrote(tmp_path, "a.csv", table(row))
    assert [*reading] == [Case(id="row-1", question="q", tags={"topic": "a"})]
    told = (
        "Anwser (did you mean answer?), prompt (longer than 200 characters), topic (tags is there), Question (question"
    )
    assert f"ignored {told} is there)" in reading.notice()
