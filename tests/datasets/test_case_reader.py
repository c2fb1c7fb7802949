"""Reading cases: every format, the names of neighbours, and rows that are no cases."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import greval
from greval.datasets.case_reader import CaseReader, read_cases
from greval.datasets.field_names import FIELD_BY_NAME
from greval.datasets.row_faults import RowFault
from greval.errors import DataError
from greval.records.case import Case

DEMO = Path(greval.__file__).parent / "demo" / "cases.jsonl"
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = texts.filter(str.strip)
numbers = st.floats(0, allow_nan=False, allow_infinity=False)
counts = st.none() | st.integers(0, 2**62)
tuples_of_names = st.none() | st.lists(names, max_size=3).map(tuple)
edges = st.lists(st.tuples(names, names, names), max_size=2).map(tuple)
chunks = st.fixed_dictionaries(
    {"id": names, "text": texts}, optional={"doc_id": names, "repo": names, "version": names, "score": numbers}
)
triples = st.fixed_dictionaries(dict.fromkeys(("id", "subject", "predicate", "object"), texts))
cases = st.builds(
    Case,
    id=names,
    question=texts,
    expected_answer=st.none() | texts,
    answer=st.none() | texts,
    method=texts,
    tags=st.dictionaries(texts, texts, max_size=3),
    chunks=st.none() | st.lists(chunks, max_size=2),
    triples=st.none() | st.lists(triples, max_size=2),
    traversal=st.none() | st.fixed_dictionaries({}, optional={"start_nodes": tuples_of_names.filter(bool)}),
    gold=st.none() | st.fixed_dictionaries({"essential_docs": tuples_of_names, "expected_edges": st.none() | edges}),
    usage=st.none() | st.fixed_dictionaries({"latency": st.none() | numbers, "llm_calls": counts}),
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=6,
)


def wrote(folder: Path, name: str, content: bytes | str | list[dict]) -> CaseReader:
    """Write a file, rows as JSON lines, and read it."""
    if isinstance(content, list):
        content = "\n".join(json.dumps(row) for row in content)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_cases(folder / name)


def only(reading: CaseReader) -> Case:
    """Give the one case of a file without faults."""
    (case,) = reading
    assert isinstance(case, Case), case
    return case


def fault(reading: CaseReader) -> str:
    """Give the message of the one row of a file, a faulty one."""
    (row,) = reading
    assert isinstance(row, RowFault), row
    return row.message


@SAME_FOLDER
@given(st.lists(cases, min_size=1, max_size=3, unique_by=lambda case: case.id))
def test_any_case_written_as_a_json_line_reads_back_equal(tmp_path, written):
    """What model_dump_json wrote is read as it was."""
    lines = "\n".join(case.model_dump_json() for case in written)
    assert [*wrote(tmp_path, "cases.jsonl", lines)] == written


@SAME_FOLDER
@given(st.binary(max_size=60) | st.text("\"',\t\n\r[]{}:ab1\\", max_size=30).map(str.encode))
def test_arbitrary_bytes_never_stop_the_rows_after_them(tmp_path, junk):
    """Between good rows of lines or tables anything may stand: only that is lost."""
    for name, head, good in (
        ("a.jsonl", b"", b'{"id": "%s", "question": "q"}\n'),
        ("a.csv", b"id,question\n", b'"%s","q"\n'),
        ("a.tsv", b"id\tquestion\n", b'"%s"\t"q"\n'),
    ):
        rows = [*wrote(tmp_path, name, head + good % b"first" + junk + b"\n" + good % b"last")]
        assert rows[0].id == "first" or rows[0].place.endswith((":1", ":2")), "junk may spoil the line it ends"
        assert rows[-1] == Case(id="last", question="q")


@SAME_FOLDER
@given(st.sampled_from([".jsonl", ".json", ".csv", ".tsv", ".parquet"]), st.binary(max_size=60))
def test_a_file_of_arbitrary_bytes_raises_nothing_but_data_errors(tmp_path, ending, junk):
    """Whatever is in a file, a caller has one error to catch."""
    try:
        assert all(isinstance(row, Case | RowFault) for row in wrote(tmp_path, f"a{ending}", junk))
    except DataError as error:
        told = str(error)
        assert told.startswith(str(tmp_path))


@SAME_FOLDER
@given(st.dictionaries(st.sampled_from([*FIELD_BY_NAME, "gold.essential_docs", "tags.x", "other"]), anything))
def test_any_json_in_any_field_is_a_case_or_a_fault_that_can_be_printed(tmp_path, row):
    """Whatever a row holds, the next one is read, and all that is told can be written as UTF-8."""
    reading = wrote(tmp_path, "a.jsonl", [row, {"id": "last", "question": "q"}])
    first, *_, last = reading  # an object by method is a row for each
    assert last.id == "last"
    assert f"{first.model_dump_json()} {reading.notice()}".encode()


def flat(case: Case) -> dict[str, str]:
    """Give the cells of a case, structures as JSON."""
    row = case.model_dump(mode="json", exclude_none=True)
    return {name: cell if isinstance(cell, str) else json.dumps(cell) for name, cell in row.items()}


def written_as(ending: str, path: Path, rows: list[Case]) -> None:
    """Write cases in one of the formats."""
    full = [case.model_dump(mode="json") for case in rows]
    if ending == "parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.Table.from_pylist(full), path)
    elif ending in {"csv", "tsv"}:
        with path.open("w", encoding="utf-8-sig", newline="") as stream:
            table = csv.DictWriter(stream, [*Case.model_fields], delimiter="\t" if ending == "tsv" else ",")
            table.writeheader()
            table.writerows(flat(case) for case in rows)
    elif ending == "ndjson":
        path.write_text("\n\n".join(json.dumps(row) for row in full), "utf-8-sig")
    else:
        path.write_text(json.dumps(full if path.stem == "list" else {path.stem: full}), "utf-8")


@pytest.mark.parametrize("name", ["list.json", "cases.json", "data.json", "a.ndjson", "a.csv", "a.tsv", "a.parquet"])
def test_each_format_gives_the_same_cases(tmp_path, name):
    """The demo's cases come through every format unchanged, but for empty cells, without a word on their names."""
    demo = [*read_cases(DEMO)]
    assert len(demo) == 40
    if name in {"a.csv", "a.tsv"}:
        demo = [case.model_copy(update={"answer": case.answer or None}) for case in demo]
    written_as(name.rpartition(".")[2], tmp_path / name, demo)
    reading = read_cases(tmp_path / name)
    assert [*reading] == demo
    assert [*reading] == demo, "a file can be read twice"
    assert reading.notice() is None


