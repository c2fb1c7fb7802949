"""`greval agreement`: the tables at usual widths, JSON, and errors in a line."""

import json

import pytest
import typer
from agreed_runs import said, write
from night import at_night
from typer.testing import CliRunner

from greval import evaluate
from greval.cli.agreement import agreement
from greval.errors import DataError
from greval.metrics.computed import COMPUTED_METRICS
from greval.trust.agreement.records import Agreement
from greval.trust.annotations.files import keep_annotations, write_annotations

app = typer.Typer()
app.command("agreement")(agreement)
JUDGE = ["Relevant"] * 20 + ["Partly"] * 8 + ["Irrelevant"] * 12
ANA = ["Relevant"] * 17 + ["Partly"] * 9 + ["Irrelevant"] * 14
BOB = ["Relevant"] * 18 + ["Partly"] * 8 + ["Irrelevant"] * 14


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Write a run of forty answers, annotated by two people."""
    texts = [f"{'word ' * (1 + n * 7 % 13)}" for n in range(40)]
    tags = [{"kind": "single" if n % 2 else "multi"} for n in range(40)]
    folder = write(tmp_path_factory.mktemp("cli") / "run", "graded", JUDGE, texts=texts, tags=tags)
    keep_annotations(folder, [*said("graded", "ana", ANA), *said("graded", "bob", BOB)])
    return folder


def told(*words, width=160, code=0):
    """Run the command and give what it printed."""
    done = CliRunner(env={"COLUMNS": str(width)}).invoke(app, [str(word) for word in words])
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout


def test_the_only_metric_need_not_be_named(run, tmp_path):
    """A run with one metric needs no -m; with several, the error lists them."""
    assert told(run, "--format", "json") == told(run, "-m", "graded", "--format", "json")
    cases = [{"id": "q1", "question": "Who?", "answer": "Ada", "expected_answer": "Ada"}]
    evaluate(cases, [COMPUTED_METRICS["exact_match"], COMPUTED_METRICS["token_f1"]], out=tmp_path / "two")
    done = CliRunner(env={"COLUMNS": "160"}).invoke(app, [str(tmp_path / "two")])
    assert done.exit_code == 2
    assert "-m exact_match or -m token_f1" in done.output


def test_labels_on_another_scale_are_an_exit_code(tmp_path):
    """If most labels are off the judge's scale, the first line says so, and the command exits with 3."""
    cases = [{"id": f"q{n}", "question": "?", "answer": "a", "expected_answer": "a"} for n in range(4)]
    evaluate(cases, [COMPUTED_METRICS["exact_match"]], out=tmp_path / "run")
    (tmp_path / "labels.csv").write_text("id,label\nq0,1\nq1,7\nq2,8\nq3,9\n", encoding="utf-8")
    text = told(tmp_path / "run", tmp_path / "labels.csv", code=3)
    assert text.startswith("OFF SCALE: 3 of 4 labels are not on the scale of the verdicts")
    assert "the rules do not apply, because most labels are not on the scale of the verdicts." in text


def test_the_tables_say_ceiling_and_floor(run):
    """Judge and people, the people among themselves and the floors stand side by side; then classes and confusion."""
    text = told(run, "-m", "graded", "--by", "kind")
    head = next(line for line in text.splitlines() if "judge and people [95%]" in line)
    assert "people among themselves" in head
    assert "baseline: most frequent label" in head
    assert "baseline: length of the text" in head
    for name in (
        "accuracy",
        "Cohen's kappa",
        "kappa, quadratic weights",
        "Gwet's AC1",
        "Krippendorff's alpha",
        "macro F1",
    ):
        assert name in text
    rows = [line.split() for line in text.splitlines()]
    assert ["Relevant", "17", "0", "0"] in rows
    assert ["Irrelevant", "0", "2", "12"] in rows
    assert any(row[:3] == ["ana", "and", "bob"] for row in rows)
    assert any(row[:2] == ["single", "19"] for row in rows)
    assert "1 item is left out because people are tied" in text


def test_alpha_and_kappa_say_which_they_are(tmp_path, greval_says):
    """A scale in order has both alphas; without one, by the scale or by the option, the order counts nowhere."""
    (tmp_path / "v.csv").write_text("id,question,answer,v\nq1,?,a,red\nq2,?,b,blue\nq3,?,c,pink\n")
    (tmp_path / "ana.csv").write_text("id,label\nq1,red\nq2,green\nq3,pink\n")
    figures = {}
    for scale in ("red/green/blue/pink/grey", "red|green|blue|pink|grey"):
        run = tmp_path / scale[3:4].replace("/", "ordered")
        code, _, err = greval_says(
            "import", tmp_path / "v.csv", "--scale", scale, "--name", "hue", "--column", "value=v", "-o", run
        )
        assert code == 0
        assert ("write 'red|green|blue|pink|grey' if they have no order" in err) == ("/" in scale)
        for words in ((), ("--treat-as", "unordered")):
            _, out, _ = greval_says("agreement", run, tmp_path / "ana.csv", "--format", "json", *words)
            judge = json.loads(out)["groups"][0]["judge"]
            figures[scale[3], words] = judge["distance"], judge["figures"]
            _, text, _ = greval_says("agreement", run, tmp_path / "ana.csv", *words)
            assert f"Krippendorff's alpha ({judge['distance']})" in text
            assert "Krippendorff's alpha (nominal)" in text
            assert "Cohen's kappa (unweighted)" in text
            assert ("kappa, linear weights" in text) == (judge["distance"] == "ordinal")
    ordered, *others = figures.values()
    assert ordered[0] == "ordinal"
    assert ordered[1]["alpha"]["value"] == pytest.approx(94 / 99)
    assert ordered[1]["alpha nominal"]["value"] == pytest.approx(8 / 13)
    assert {(distance, round(found["alpha"]["value"], 4)) for distance, found in others} == {("nominal", 0.6154)}


