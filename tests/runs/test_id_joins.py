"""Runs in which no id met: no plausible zeros, and a remark before all figures."""

from __future__ import annotations

import warnings

import pytest

from greval import Store, evaluate, load_metric
from greval.analysis.comparison.api import compare
from greval.analysis.summary import build_report
from greval.errors import DataError, DataWarning
from greval.runs.manifest import read_join_remarks

NAMES = ("recall@2", "mrr")


def build_cases(form, method="", count=4):
    """Build cases whose gold is d1, d2 ..., and whose chunks have ids of a form."""
    return [
        {
            "id": f"q{n}",
            "question": "?",
            "method": method,
            "chunks": [{"id": form.format(n), "text": ""}],
            "gold": {"essential_docs": [f"d{n}"]},
        }
        for n in range(1, count + 1)
    ]


def run_metrics(cases, folder):
    """Evaluate cases, and return the statuses of the metrics, the remarks of the run and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        run = evaluate(cases, [load_metric(name) for name in NAMES], out=folder)
    statuses = {result.outcome.status for result in run.results()}
    with Store.open(folder) as store:
        remarks = build_report(store).warnings
        assert remarks == read_join_remarks(store)
    assert [*map(str, (warning.message for warning in caught))] == [*remarks]
    return statuses, remarks


@pytest.mark.parametrize("form", ["chunk_{}", "d{}#0", "doc:d{}"])
def test_ids_of_another_form_are_skipped_in_the_whole_run(tmp_path, form):
    """If no retrieved id of a run is in any gold, and they are of another form, no case has a figure."""
    statuses, remarks = run_metrics(build_cases(form), tmp_path / "run")
    assert statuses == {"skipped"}
    (remark,) = remarks
    assert remark.startswith("NO ID MET: recall@2, mrr: 0 of 4 documents of the gold met 0 of 4 retrieved documents")
    second_run, remarks = run_metrics(build_cases(form), tmp_path / "run")
    assert second_run == {"skipped"}
    assert len(remarks) == 1


def test_a_run_of_true_misses_keeps_its_zeros_below_a_remark(tmp_path):
    """If the ids are of one kind, documents that were not found are misses, and the remark shows an id of each side."""
    statuses, remarks = run_metrics(build_cases("d10{}"), tmp_path / "run")
    assert statuses == {"scored"}
    (remark,) = remarks
    assert remark.startswith("NO ID MET: recall@2, mrr: 0 of 4 documents of the gold met 0 of 4 retrieved documents")
    assert remark.endswith(", such as 'd1' and 'd101'; give both the same ids")


def test_one_hit_makes_the_others_misses(tmp_path):
    """If one case of a method has a hit, its other cases are misses, and nothing is said."""
    cases = [*build_cases("x{}"), *build_cases("d{}", count=1)]
    cases[-1]["id"] = "q9"
    assert run_metrics(cases, tmp_path / "run") == ({"scored"}, ())


def test_methods_are_joined_one_by_one(tmp_path):
    """A method whose ids never meet has no figure beside one whose ids do, and compare gives no verdict on it."""
    cases = [*build_cases("d{}", "graph", 8), *build_cases("chunk_{}", "vector", 8)]
    statuses, remarks = run_metrics(cases, tmp_path / "run")
    assert statuses == {"scored", "skipped"}
    assert remarks[0].startswith("NO ID MET: recall@2, mrr of vector: 0 of 8 documents of the gold met 0 of 8")
    with pytest.raises(DataError, match=r"no question has a figure of both .*vector: 16 skipped .ids do not meet"):
        compare(tmp_path / "run")


def test_most_cases_without_ids_are_remarked(tmp_path):
    """If ids cannot meet in most cases, the remark counts them; reasons with other examples are one reason."""
    cases = build_cases("d{}", count=5)
    for case in cases[1:]:
        case["chunks"] = ["A text."]
    _, remarks = run_metrics(cases, tmp_path / "run")
    assert remarks == (
        "FEW IDS MET: recall@2, mrr: 4 of 5 cases skipped, the chunks have no ids; give each its doc_id, such as 'd2'",
    )
    with Store.open(tmp_path / "run") as store:
        (recall, _) = build_report(store).summaries
    assert recall.skips == {"ids do not meet: the chunks have no ids; give each its doc_id, such as 'd2'": 4}


def test_compare_shows_the_remarks_of_its_runs(tmp_path):
    """The remark of a run stands among the first warnings of a comparison too."""
    cases = [*build_cases("d{}", "a", 6), *build_cases("d10{}", "b", 6)]
    _, remarks = run_metrics(cases, tmp_path / "run")
    assert compare(tmp_path / "run").warnings[0] == remarks[0]
