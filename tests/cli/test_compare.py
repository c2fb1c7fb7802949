"""`greval compare`: the table at usual widths, JSON, the gate's exit code, and errors in a line."""

import json
import re

import pytest
import typer
from compared_runs import FAILED, MISSING, UNSCORED, write
from night import at_night
from typer.testing import CliRunner

from greval.analysis.comparison.records import Comparison
from greval.cli.compare import compare
from greval.errors import DataError

KINDS = [{"kind": "multi_hop" if n % 3 else "single_fact", "doc": f"d{n % 9}"} for n in range(45)]
app = typer.Typer()
app.command("compare")(compare)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Write a run of two methods: walk is right more often, slower, and fails on four questions."""
    figures = {
        ("local", "right"): [int(n % 2 == 0) for n in range(45)],
        ("walk", "right"): [FAILED] * 4 + [int(n % 8 > 0) for n in range(4, 45)],
        ("local", "latency"): [1.0 + n % 7 / 10 for n in range(45)],
        ("walk", "latency"): [3.0 + n % 5 / 10 for n in range(45)],
        ("local", "ndcg@10"): [n % 10 / 10 for n in range(45)],
        ("walk", "ndcg@10"): [n * 3 % 10 / 10 for n in range(45)],
        ("walk", "tone"): [UNSCORED] * 45,
    }
    return write(tmp_path_factory.mktemp("cli") / "run", figures, tags=KINDS)


def said(*words, width=160, code=0):
    """Run the command and give what it printed."""
    done = CliRunner(env={"COLUMNS": str(width)}).invoke(app, [str(word) for word in words])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_an_earlier_run_may_stand_without_its_option(run):
    """A second run is compared with as by --against; two of them are refused."""
    named = said(run, "--against", run, "--format", "json").stdout
    assert said(run, run, "--format", "json").stdout == named
    refused = said(run, run, "--against", run, code=2).output
    assert "are two earlier runs" in re.sub(r"[\s│]+", " ", refused)  # however long the paths are


def test_the_table_says_what_is_better(run):
    """Means, difference, interval, won / tied / lost, p and the verdict in words stand in one row for each group."""
    text = said(run, "--baseline", "local", "--by", "kind").stdout
    lines = {line.split()[0]: line for line in reversed(text.splitlines()) if line.strip()}
    assert f"{run}, question by question" in text.replace("\n", "")
    assert "walk against local" in text
    assert "41/45" in lines["right"]
    assert "better" in lines["right"]
    assert "worse" in lines["latency"]
    assert "0/0/45" in lines["latency"]
    assert "no difference seen (MDD 0." in lines["ndcg@10"]
    assert "Multiple-comparison correction: Bonferroni, over 9 tests: 1 method x 3 metrics x 3 groups" in text
    assert "McNemar's exact test (right" in text
    assert "paired permutation test (latency, ndcg@10)" in text or "paired permutation test (ndcg@10, latency)" in text
    assert "right (all questions): of 45 questions no figure for 4 of walk (4 failed), 0 of local" in text
    assert "tone: not compared" in text


@pytest.mark.parametrize("width", [100, *at_night(120, 160)])
def test_no_figure_is_cut(run, width):
    """At usual widths each row has its whole interval and p; narrow pages leave out what is in the JSON."""
    text = said(run, "--baseline", "local", "--by", "kind", width=width).stdout
    table = text[: text.index("Multiple-comparison")].splitlines()
    head = next(n for n, line in enumerate(table) if line.startswith("metric, by kind"))
    assert all(len(line) <= width for line in table[head:])
    assert "…" not in text
    assert sum("[" in line and "]" in line for line in table[head + 1 :]) == 9
    assert ("raw p" in table[head]) == (width >= 140)


def test_json_is_the_comparison(run):
    """The JSON form is the whole comparison, with the gate's checks."""
    done = said(run, "--baseline", "local", "-m", "right", "--format", "json", "--fail-if", "right < 0.1")
    found = Comparison.model_validate_json(done.stdout)
    assert [one.metric for one in found.contrasts] == ["right"]
    assert found.gate[0].condition == "right < 0.1"
    assert not found.gate[0].met
    assert json.loads(done.stdout)["family"]["correction"] == "bonferroni"


def test_a_met_condition_exits_with_1(run):
    """Conditions that are met fail the command; all are told with their figures, also beside JSON."""
    words = (run, "--baseline", "local", "--fail-if", "latency > baseline * 1.2", "--fail-if", "right < 0.5")
    text = said(*words, code=1).stdout
    assert "FAILED: latency > baseline * 1.2; walk: 3.2 > 1.2" in text
    assert "passed: right < 0.5; walk: " in text
    assert said(*words, "--format", "json", code=1).stderr.startswith("FAILED: latency > baseline * 1.2; walk: ")


