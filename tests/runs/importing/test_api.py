"""Imported verdicts: results of a run that say so, are the same when imported again, and never a wrong number."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greval import (
    Store,
    build_scale_metric,
    evaluate,
    import_verdicts,
    load_metric,
    panel,
    read_cases,
)
from greval.analysis.summary import build_report
from greval.errors import DataError, DefinitionError, StoreError
from greval.records.scale import OffScaleError
from greval.records.scale_values import is_missing_value, parse_on_scale
from greval.runs.merging import read_rows
from greval.runs.run_summary import count_others
from greval.runs.store.plans import list_judges
from greval.testing import ScriptedJudge

QUALITY = build_scale_metric("quality", "0..3")
CORRECTNESS = load_metric("correctness")


def outcomes(run):
    """Give the value of each case, or the status with the reason or the message."""
    values = {}
    for result in run.results():
        verdict = result.outcome
        values[result.sample_id] = (
            verdict.judgements[0].value
            if verdict.status == "scored"
            else (verdict.status, getattr(verdict, "reason", None) or "")
        )
    return values


def rows_of(count, method, values):
    """Give rows that are cases and verdicts at once."""
    return [
        {
            "id": f"q{n}",
            "method": method,
            "question": f"Question {n}?",
            "answer": f"Answer {n}.",
            "expected_answer": "E",
            "kind": "odd" if n % 2 else "even",
            "correctness": values(n),
        }
        for n in range(count)
    ]


written = st.integers(-1, 5) | st.floats() | st.sampled_from(["", "yes", "2", " 3 ", "1.5", "n/a", "2,0", None, True])


@given(st.lists(written, min_size=1, max_size=8))
@settings(max_examples=25)  # each writes to the disk
def test_only_a_value_of_the_scale_is_a_number(tmp_path_factory, values):
    """Whatever is written: a level is scored, nothing is skipped, and all else fails with its place; none is lost."""
    values = [*values, 2]  # a file without any value has no column for it
    given_rows = [{"id": f"q{n}", "value": value} for n, value in enumerate(values)]
    run = import_verdicts(given_rows, [QUALITY], out=tmp_path_factory.mktemp("law") / "run")
    results = {result.sample_id: result for result in run.results()}
    assert len(results) == len(values)
    for n, value in enumerate(values):
        result = results[f"q{n}"]
        try:
            expected = parse_on_scale(QUALITY.scale, value)
        except OffScaleError:
            status = "skipped" if is_missing_value(QUALITY.scale, value) else "failed"
            assert result.outcome.status == status
        else:
            assert result.judgements[0].number == float(expected)


@pytest.mark.parametrize("convert", [pd.DataFrame, pa.Table.from_pylist, iter])
def test_verdicts_of_a_table_are_imported(tmp_path, convert):
    """A table of pandas or Arrow, and rows that can be read only once, are read as a file of the same rows."""
    rows = [{"id": "q1", "v": "yes", "metrics": None}, {"id": "q2", "v": "no", "metrics": None}]
    run = import_verdicts(convert(rows), [build_scale_metric("right", "yes/no")], out=tmp_path, columns={"value": "v"})
    assert [result.value for result in run.results()] == ["yes", "no"]


def test_a_run_says_that_it_was_imported_and_from_where(tmp_path):
    """Each result, the report and its JSON have the stated judge, the file and that greval did not judge."""
    path = tmp_path / "v.csv"
    path.write_text("id,question,answer,verdict,reason\nq1,Who?,Ada,3,Whole.\nq2,When?,,9,\nq3,Why?,So.,,\n")
    run = import_verdicts(path, [QUALITY], out=tmp_path / "run", judge="gpt-4")
    with Store.open(run.folder) as store:
        report = build_report(store)
        assert [case.answer for case in store.cases()] == ["Ada", None, "So."]
    assert {result.tier for result in run.results()} == {"imported"}
    assert report.judge == "imported:gpt-4"
    assert [(origin.metric, origin.judge, origin.file) for origin in report.imported] == [
        ("quality", "gpt-4", str(path))
    ]
    (summary,) = report.summaries
    assert (summary.scored, summary.failed, summary.skipped, summary.mean) == (1, 1, 1, 3.0)
    assert summary.failures == {"off_scale": 1}
    assert report.pending == {}
    failed = next(result for result in run.results() if result.outcome.status == "failed")
    assert failed.failures[0].message == f"{path}:3: 9 is not an integer from 0 to 3"
    assert failed.failures[0].raw == "9"


def test_the_file_stands_for_a_judge_that_is_not_stated(tmp_path):
    """Verdicts of two files without a judge are not taken for those of one judge."""
    (tmp_path / "a.csv").write_text("id,value\nq1,3\n")
    run = import_verdicts(tmp_path / "a.csv", [QUALITY], out=tmp_path / "run")
    assert {result.judge for result in run.results()} == {"imported:a.csv"}


def test_importing_again_changes_nothing(tmp_path):
    """The same file adds no row; a changed one replaces what changed and no longer counts what is gone."""
    path = tmp_path / "v.csv"
    path.write_text("id,value\nq1,3\nq2,2\nq3,\n")
    run = import_verdicts(path, [QUALITY], out=tmp_path / "run")
    assert (run.progress.done, run.progress.kept) == (3, 0)
    run = import_verdicts(path, [QUALITY], out=tmp_path / "run")
    assert (run.progress.done, run.progress.kept) == (3, 3)
    with Store.open(run.folder) as store:
        assert len([*read_rows(store)]) == 3
    path.write_text("id,value\nq1,3\nq2,0\n")
    run = import_verdicts(path, [QUALITY], out=tmp_path / "run")
    assert (run.progress.done, run.progress.kept) == (2, 1)
    assert outcomes(run) == {"q1": 3, "q2": 0}


def test_another_judge_replaces_the_verdicts_of_a_folder(tmp_path):
    """A folder that is used again counts the last import of a metric and method, and says what is not counted."""
    first = import_verdicts(rows_of(4, "walk", lambda n: 1), [CORRECTNESS], out=tmp_path / "run", judge="a")
    import_verdicts(rows_of(3, "walk", lambda n: 0), [CORRECTNESS], out=first.folder, judge="b")
    import_verdicts(rows_of(2, "flat", lambda n: 1), [CORRECTNESS], out=first.folder, judge="b")
    with Store.open(first.folder) as store:
        assert list_judges(store.plans()) == ("imported:b",)
        assert (
            sorted((result.method, result.value) for result in store.results()) == [("flat", 1)] * 2 + [("walk", 0)] * 3
        )
        assert count_others(store) == 1


def test_one_file_may_hold_several_metrics_in_columns_or_rows(tmp_path):
    """A column for each metric, or a column that names the metric, give the same results; a lack is a skip."""
    metrics = [build_scale_metric("faithful", "0.0..1.0"), build_scale_metric("relevant", "yes/no")]
    wide = [
        {"id": "q1", "faithfulness": 0.5, "relevant": "yes", "relevant_reason": "On topic."},
        {"id": "q2", "faithfulness": None, "relevant": "no"},
    ]
    long = [
        {"id": "q1", "metric": "Faithful", "score": 0.5},
        {"id": "q1", "metric": "relevant", "score": "yes", "reason": "On topic."},
        {"id": "q2", "metric": "relevant", "score": "no"},
    ]
    a = import_verdicts(wide, metrics, out=tmp_path / "wide", judge="x", columns={"faithful": "faithfulness"})
    b = import_verdicts(long, metrics, out=tmp_path / "long", judge="x")
    wide_results, long_results = (
        {(result.sample_id, result.metric): result.outcome for result in run.results()} for run in (a, b)
    )
    assert wide_results == long_results
    assert [result.reason for result in a.results() if result.metric == "relevant"] == ["On topic.", ""]


def test_verdicts_of_chunks_and_repeats_are_one_result(tmp_path):
    """The rows of a case's chunks are its judgements, repeats are merged with votes, an empty one is a failure."""
    helps = build_scale_metric("helps", "yes/no", over="chunks")
    cases = [{"id": "q1", "question": "Who?", "chunks": ["a", "b", "c"]}]
    given_rows = [
        {"id": "q1", "item": "c1", "repeat": 1, "value": "yes"},
        {"id": "q1", "item": "c1", "repeat": 2, "value": "yes"},
        {"id": "q1", "item": "c1", "repeat": 3, "value": "no"},
        {"id": "q1", "item": "c2", "repeat": 1, "value": ""},
        {"id": "q1", "item": "c9", "repeat": 1, "value": "no"},
        {"id": "q1", "item": None, "value": "no"},
    ]
    lost = []
    run = import_verdicts(given_rows, [helps], out=tmp_path / "run", cases=cases, on_unread=lost.append)
    (result,) = run.results()
    (judgement,) = result.judgements
    assert (judgement.item, judgement.value, judgement.votes) == ("c1", "yes", {"yes": 2, "no": 1})
    assert [(failure.item, failure.kind) for failure in result.failures] == [("c2", "missing_item")]
    assert "c9 is none of the chunks" in lost[0]
    assert "item: is empty" in lost[1]


