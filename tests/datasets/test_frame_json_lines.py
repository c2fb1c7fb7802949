"""The common form of JSON lines: what is split at quotes is what a parser of JSON reads, or nothing is read."""

from __future__ import annotations

import json

import pytest

from greval.metrics.columns.arrow_table_reader import read_regular_json_lines
from greval.metrics.columns.column_readers import ColumnNames
from greval.metrics.columns.json_line_template import parse_template

COLUMNS = ColumnNames("q", "d", "s")
ROWS = [{"q": "q1", "d": "d1", "s": 1.5}, {"q": "q1", "d": "a, b: {c}", "s": -2e-05}, {"q": "文", "d": " ", "s": 3}]


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize("order", ["qds", "sqd", "qsd", "dxsyq"])
def test_alike_lines_are_split_at_their_quotes(tmp_path, separators, order):
    """Lines of any order of names and of both usual separators have a template, and give the values of JSON."""
    others = {"x": "any text", "y": 7}
    lines = [json.dumps({name: {**row, **others}[name] for name in order}, separators=separators) for row in ROWS]
    assert parse_template(lines[0].encode()).cells.keys() == {*order}
    lines[2] = lines[2].encode().decode("unicode_escape")
    found = read(tmp_path, "\n".join(lines))
    assert found.grouped.names == ("q1", "文")
    assert [*found.grouped.documents.read(found.grouped.select_row_numbers(found.grouped.starts[:2]))] == ["d1", " "]
    assert found.numbers.parts[0].tolist() == [1.5, -2e-05, 3.0]


@pytest.mark.parametrize(
    "line",
    [
        b'["q"]',
        b'{"q": "q1"',
        b'{"q": true}',
        b'{"q": {"a": 1}}',
        b'{"q": "a\\"b"}',
        b'{"q": "a", "q": "b"}',
        b'{"q" "a"}',
        b'{"q": 1 "d": 2}',
        b'{"q": "a",}',
        b'"q": "a"}',
        b"",
        b"\xff",
    ],
)
def test_other_lines_have_no_template(line):
    """Lines that are no flat object of texts and numbers, or not one at all, are left to a parser of JSON."""
    assert parse_template(line) is None


@pytest.mark.parametrize(
    "second",
    [
        '{"q":"q1","d":"d2","s":2]',
        '{"q":"q1","d":"d2","s":}',
        '{"q":"q1";"d":"d2","s":2}',
        '{"q":"q1","d":"d2","s";2}',
        '{"q":"q1","d":"d2","s":Infinity}',
        '{"q":"q1","d":"d2","s":null}',
        '{"q":"q1","e":"d2","s":2}',
        '{"q":"q1","d":"","s":2}',
        '{"q":"","d":"d2","s":2}',
        '{"q":"q1","d":"d2"}',
        "not JSON",
    ],
)
def test_lines_unlike_the_first_are_not_read(tmp_path, second):
    """A line of another form, or without a value, is never taken for one that it is not."""
    assert read(tmp_path, f'{{"q":"q1","d":"d1","s":1}}\n{second}\n') is None


def test_escapes_are_not_read_as_texts(tmp_path):
    """A text with an escape is read by a parser of JSON, which resolves it."""
    found = read(tmp_path, '{"q":"q1","d":"d1","s":1}\n{"q":"q1","d":"\\u0064\\u0032","s":2}\n')
    assert found.grouped.ids == ["d1", "d2"]


def read(folder, content):
    """Write JSON lines and read them by Arrow; None if they are not regular."""
    path = folder / "run.jsonl"
    path.write_text(content, encoding="utf-8")
    return read_regular_json_lines(path, COLUMNS, content.split("\n")[0].encode())