@pytest.mark.parametrize("ending", ["ndjson", "csv", "parquet"])
def test_a_large_file_is_streamed(tmp_path, ending):
    """Reading takes a part of the memory that the file has bytes."""
    path = tmp_path / f"large.{ending}"
    written_as(
        ending, path, [Case(id=f"q{n}", question="q", answer=f"{n:05}" * 2000, tags={"n": n}) for n in range(1000)]
    )
    assert only(iter([next(iter(read_cases(path)))])).id == "q0"
    tracemalloc.start()
    assert sum(isinstance(row, Case) for row in read_cases(path)) == 1000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6e6


@pytest.mark.parametrize("text", ['{"query": "q"}\n[\n{"query": "r"}\n', '\n [{"query": "q"}, 3, {"query": "r"}]'])
def test_standard_input_is_lines_or_a_list_by_its_first_character(text):
    """A dash reads what is piped in, in either form, and tells the names it mapped."""
    code = "from greval.datasets.case_reader import read_cases as r; x = r('-'); print([i.id for i in x], x.notice())"
    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True)
    assert done.stdout == "['row-1', 'row-2', 'row-3'] stdin: read query as question.\n"


def test_parquet_without_pyarrow_says_what_to_install(tmp_path):
    """Without the extra the error holds the command that brings it."""
    (tmp_path / "a.parquet").touch()
    code = "import sys; sys.modules['pyarrow'] = None; from greval import read_cases; [*read_cases('a.parquet')]"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "MissingExtraError: pyarrow is not installed: pip install 'greval[stats]'" in done.stderr