def test_a_second_verdict_of_a_case_is_not_chosen_by_its_place(tmp_path):
    """Two different verdicts of one thing: the first counts, the other is reported with both places."""
    (tmp_path / "v.csv").write_text("id,value\nq1,3\nq1,3\nq1,2\n")
    lost = []
    run = import_verdicts(tmp_path / "v.csv", [QUALITY], out=tmp_path / "run", on_unread=lost.append)
    assert outcomes(run) == {"q1": 3}
    assert len(lost) == 1
    assert "v.csv:4: q1 has another verdict of quality at" in lost[0]
    assert run.progress.unread == 1


def test_rows_without_ids_have_those_of_the_same_cases(tmp_path):
    """The ids that `evaluate` makes of a file without ids are those of its verdicts, so that both can be compared."""
    path = tmp_path / "v.csv"
    path.write_text("question,answer,expected_answer,correctness\nWho?,Ada,Ada,1\nWhen?,1842,1843,0\n")
    judge = ScriptedJudge(lambda _: {"reason": "r", "value": 1})
    judged = evaluate(read_cases(path), [CORRECTNESS], judge, out=tmp_path / "judged")
    imported = import_verdicts(path, [CORRECTNESS], out=tmp_path / "imported", judge="ana")
    assert [result.sample_id for result in judged.results()] == [result.sample_id for result in imported.results()]
    comparison = panel([judged.folder, imported.folder], "correctness")
    assert comparison.groups[0].things == 2
    assert not any("different texts" in line or "not known" in line for line in comparison.warnings)


