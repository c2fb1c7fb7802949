"""Documents to index: which files and rows are documents, with which fields, and what is said of the others."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from greval.datasets.row_faults import RowFault
from greval.errors import DataError
from greval.reference.documents import count_files, list_files, read_documents, split_title
from greval.reference.records import Document


def write(folder, **files):
    """Write files by name; `_` in a name stands for the dot before the ending."""
    for name, content in files.items():
        path = folder / ".".join(name.rsplit("_", 1))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def read(*sources):
    """Return the documents by id, and the faults as lines."""
    items = [*read_documents(sources)]
    documents = {each.id: each for each in items if isinstance(each, Document)}
    return documents, [str(each) for each in items if isinstance(each, RowFault)]


def test_the_id_of_a_file_is_its_path_in_the_folder(tmp_path):
    """Files of all levels are found, sorted by path; hidden ones and those of other kinds are passed over."""
    for name in ("b.txt", "a/c.md", ".git/d.txt", "a/.e.txt", "f.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("One.")
    documents, faults = read(tmp_path)
    assert [*documents] == ["a/c.md", "b.txt"]
    assert not faults
    assert [*read(tmp_path / "b.txt", tmp_path / "f.png")[0]] == ["b.txt", "f.png"]
    assert list_files(tmp_path) == [tmp_path / "a" / "c.md", tmp_path / "b.txt"]


def test_the_terms_of_a_licence_are_no_documents_of_a_folder(tmp_path):
    """Names in capitals, as the convention is, are passed over unless a file is named; pages on licences are read."""
    terms = ("LICENSE", "LICENSE.md", "LICENCE-MIT.txt", "UNLICENSE.txt", "COPYING.txt", "sub/NOTICE.txt")
    pages = ("README.md", "license.md", "Licences.txt", "NOTICES.md")
    (tmp_path / "sub").mkdir()
    for name in (*terms, *pages):
        (tmp_path / name).write_text(f"One of {name}.")
    assert {*read(tmp_path)[0]} == {*pages}
    assert [*read(tmp_path / "LICENSE.md")[0]] == ["LICENSE.md"]
    accepted, passed_over = count_files([tmp_path, tmp_path / "README.md"])
    assert accepted == {".md": 3, ".txt": 1}
    assert {*passed_over} == {Path(name).name for name in terms}


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("# Ferry\n\nAt nine.", "Ferry", "At nine."),
        ("\n## The `ferry` ##\nAt nine.", "The ferry", "At nine."),
        ("Ferry\n=====\nAt nine.", "Ferry", "At nine."),
        ("![logo](x.png)\n\n# Ferry\nAt nine.", "Ferry", "![logo](x.png)\n\n# Ferry\nAt nine."),
        ("```sh\n# no title\n```\nAt nine.", "", "```sh\n# no title\n```\nAt nine."),
        ("At nine.\n\n---\n\nAt ten.", "", "At nine.\n\n---\n\nAt ten."),
        ("#hashtag", "", "#hashtag"),
        ("", "", ""),
    ],
)
def test_the_title_of_markdown_is_its_first_heading(text, title, body):
    """A heading at the beginning is the title and no part of the text; a heading in code is none."""
    assert split_title(text) == (title, body)


def test_front_matter_gives_title_source_and_tags(tmp_path):
    """Keys of front matter are fields of the document, and its other plain keys are tags."""
    front = (
        "---\ntitle: Ferry\nrepo: harbour\nversion: 2\nyear: 1843\ndate: 2024-01-02\ntags: [sea, 7]\nlist: [1]\n---\n"
    )
    write(tmp_path, a_md=f"{front}# Heading\nAt nine.", b_md="---\nAt ten.\n---\nAt noon.", c_md="No heading.")
    documents, faults = read(tmp_path)
    assert not faults
    first = documents["a.md"]
    assert (first.title, first.text, first.repo, first.version) == ("Ferry", "At nine.", "harbour", "2")
    assert first.tags == {"year": "1843", "date": "2024-01-02", "sea": "true", "7": "true"}
    assert documents["b.md"].text.startswith("---\nAt ten.")
    assert documents["c.md"].title == "c"


def test_front_matter_that_is_no_yaml_is_reported_with_its_line(tmp_path):
    """A file whose front matter cannot be read is no document, and says what to do."""
    write(tmp_path, a_md="---\ntitle: Ferry\nkey: [1\n---\nAt nine.")
    documents, (fault,) = read(tmp_path)
    assert not documents
    assert fault.startswith(f"{tmp_path / 'a.md'}: its front matter is no YAML in line")
    assert "empty line before the first ---" in fault


ROWS = [
    {"id": "d1", "title": "Ferry", "text": "At nine.", "repo": "r", "version": 2, "tags": {"sea": True}, "year": 1843},
    {"doc_id": 7, "page_content": "At ten.", "metadata": {"source": "hours.md", "title": "Hours"}, "skip": ["x"]},
    {"content": "At noon."},
    {"body": "At one.", "tags": ["sea"]},
]


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "nested.json"])
def test_rows_of_json_are_documents(tmp_path, name):
    """Names of other tools are understood, plain columns become tags, and a row without an id gets one."""
    path = tmp_path / name
    lines = "".join(f"{json.dumps(row)}\n\n" for row in ROWS)
    content = json.dumps({"documents": ROWS} if name == "nested.json" else ROWS)
    path.write_text(lines if path.suffix == ".jsonl" else content)
    documents, faults = read(path)
    assert not faults
    ids = ["rows.jsonl#5", "rows.jsonl#7"] if path.suffix == ".jsonl" else [f"{name}#3", f"{name}#4"]
    assert [*documents] == ["d1", "7", *ids]
    assert documents["d1"] == Document(
        id="d1", title="Ferry", text="At nine.", repo="r", version="2", tags={"sea": "true", "year": "1843"}
    )
    assert documents["7"] == Document(id="7", title="Hours", text="At ten.", tags={"source": "hours.md"})
    assert documents[ids[1]].tags == {"sea": "true"}


def test_rows_of_tables_are_documents(tmp_path):
    """CSV, TSV and Parquet have the same fields; all their plain columns become tags."""
    write(tmp_path, a_csv='id,text,tag:sea,year\nd1,"At nine, or ten.",yes,1843\n', b_tsv="text\tyear\nAt ten.\t7\n")
    table = pa.table({"id": [17, None], "contents": ["At noon.", "At one."], "year": [1.0, 2.5], "deep": [[1], [2]]})
    parquet.write_table(table, tmp_path / "c.parquet")
    documents, faults = read(tmp_path)
    assert not faults
    assert documents["d1"] == Document(id="d1", text="At nine, or ten.", tags={"sea": "yes", "year": "1843"})
    assert documents["b.tsv#2"].tags == {"year": "7"}
    assert documents["17"].tags == {"year": "1"}
    assert documents["c.parquet#2"].tags == {"year": "2.5"}


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("a.txt", b"ok \xff", "is not UTF-8 (0xff in line 1)"),
        ("a.txt", b"a\0b", "is no text, but a binary file"),
        ("a.txt", b" \n", "text: is empty"),
        ("a.txt", b"%PDF-1.7\n", "is a PDF; convert it to text or Markdown first"),
        ("a.txt", b"PK\x03\x04", "is a ZIP archive, as .docx"),
        ("a.txt", "Ferry".encode("utf-16"), "is UTF-16; save the file as UTF-8"),
        ("a.jsonl", b'{"page_content": null}', "page_content: is empty"),
        ("a.jsonl", b'{"id": "x"}', "text: is missing; it may be called text, content"),
        ("a.jsonl", b'{"txet": "x"}', "text: is missing, nearest: txet"),
        ("a.jsonl", b'{"text": 3}', "text: must be a text, got a number"),
        ("a.jsonl", b'{"text": "a", "tags": {"x": [1]}}', "tags.x: must be a text, got a list"),
        ("a.jsonl", b'{"text": "a", "title": [1]}', "title: must be a text, got a list"),
        ("a.jsonl", b'["text"]', "must be an object with a text, got a list"),
        ("a.jsonl", b'{"text": "\\ud800"}', "text"),
        ("a.jsonl", b'{"text": ', "is no JSON"),
        ("a.jsonl", b'\xff{"text": 1}', "is not UTF-8 (0xff at byte 1 of the line)"),
        ("a.json", b'{"name": "package"}', "must be a list of documents"),
        ("a.json", b"[1", "is no JSON"),
        ("a.csv", b"id,txt\nx,y\n", "no column for the text; is it 'txt'?"),
        ("a.csv", b"id,text\nx\n", "has 1 cells where the header has 2"),
        ("a.parquet", b"no", "cannot be read as Parquet"),
    ],
)
def test_what_is_no_document_is_reported_and_stops_no_other(tmp_path, name, content, fault):
    """A faulty file or row is a fault with its place; the documents after it are read."""
    (tmp_path / name).write_bytes(content)
    (tmp_path / "z.txt").write_text("At nine.")
    documents, (line,) = read(tmp_path)
    assert [*documents] == ["z.txt"]
    assert line.startswith(str(tmp_path / name))
    assert fault in line


def test_an_id_that_is_there_already_is_reported_with_the_place_of_the_first(tmp_path):
    """Of two documents with an id the first is kept."""
    write(tmp_path, a_jsonl='{"id": "x", "text": "One."}\n{"id": "x", "text": "Two."}\n')
    documents, (fault,) = read(tmp_path)
    assert documents["x"].text == "One."
    assert (
        fault == f"{tmp_path / 'a.jsonl'}:2: id: x is at {tmp_path / 'a.jsonl'}:1 already; give each document its own"
    )


def test_a_path_that_does_not_exist_is_an_error(tmp_path):
    """A misspelt path is an error at once, with the name that may be meant."""
    write(tmp_path, harbour_md="One.")
    with pytest.raises(DataError, match=r"harbuor.md: no such file or folder; is it harbour.md\?"):
        read(Path(tmp_path / "harbuor.md"))
