"""Rankings and judgements in tables and JSON lines: the figures of TREC files, and faults told with their row."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from greval.datasets.ranked_rows import RUN_ROWS
from greval.datasets.row_frames import FrameColumns, read_regular_frame
from greval.errors import DataError
from greval.ranking import measure_rankings, read_qrels, read_rankings

MEASURES = ["ndcg@10", "recall@20", "mrr", "map", "precision@5"]
ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json", ".csv.gz", ".jsonl.gz")
RUN = [("q1", "d1", 0.5), ("q1", "d2", 0.75), ("q2", "d1", 2.0)]


def write_table(path, names, rows):
    """Write rows in the format of the ending of a path."""
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    if suffix == ".parquet":
        parquet.write_table(table, path)
        return path
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    if suffix in {".csv", ".tsv"}:
        stream = pa.BufferOutputStream()
        csv.write_csv(table, stream, csv.WriteOptions(delimiter="\t" if suffix == ".tsv" else ","))
        content = stream.getvalue().to_pybytes()
    else:
        content = (f"[{','.join(lines)}]" if suffix == ".json" else "\n".join(lines)).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def split_lines(path, *places):
    """Return some cells of each line of a TREC file; the last is a number."""
    cells = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return [(*(row[place] for place in places[:-1]), float(row[places[-1]])) for row in cells]


def list_documents(rankings):
    """Return the documents of all rankings, best first."""
    return rankings.ranked.rows["document"].to_list()


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_gives_the_figures_of_trec_files(data_set, tmp_path, ending):
    """The judgements and the run of trec_eval's own test give the same value of each question in each format."""
    folder = data_set("trec_eval_golden")
    grades = [(*ids, int(grade)) for *ids, grade in split_lines(folder / "qrels.test", 0, 2, 3)]
    qrels = write_table(tmp_path / f"qrels{ending}", ("query-id", "corpus-id", "score"), grades)
    rows = split_lines(folder / "results.test", 0, 2, 4)
    run = write_table(tmp_path / f"run{ending}", ("qid", "docid", "score"), rows)
    expected = measure_rankings(read_qrels(folder / "qrels.test"), read_rankings(folder / "results.test"), MEASURES)
    measured = measure_rankings(read_qrels(qrels), read_rankings(run), MEASURES)
    assert {name: one.by_question() for name, one in measured.items()} == {
        name: one.by_question() for name, one in expected.items()
    }
    assert measured["map"].measured_count >= 3


@pytest.mark.parametrize("number", ["score", "rank", None])
@pytest.mark.parametrize("ending", [".parquet", ".csv", ".tsv", ".jsonl", ".ndjson"])
def test_regular_files_need_no_reading_row_by_row(tmp_path, number, ending):
    """Parquet, CSV, TSV and JSON lines as tools write them are read by polars, with other columns beside."""
    names = ("query_id", "doc_id", *([number] if number else []), "title")
    rows = [(row[0], row[1], *([row[2] * 4] if number else []), "A: {c}") for row in RUN]
    path = tmp_path / f"run{ending}"
    if ending in {".csv", ".tsv"}:
        mark = "," if ending == ".csv" else "\t"
        path.write_text("".join(mark.join(map(str, row)) + "\n" for row in [names, *rows]), encoding="utf-8")
    else:
        write_table(path, names, rows)
    columns = FrameColumns(RUN_ROWS, ("score", "rank"), {}, is_required=False)
    frame = read_regular_frame(path, columns)
    assert frame.columns == ["question", "document", *([number] if number else [])]
    assert frame.rows() == [(*row[:2], *([row[2] * 4] if number else [])) for row in RUN]


IRREGULAR = {
    "escape.jsonl": '{"qid": "q1", "docid": "d1", "score": 1}\n{"qid": "q\\u0031", "docid": "d2", "score": 2}\n',
    "order.jsonl": '{"qid": "q1", "docid": "d1", "score": 1}\n{"docid": "d2", "score": 2, "qid": "q1"}\n',
    "whole.jsonl": '{"qid": 1, "docid": "d1", "score": 1}\n{"qid": 1, "docid": "d2", "score": 2}\n',
    "mixed.jsonl": '{"qid": "1", "docid": "d1", "score": 1}\n{"qid": 1, "docid": "d2", "score": 2}\n',
    "nested.jsonl": '{"qid": "q1", "docid": "d1", "score": 1, "m": [1]}\n{"qid": "q1", "docid": "d2", "score": 2}\n',
    "texts.jsonl": '{"qid": "q1", "docid": "d1", "score": "1"}\n\n{"qid": "q1", "docid": "d2", "score": "2"}\n',
    "quotes.csv": 'qid,docid,score\n"q1","d1",1\nq1,"d2",2\n',
    "lines.csv": 'qid,docid,score,text\nq1,d1,1,"a\nb"\nq1,d2,2,c\n',
    "semicolon.csv": "\ufeffqid;docid;score\nq1;d1;1\n\nq1;d2;2\n",
    "excel.csv": "sep=;\nqid;docid;score\nq1;d1;1\nq1;d2;2\n",
    "trec.tsv": "q1\tQ0\td1\t1\t1\tx\nq1\tQ0\td2\t2\t2\tx\n",
    "Title Case.csv": "Query ID,Doc Id,Score\nq1,d1,1\nq1,d2,2\n",
}