def test_cases_of_another_file_are_joined_by_id(tmp_path):
    """Texts and tags come from the cases; a verdict of none of them is imported without."""
    (tmp_path / "cases.jsonl").write_text(
        "".join(
            json.dumps({"id": f"q{n}", "question": f"Q{n}?", "method": "walk", "tags": {"k": "v"}}) + "\n"
            for n in (1, 2)
        )
    )
    notes = []
    run = import_verdicts(
        [{"id": 1, "value": 2}, {"id": "q1", "value": 2}],
        [QUALITY],
        out=tmp_path / "run",
        cases=tmp_path / "cases.jsonl",
        on_note=notes.append,
    )
    assert {(result.sample_id, result.method, result.tags.get("k")) for result in run.results()} == {
        ("1", "", None),
        ("q1", "walk", "v"),
    }
    assert any("not among the cases, so without texts, such as '1' and 'q2" in note for note in notes)
    with pytest.raises(
        DataError, match=r"0 of 1 judged cases met 0 of 2 cases; 'Q1 \(Walk\)' and 'q1 \(walk\)' differ"
    ):
        import_verdicts(
            [{"id": "Q1", "method": "Walk", "value": 2}],
            [QUALITY],
            out=tmp_path / "none",
            cases=tmp_path / "cases.jsonl",
        )


def test_rows_of_other_metrics_are_counted(tmp_path):
    """A file with the verdicts of several metrics says which were left out, and is refused if all were."""
    rows = [{"id": "q1", "metric": "Quality", "value": 2}, {"id": "q2", "metric": "tone", "value": 1}]
    notes = []
    run = import_verdicts(rows, [QUALITY], out=tmp_path / "run", on_note=notes.append)
    assert run.progress.scored == 1
    assert any("1 row of other metrics not imported: tone" in note for note in notes)
    with pytest.raises(DataError, match="no row is a verdict of quality; the column metric has tone: name the metric"):
        import_verdicts(rows[1:], [QUALITY], out=tmp_path / "none")


@pytest.mark.parametrize(
    ("given_rows", "columns", "told"),
    [
        ([{"id": "q1", "note": "x"}], {}, "no column holds the verdicts of quality"),
        ([{"value": 1}], {}, "no column says which case a verdict is of"),
        ([{"id": "", "value": 1}], {}, "id: is empty"),
        ([{"id": "q1", "value": 1}], {"vale": "x"}, "'vale' is no field"),
        ([], {}, "holds no rows"),
    ],
)
def test_what_cannot_be_imported_is_told(tmp_path, given_rows, columns, told):
    """Nothing is imported from a file without verdicts or without cases."""
    with pytest.raises(DataError, match=told):
        import_verdicts(given_rows, [QUALITY], out=tmp_path / "run", columns=columns)


def test_a_metric_is_needed_and_a_probe_is_refused(tmp_path):
    """Without a metric there is no scale; the folder of a probe holds no other verdicts."""
    with pytest.raises(DefinitionError, match="no metric is given"):
        import_verdicts([{"id": "q1", "value": 1}], [], out=tmp_path / "run")
    probed = [{"id": "q1", "value": 1, "tags": {"probe": "x", "of": "q0"}}]
    run = import_verdicts(probed, [QUALITY], out=tmp_path / "probe")
    with pytest.raises(StoreError, match="holds a probe"):
        import_verdicts(probed, [QUALITY], out=run.folder)
