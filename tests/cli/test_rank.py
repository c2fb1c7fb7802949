"""`greval rank`: figures of runs in files, in every form, those of trec_eval, and files that cannot be read."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

import pytest

from greval import compare, evaluate, load_metric, read_cases
from greval.datasets.gold import join_gold, read_gold

pytestmark = pytest.mark.usefixtures("empty_folder")
FORMS = [("qrels.test", 1, "expected_binary.csv"), ("qrels.rel_level", 2, "expected_graded_l2.csv")]


def write_run(name, depths, documents=10):
    """Write a run whose relevant document of each question is at a depth, 0 for none."""
    lines = [
        f"q{number} Q0 {'right' if rank == depth else f'd{rank}'} {rank} {99 - rank} mine"
        for number, depth in enumerate(depths, 1)
        for rank in range(1, documents + 1)
    ]
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return name


@pytest.fixture
def files(empty_folder):
    """Write the judgements of thirty questions and two runs, of which the second finds the document earlier."""
    lines = [f"q{number} 0 right 1" for number in range(1, 31)]
    Path("test.qrels").write_text("\n".join(lines), encoding="utf-8")
    write_run("bm25.run", [2 + number % 4 for number in range(30)])
    write_run("dense.run", [1 + number % 4 for number in range(30)])
    return empty_folder


def read_csv(text):
    return [*csv.DictReader(StringIO(text))]


@pytest.mark.usefixtures("files")
def test_every_form_holds_the_same_figures(greval_says):
    """The table has a row for each run, a column for each measure; CSV and JSON have its means and intervals."""
    words = ("rank", "test.qrels", "bm25.run", "dense.run", "-m", "mrr", "-m", "hit_rate@3", "--baseline", "bm25")
    code, table, err = greval_says(*words)
    assert (code, err) == (0, "")
    report = json.loads(greval_says(*words, "--format", "json")[1])
    rows = read_csv(greval_says(*words, "--format", "csv")[1])
    means = {(run["name"], mean["measure"]): mean for run in report["runs"] for mean in run["means"]}
    assert [(row["run"], row["measure"]) for row in rows] == [*means]
    lines = {line.split()[0]: line for line in reversed(table.splitlines()) if line.strip()}
    for row in rows:
        mean = means[row["run"], row["measure"]]
        interval = mean["interval"]
        assert (float(row["mean"]), float(row["low"])) == (mean["mean"], interval["low"])
        assert f"{mean['mean']:.4f} [{interval['low']:.4f}, {interval['high']:.4f}]" in lines[row["run"]]
    assert means["dense", "mrr"]["n"] == 30
    assert means["dense", "hit_rate@3"]["interval"]["method"] == "wilson"


@pytest.mark.usefixtures("files")
def test_the_comparison_is_that_of_compare(greval_says):
    """Difference, interval, tests and verdict are those of `compare` over the same questions, and so is the report."""
    words = ("rank", "test.qrels", "bm25.run", "dense.run", "-m", "mrr", "-m", "hit_rate@3")
    comparison = json.loads(greval_says(*words, "--baseline", "bm25.run", "--format", "json")[1])["comparison"]
    cases = [
        case.model_copy(update={"method": name})
        for name in ("bm25", "dense")
        for case in join_gold(read_cases(f"{name}.run"), [row for _, row in read_gold("test.qrels")])
    ]
    run = evaluate(cases, [load_metric("mrr"), load_metric("hit_rate@3")], out="runs/first")
    expected = json.loads(compare(run, baseline="bm25").model_dump_json())
    assert comparison == {**expected, "folder": "test.qrels"}
    assert {contrast["verdict"] for contrast in comparison["contrasts"]} == {"better"}
    table = greval_says(*words, "--baseline", "bm25")[1]
    assert "Multiple-comparison correction: Bonferroni, over 2 tests: 1 method x 2 metrics x 1 group" in table
    assert "dense against bm25" in table


@pytest.mark.usefixtures("files")
def test_without_a_baseline_nothing_is_tested(greval_says):
    """Only the measures are printed, and neither JSON nor CSV has a comparison."""
    words = ("rank", "test.qrels", "bm25.run", "dense.run", "-m", "mrr")
    assert "against" not in greval_says(*words)[1]
    assert json.loads(greval_says(*words, "--format", "json")[1])["comparison"] is None
    assert [*read_csv(greval_says(*words, "--format", "csv")[1])[0]] == ["run", "measure", "n", "mean", "low", "high"]


@pytest.mark.parametrize(("qrels", "relevant", "expected"), FORMS)
def test_every_value_of_trec_eval_is_printed(greval_says, data_set, qrels, relevant, expected):
    """With `--trec-eval -m all_trec` each value of a question and each mean is that of trec_eval, to 4 decimals."""
    folder = data_set("trec_eval_golden")
    words = ("rank", folder / qrels, folder / "results.test", "--trec-eval", "-m", "all_trec", "--relevant", relevant)
    means = {row["measure"]: row["mean"] for row in read_csv(greval_says(*words, "--format", "csv")[1])}
    rows = read_csv(greval_says(*words, "--per-question", "--format", "csv")[1])
    values = {(row["question"], name): value for row in rows for name, value in row.items()}
    compared = 0
    with (folder / expected).open(encoding="utf-8", newline="") as stream:
        for name, question, value in list(csv.reader(stream))[1:]:
            if name == "runid" or name.startswith("relstring"):
                continue
            mine = means[name] if question == "all" else values[question, name]
            assert f"{float(mine):.4f}" == f"{float(value):.4f}", (name, question)
            compared += 1
    assert compared >= 380


@pytest.mark.usefixtures("files")
def test_measures_of_trec_eval_are_compared_unless_they_are_counts(greval_says):
    """Means of values of questions are tested; counts and geometric means are named as not compared."""
    words = ("rank", "test.qrels", "bm25.run", "dense.run", "--trec-eval", "-m", "P.5", "-m", "num_ret", "-m", "gm_map")
    report = json.loads(greval_says(*words, "--baseline", "bm25", "--format", "json")[1])
    assert report["measures"] == ["P_5", "num_ret", "gm_map"]
    assert [contrast["metric"] for contrast in report["comparison"]["contrasts"]] == ["P_5"]
    assert report["not_compared"] == ["num_ret", "gm_map"]
    assert report["runs"][0]["means"][1] == {"measure": "num_ret", "n": 30, "mean": 300, "interval": None}
    assert "how good its ranking is: num_ret, gm_map" in greval_says(*words, "--baseline", "bm25")[1]


@pytest.mark.parametrize(
    ("extra", "mean", "n", "treated"), [((), 0.5, 2, "counted as 0"), (("--trec-eval",), 1, 1, "left out")]
)
def test_questions_that_one_file_lacks_are_reported(greval_says, extra, mean, n, treated):
    """Without a ranking a question counts as 0, or is left out by trec_eval; without judgements it is left out."""
    Path("a.qrels").write_text("q1 0 d1 1\nq2 0 d1 1\n", encoding="utf-8")
    Path("a.run").write_text("q1 Q0 d1 1 2.5 x\nq7 Q0 d1 1 2.5 x\n", encoding="utf-8")
    words = ("rank", "a.qrels", "a.run", "-m", "recip_rank" if extra else "mrr", *extra)
    code, table, _ = greval_says(*words)
    assert code == 0
    assert f"a: 1 judged question without a ranking, {treated}: q2" in table
    assert "a: 1 ranked question without judgements, left out: q7" in table
    (run,) = json.loads(greval_says(*words, "--format", "json")[1])["runs"]
    assert (run["means"][0]["mean"], run["means"][0]["n"], run["ranked"]) == (mean, n, 1)
    assert (run["missing"], run["unjudged"]) == (["q2"], ["q7"])


def test_a_question_has_a_row_for_each_run(greval_says, files):
    """`--per-question` adds the values of each question; a value that is not defined is empty, not 0."""
    (files / "test.qrels").write_text("q1 0 right 1\nq2 0 d1 0\n", encoding="utf-8")
    words = ("rank", "test.qrels", "bm25.run", "dense.run", "-m", "mrr", "--per-question")
    rows = read_csv(greval_says(*words, "--format", "csv")[1])
    assert [(row["question"], row["run"], row["mrr"]) for row in rows] == [
        ("q1", "bm25", "0.5"),
        ("q2", "bm25", ""),
        ("q1", "dense", "1.0"),
        ("q2", "dense", ""),
    ]
    report = json.loads(greval_says(*words, "--format", "json")[1])
    assert report["runs"][0]["questions"][1] == {"question": "q2", "values": {"mrr": None}}
    assert (report["runs"][0]["means"][0]["mean"], report["runs"][0]["means"][0]["n"]) == (0.5, 1)
    table = greval_says(*words)[1]
    assert [line.split() for line in table.splitlines() if line.startswith("q") and "dense" in line] == [
        ["q1", "dense", "1.0000"],
        ["q2", "dense", "-"],
    ]


@pytest.mark.usefixtures("files")
def test_a_bad_run_does_not_hide_the_others(greval_says):
    """Each file that cannot be read is reported on stderr with its line; the others are printed, and the code is 3."""
    Path("bad.run").write_text("q1 Q0 d1 1 2.5 x\nq1 Q0 d2\n", encoding="utf-8")
    Path("empty.run").write_bytes(b"")
    words = ("rank", "test.qrels", "bm25.run", "bad.run", "gone.run", "empty.run", "-m", "mrr")
    code, table, err = greval_says(*words)
    assert code == 3
    assert any(line.startswith("bm25 ") for line in table.splitlines())
    assert "not read: bad.run:2: must have 6 columns (question Q0 document rank score name), got 3: 'q1 Q0 d2'" in err
    assert "not read: gone.run: no such file" in err
    assert "not read: empty.run: holds no rows; a row has a question and a document" in err
    unread = json.loads(greval_says(*words, "--format", "json")[1])["unread"]
    assert [run["path"] for run in unread] == ["bad.run", "gone.run", "empty.run"]


@pytest.mark.usefixtures("files")
def test_a_baseline_that_cannot_be_read_is_reported(greval_says):
    """Without the baseline the figures are printed, and that they are not compared."""
    Path("bad.run").write_text("q1\n", encoding="utf-8")
    code, table, _ = greval_says("rank", "test.qrels", "bm25.run", "dense.run", "--baseline", "bad.run", "-m", "mrr")
    assert code == 3
    assert "not compared with bad: it could not be read" in table


@pytest.mark.usefixtures("files")
def test_runs_are_named_by_their_files(greval_says):
    """A run has the name of its file without the ending, or its path if another file has that name."""
    write_run("old/bm25.run", [1] * 30)
    report = json.loads(
        greval_says("rank", "test.qrels", "bm25.run", "dense.run", "old/bm25.run", "--format", "json")[1]
    )
    assert [run["name"] for run in report["runs"]] == ["bm25.run", "dense", "old/bm25.run"]


@pytest.mark.usefixtures("files")
def test_the_order_of_documents_can_be_chosen(greval_says):
    """Documents are ranked by score, by rank or as in the file; equal scores as in the file or as by trec_eval."""
    Path("one.qrels").write_text("q1 0 d1 1\n", encoding="utf-8")
    Path("one.run").write_text("q1 Q0 d1 3 1.0 x\nq1 Q0 d2 1 2.0 x\nq1 Q0 d3 2 1.0 x\n", encoding="utf-8")

    def measure(*words):
        rows = read_csv(greval_says("rank", "one.qrels", "one.run", "-m", "mrr", "--format", "csv", *words)[1])
        return round(float(rows[0]["mean"]), 3)

    assert [measure(*words) for words in ((), ("--ties", "trec_eval"), ("--order", "rank"), ("--order", "file"))] == [
        0.5,
        0.333,
        0.333,
        1.0,
    ]
