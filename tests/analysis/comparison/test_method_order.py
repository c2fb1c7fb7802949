"""The order of methods, and so the sign of a difference, is the same at every entry point, whatever came first."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import permutations

import pytest
from compared_runs import write
from typer.testing import CliRunner

from greval import compare
from greval.analysis.gate.api import check_gate
from greval.analysis.summary import build_report
from greval.cli.app import app
from greval.report.case_grid import build_case_grid
from greval.report.finding_plots import plot_comparison
from greval.report.html.comparison_page import build_comparison_page
from greval.runs.store import Store
from greval.runs.store.pages import list_methods

METHODS = ["basic", "local", "walk"]
PAIRS = [("local", "basic"), ("walk", "basic"), ("walk", "local")]
FIGURES = {"basic": [0, 0, 1, 1], "local": [0, 1, 1, 1], "walk": [1, 1, 1, 1]}


@pytest.mark.parametrize("order", [*permutations(METHODS)], ids="-".join)
def test_every_entry_point_has_one_order(tmp_path, order):
    """Methods are sorted by name, and the later one is compared with the earlier one."""
    run = write(tmp_path / "run", {(name, "right"): FIGURES[name] for name in order})
    comparisons = {
        "SDK": compare(run),
        "given": compare(run, methods=[*reversed(order)]),
    }
    for door, comparison in comparisons.items():
        found = [(one.method, one.baseline) for one in comparison.contrasts]
        assert (found, [*comparison.methods]) == (PAIRS, METHODS), door
        assert all(one.difference > 0 for one in comparison.contrasts)
    printed = CliRunner().invoke(app, ["compare", str(run), "--format", "json"]).stdout
    contrasts = json.loads(printed)["contrasts"]
    assert [(one["method"], one["baseline"]) for one in contrasts] == PAIRS
    page = build_comparison_page(comparisons["SDK"], made_at=datetime(2026, 1, 1, tzinfo=UTC))
    captions = [f'aria-label="{method} against {baseline}"' for method, baseline in PAIRS]
    assert sorted(captions, key=page.index) == captions
    (axis,) = plot_comparison(comparisons["SDK"])
    assert [point.label for point in axis.points] == [f"{method} less {baseline}" for method, baseline in PAIRS]
    with Store.open(run) as store:
        assert [*list_methods(store)] == [*build_case_grid(store).methods] == METHODS
        assert [one.group for one in build_report(store).summaries] == METHODS
        (check,) = check_gate(store, ["right < 0"])
    assert [text.partition(":")[0] for text in check.told] == METHODS


@pytest.mark.parametrize("order", [*permutations(METHODS)], ids="-".join)
def test_the_server_has_the_same_order(tmp_path, order):
    """REST compares the methods in the order of the other entry points."""
    figures = pytest.importorskip("greval.serve.routes.figures")
    run = write(tmp_path / "run", {(name, "right"): FIGURES[name] for name in order})
    comparison = figures.compare_folders(run, questions=20)
    assert [(contrast.method, contrast.baseline) for contrast in comparison.contrasts] == PAIRS


def test_the_baseline_is_first(tmp_path):
    """With a baseline, its means come first, and each other method is compared with it."""
    run = write(tmp_path, {(name, "right"): FIGURES[name] for name in ("local", "walk", "basic")})
    found = compare(run, baseline="walk")
    assert [one.method for one in found.levels] == ["walk", "basic", "local"]
    assert [(one.method, one.baseline) for one in found.contrasts] == [("basic", "walk"), ("local", "walk")]
    assert found.methods == ("basic", "local")