@pytest.mark.parametrize("width", [80, *at_night(120, 160)])
def test_no_figure_is_cut(run, width):
    """At usual widths every figure is whole."""
    text = told(run, "-m", "graded", width=width)
    assert "…" not in text
    assert text.count("[") == text.count("]")


def test_json_is_the_agreement(run):
    """The JSON form is the whole agreement; without NaN."""
    text = told(run, "-m", "graded", "--format", "json", "--level", "0.9")
    assert "NaN" not in text
    found = Agreement.model_validate_json(text)
    assert found.level == 0.9
    assert json.loads(text)["groups"][0]["judge"]["figures"]["kappa"]["interval"]["level"] == 0.9


def test_numbers_have_their_own_tables(tmp_path):
    """Of a value scale both sides' spread and the correlations are shown, from a file of annotations."""
    run = write(tmp_path / "run", "depth", [1, 2, 3, 4, 5, 3, 2, 4], texts=["x" * n for n in range(1, 9)])
    write_annotations(said("depth", "ana", [1, 2, 3, 5, 5, 3, 1, 4]), tmp_path / "ana.csv")
    text = told(run, "-m", "depth", "--annotations", tmp_path / "ana.csv", "--people", "majority")
    for name in ("mean absolute error", "bias", "Pearson", "Spearman", "Kendall's tau-b", "standard deviation"):
        assert name in text
    assert "Agreement among annotators is unknown: one annotator only" in text


def test_levels_are_shown_as_categories_where_asked(tmp_path):
    """Of a value scale --treat-as categories gives the classification report, the best level first."""
    run = write(tmp_path / "run", "depth", [1, 2, 3, 4, 5, 3])
    write_annotations(said("depth", "ana", [1, 2, 3, 5, 5, 3]), tmp_path / "ana.csv")
    text = told(run, "-m", "depth", "--annotations", tmp_path / "ana.csv", "--treat-as", "categories")
    lines = [line.split() for line in text.splitlines()]
    assert next(line for line in lines if line[:1] == ["5"])[1] == "2"
    assert "kappa, quadratic weights" in text


def test_weights_are_shown_beside(run, tmp_path):
    """Of an enriched sample the raw column says so, and the weighted one stands beside it."""
    rows = [one.model_copy(update={"weight": 1.0 + n % 2}) for n, one in enumerate(said("graded", "ana", ANA))]
    write_annotations(rows, tmp_path / "ana.jsonl")
    text = told(run, "-m", "graded", "--annotations", tmp_path / "ana.jsonl")
    assert text.startswith("ENRICHED SAMPLE")
    assert "on this sample [95%]" in text
    assert "weighted" in text


def test_what_is_wrong_is_an_error(run):
    """A metric that is not in the run is a data error, which the command line tells in a line."""
    done = CliRunner().invoke(app, [str(run), "-m", "grade"])
    assert isinstance(done.exception, DataError)
    assert "did you mean graded" in str(done.exception)


LABELS = "id,human_label,rater\n" + "".join(
    f"q{n},{value},{who}\n" for who, values in (("ana", ANA), ("bob", BOB)) for n, value in enumerate(values)
)


def test_labels_are_named_after_the_run_or_in_the_cases(run, tmp_path):
    """A file of ids and labels needs no option but the metric; the figures are those of full annotations."""
    path = tmp_path / "labels.csv"
    path.write_text(LABELS.replace("Relevant", "relevant"))
    stored, given = (
        Agreement.model_validate_json(told(run, *words, "-m", "graded", "--format", "json")) for words in ((), (path,))
    )
    assert given.groups == stored.groups
    assert given.verdict == stored.verdict
    assert "What this means: " in told(run, path, "-m", "graded")
    done = CliRunner().invoke(app, [str(path), "-m", "graded"])
    assert done.exit_code == 2
    assert "is a file" in done.output
    with pytest.raises(DataError, match=r"no label column 'humn'.*did you mean|humn"):
        told_error(run, "-m", "graded", "--label-column", "humn")


def told_error(*words):
    """Run the command and raise what it raises."""
    CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