def test_greval_s_name_wins_and_the_other_is_reported(tmp_path):
    """Two names of one field are never mixed: one counts, the other is reported with the reason."""
    row = {"reference": "no", "expected_answer": "yes", "question": "q", "answer": None, "response": "a", "level": 3}
    reading = wrote(tmp_path, "a.jsonl", [{**row, "anwser": "x"}])
    assert only(reading) == Case(id="row-1", question="q", expected_answer="yes", answer="a", tags={"level": "3"})
    assert reading.ignored_columns == ("reference", "anwser")
    told = (
        "read response as answer; tags are level; "
        "ignored reference (expected_answer is there), anwser (did you mean answer?)."
    )
    assert reading.notice() == f"{tmp_path}/a.jsonl: {told}"


def test_several_acceptable_answers_become_one_per_line(tmp_path):
    """A list of references is what the metrics read as lines, so a line break inside one is a space."""
    assert (
        only(wrote(tmp_path, "a.jsonl", [{"query": "q", "gold_answers": ["a\nb", 1912]}])).expected_answer
        == "a b\n1912"
    )


def test_numbers_in_the_place_of_names_become_text(tmp_path):
    """Ids, nodes and edges may be numbers, and equal numbers give equal names."""
    row = {
        "id": 17.0,
        "question": "q",
        "chunks": [{"id": 1, "text": "t", "doc_id": 4}],
        "triples": [["a", "born", 1912]],
    }
    case = only(wrote(tmp_path, "a.jsonl", [{**row, "gold": {"expected_edges": [[1, "x", 2]]}, "tags": {"y": None}}]))
    assert (case.id, case.chunks[0].id, case.chunks[0].doc_id, case.triples[0].object) == ("17", "1", "4", "1912")
    assert (case.gold.expected_edges, case.tags) == ((("1", "x", "2"),), {})


def test_a_missing_id_is_the_row_s_position_and_a_missing_method_the_caller_s(tmp_path):
    """Positions count rows, not lines, so that every format gives the same ids."""
    wrote(tmp_path, "a.jsonl", '\n{"question": "q"}\n\n{"id": "", "question": "r", "method": "tog"}')
    assert [(row.id, row.method) for row in read_cases(tmp_path / "a.jsonl", method="local")] == [
        ("row-1", "local"),
        ("row-2", "tog"),
    ]


def test_a_case_that_was_there_already_is_a_fault_that_names_both_places(tmp_path):
    """The pair of id and method is the key of a case: the first counts."""
    rows = [{"id": "1", "question": "q"}, {"id": "1", "method": "m", "question": "q"}, {"id": 1, "question": "r"}]
    first, of_method, repeated = wrote(tmp_path, "a.jsonl", rows)
    assert (first.method, of_method.method, repeated.place) == ("", "m", f"{tmp_path}/a.jsonl:3")
    assert repeated.message == f"id: 1 is at {tmp_path}/a.jsonl:1 already; give each case its own"


def test_words_for_nothing_are_texts_that_are_reported(tmp_path):
    """R writes NA for what is missing; it may also be the answer, so it is neither dropped nor read without a word."""
    table = "id,question,response,reference\nq1,Who?,NA,Ada\nq2,When?,NA,none\nq3,Where?,Here.,There.\n"
    reading = wrote(tmp_path, "a.csv", table)
    assert [case.answer for case in reading] == ["NA", "NA", "Here."]
    told = "response is NA in 2 rows, reference is none in 1 row, read as a text; leave such a cell empty"
    assert told in reading.notice()
    assert any(told in remark for remark in reading.remarks)


def test_all_faults_of_a_row_are_reported_with_the_nearest_known_name(tmp_path):
    """A row is mended in one go: each fault has its field as the file calls it."""
    row = {"qestion": "q", "contexts": [{"txt": "x"}, 3], "usage": {"llm_calls": -1}, "gold": {"essential_doc": []}}
    message = fault(wrote(tmp_path, "a.jsonl", [{**row, "answer": {"a": 42}, "method": True, "triples": ["x"]}]))
    for part in (
        "question: is missing, nearest: qestion",
        "contexts[0].text (chunks): is missing, nearest: txt",
        "contexts[0].txt (chunks): is unknown, nearest: text; known are id, text",
        "contexts[1] (chunks): must be an object, got 3",
        "usage.llm_calls: must be greater than or equal to 0, got -1",
        "gold.essential_doc: is unknown, nearest: essential_docs",
        "answer: must be a text, got an object",
        "method: must be a text, got true",
        "triples[0]: must be an object or a list of three, got 'x'",
    ):
        assert part in message


