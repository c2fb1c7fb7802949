"""The table of a run: notes, shares, findings and cited items are columns in CSV, Parquet and the frame."""

from __future__ import annotations

import csv
import io
import json

import pandas as pd
import pytest

from greval import CategoricalMetric, ValueMetric, evaluate
from greval.records.result import Result, Skipped
from greval.runs.store import Store
from greval.runs.store.exports import COLUMNS, TableLayout, read_layout, write_csv, write_parquet
from greval.testing import ScriptedJudge

LISTED = {"parts": {"means": "p", "each": {"what": "w", "there": ["yes", "no"]}}}
COVERAGE = {"share": "parts", "where": {"there": "yes"}, "better": "higher"}
DEEP = CategoricalMetric(
    name="deep",
    description="d",
    needs=["answer", "chunks"],
    steps=["Look.", "Weigh."],
    reason_depth="steps",
    categories={"Good": "", "Fair": "", "Bad": ""},
    notes={**LISTED, "coverage": COVERAGE, "advice": "a"},
)
PLAIN = ValueMetric(
    name="plain",
    description="d",
    needs=["answer"],
    steps=["s"],
    range=(0, 1),
    levels={0: "No.", 1: "Yes."},
    notes={"advice": "a"},
)
ANSWER = {
    "findings": {"step_1": "Ada; no year.", "step_2": "Chunk 2 has it."},
    "reason": "The year lacks.",
    "value": "Fair",
    "parts": [{"what": "who", "there": "yes"}, {"what": 'when, "exactly"', "there": "yes"}],
    "advice": "Give\nthe year.",
}
WANTED = {
    "notes.parts": json.dumps(ANSWER["parts"]),
    "notes.coverage": 1.0,
    "notes.coverage.count": 2,
    "notes.coverage.of": 2,
    "notes.advice": "Give\nthe year.",
    "findings": json.dumps([*ANSWER["findings"].values()]),
    "cited_items": '{"chunk 2": "d9"}',
    "contradictions": "coverage is 1.00, but 'Fair' is not the best value, 'Good'",
}


@pytest.fixture
def run(tmp_path):
    """Give the folder of a run with notes, a metric with other notes, and a case that is skipped."""

    def answer(messages):
        if "Metric: deep" not in messages[0].text:
            return {"reason": "r", "value": 1, "advice": "None."}
        if "Nothing." in messages[1].text:
            return {**ANSWER, "parts": []}
        return ANSWER

    chunks = [{"id": "d7", "text": "Ada."}, {"id": "d9", "text": "1843."}]
    cases = [
        {"id": "q1", "question": "Who?", "answer": "Ada.", "chunks": chunks},
        {"id": "q2", "question": "Who?", "answer": "Nothing.", "chunks": chunks},
        {"id": "q3", "question": "Who?"},
    ]
    evaluate(cases, [DEEP, PLAIN], ScriptedJudge(answer), out=tmp_path / "run")
    return tmp_path / "run"


def tables(folder):
    """Give the table of a run as a frame, as CSV and as Parquet."""
    with Store.open(folder) as store:
        frame = store.frame()
        text = io.StringIO(newline="")
        write_csv(store.lines(), text, read_layout(store.fact("metrics")))
        write_parquet(store.lines(), folder / "out.parquet", read_layout(store.fact("metrics")))
    text.seek(0)
    return {"frame": frame, "csv": pd.read_csv(text), "parquet": pd.read_parquet(folder / "out.parquet")}


def test_notes_are_columns_in_every_form(run):
    """A text, a list, a share, the findings and the cited ids stand in columns of their own, alike in each form."""
    for form, table in tables(run).items():
        assert [*table.columns] == [
            *COLUMNS,
            *sorted({one for one in WANTED if "notes" in one}, key=[*WANTED].index),
        ], form
        deep = table[(table["metric"] == "deep") & (table["sample_id"] == "q1")].iloc[0]
        assert {name: deep[name] for name in WANTED} == WANTED, form
        assert table["notes"].isna().all(), form
        plain = table[(table["metric"] == "plain") & (table["sample_id"] == "q1")].iloc[0]
        assert plain["notes.advice"] == "None.", form
        assert pd.isna(plain["notes.coverage"]), form
        assert table.loc[table["status"] == "scored", "notes.coverage"].mean() == 1.0, form


def test_a_share_of_nothing_is_empty_and_not_0(run):
    """If there was nothing to count, the share is empty, and of how many says 0."""
    for form, table in tables(run).items():
        row = table[(table["metric"] == "deep") & (table["sample_id"] == "q2")].iloc[0]
        assert pd.isna(row["notes.coverage"]), form
        assert (row["notes.coverage.count"], row["notes.coverage.of"]) == (0, 0), form
        assert pd.isna(row["contradictions"]), form


def test_notes_of_no_definition_are_kept(run):
    """A note that no metric of the run defines any more is not lost: it stands in `notes`."""
    with Store.open(run) as store:
        row = next(row for row in store.results() if row.metric == "deep" and row.sample_id == "q1")
    (cells,) = TableLayout().flatten(row.model_dump(mode="json"))
    assert json.loads(cells["notes"])["advice"] == "Give\nthe year."
    assert json.loads(cells["notes"])["coverage"]["share"] == 1.0


def test_metrics_that_differ_in_a_note_share_a_column_of_texts():
    """One name for a share in one metric and a text in another: the column holds texts."""
    other = PLAIN.model_copy(update={"name": "other"})
    shared = read_layout([{**PLAIN.model_dump(mode="json"), "name": "first"}, DEEP.model_dump(mode="json")])
    mixed = read_layout(
        [DEEP.model_dump(mode="json"), {**other.model_dump(mode="json"), "notes": {"coverage": {"means": "in words"}}}]
    )
    assert (shared.types["notes.coverage"], mixed.types["notes.coverage"]) == (float, str)


def test_a_carriage_return_ends_no_row():
    """A text that holds one is a cell of CSV like any other."""
    row = {"metric": "m", "fingerprint": "f", "judge": "j", "tier": "schema"}
    result = Result(sample_id="q1", outcome=Skipped(reason="a\rb"), **row)
    text = io.StringIO(newline="")
    write_csv([result.model_dump_json()] * 2, text)
    text.seek(0)
    assert [cells["message"] for cells in csv.DictReader(text)] == ["a\rb"] * 2
