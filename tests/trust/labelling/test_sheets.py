"""A label sheet shows what was judged and no verdict, and comes back as it is, whatever program saved it."""

import csv
import io

import openpyxl
import pytest
from judged_runs import CHUNK, TONE, judged

from greval import agreement, evaluate, import_verdicts, load_metric
from greval.errors import DataError
from greval.metrics.scale_text import build_scale_metric
from greval.records.scale import MeasureScale, ValueScale
from greval.testing import ScriptedJudge
from greval.trust.annotations.reading import read_annotations
from greval.trust.labelling.sheets import MAX_CELL, explain_levels, write_label_sheet

COUNT = 6
SECRET = "The judge's own reason."


@pytest.fixture
def run(tmp_path):
    """Write a run of imported verdicts whose texts and ids look like formulas and numbers."""
    rows = [
        {"id": name, "question": "Who?", "answer": answer, "expected_answer": "Ada", "value": value, "reason": SECRET}
        for name, answer, value in [("=q1", "=1+1", "yes"), ("007", "-Ada", "no"), ("3", 'He said "no"; so', "yes")]
    ]
    return import_verdicts(rows, [build_scale_metric("right", "yes/no")], out=tmp_path / "run").folder


def read_table(path):
    """Return the rows of a sheet as a person sees them, by their columns."""
    if path.suffix == ".xlsx":
        header, *rows = openpyxl.load_workbook(path)["labels"].iter_rows(values_only=True)
        return [dict(zip(header, ["" if cell is None else cell for cell in row], strict=True)) for row in rows]
    return [*csv.DictReader(io.StringIO(path.read_text("utf-8-sig")))]


def save_table(path, rows, *, delimiter=",", encoding="utf-8", columns=None):
    """Save the rows of a sheet as another program does."""
    names = columns or [*rows[0]]
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in [names, *([row[name] for name in names] for row in rows)]:
            book.active.append(row)
            for cell in book.active[book.active.max_row]:
                cell.data_type = "s" if isinstance(cell.value, str) else cell.data_type
        book.save(path)
        return path
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter).writerows([names, *([row[name] for name in names] for row in rows)])
    path.write_text(file.getvalue(), encoding=encoding, newline="")
    return path


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_sheet_shows_the_item_and_no_verdict(run, tmp_path, ending):
    """It has the ids, the texts, an empty label and the scale, and neither the judge's value nor its reason."""
    path = tmp_path / f"sheet.{ending}"
    assert write_label_sheet(run, path) == 3
    rows = read_table(path)
    assert [*rows[0]][:7] == ["id", "method", "item", "question", "answer", "expected_answer", "label"]
    assert {row["label"] for row in rows} == {""}
    assert {row["question"] for row in rows} == {"Who?"}
    if ending == "xlsx":
        assert all(cell.data_type != "f" for row in openpyxl.load_workbook(path)["labels"] for cell in row)
        legend = [cell for (cell,) in openpyxl.load_workbook(path)["scale"].iter_rows(values_only=True)]
        assert legend[1:] == ["yes", "no"]
    else:
        assert {row.pop("scale") for row in rows} == {"yes | no"}
    assert SECRET not in str(rows)
    assert "yes" not in str(rows)


@pytest.mark.parametrize(
    ("ending", "options"),
    [
        ("csv", {}),
        ("csv", {"delimiter": ";", "encoding": "utf-8-sig"}),
        ("csv", {"columns": ["label", "answer", "comment", "id", "metric"]}),
        ("tsv", {"delimiter": "\t", "encoding": "utf-16"}),
        ("xlsx", {}),
    ],
)
def test_a_sheet_comes_back_from_other_programs(run, tmp_path, ending, options):
    """Partly filled, saved with another delimiter or mark, with columns moved or deleted, or as numbers."""
    source = tmp_path / f"sheet.{'xlsx' if ending == 'xlsx' else 'csv'}"
    write_label_sheet(run, source)
    rows = read_table(source)
    labels = {"=q1": 0.0 if ending == "xlsx" else "0.0", "'=q1": "0.0", "007": "Yes "}
    for row in rows:
        row["label"] = labels.get(row["id"], "")
    filled = save_table(tmp_path / f"ana.{ending}", rows, **options)
    result = agreement(run, "right", filled)
    assert result.label_columns == (f"label of ana.{ending}",)
    assert result.annotators == ("ana",)
    assert result.statuses == {"submitted": 2, "pending": 1}
    assert result.groups[0].judge.figures["accuracy"].value == 0
    assert result.unread == ()


