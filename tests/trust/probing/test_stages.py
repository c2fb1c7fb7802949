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

from greval.runs.store import Store
from greval.trust.probing.api import probe

pytestmark = pytest.mark.long


@pytest.mark.long
@pytest.mark.parametrize("cap", [3, 8, 20])
def test_nothing_is_asked_twice(cap, tmp_path):
    """The same command asks nothing again; one that was stopped goes on and ends as an unbroken one."""
    whole, parts = judge(obeys), judge(obeys)
    unbroken = probe(RIGHT, whole, cases(3), out=tmp_path / "whole")
    stopped = probe(RIGHT, parts, cases(3), out=tmp_path / "parts", max_calls=cap)
    assert stopped.why
    assert cap == 20 or any(  # after so many calls only repeats are left
        one.missing or "not judged yet: run the same command again to go on" in one.unused for one in stopped.checks
    )
    assert len(parts.calls) == cap == stopped.usage.calls
    found = probe(RIGHT, parts, cases(3), out=tmp_path / "parts")
    assert len(parts.calls) == len(whole.calls) == unbroken.usage.calls
    for name in ("checks", "noise", "survivors"):
        assert getattr(found, name) == getattr(unbroken, name)
    again = probe(RIGHT, parts, cases(3), out=tmp_path / "parts")
    assert len(parts.calls) == len(whole.calls)
    assert again.usage.calls == 0
    assert again.checks == unbroken.checks


def test_the_run_can_be_read(tmp_path):
    """The folder is a run like any other: each row tells which probe of which case it is, and none is pending."""
    probe_world(RIGHT, None, tmp_path, mutants=1)
    with Store.open(tmp_path / "run") as store:
        rows = [*store.results()]
        assert store.count_planned() == {"right": len(rows)}
    assert Counter(row.tags["probe"] for row in rows) == {
        **dict.fromkeys(("unchanged", "other", "contradicted", "padded", "empty", "injected"), 3)
    }
    assert {row.tags["of"] for row in rows} == {f"q{n}" for n in range(3)}
