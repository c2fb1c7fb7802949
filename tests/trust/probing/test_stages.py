"""The stages of a probe: their folders, caps and stored verdicts."""

from __future__ import annotations

from collections import Counter

import pytest
from probed_judges import (
    RIGHT,
    cases,
    judge,
    obeys,
    probe_world,
)

from greval import evaluate
from greval.errors import StoreError
from greval.judging.model.budget import RunSpending
from greval.runs.options import describe_shared_stop
from greval.runs.store import Store
from greval.runs.store.plans import count_planned
from greval.trust.probing.api import probe
from greval.trust.probing.stages import ProbeStages


@pytest.mark.parametrize("cap", [3, 8, 20])
def test_no_call_is_made_twice(cap, tmp_path):
    """The same command asks nothing again; one that was stopped goes on and ends as an unbroken one."""
    whole, parts = judge(obeys), judge(obeys)
    unbroken = probe(RIGHT, whole, cases(3), out=tmp_path / "whole")
    stopped = probe(RIGHT, parts, cases(3), out=tmp_path / "parts", max_calls=cap)
    assert stopped.why
    assert cap == 20 or any(  # after so many calls only repeats are left
        check.missing or "not judged yet: run the same command again to go on" in check.unused
        for check in stopped.checks
    )
    assert len(parts.calls) == cap == stopped.usage.calls
    result = probe(RIGHT, parts, cases(3), out=tmp_path / "parts")
    assert len(parts.calls) == len(whole.calls) == unbroken.usage.calls
    for name in ("checks", "noise", "survivors"):
        assert getattr(result, name) == getattr(unbroken, name)
    again = probe(RIGHT, parts, cases(3), out=tmp_path / "parts")
    assert len(parts.calls) == len(whole.calls)
    assert again.usage.calls == 0
    assert again.checks == unbroken.checks


def test_the_run_can_be_read(tmp_path):
    """The folder is a run like any other: each row tells which probe of which case it is, and none is pending."""
    probe_world(RIGHT, None, tmp_path, mutants=1)
    with Store.open(tmp_path / "run") as store:
        rows = [*store.results()]
        assert count_planned(store.plans()) == {"right": len(rows)}
    assert Counter(row.tags["probe"] for row in rows) == {
        **dict.fromkeys(("unchanged", "other", "contradicted", "padded", "empty", "injected"), 3)
    }
    assert {row.tags["of"] for row in rows} == {f"q{n}" for n in range(3)}


def test_a_run_that_is_no_probe_is_left_alone(tmp_path):
    """Mutants would change the figures of another run, so its folder is refused before any call."""
    asked = judge()
    evaluate(cases(1), [RIGHT], asked, out=tmp_path / "run")
    with pytest.raises(StoreError, match="choose another folder with out="):
        ProbeStages(tmp_path / "run", asked, {}).check_folder()
    with pytest.raises(StoreError, match="choose another folder with out="):
        probe(RIGHT, asked, cases(1), out=tmp_path / "run")
    assert len(asked.calls) == 1


@pytest.mark.parametrize(
    ("options", "why", "reported"),
    [
        (
            {"max_calls": 9},
            "the cap of 4 calls is reached (--max-calls)",
            "the cap of 9 calls is reached (--max-calls)",
        ),
        ({"max_cost": 2.0}, "the cap of $0.5 is reached (--max-cost)", "the cap of $2 is reached (--max-cost)"),
        ({"max_calls": 9}, "it was asked to stop", "it was asked to stop"),
    ],
)
def test_the_overall_cap_is_reported(options, why, reported):
    """A stage has only what the others left of a cap, but the message names the cap that was given."""
    assert describe_shared_stop(why, options, RunSpending()).startswith(reported)


def test_a_cap_is_shared_by_the_stages(tmp_path):
    """Each stage may spend what the other stages left, which is never less than nothing."""
    stages = ProbeStages(tmp_path / "run", judge(), {"max_calls": 5})
    assert stages._build_options("repeat-2", 1, "")["max_calls"] == 5
    evaluate(cases(3), [RIGHT], judge(), out=tmp_path / "run" / "repeat-2", probe=True)
    assert stages._build_options("repeat-2", 1, "")["max_calls"] == 5
    assert stages._build_options("repeat-3", 1, "")["max_calls"] == 2
    stages.options["max_calls"] = 2
    assert stages._build_options("repeat-3", 1, "")["max_calls"] == 0
    assert "max_calls" not in ProbeStages(tmp_path, judge(), {})._build_options("repeat-3", 1, "")
