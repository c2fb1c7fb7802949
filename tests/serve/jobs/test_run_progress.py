"""Tests of the progress of a run over all of its legs."""

from __future__ import annotations

import pytest
from served_runs import YES, ended, over_http, rows, serving, started, uploaded, waited

from greval.records.result import Usage
from greval.runs.progress import Progress
from greval.serve.jobs.run_progress import add_leg, read_earlier_progress
from greval.testing import ScriptedJudge


@pytest.mark.nightly
def test_a_resumed_run_has_all_of_its_calls(tmp_path):
    """Calls, tokens and time of a run are those of all legs, whatever stopped one; nothing left to do adds nothing."""
    models = {"slow": ScriptedJudge([YES], delay=0.05)}
    with over_http(models) as judges:
        with serving(tmp_path / "runs", judges=judges) as client:
            run = started(client, uploaded(client, rows(30)), concurrency=2, max_calls=20)
            waited(client, run, lambda info: (info["progress"] or {}).get("done", 0) >= 5)
        with serving(tmp_path / "runs", judges=judges) as client:
            first = ended(client, run)["progress"]
            client.post(f"/v1/runs/{run}/resume", json={"max_calls": 40})
            second = ended(client, run)["progress"]
            client.post(f"/v1/runs/{run}/resume")
            third = ended(client, run)["progress"]
    assert (first["done"], first["usage"]["calls"]) == (20, 20)
    assert (second["done"], second["usage"]["calls"]) == (third["done"], third["usage"]["calls"]) == (30, 30)
    assert second["usage"]["input_tokens"] == third["usage"]["input_tokens"] == 1.5 * first["usage"]["input_tokens"]
    assert first["seconds"] < second["seconds"] <= third["seconds"]
    assert len(models["slow"].calls) == 30


@pytest.mark.parametrize("done", range(12))
def test_counts_never_fall_while_a_leg_catches_up(done):
    """Until a leg is where the run was, the counts of before stay; usage, cost and time grow from the start."""
    before = Progress(total=9, done=6, scored=5, failed=1, seconds=4.0, usage=Usage(calls=6), cost=0.5)
    leg = Progress(total=9, done=done, scored=done, kept=min(done, 5), seconds=1.0, usage=Usage(calls=2), cost=0.25)
    whole = add_leg(before, leg)
    assert whole.done == max(6, done)
    assert whole.done == whole.scored + whole.failed
    assert (whole.usage.calls, whole.cost, whole.seconds, whole.kept) == (8, 0.75, 5.0, 0)


def test_before_the_first_leg_nothing_is_known(tmp_path):
    """A run that has no log yet begins at 0."""
    assert read_earlier_progress(tmp_path, None) == Progress()
