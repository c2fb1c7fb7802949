"""Chunks that are recorded by their ids alone, in a run: rankings count them, and judges are not asked about them."""

from __future__ import annotations

import csv
import io

from greval import Case, evaluate, load_metric
from greval.analysis.case_results import read_case_results
from greval.records.metric_input import NO_TEXT, WITHOUT_TEXT, drop_textless_chunks
from greval.records.result import SkippedItem
from greval.report.html.case_view import CaseViewBuilder
from greval.runs.forecast import forecast
from greval.runs.run_reader import read_metrics
from greval.runs.store import Store
from greval.runs.store.exports import write_csv
from greval.testing import ScriptedJudge
from greval.trust.annotations.judged_items import read_judged_items

TEXT = "The pier was built by Oda."
PART = Case(
    id="q1",
    question="Who built it?",
    answer="Oda.",
    chunks=[{"id": "k1"}, {"id": "k2", "text": TEXT}, {"id": "k3"}],
    gold={"essential_docs": ["k3"]},
)
NONE = Case(id="q2", question="Who?", answer="Oda.", chunks=[{"id": "k1"}], gold={"essential_docs": ["k1"]})
NAMES = ("chunk_evaluation", "faithfulness", "recall@3")


def answer(messages):
    """Answer any judged metric, whose prompt must show the one text and nothing for the others."""
    prompt = "\n".join(message.text for message in messages)
    assert TEXT in prompt
    assert WITHOUT_TEXT not in prompt
    if "Metric: chunk_evaluation" not in prompt:
        return {"reason": "So it is.", "value": 1}
    notes = {"recommendations": ""}
    return {"judgements": [{"item": 1, "reason": "So it is.", "value": "Relevant", **notes}]}


def judge_cases(folder, cases):
    judge = ScriptedJudge(answer)
    run = evaluate(cases, [load_metric(name) for name in NAMES], judge, out=folder / "run")
    return judge, run


def test_only_the_chunks_with_a_text_are_judged(tmp_path):
    """Each chunk without a text is skipped with the reason, and a case without any text is skipped as a whole."""
    judge, run = judge_cases(tmp_path, [PART, NONE])
    with Store.open(run.folder) as store:
        rows = {(row.sample_id, row.metric): row for row in store.results()}
    outcome = rows["q1", "chunk_evaluation"].outcome
    assert [part.item for part in outcome.judgements] == ["k2"]
    assert outcome.skipped_items == tuple(SkippedItem(item=name, reason=NO_TEXT) for name in ("k1", "k3"))
    assert rows["q1", "chunk_evaluation"].finished
    assert rows["q1", "faithfulness"].value == 1
    assert rows["q2", "chunk_evaluation"].outcome.reason == f"chunks {NO_TEXT}"
    assert rows["q2", "faithfulness"].outcome.reason == f"context {NO_TEXT}"
    assert [rows[name, "recall@3"].value for name in ("q1", "q2")] == [1.0, 1.0]
    assert len(judge.calls) == 2
    metrics = [load_metric(name) for name in NAMES]
    expected = forecast([PART, NONE], metrics, ScriptedJudge(answer), out=tmp_path / "new").expected
    assert {part.metric: part.skipped for part in expected} == {"chunk_evaluation": 1, "faithfulness": 1, "recall@3": 0}


def test_reports_and_labels_cope_with_them(tmp_path):
    """The table has a row for each skipped chunk, the page of the case shows it, and people label what was judged."""
    _, run = judge_cases(tmp_path, [PART])
    with Store.open(run.folder) as store:
        lines = [row.model_dump_json() for row in store.results() if row.metric == "chunk_evaluation"]
        metrics = read_metrics(store)
        items = [*read_judged_items(store, metrics["chunk_evaluation"].judged)]
        (case_results,) = read_case_results(store)
    file = io.StringIO()
    write_csv(lines, file)
    rows = [(row["item"], row["status"], row["message"]) for row in csv.DictReader(io.StringIO(file.getvalue()))]
    assert rows == [("k2", "scored", ""), ("k1", "skipped", NO_TEXT), ("k3", "skipped", NO_TEXT)]
    assert [item.fields["chunk"] for item in items] == [TEXT]
    view = CaseViewBuilder(metrics).build_view(case_results)
    assert [(chunk.id, chunk.text, chunk.gold) for chunk in view.chunks] == [
        ("k1", WITHOUT_TEXT, ""),
        ("k2", TEXT, ""),
        ("k3", WITHOUT_TEXT, "essential"),
    ]


def test_a_preference_sees_the_texts_of_both_responses(tmp_path):
    """Of a pair, the chunks without a text are left out on both sides."""
    pair = PART.model_copy(update={"other_response": Case(question="", answer="Ada.", chunks=PART.chunks)})
    narrowed = drop_textless_chunks(load_metric("faithfulness"), pair)
    assert [len(narrowed.chunks), len(narrowed.other_response.chunks)] == [1, 1]
    assert drop_textless_chunks(load_metric("recall@3"), pair) is pair