def test_an_empty_sheet_has_no_labels(run, tmp_path):
    """A sheet that nobody filled is not read as labels, and the message counts the items."""
    write_label_sheet(run, tmp_path / "sheet.csv")
    with pytest.raises(DataError, match="the annotations: 3 pending"):
        agreement(run, "right", tmp_path / "sheet.csv")


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_the_texts_that_the_judge_saw_are_shown(tmp_path, ending):
    """A chunk stands in its row before the label; a label of a text that was judged again since does not count."""
    run = judged(tmp_path / "run", CHUNK, COUNT)
    path = tmp_path / f"sheet.{ending}"
    count = write_label_sheet(run, path, "chunk_use")
    rows = read_table(path)
    assert len(rows) == count > COUNT
    names = [*rows[0]]
    assert names[names.index("label") - 1] == "chunk"
    assert all(row["item"] and row["chunk"] for row in rows)
    for row in rows:
        row["label"] = "Helps"
    rows[0]["content"] = "#0000000000000000"
    result = agreement(run, "chunk_use", save_table(tmp_path / f"ana.{ending}", rows))
    assert result.groups[0].things == count - 1
    assert len(result.changed) == 1


def test_both_answers_of_a_pair_have_a_column(tmp_path):
    """A preference is labelled with both answers side by side, and the methods are no columns of their own."""
    pair = {"id": "q1", "question": "Who?", "method": "a vs b", "answer": "Ada"}
    pair["other_response"] = {"method": "b", "answer": "Bob"}
    run = evaluate(
        [pair], [load_metric("directness")], ScriptedJudge([{"reason": "r", "value": "A"}]), out=tmp_path / "run"
    )
    write_label_sheet(run, tmp_path / "sheet.csv")
    (row,) = read_table(tmp_path / "sheet.csv")
    assert (row["answer_a"], row["answer_b"]) == ("Ada", "Bob")
    assert "answer" not in row


def test_an_impossible_sheet_is_refused(run, tmp_path):
    """A file that is there may hold labels, so it is never replaced; another ending and an empty choice are told."""
    (tmp_path / "sheet.csv").write_text("id,label\nq1,yes\n")
    with pytest.raises(DataError, match="is there already, and may hold labels"):
        write_label_sheet(run, tmp_path / "sheet.csv")
    with pytest.raises(DataError, match=r"ends in \.csv or \.xlsx"):
        write_label_sheet(run, tmp_path / "sheet.ods")
    with pytest.raises(DataError, match="nothing to label"):
        write_label_sheet(run, tmp_path / "new.csv", method="none")
    both = judged(judged(tmp_path / "both", TONE, 2), CHUNK, 2)
    with pytest.raises(DataError, match="is of one metric; name it: tone, chunk_use"):
        write_label_sheet(both, tmp_path / "new.csv")


def test_any_id_comes_back(tmp_path):
    """The id in a table of CSV is that of the case, whatever a spreadsheet would make of it."""
    names = ["=a", "'=a", "''-x", "-1.5", "'-1.5", "\uff1d1", "a\nb", "7,5", '"x"', "1e5", "007", "'tis", "@"]
    rows = [{"id": name, "question": "Who?", "value": "yes"} for name in names]
    run = import_verdicts(rows, [build_scale_metric("right", "yes/no")], out=tmp_path / "run")
    write_label_sheet(run, tmp_path / "sheet.csv")
    assert {annotation.sample_id for annotation in read_annotations(tmp_path / "sheet.csv").annotations} == {*names}


def test_the_scale_says_which_labels_there_are():
    """Levels are listed if not all are described; a measure has its ends."""
    levels = ValueScale(range=(1, 3), levels={1: "Poor.", 3: "Good."})
    assert explain_levels(levels) == ["1: Poor.", "3: Good.", "allowed: 1, 2, 3"]
    assert explain_levels(MeasureScale(low=0, unit="s")) == ["a number, 0 or more s"]


def test_a_long_text_is_cut(tmp_path):
    """A text beyond what a cell of Excel holds would run into other rows, so it is cut and says so."""
    rows = [{"id": "q1", "question": "Who?", "answer": "a" * 2 * MAX_CELL, "value": "yes"}]
    run = import_verdicts(rows, [build_scale_metric("right", "yes/no")], out=tmp_path / "run")
    write_label_sheet(run, tmp_path / "sheet.xlsx")
    (row,) = read_table(tmp_path / "sheet.xlsx")
    assert len(row["answer"]) == MAX_CELL
    assert row["answer"].endswith("(cut)")