def test_the_faults_of_a_row_without_end_are_cut(tmp_path):
    """A row of a hundred thousand faults does not fill the screen."""
    assert fault(wrote(tmp_path, "a.jsonl", [{"question": "q", "chunks": [0] * 1000}])).endswith("; and 950 more")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"question": "q",}', "is no JSON: "),
        (
            '{"question": "q", "chunks": [{"text": "t", "score": Infinity}]}',
            "chunks[0].score: Infinity is no JSON value",
        ),
        ('{"question": -Infinity}', "question: -Infinity is no JSON value; write null"),
        ('{"question": "q", "usage": {"latency": 1e999}}', "usage.latency: 1e999 is too large a number"),
        ('{"question": "q", "id": ' + "1" * 5000 + "}", "id: an integer of 5000 digits is too large"),
        (r'{"question": "\ud800"}', "question: holds half of a character"),
        (r'{"question": "q", "tags": {"\uD800": "x"}}', r"tags.\ud800: holds half of a character"),
        ('{"question": ' + "[" * 100_000, "is nested too deeply"),
        ("[1]", "must be an object with a question, got a list; a file that is one JSON list is named .json"),
        ("null", "must be an object with a question, got null"),
        ('{"inputz": "q"}', "question: is missing, nearest: inputz"),
        ('{"x": "q"}', "question: is missing; it may be called question, user_input, input, inputs, request, vars, "),
        ('{"question": ["q"], "id": [1]}', "question: must be a text, got a list"),
        ('{"question": "q", "chunks": {}, "traversal": 3}', "chunks: must be a list, got an object"),
    ],
)
def test_what_is_no_case_is_a_fault_of_its_row_alone(tmp_path, line, told):
    """Each stumbling block of JSON is told with its field, as lines and, where it is JSON, in a list."""
    bad, good = wrote(tmp_path, "a.jsonl", f'{line}\n{{"question": "q"}}')
    assert told in bad.message
    assert bad.place == f"{tmp_path}/a.jsonl:1"
    assert good.id == "row-2"
    if "no JSON: " not in told and "nested" not in told:
        bad, good = wrote(tmp_path, "a.json", f'[{line}, {{"question": "q"}}]')
        assert told.partition(";")[0] in bad.message
        assert bad.place == f"{tmp_path}/a.json, row 1"


def test_cells_hold_json_and_dotted_columns_nest(tmp_path):
    """A table can say all that JSON can; an empty cell is not recorded."""
    header = (
        " id, question,answer,contexts,ground_truths,tags.movie,tag:year,gold.essential_docs,usage.latency,traversal,\n"
    )
    table = """1,"two
lines",,"[""a"", ""b""]","[""x"", ""y""]",tt1,,"[""d1""]",2.5,"{""start_nodes"": [""n""]}",
,,,,,,,,,,
2,q,,[1] as text,[z],,1994,,,,
"""
    rows = [*wrote(tmp_path, "a.csv", header + table)]
    usual = {"traversal": {"start_nodes": ["n"]}, "gold": {"essential_docs": ["d1"]}, "usage": {"latency": 2.5}}
    assert rows == [
        Case(id="1", question="two\nlines", chunks=["a", "b"], expected_answer="x\ny", tags={"movie": "tt1"}, **usual),
        Case(id="2", question="q", chunks=["[1] as text"], expected_answer="[z]", tags={"year": "1994"}),
    ]


def test_a_dotted_column_beside_its_whole_is_reported_where_it_cannot_count(tmp_path):
    """Parts complete the whole; what the whole says already is ignored, and told."""
    row = {"question": "q", "tags": {"a": "1"}, "tags.a": "2", "tag:b": "3", "gold": 3, "gold.helpful_docs": ["d"]}
    reading = wrote(tmp_path, "a.jsonl", [row, {k: v for k, v in row.items() if not k.startswith("gold")}])
    assert [*reading][1].tags == {"a": "1", "b": "3"}
    assert "tags.a (tags is there), gold.helpful_docs (gold is there)" in reading.notice()