@pytest.mark.parametrize("name", IRREGULAR)
def test_irregular_files_are_read_the_same(tmp_path, name):
    """Escapes, other orders of names, numbers as texts, quotes and delimiters change nothing."""
    path = tmp_path / name
    path.write_text(IRREGULAR[name], encoding="utf-8")
    rankings = read_rankings(path)
    (question,) = rankings.questions
    assert question in {"q1", "1"}
    judged = read_qrels(write_table(tmp_path / "q.csv", ("qid", "docid", "grade"), [(question, "d2", 1)]))
    hits = rankings.find_hits(judged)
    assert (hits.ranks.tolist(), hits.depths.tolist()) == ([1], [2])


CSV = "qid,docid,score\nq1,d1,1\n"
LINE = '{"qid":"q1","docid":"d1","score":1}\n'


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("run.csv", f"{CSV}q1,d2,x\n", ":3: the score must be a number, got 'x'; mend the row or remove it"),
        ("run.csv", f"{CSV}q1,,2\n", ":3: the document must be a text or a whole number, it is missing"),
        ("run.csv", f"{CSV}q1,d2\n", ":3: has 2 cells where the header has 3"),
        ("run.csv", f"{CSV}q1,d2,nan\n", ":3: the score must be a number, got 'nan'"),
        ("run.csv.gz", f"{CSV}q1,d2,x\n", ":3: the score must be a number, got 'x'"),
        ("run.tsv", "qid\tdocid\trank\nq1\td1\t1.5\n", ":2: the rank must be a whole number, got '1.5'"),
        ("run.csv", "qid,text,score\nq1,d1,1\n", ":1: no column for the document; it may be called doc_id, "),
        ("run.csv", "qid,dcid,score\nq1,d1,1\n", ":1: no column for the document; is it 'dcid'? (other columns: dcid"),
        ("run.jsonl", f'{LINE}{{"qid":"q1"\n', ":2: is no JSON"),
        ("run.jsonl", f'{LINE}{{"qid":"q1","score":1}}\n', ":2: the document must be a text or a whole number, it"),
        (
            "run.jsonl",
            f'{LINE}{{"qid":"q1","docid":"d2","score":NaN}}\n',
            ":2: the score must be a number, it is missing",
        ),
        ("run.jsonl", f'{LINE}["q1","d2",1]\n', ":2: must be an object with a question and a document, got a list"),
        ("run.json", '[{"qid":"q1","docid":"d1"},{"qid":"q1","docid":true}]', ", row 2: the document must be a text"),
        ("run.csv", "qid,docid,score\n", ": holds no r"),
        ("run.csv", "", ": holds no r"),
        ("run.parquet", "no Parquet", ": cannot be read"),
    ],
)
def test_faults_name_file_and_row(tmp_path, name, content, told):
    """A row that cannot be read is told with the file, the row, what was expected, and what was found."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    with pytest.raises(DataError) as caught:
        read_rankings(path)
    assert str(caught.value).startswith(f"{path}{told}")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
def test_a_missing_value_is_told_in_every_format(tmp_path, ending):
    """A grade that is missing or no whole number is told with its row."""
    path = write_table(tmp_path / f"qrels{ending}", ("qid", "docid", "rel"), [("q1", "d1", 1.0), ("q1", "d2", 1.5)])
    with pytest.raises(DataError, match=r"(:3|:2|, row 2): the grade must be a whole number, got '?1\.5"):
        read_qrels(path)
    path = write_table(tmp_path / f"qrels{ending}", ("qid", "docid", "rel"), [("q1", "d1", 1), ("q1", "d2", None)])
    with pytest.raises(DataError, match=r"(:3|:2|, row 2): the grade must be a whole number, it is missing"):
        read_qrels(path)


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".json"])
def test_ids_that_a_table_holds_as_numbers_are_texts(tmp_path, ending):
    """A column of ids that pandas made floating-point because of a gap has the ids of whole numbers."""
    path = write_table(tmp_path / f"run{ending}", ("qid", "docid", "score"), [(1.0, 7.0, 0.5), (1.0, 9.0, 0.75)])
    rankings = read_rankings(path)
    assert rankings.questions == ("1",)
    assert list_documents(rankings) == ["9", "7"]


def test_columns_can_be_named(tmp_path):
    """A column of another name is named by its field, also by a path in JSON; an unknown field is refused."""
    path = write_table(tmp_path / "run.csv", ("frage", "treffer", "wert"), RUN)
    columns = {"question": "frage", "document": "treffer", "score": "wert"}
    assert read_rankings(path, columns=columns).questions == ("q1", "q2")
    lines = tmp_path / "run.jsonl"
    lines.write_text('{"q": {"id": "q1"}, "docid": "d1"}\n', encoding="utf-8")
    assert read_rankings(lines, columns={"question": "q.id"}).questions == ("q1",)
    with pytest.raises(DataError, match="column answer=x: 'answer' is none of the fields"):
        read_rankings(path, columns={"answer": "x"})
    with pytest.raises(DataError, match="no column for the question"):
        read_rankings(path)


@pytest.mark.parametrize(("order", "first"), [(None, "d2"), ("score", "d2"), ("rank", "d3"), ("file", "d1")])
def test_what_ranks_documents(tmp_path, order, first):
    """Documents are ranked by score if there is one, or as is asked for."""
    rows = [("q1", "d1", 0.5, 2), ("q1", "d2", 0.75, 3), ("q1", "d3", 0.25, 1)]
    path = write_table(tmp_path / "run.parquet", ("qid", "docid", "score", "rank"), rows)
    assert list_documents(read_rankings(path, order=order))[0] == first


def test_without_numbers_rows_are_in_ranked_order(tmp_path):
    """A file without scores and ranks is ranked as it is; to rank it by score is refused."""
    path = write_table(tmp_path / "run.csv", ("qid", "docid"), [row[:2] for row in RUN])
    assert read_rankings(path).questions == ("q1", "q2")
    with pytest.raises(DataError, match="no column for the score"):
        read_rankings(path, order="score")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("two.csv", "qid,docid,score,system\nq1,d1,0.9,bm25\nq1,d1,0.8,dense\n"),
        ("two.run", "q1 Q0 d1 1 0.9 bm25\nq1 Q0 d1 1 0.8 dense\n"),
    ],
)
def test_several_runs_in_a_file_are_refused(tmp_path, name, content):
    """The documents of two runs are not one ranking; a document that one run has twice is in it once."""
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match="names several runs, such as 'bm25' and 'dense'"):
        read_rankings(path)
    path.write_text(content.replace("dense", "bm25"), encoding="utf-8")
    assert list_documents(read_rankings(path)) == ["d1"]


def test_a_missing_file_is_told(tmp_path):
    """A file that is not there is told by its name, with that of a similar one."""
    write_table(tmp_path / "bm25.csv", ("qid", "docid"), [row[:2] for row in RUN])
    with pytest.raises(DataError, match=r"bm52\.csv: no such file; is it bm25\.csv\?"):
        read_rankings(tmp_path / "bm52.csv")


NESTED = {
    "scores": {"q1": {"d2": 0.75, "d1": 0.5}, "q2": {"d1": 2.0}},
    "unsorted scores": {"q1": {"d1": 0.5, "d2": 0.75}, "q2": {"d1": 2.0}},
    "pairs": {"q1": [["d2", 0.75], ["d1", 0.5]], "q2": [["d1", 2.0]]},
    "objects": {
        "q1": [{"doc_id": "d1", "score": 0.5}, {"doc_id": "d2", "score": 0.75}],
        "q2": [{"id": "d1", "score": 2}],
    },
    "ids": {"q1": ["d2", "d1"], "q2": ["d1"]},
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("ending", [".json", ".json.gz", ".jsonl"])
def test_nested_runs_are_those_of_a_table(tmp_path, name, ending):
    """The documents of each question, as pytrec_eval and ranx keep them, are ranked as the rows of a table."""
    texts = [json.dumps({key: part}) for key, part in NESTED[name].items()]
    content = ("\n".join(texts) if ending == ".jsonl" else json.dumps(NESTED[name])).encode()
    path = tmp_path / f"run{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    qrels = write_table(tmp_path / "qrels.csv", ("qid", "docid", "grade"), [("q1", "d1", 1), ("q2", "d1", 1)])
    table = write_table(tmp_path / "run.csv", ("qid", "docid", "score"), RUN)
    measured, expected = (measure_rankings(read_qrels(qrels), read_rankings(one), ["mrr"]) for one in (path, table))
    assert measured["mrr"].by_question() == expected["mrr"].by_question() == {"q1": 0.5, "q2": 1.0}


@pytest.mark.parametrize(
    "content",
    [
        {"q1": {"d1": 2, "d3": 0}, "q2": {"d2": 1}},
        {"queries": {"q1": "Who?"}, "corpus": {"d1": "x"}, "relevant_docs": {"q1": {"d1": 2, "d3": 0}, "q2": ["d2"]}},
    ],
)
def test_nested_judgements(tmp_path, content):
    """Grades by question, and the data set of a tool that lists the relevant documents, are judgements."""
    path = tmp_path / "qrels.json"
    path.write_text(json.dumps(content), "utf-8")
    assert sorted(read_qrels(path).grades.tolist()) == [0, 1, 2]


@pytest.mark.parametrize("content", [{"q1": {"d1": "high"}}, {"q1": {"d1": True}}, {"q1": 3}, {}])
def test_other_objects_are_no_run(tmp_path, content):
    """An object that holds no documents of questions is refused with the file."""
    path = tmp_path / "run.json"
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(DataError, match=r"run\.json"):
        read_rankings(path)
