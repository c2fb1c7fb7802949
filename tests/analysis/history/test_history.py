"""Histories of run folders: their order, their figures, what forbids a comparison, and the gate of the newest run."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import numpy as np
import pytest
from compared_runs import DEPTH, MISSING, RIGHT, write

from greval import evaluate
from greval._util.files import COMMIT_VARIABLES, find_commit
from greval.analysis.gate.api import check_gate
from greval.analysis.history.api import build_history, list_run_folders
from greval.errors import DataError
from greval.runs.manifest import read_origin
from greval.runs.store import FILE, Store

NAMES = [f"q{n}" for n in range(40)]
START = 1_764_000_000


def write_runs(folder, runs, **options):
    """Write a run for each list of figures, a day apart; options are those of each run, by its number."""
    for number, figures in enumerate(runs):
        run = write(
            folder / f"r{number}", {("walk", "right"): figures}, metrics=[RIGHT], **options.get(f"r{number}", {})
        )
        os.utime(run / FILE, (START + 86_400 * number,) * 2)
    return folder


def draw(share, runs, seed=1):
    """Draw 0/1 figures of 40 questions for some runs."""
    rng = np.random.default_rng(seed)
    return [(rng.random(40) < share).astype(int).tolist() for _ in range(runs)]


def test_runs_are_in_the_order_of_time(tmp_path):
    """A folder of runs is a history, by when each run began, which is also said of runs that do not say it."""
    runs = write_runs(tmp_path, draw(0.8, 3))
    os.utime(runs / "r0" / FILE, (START + 10**6,) * 2)
    history = build_history([runs])
    assert [run.label for run in history.runs] == ["r1", "r2", "r0"]
    (line,) = history.metrics
    assert (line.metric, line.method, [point.run for point in line.points]) == ("right", "walk", [0, 1, 2])
    assert line.points[0].difference is None
    newest = line.points[-1]
    assert newest.difference == pytest.approx(newest.own_mean - newest.earlier_mean)
    assert (newest.paired, newest.shared, newest.n) == (True, 40, 40)
    assert newest.difference_interval.low < newest.difference < newest.difference_interval.high
    assert newest.interval.low < newest.mean < newest.interval.high


def test_a_drop_is_a_change(tmp_path):
    """Its first run, both levels and the verdict are there. It does not lower the bar; one for the better raises it."""
    runs = write_runs(tmp_path / "fallen", [*draw(0.95, 5), *draw(0.4, 3, seed=2)])
    (line,) = build_history([runs]).metrics
    (change,) = line.changes
    assert (change.run, change.verdict) == (5, "worse")
    assert change.before > 0.85
    assert change.after < 0.55
    assert change.interval.high < 0
    assert line.points[-1].difference < -0.2
    risen = write_runs(tmp_path / "risen", [*draw(0.3, 5), *draw(0.98, 3, seed=2)])
    (line,) = build_history([risen]).metrics
    assert [(change.run, change.verdict) for change in line.changes] == [(5, "better")]
    assert abs(line.points[-1].difference) < 0.25


@pytest.mark.parametrize(
    ("options", "mark"), [({"judge": "other"}, "judge"), ({"version": "g"}, "definition"), ({"names": NAMES}, "data")]
)
def test_what_changed_forbids_a_comparison(tmp_path, options, mark):
    """A run of another judge, definition or questions is compared with none before, and no change is found there."""
    names = {"names": [f"other{n}" for n in range(40)]}
    runs = [*draw(0.95, 4), *draw(0.3, 3, seed=2)]
    changed = names if mark == "data" else options
    history = build_history([write_runs(tmp_path, runs, r4=changed, r5=changed, r6=changed)])
    (line,) = history.metrics
    assert [point.marks for point in line.points] == [(), (), (), (), (mark,), (), ()]
    assert line.points[4].difference is None
    assert line.points[5].earlier_mean == pytest.approx(line.points[4].mean)
    assert line.changes == ()


def test_runs_that_never_share_questions_are_samples(tmp_path):
    """If each run has questions of its own, as samples of traffic have, the means are compared, and a drop is found."""
    options = {f"r{n}": {"names": [f"{n}-{name}" for name in NAMES]} for n in range(8)}
    runs = write_runs(tmp_path, [*draw(0.95, 6), *draw(0.3, 2, seed=2)], **options)
    (line,) = build_history([runs]).metrics
    assert [point.marks for point in line.points] == [()] * 8
    assert not line.points[1].paired
    assert [change.run for change in line.changes] == [6]


def test_the_gate_knows_the_history(tmp_path):
    """The newest run is held against the comparable runs before it, over the questions that they share."""
    runs = write_runs(tmp_path, [*[[1] * 30 + [0] * 10] * 3, [1] * 20 + [0] * 10 + [MISSING] * 10])
    missed, passed, plain = check_gate(
        build_history([runs]), ["right < history - 0.05", "walk: right < history * 0.6", "right < 0.5"]
    )
    assert (missed.met, passed.met, plain.met) == (True, False, False)
    assert missed.told == ("walk: 0.6667 < 1 - 0.05 = 0.95 (n = 30)",)
    with pytest.raises(DataError, match="there is no baseline; use greval compare"):
        check_gate(build_history([runs]), ["right < baseline"])
    with pytest.raises(DataError, match="there is no history; use greval history"):
        check_gate(runs / "r0", ["right < history"])


def test_a_gate_never_passes_without_a_history(tmp_path):
    """A newest run that is compared with none before leaves the condition undecided, which counts as met."""
    runs = write_runs(tmp_path, draw(0.8, 2), r1={"judge": "other"})
    (check,) = check_gate(build_history([runs]), ["right < history - 0.5"])
    assert (check.met, check.undecided) == (True, True)
    assert check.told == ("walk: its judge changed",)


def test_what_is_no_history_is_refused(tmp_path):
    """One run is no history, and a folder needs runs; names that no run has are refused with those that there are."""
    runs = write_runs(tmp_path, draw(0.8, 2))
    assert list_run_folders([runs, runs / "r0"]) == [runs / "r0", runs / "r1"]
    with pytest.raises(DataError, match="expected two runs or more, found 1"):
        build_history([runs / "r0"])
    with pytest.raises(DataError, match="expected a run folder, or a folder of run folders"):
        build_history([tmp_path / "r0" / "nothing"])
    with pytest.raises(DataError, match="metric"):
        build_history([runs], metrics=[DEPTH.name])
    assert len(build_history([runs], last=2, methods=["walk"]).runs) == 2


def test_a_run_says_when_it_began_and_of_which_commit(tmp_path, monkeypatch):
    """The first command on a run stores both; a later one leaves them as they are."""
    monkeypatch.setenv(COMMIT_VARIABLES[0], "abc123")
    cases = [{"id": "q1", "question": "?", "answer": "Ada", "expected_answer": "Ada"}]
    evaluate(cases, ["exact_match"], out=tmp_path)
    monkeypatch.setenv(COMMIT_VARIABLES[0], "later")
    evaluate([*cases, {**cases[0], "id": "q2"}], ["exact_match"], out=tmp_path)
    with Store.open(tmp_path) as store:
        began, commit = read_origin(store)
    assert commit == "abc123"
    assert abs((datetime.now(UTC) - began).days) <= 1


def test_a_commit_is_read_from_the_repository(tmp_path, monkeypatch):
    """A branch, a packed branch, a detached head and a worktree name their commit; without any there is none."""
    for name in COMMIT_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    git = tmp_path / "code" / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    assert find_commit(tmp_path / "code") is None
    (git / "packed-refs").write_text("# pack-refs\n111 refs/heads/main\n")
    assert find_commit(tmp_path / "code") == "111"
    (git / "refs" / "heads" / "main").write_text("222\n")
    assert find_commit(tmp_path / "code" / "inside") == "222"
    tree = git / "worktrees" / "tree"
    tree.mkdir(parents=True)
    (tree / "HEAD").write_text("ref: refs/heads/main\n")
    (tree / "commondir").write_text("../..\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {tree}\n")
    assert find_commit(tmp_path / "tree") == "222"
    (git / "HEAD").write_text("333\n")
    assert find_commit(tmp_path / "code") == "333"
