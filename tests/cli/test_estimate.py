"""`greval estimate`: the table at usual widths, JSON, annotations in files and in the run, and errors in a line."""

import numpy as np
import pytest
import typer
from compared_runs import write
from night import at_night
from typer.testing import CliRunner

from greval.cli.estimate import estimate
from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.trust.annotations.files import keep_annotations, read_annotations, write_annotations
from greval.trust.estimates.records import Estimate

app = typer.Typer()
app.command("estimate")(estimate)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Write a run of two methods, and labels of it: at random, and enriched."""
    folder = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(5)
    truth = {"walk": rng.random(300) < 0.8, "local": rng.random(300) < 0.55}
    judged = {name: np.where(rng.random(300) < 0.12, ~one, one) for name, one in truth.items()}
    figures = {(name, "right"): one.astype(int).tolist() for name, one in judged.items()}
    run = write(folder / "run", figures, tags=[{"kind": "ab"[n % 2]} for n in range(300)])

    def label(name, n, **more):
        value = int(truth[name][n])
        return Annotation(sample_id=f"q{n}", method=name, metric="right", annotator="ana", value=value, **more)

    write_annotations([label(name, n) for n in range(0, 300, 5) for name in truth], folder / "people.csv")
    enriched = []
    for name, verdicts in judged.items():
        for value in (False, True):
            pool = np.flatnonzero(verdicts == value)
            more = {"weight": len(pool) / 25, "stratum": f"{name} {value}"}
            enriched += [label(name, n, **more) for n in pool[:25]]
    write_annotations(enriched, folder / "enriched.jsonl")
    return run


def said(*words, width=160, code=0):
    """Run the command and give what it printed."""
    done = CliRunner(env={"COLUMNS": str(width)}).invoke(app, [str(word) for word in words])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_the_table_shows_all_estimates_side_by_side(run):
    """The judge's figure, the labels' and both together stand below each other, for each method and the difference."""
    text = said(run, "-m", "right", "--annotations", run.parent / "people.csv", "--baseline", "local").stdout
    assert (
        "right: what people would say of 600 judged items, estimated from labels of 120, drawn by whole questions"
        in text
    )
    lines = text.splitlines()
    for name, count in (("judge alone", 3), ("labels alone", 3), ("both (PPI++)", 3), ("Rogan-Gladen", 3)):
        assert sum(name in line and "[" in line for line in lines) == count
    assert "walk less local" in text
    assert "60 of 300 labelled" in text
    assert "sensitivity 0.8" in text
    assert "labels, plain" not in text
    assert "Intervals: 95%" in text
    assert "of the judged items of this run" in text


def test_a_figure_without_interval_says_what_it_needs(run, tmp_path):
    """From few whole questions the table shows values, and beside them how many questions an interval needs."""
    rows = [one for one in read_annotations(run.parent / "people.csv").annotations if int(one.sample_id[1:]) < 100]
    write_annotations(rows, tmp_path / "few.csv")
    text = said(run, "-m", "right", "--annotations", tmp_path / "few.csv", "--baseline", "local", width=200).stdout
    lines = [line for line in text.splitlines() if "both (PPI++)" in line]
    assert len(lines) == 3
    assert all("[no interval]" in line for line in lines)
    assert text.count("no interval from 20 whole questions: it needs 60") == 1


def test_an_enriched_sample_is_told(run):
    """The plain mean of an enriched sample is refused, and the line below says why."""
    text = said(run, "-m", "right", "--annotations", run.parent / "enriched.jsonl").stdout
    assert "ENRICHED SAMPLE: each label is weighted" in text
    assert sum("labels, plain  refused" in line for line in text.splitlines()) == 2
    assert "labels, plain: refused: items were sampled for annotation with different probabilities" in text


def test_labels_that_someone_chose_are_told(run, tmp_path):
    """Labels that are no random sample give no estimate; the first lines say why, the rows do not repeat it."""
    rows = read_annotations(run.parent / "enriched.jsonl").annotations
    bare = [one.model_copy(update={"weight": 1.0}) for one in rows]
    write_annotations(bare, tmp_path / "bare.csv")
    text = said(run, "-m", "right", "--annotations", tmp_path / "bare.csv", width=100).stdout
    assert text.count("NO ESTIMATE: items were sampled from several strata") == 1
    assert text.count("items were sampled from several strata") == 1
    assert all(len(line) <= 100 for line in text[text.index("method ") : text.index("Intervals: ")].splitlines())


@pytest.mark.parametrize("width", [80, *at_night(100, 160)])
def test_no_figure_is_cut(run, width):
    """At usual widths every figure stands whole with its interval."""
    text = said(run, "-m", "right", "--annotations", run.parent / "people.csv", "--by", "kind", width=width).stdout
    table = text[text.index("method, by kind") : text.index("Intervals: ")].splitlines()
    assert all(len(line) <= width for line in table)
    assert "…" not in text
    assert sum("[" in line and "]" in line for line in table[1:]) == 4 * 6


def test_json_is_the_estimate(run):
    """The JSON form is the whole estimate, and every option reaches it."""
    words = ("--baseline", "local", "--by", "kind", "--drawn-by", "items", "--level", "0.9", "--new-questions")
    done = said(run, "-m", "right", "--annotations", run.parent / "people.csv", *words, "--format", "json")
    found = Estimate.model_validate_json(done.stdout)
    assert (found.baseline, found.by, found.drawn_by, found.level) == ("local", ("kind",), "items", 0.9)
    assert found.new_questions
    assert "NaN" not in done.stdout
    assert len(found.rows) == 9


def test_annotations_kept_in_the_run_are_the_default(run):
    """Without a file the annotations of the run's folder count; without these the error says so."""
    done = CliRunner().invoke(app, [str(run), "-m", "right"])
    assert isinstance(done.exception, DataError)
    assert "no annotations are there yet" in str(done.exception)
    answers = [
        Annotation(sample_id=f"q{n}", method="walk", metric="right", annotator="ana", value=int(n % 3 > 0))
        for n in range(40)
    ]
    path = keep_annotations(run, answers)
    assert "from labels of 40" in said(run, "-m", "right", "--drawn-by", "items").stdout
    path.unlink()


def test_rows_that_are_no_annotation_are_told(run, tmp_path):
    """A row that cannot be read is told with its line and stops no other."""
    bad = tmp_path / "bad.csv"
    bad.write_text((run.parent / "people.csv").read_text() + "q1,walk\n")
    text = said(run, "-m", "right", "--annotations", bad).stdout
    assert "not read: " in text
    assert "bad.csv:122: has 2 cells" in text.replace("\n", "")


def test_wrong_names_are_errors(run):
    """A method, tag or metric that is not there is an error that the command line tells in a line."""
    for words in (("-m", "nothing"), ("-m", "right", "--baseline", "nobody"), ("-m", "right", "--by", "nothing")):
        done = CliRunner().invoke(app, [str(run), "--annotations", str(run.parent / "people.csv"), *words])
        assert isinstance(done.exception, DataError)


def test_labels_need_no_more_than_ids_and_values(run):
    """A file of id, method and label, named after the run, gives the estimate of full annotations."""
    full = run.parent / "people.csv"
    rows = [(one.sample_id, one.method, str(one.value)) for one in read_annotations(full).annotations]
    path = run.parent / "labels.tsv"
    path.write_text("id\tsystem\tlabel\n" + "".join("\t".join(row) + "\n" for row in rows))
    found, expected = (
        Estimate.model_validate_json(said(run, *words, "-m", "right", "--format", "json").stdout)
        for words in ((path,), ("--annotations", full))
    )
    assert found == expected
