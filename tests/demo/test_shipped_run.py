"""The run that is shipped: real verdicts on the cases beside it, which support what the demo says of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from greval import compare, load_metric
from greval.cli.demo import METRICS, SHIPPED_RUN, read_demo_cases
from greval.runs.store import Store
from greval.trust.annotations.files import read_run_annotations

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from demo_picture import IMAGE, draw_picture

AGAIN = "python benchmarks/demo_run.py judges it again"


@pytest.fixture
def store(copied):
    """Open the run for reading."""
    with Store.open(copied) as opened:
        yield opened


@pytest.fixture
def copied(tmp_path):
    """Copy the run, because a reader of a log may write beside it."""
    for path in SHIPPED_RUN.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_it_holds_the_cases_and_metrics_as_they_are(store):
    """Every case is judged by every metric, as both are defined now, by the embedded model, with its calls."""
    cases = {(case.id, case.method): case for case in read_demo_cases()}
    assert {(case.id, case.method): case for case in store.cases()} == cases, AGAIN
    definitions = {definition["name"]: definition for definition in store.fact("metrics")}
    assert definitions == {name: load_metric(name).model_dump(mode="json") for name in METRICS}, AGAIN
    results = [*store.results()]
    assert len(results) == len(cases) * len(METRICS)
    assert {(result.outcome.status, result.judge) for result in results} == {("scored", "local:qwen2.5-coder-1.5b")}
    assert len([*store.calls()]) == len(results)


def test_each_answer_has_a_label_for_each_metric(copied, store):
    """The labels of correctness are the tags of the cases."""
    labels = read_run_annotations(copied)
    cases = {(case.id, case.method): case for case in read_demo_cases()}
    assert {(label.sample_id, label.method, label.metric) for label in labels} == {
        (*key, metric) for key in cases for metric in METRICS
    }
    for label in labels:
        if label.metric == METRICS[0]:
            right = cases[label.sample_id, label.method].tags["human_correct"] == "yes"
            assert label.value == int(right), label


def test_the_walks_are_better(copied):
    """The difference is shown over all questions."""
    comparison = compare(copied, metrics=[METRICS[0]], baseline="local")
    assert [contrast.verdict for contrast in comparison.contrasts if contrast.method == "walk"] == ["better"]


def test_the_picture_shows_the_demo_as_it_is(tmp_path):
    """The picture of README is what the command prints now."""
    assert draw_picture(tmp_path) == IMAGE.read_text(encoding="utf-8"), "python benchmarks/demo_picture.py draws it"