def test_wrong_names_are_errors(run):
    """A bad condition or name raises the error that the command line tells in a line, with exit code 2."""
    for words in (("--fail-if", "latency > fast"), ("--baseline", "nobody"), ("--by", "nothing")):
        done = CliRunner().invoke(app, [str(run), *words])
        assert isinstance(done.exception, DataError)


def test_every_option_reaches_the_comparison(run):
    """Clusters, Holm, level, methods and an earlier run come through."""
    words = ("--cluster-by", "doc", "--correction", "holm", "--level", "0.9", "--method", "walk", "--format", "json")
    found = Comparison.model_validate_json(said(run, "--against", run, *words).stdout)
    assert (found.cluster_by, found.level, found.family.correction) == ("doc", 0.9, "holm")
    assert found.against == str(run)
    assert {one.method for one in found.contrasts} == {"walk"}
    assert {one.interval.level for one in found.contrasts if one.interval} == {0.9}
    assert all(one.clusters == 9 for one in found.contrasts if one.metric != "tone")


def test_several_pairs_are_named(run):
    """Against an earlier run, and for all pairs, each row says which methods it is of."""
    text = said(run, "--against", run, "-m", "latency").stdout
    assert f"{run} against {run}, question by question" in text.replace("\n", "")
    assert text.count("equal on every question") == 4  # in a sentence and in a table of each pair
    assert "before" in text
    assert "walk against local" in said(run, "-m", "latency").stdout


def test_table_and_json_have_one_verdict(tmp_path):
    """What a row of the table says is the verdict of the JSON form, with figures in brackets at most."""
    figures = {
        ("a", "right"): [1] * 5 + [MISSING] * 40,
        ("b", "right"): [0] * 5 + [MISSING] * 40,
        ("a", "ndcg@10"): [0.5] * 45,
        ("b", "ndcg@10"): [0.5] * 45,
        ("a", "latency"): [1.0] * 45,
        ("b", "latency"): [2.0] * 45,
        ("a", "depth"): [n % 5 + 1 for n in range(45)],
        ("b", "depth"): [n % 4 + 1 for n in range(45)],
    }
    run = write(tmp_path / "run", figures)
    table = said(run, "--baseline", "b").stdout
    found = json.loads(said(run, "--baseline", "b", "--format", "json").stdout)
    rows = {line.split()[0]: line for line in reversed(table.splitlines()) if line.strip()}
    verdicts = {one["metric"]: one["verdict"] for one in found["contrasts"]}
    assert verdicts == {
        "right": "too few questions to tell",
        "ndcg@10": "equal on every question",
        "latency": "better",
        "depth": "no difference seen",
    }
    for metric, verdict in verdicts.items():
        assert rows[metric].partition(" (MDD")[0].rstrip().endswith(verdict)


def test_changed_questions_are_named(tmp_path):
    """The first questions that were lost and won stand below the table; JSON has all of them."""
    old = write(tmp_path / "old", {("", "right"): [1] * 40})
    new = write(tmp_path / "new", {("", "right"): [int(n % 5 > 0) for n in range(40)], ("", "ndcg@10"): [1.0] * 40})
    text = said(new, "--against", old).stdout
    assert "right, (none) against (none) in " in text
    assert ": lost q0, q10, q15, q20, q25 and 3 more\n" in text
    assert "--format json names every question" in text
    (found,) = json.loads(said(new, "--against", old, "-m", "right", "--format", "json").stdout)["contrasts"]
    assert found["lost_questions"] == sorted(f"q{n}" for n in range(0, 40, 5))


def test_tests_that_left_the_family_are_named(tmp_path):
    """The line on the correction says which tests could have shown nothing."""
    figures = {(name, metric): [1] * 40 for name in "ab" for metric in ("right", "ndcg@10")}
    figures["a", "right"] = [0] * 40
    text = said(write(tmp_path / "run", figures), "--baseline", "b").stdout
    assert "1 test could not reach significance (ndcg@10), so that the correction" in text
    assert "multiplies p by 1 at most (Tarone)." in text


def test_different_judges_stand_first(tmp_path):
    """What is not comparable is told before the table, and in the verdict."""
    old = write(tmp_path / "old", {("a", "right"): [0, 1] * 9}, judge="one")
    new = write(tmp_path / "new", {("a", "right"): [1, 1] * 9}, judge="other")
    text = said(new, "--against", old).stdout
    assert text.startswith("NOT COMPARABLE: right of a and of a in ")
    assert "JUDGED DIFFERENTLY" in text


def test_writes_a_page_and_a_short_form(run, tmp_path):
    """--html and --md write files beside the table, also of a run that does not store its cases."""
    page, short = tmp_path / "page.html", tmp_path / "short.md"
    done = said(run, "--baseline", "local", "--html", page, "--md", short)
    assert done.stdout == said(run, "--baseline", "local").stdout
    assert f"wrote {page}" in done.stderr
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert 'id="changed-1"' in page.read_text(encoding="utf-8")
    assert short.read_text(encoding="utf-8") == said(run, "--baseline", "local", "--format", "markdown").stdout
