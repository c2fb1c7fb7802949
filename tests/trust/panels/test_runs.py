"""Tests of the runs of a panel, joined by item."""

from __future__ import annotations

import pytest
from agreed_runs import FAILED, write

from greval import evaluate
from greval.errors import DataError
from greval.metrics.computed import COMPUTED_METRICS
from greval.trust.panels.runs import count_run_verdicts, read_panel_items, read_runs


def build_runs(tmp_path, *judges, metric="graded"):
    """Write a run for each judge."""
    return [
        write(tmp_path / f"r{n}", metric, verdicts, judges=[f"j{n}"] * len(verdicts))
        for n, verdicts in enumerate(judges)
    ]


def test_a_run_has_its_verdicts_and_what_is_missing(tmp_path):
    """An item that one run failed on is not common, and is counted as missing there."""
    folders = build_runs(tmp_path, ["Relevant", "Partly", FAILED], ["Relevant", "Irrelevant", "Partly"])
    found = read_panel_items(folders, "graded")
    assert [*found.runs] == ["j0", "j1"]
    assert {item.sample_id: item.values for item in found.things} == {
        "q0": {"j0": "Relevant", "j1": "Relevant"},
        "q1": {"j0": "Partly", "j1": "Irrelevant"},
    }
    assert found.differing == ()
    counts = {
        one.name: (one.verdicts, one.failed, one.missing) for one in count_run_verdicts(found.runs, found.item_count)
    }
    assert counts == {"j0": (2, 1, 1), "j1": (3, 0, 0)}


def test_runs_of_one_judge_go_by_their_folders_too(tmp_path):
    """Names stay unique, also if folders have equal names."""
    folders = [write(tmp_path / name, "graded", ["Partly"]) for name in ("a/run", "b/run", "c")]
    names = [*read_runs(folders, "graded", {})]
    assert names == [f"j ({tmp_path}/a/run)", f"j ({tmp_path}/b/run)", "j (c)"]


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_runs_are_no_panel(tmp_path, count):
    """The same folder twice is one run."""
    folders = build_runs(tmp_path, ["Partly"])
    for given in (folders[:count], [*folders, tmp_path / "x" / ".." / "r0"]):
        with pytest.raises(DataError, match="a panel needs two runs or more"):
            read_runs(given, "graded", {})


def test_another_scale_is_refused(tmp_path):
    """Verdicts on different scales cannot be compared."""
    first = write(tmp_path / "first", "passed", [1, 0])
    second = evaluate(
        [{"id": "q0", "question": "?"}],
        [COMPUTED_METRICS["latency"].model_copy(update={"name": "passed"})],
        out=tmp_path / "second",
    )
    with pytest.raises(DataError, match="passed has another scale than in"):
        read_runs([first, second.folder], "passed", {})


def test_a_metric_whose_fields_are_all_optional_can_be_read(tmp_path):
    """A computed metric may need nothing, and its cases are compared by what it reads."""
    metric = COMPUTED_METRICS["latency"].model_copy(update={"needs": (), "optional": ("usage",)})
    folders = [
        evaluate(
            [{"id": "q0", "question": "?", "usage": {"latency": latency}}], [metric], out=tmp_path / f"run{number}"
        ).folder
        for number, latency in enumerate((2.0, 2.0, 3.0))
    ]
    assert len(read_panel_items(folders[:2], "latency").things) == 1
    with pytest.raises(DataError, match="1 of them judged another text"):
        read_panel_items(folders[1:], "latency")


@pytest.mark.parametrize(
    ("metric", "combine", "message"),
    [("graded", "median", "categories have no median or mean"), ("depth", "majority", "combined by median or mean")],
)
def test_verdicts_are_combined_as_their_scale_allows(tmp_path, metric, combine, message):
    """By default categories have a majority and numbers a median."""
    value = "Partly" if metric == "graded" else 2
    folders = build_runs(tmp_path, [value], [value], metric=metric)
    with pytest.raises(DataError, match=message):
        read_panel_items(folders, metric, combine=combine)
    assert read_panel_items(folders, metric).combine == ("majority" if metric == "graded" else "median")


def test_verdicts_between_two_levels_are_left_out_as_categories(tmp_path):
    """They are kept as numbers."""
    folders = build_runs(tmp_path, [1, 0.5], [1, 1], metric="passed")
    found = read_panel_items(folders, "passed")
    assert (len(found.things), found.between) == (1, 1)
    numbers = read_panel_items(folders, "passed", treat_as="numbers")
    assert (len(numbers.things), numbers.between) == (2, 0)
