"""`greval results`: its filters, worst results and texts in every format, on runs of metrics of cases and of items."""

from __future__ import annotations

import csv
import io
import json

import pandas as pd
import pytest
from judged_runs import CHUNK, DEPTH, TONE

from greval import evaluate
from greval.testing import ScriptedJudge

TEXTS = ["question", "answer", "expected_answer", "item_text"]


def judge(messages):
    """Judge by the number of the question: 0 fails for all metrics."""
    text = messages[1].text
    number = int(text.split("Question ")[1][0])
    if '<item n="' in text:
        value = "Helps" if number > 1 else "Does not"
        listed = [{"item": item, "reason": "r", "value": value} for item in (1, 2)]
        return {"judgements": listed}
    if number == 0:
        return {"reason": "r", "value": "nothing of the kind"}
    return {"reason": f"reason {number}", "value": number if "Shallow" in messages[0].text else "Polite"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Give a run of five cases of two methods by three metrics; one case fails, one has no expected answer."""
    folder = tmp_path_factory.mktemp("results") / "run"
    cases = [
        {
            "id": f"q{number}",
            "method": "walk" if number % 2 else "local",
            "question": f"Question {number}?",
            "answer": f"Answer \x1b[31m{number}",
            "expected_answer": None if number == 4 else "E",
            "chunks": [f"chunk a of {number}", f"chunk b of {number}"],
            "tags": {"kind": "even" if number % 2 == 0 else "odd", "all": "yes"},
        }
        for number in range(5)
    ]
    return evaluate(cases, [TONE, DEPTH, CHUNK], ScriptedJudge(judge), out=folder, concurrency=1)


@pytest.fixture
def rows(run, greval_says):
    """Give a function that returns the rows of `greval results` as JSON lines, or in another format."""

    def read(*words, form="jsonl"):
        code, out, _ = greval_says("results", run.folder, *words, "--format", form)
        assert code == 0
        return (
            [json.loads(line) for line in out.splitlines()] if form == "jsonl" else [*csv.DictReader(io.StringIO(out))]
        )

    return read


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        (["-m", "depth"], lambda row: row["metric"] == "depth"),
        (["-m", "depth", "-m", "tone"], lambda row: row["metric"] in {"depth", "tone"}),
        (["--method", "walk"], lambda row: row["method"] == "walk"),
        (["--status", "failed"], lambda row: row["status"] == "failed"),
        (["--status", "skipped"], lambda row: row["status"] == "skipped"),
        (["--value", "Does not"], lambda row: row["value"] == "Does not"),
        (["--tag", "kind=odd"], lambda row: json.loads(row["tags"])["kind"] == "odd"),
        (["--tag", "kind=odd", "--tag", "kind=even"], lambda row: True),
        (["--tag", "kind=odd", "--tag", "all=no"], lambda row: False),
        (
            ["-m", "depth", "--tag", "kind=odd", "--value", "3"],
            lambda row: row["metric"] == "depth" and row["value"] == "3",
        ),
    ],
)
def test_filters_leave_the_rows_that_fit(rows, words, fits):
    """Each filter, and several together, leave exactly the rows that fit, in the order of the run."""
    table = rows(form="csv")
    expected = [row for row in table if fits(row)]
    assert rows(*words, form="csv") == expected
    assert {(row["sample_id"], row["metric"]) for row in rows(*words)} == {
        (row["sample_id"], row["metric"]) for row in expected
    }


def test_the_worst_of_each_metric(rows):
    """The worst results come first, in the order of the metrics; failures are not among them."""
    worst = [(row["metric"], row["sample_id"]) for row in rows("--worst", "2")]
    assert worst == [
        *(("tone", "q1"), ("tone", "q2")),  # all polite: in the order of the run
        *(("depth", "q1"), ("depth", "q2")),
        *(("chunk_use", "q0"), ("chunk_use", "q1")),
    ]
    assert [row["sample_id"] for row in rows("--worst", "1", "-m", "depth", "--tag", "kind=even")] == ["q2"]
    assert rows("--worst", "3", "--status", "failed") == []


def test_texts_in_every_format(run, rows, greval_says, tmp_path):
    """Rows hold question, answer, expected answer and the text of the judged item, the same in every format."""
    table = rows("--texts", form="csv")
    expected = {
        (f"q{number}", item): [f"Question {number}?", f"Answer \x1b[31m{number}", "" if number == 4 else "E", text]
        for number in range(5)
        for item, text in {"": "", "c1": f"chunk a of {number}", "c2": f"chunk b of {number}"}.items()
    }
    assert {(row["sample_id"], row["item"]): [row[name] for name in TEXTS] for row in table} == expected
    assert [{name: row[name] for name in row if name not in TEXTS} for row in table] == rows(form="csv")
    lines = rows("--texts", "-m", "chunk_use", "--worst", "1")
    assert [line["texts"]["items"] for line in lines] == [{"c1": "chunk a of 0", "c2": "chunk b of 0"}]
    file = tmp_path / "rows.parquet"
    assert greval_says("results", run.folder, "--texts", "--format", "parquet", "-o", file)[0] == 0
    frame = run.frame(texts=True)
    for frame_of_texts in (pd.read_parquet(file), frame):
        assert frame_of_texts[TEXTS].fillna("").to_numpy().tolist() == [[row[name] for name in TEXTS] for row in table]
    assert [*run.frame().columns] == [name for name in frame.columns if name not in TEXTS]


def test_a_table_for_people(run, greval_says):
    """The table has a row for each verdict; with texts, each verdict is a block; control characters are escaped."""
    code, out, _ = greval_says("results", run.folder, "-m", "depth", "--format", "table")
    assert code == 0
    assert out.splitlines()[1].split() == ["q1", "walk", "depth", "1", "reason", "1"]
    assert "failed: off_scale" in out
    assert "expected_answer is not recorded" in out
    code, out, _ = greval_says("results", run.folder, "--worst", 1, "--texts", "--format", "table")
    assert code == 0
    assert "  judged    chunk b of 0" in out
    assert "Answer \u241b[31m1" in out
    assert "\x1b" not in out


def test_a_label_sheet_is_filled_and_measured(run, greval_says, tmp_path):
    """The command writes a sheet of some of the items and prints the command that reads it."""
    sheet = tmp_path / "ana.csv"
    code, out, err = greval_says(
        "results", run.folder, "-m", "chunk_use", "--method", "walk", "--tag", "kind=odd", "--label-sheet", sheet
    )
    assert (code, out) == (0, "")
    assert f"4 items to label, in random order; then greval agreement {run.folder} {sheet} -m chunk_use" in err
    sheet.write_text(sheet.read_text("utf-8-sig").replace(",,,Helps:", ",Helps,,Helps:"), "utf-8")
    code, out, _ = greval_says("agreement", run.folder, sheet, "-m", "chunk_use")
    assert code == 0
    assert "labels: label of ana.csv" in out
    assert "1 annotator on 4 items" in out


def test_the_report_of_the_worst(run, greval_says):
    """The report shows the worst cases with their texts; failed and skipped cases are counted, not shown."""
    code, out, _ = greval_says("report", run.folder, "--worst", 2, "-m", "depth")
    assert code == 0
    assert "depth: the worst 2 of 3 cases; 1 failed and 1 skipped not among them" in out
    first_case, _, after = out.partition("2. q2 local")
    assert "1. q1 walk" in first_case
    for text in ("Question 1?", "Answer \u241b[31m1", "reason 1"):
        assert text in first_case
    assert "reason 2" in after
    assert "reason 3" not in out
    worst = json.loads(greval_says("report", run.folder, "--worst", 9, "--format", "json")[1])["worst"]
    assert {metric_rows["metric"]: [case["sample_id"] for case in metric_rows["cases"]] for metric_rows in worst} == {
        "tone": ["q1", "q2", "q3", "q4"],
        "depth": ["q1", "q2", "q3"],
        "chunk_use": ["q0", "q1", "q2", "q3", "q4"],
    }
    assert "tone" not in greval_says("report", run.folder, "-m", "depth")[1]
