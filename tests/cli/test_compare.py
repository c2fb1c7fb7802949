"""`greval compare`: every option reaches the comparison, the gate's exit code, and the files that it writes."""

from __future__ import annotations

import json

import pytest
from compared_runs import FAILED, write

from greval.analysis.comparison.records import Comparison

KINDS = [{"kind": "multi_hop" if n % 3 else "single_fact", "doc": f"d{n % 9}"} for n in range(45)]


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
    }
    return write(tmp_path_factory.mktemp("cli") / "run", figures, tags=KINDS)


@pytest.fixture
def read_comparison(run, greval_says):
    """Give a function that runs the command on the run, and reads what it prints as JSON."""

    def read(*words):
        code, out, _ = greval_says("compare", run, *words, "--format", "json")
        assert code == 0
        return Comparison.model_validate_json(out)

    return read


def test_every_option_reaches_the_comparison(run, read_comparison):
    """Clusters, Holm, level, groups, metrics, methods and an earlier run come through, with or without its option."""
    words = ("--cluster-by", "doc", "--correction", "holm", "--level", "0.9", "--method", "walk", "-m", "right")
    comparison = read_comparison("--against", run, *words, "--by", "kind")
    assert (comparison.cluster_by, comparison.level, comparison.family.correction) == ("doc", 0.9, "holm")
    assert comparison.against == str(run)
    assert {(contrast.method, contrast.metric) for contrast in comparison.contrasts} == {("walk", "right")}
    assert {contrast.group for contrast in comparison.contrasts} == {"", "multi_hop", "single_fact"}
    assert comparison == read_comparison(run, *words, "--by", "kind")
    assert {contrast.baseline for contrast in read_comparison("--baseline", "local").contrasts} == {"local"}


def test_a_met_condition_exits_with_1(run, greval_says):
    """Conditions that are met fail the command; all are printed with their figures, also beside JSON."""
    conditions = ("--fail-if", "latency > baseline * 1.2", "--fail-if", "right < 0.5")
    code, out, _ = greval_says("compare", run, "--baseline", "local", *conditions)
    assert code == 1
    assert "FAILED: latency > baseline * 1.2; walk: 3.2 > 1.2" in out
    assert "passed: right < 0.5; walk: " in out
    code, out, err = greval_says("compare", run, "--baseline", "local", *conditions, "--format", "json")
    assert code == 1
    assert [check["met"] for check in json.loads(out)["gate"]] == [True, False]
    assert err.startswith("FAILED: latency > baseline * 1.2; walk: ")


def test_the_files_are_beside_the_table(run, greval_says, tmp_path):
    """--html and --md write files beside the table, also of a run that does not store its cases."""
    page, short = tmp_path / "page.html", tmp_path / "short.md"
    words = ("compare", run, "--baseline", "local")
    code, out, err = greval_says(*words, "--html", page, "--md", short)
    assert (code, "walk against local" in out, f"wrote {page}" in err) == (0, True, True)
    assert out == greval_says(*words)[1]
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert short.read_text(encoding="utf-8") == greval_says(*words, "--format", "markdown")[1]