def test_bad_rows_of_a_table_are_reported_with_the_line_they_begin_at(tmp_path):
    """Ragged rows, lists as Python prints them, stray quotes and stray bytes each cost one row."""
    table = b"""id,question,contexts,usage.latency,gold.essential_docs
1,q
2,q,"['a' + 'b']",x,[d1
3,"open,,,
4,caf\xff,"[""a""]",,
5,"q",,,
6,q,,,"d1, d2"
7,q,,,d1
"""
    rows = [*wrote(tmp_path, "a.csv", table)]
    told = {row.place.rpartition(":")[2]: row.message for row in rows if isinstance(row, RowFault)}
    assert [row.id for row in rows if isinstance(row, Case)] == ["5", "7"]
    assert rows[-1].gold.essential_docs == ("d1",)
    assert told["2"] == "has 2 cells where the header has 5"
    assert (
        "contexts: begins like a list or an object but is no JSON: Expecting value, nor a list of Python" in told["3"]
    )
    assert "gold.essential_docs: begins like a list" in told["3"]
    assert "usage.latency: must be a valid number" in told["3"]
    assert "is no row of a table" in told["4"]
    assert told["5"] == "question: is not UTF-8 (0xff in the cell); save the file as UTF-8"
    assert told["7"] == "gold.essential_docs: must be a list, got 'd1, d2'"


