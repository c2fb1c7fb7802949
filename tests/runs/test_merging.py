"""Merging of runs: the union of their rows, whatever was merged before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tone_metrics import TONE, by_metric, cases

from greval import Store, evaluate
from greval.errors import StoreError
from greval.runs.merging import merge_runs
from greval.runs.store.plans import list_judges
from greval.testing import ScriptedJudge

ALL = cases(6)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Judge overlapping parts of the cases in runs of their own."""
    folder = tmp_path_factory.mktemp("runs")
    parts = {"first": ALL[:3], "second": ALL[2:5], "third": ALL[5:]}
    for name, part in parts.items():
        evaluate(part, [TONE], ScriptedJudge(by_metric), out=folder / name)
    return {folder / name: [case.id for case in part] for name, part in parts.items()}


def read_ids(folder):
    """Return the ids of the results that count in a run."""
    with Store.open(folder) as store:
        return sorted(result.sample_id for result in store.results())


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True), min_size=1, max_size=3))
def test_the_merged_run_is_the_union(runs, tmp_path_factory, merges):
    """Whatever runs are merged in which order, each result counts once, and a second merge adds nothing."""
    out = tmp_path_factory.mktemp("merged") / "all"
    folders = [*runs]
    merged: set[str] = set()
    for chosen in merges:
        chosen_folders = [folders[number] for number in chosen]
        merged |= {name for folder in chosen_folders for name in runs[folder]}
        merge_runs(out, chosen_folders)
        assert read_ids(out) == sorted(merged)
        assert merge_runs(out, chosen_folders).rows == 0


def test_the_summary_counts_new_and_known_rows(runs, tmp_path):
    """A case of two runs is new once and known once."""
    done = merge_runs(tmp_path / "all", [*runs])
    assert (done.rows, done.known) == (6, 1)
    assert done.folder == str(tmp_path / "all")


def test_metadata_are_merged(runs, tmp_path):
    """The merged run has the metrics and the judge of its parts, and all their cases."""
    merge_runs(tmp_path / "all", [*runs])
    with Store.open(tmp_path / "all") as store:
        assert [metric["name"] for metric in store.fact("metrics")] == ["tone"]
        assert sorted(case.id for case in store.cases()) == sorted(case.id for case in ALL)
        with Store.open(next(iter(runs))) as part:
            assert store.fact("judge") == part.fact("judge")
            assert list_judges(store.plans()) == list_judges(part.plans())


@pytest.mark.parametrize("given_twice", [True, False])
def test_a_run_is_given_once_and_is_not_the_target(runs, tmp_path, given_twice):
    """A folder twice, or as its own target, is refused before anything is written."""
    first, *_ = runs
    out = tmp_path / "all" if given_twice else first
    with pytest.raises(StoreError, match="expected each run once, and another folder for the merged run"):
        merge_runs(out, [first, first] if given_twice else [first])
    assert not (tmp_path / "all").exists()


def test_a_folder_without_a_run_is_refused(runs, tmp_path):
    """Nothing is merged if one of the folders is no run."""
    with pytest.raises(StoreError, match="no run is there"):
        merge_runs(tmp_path / "all", [*runs, tmp_path / "none"])
    assert not (tmp_path / "all").exists()