def test_parquet_nests_dotted_columns_and_reports_the_others(tmp_path):
    """Maps are tags, JSON in a text column is read, columns of no use are told; a bad row is only itself."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    half = pa.array([b"q", b"\xff", b"r"]).view(pa.string())
    columns = {"user_input": half, "gold.essential_docs": [["d"], None, None], "embedding": [[0.1]] * 3}
    tags = pa.array([[("a", "1")], None, []], pa.map_(pa.string(), pa.string()))
    table = pa.table({**columns, "tags": tags, "chunks": ['["x"]', None, "[{"], "tags.year": [1994, None, None]})
    parquet.write_table(table, tmp_path / "a.parquet")
    reading = read_cases(tmp_path / "a.parquet")
    good, half, broken = reading
    expected = Case(
        id="row-1", question="q", gold={"essential_docs": ["d"]}, tags={"a": "1", "year": "1994"}, chunks=["x"]
    )
    assert good == expected
    assert (half.place, half.message[:38]) == (f"{tmp_path}/a.parquet, row 2", "holds a value that cannot be read: 'ut")
    assert broken.message.startswith("chunks: begins like a list or an object")
    told = "read user_input as question; ignored embedding."
    assert reading.notice() == f"{tmp_path}/a.parquet: {told}"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.jsonl", "\n \n", "a.jsonl: holds no cases"),
        ("a.json", "", "a.json: holds no cases"),
        ("a.csv", "", "a.csv: holds no cases"),
        ("a.csv", "question\n\n", "a.csv: holds no cases"),
        ("a.csv", "frage;antwort\nq;a", "no column for the question; it may be called question, user_input, input"),
        ("a.tsv", "qestion\tanswer\nq\ta", "a.tsv:1: no column for the question; is it 'qestion'?"),
        ("a.csv", "question,id,id\nq,1,2", "a.csv:1: id is there twice"),
        ("a.csv", b"quest\xffon\nq", "a.csv:1: is not UTF-8 (0xff in the header)"),
        ("a.csv", "question".encode("utf-16") + b"\n", "a.csv: is not UTF-16 throughout"),
        ("a.csv", '"question"x\nq', "a.csv:1: is no row of a table"),
        ("a.json", '[{"question": "q"},\n+]', "a.json:2:1: is no JSON: "),
        ("a.json", b'[{"question":\n "\xe9"}]', "a.json:2: is not UTF-8 (0xe9 at byte 17)"),
        ("a.json", "[" * 100_000, "a.json: is nested too deeply"),
        ("a.json", '{"case": []}', "'items' or 'rows'; is it 'case'?"),
        ("a.json", "3", "a.json: must be a list of cases, got a number"),
        ("a.parquet", "PAR1", "a.parquet: cannot be read as Parquet"),
        ("a.jsn", "", "a.jsn: its ending '.jsn' is not known; is it .json? (known are .jsonl, .ndjson,"),
        ("a.jsonl.zip", "", "its ending '.zip' is not known; unpack it first (known are"),
    ],
)
def test_a_file_that_cannot_be_used_says_what_where_and_what_to_do(tmp_path, name, content, told):
    """What is wrong with a whole file is an error with its place."""
    with pytest.raises(DataError) as caught:
        [*wrote(tmp_path, name, content)]
    assert told in str(caught.value)


@pytest.mark.parametrize(("name", "told"), [("csae.jsonl", "no such file; is it case.jsonl?"), ("", "is a folder")])
def test_a_path_that_is_no_file_is_reported_before_reading(tmp_path, name, told):
    """A slip in a path is told at once, with the file that was meant."""
    (tmp_path / "case.jsonl").touch()
    for path in (tmp_path / name, str(tmp_path / name)):
        with pytest.raises(DataError, match=told):
            read_cases(path)
    with pytest.raises(DataError, match="cannot be read: File name too long"):
        read_cases("x" * 5000)


@pytest.mark.parametrize(
    ("name", "file", "mapped", "recorded"),
    [
        ("graphragbench_novels_3", "questions.jsonl", {}, "expected_answer"),
        (
            "multihop_hotpotqa_100",
            "questions.jsonl",
            {
                "gold_titles": "gold.essential_docs",
                "supporting_facts": "gold.essential_docs",
                "answer": "expected_answer",
                "passages": "chunks",
            },
            "expected_answer",
        ),
        ("nq301_answer_judgments", "judgments.jsonl", {"gold_answers": "expected_answer"}, "expected_answer"),
    ],
)
def test_whole_files_are_read_without_a_fault(data_set, name, file, mapped, recorded):
    """Files of published forms come through; what the names do not cover is a tag, or reported as ignored."""
    path = data_set(name) / file
    reading = read_cases(path)
    rows = [*reading]
    assert len(rows) == path.read_bytes().count(b"\n") > 0
    assert all(isinstance(row, Case) and getattr(row, recorded) for row in rows)
    fields = {column: field for column, field in reading.mapping.items() if field != f"tags.{column}"}
    assert fields.items() <= mapped.items()  # data of our own does not have all columns
    assert reading.mapping.keys() - mapped.keys()


@pytest.mark.parametrize("ending", ["ndjson", "json", "csv", "tsv", "parquet"])
def test_rows_are_counted_in_each_format(tmp_path, ending):
    """The count is that of the rows that are read, no higher than the limit."""
    path = tmp_path / f"cases.{ending}"
    written_as(ending, path, [Case(id=f"q{n}", question="q\nr", tags={"n": n}) for n in range(7)])
    reading = read_cases(path)
    assert [reading.count(), reading.count(limit=3), reading.count(limit=9)] == [7, 3, 7]
    assert len([*reading]) == 7


@SAME_FOLDER
@given(st.lists(st.sampled_from(["", " ", "\t\r", "{", '{"id": ""}', "\ufeff", "\u2028", "\x0b\x0c"]), max_size=8))
def test_lines_are_counted_as_they_are_read(tmp_path, lines):
    """Blank lines are no rows for the count either, and lines that are no cases are."""
    reading = wrote(tmp_path, "a.jsonl", "\n".join([*lines, '{"question": "last"}']))
    assert reading.count() == len([*reading])


def test_what_cannot_be_counted_is_reported(tmp_path):
    """Standard input has no count, an empty file none to count, and a broken one says what is wrong."""
    assert read_cases("-").count() is None
    assert wrote(tmp_path, "a.jsonl", "").count() == 0
    for name in ("a.parquet", "a.json", "a.csv"):
        with pytest.raises(DataError, match=name):
            wrote(tmp_path, name, '{"broken').count()


@pytest.mark.nightly
def test_an_id_is_known_again_among_many(tmp_path):
    """That an id was there already is told with its place, however many came between."""
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f'{{"id": "q{n}", "question": "q"}}\n' for n in [*range(70_000), 5, 69_999]))
    faults = [row.message for row in read_cases(path) if isinstance(row, RowFault)]
    assert [message.split(";")[0] for message in faults] == [
        f"id: q5 is at {path}:6 already",
        f"id: q69999 is at {path}:70000 already",
    ]
