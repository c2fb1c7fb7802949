"""Tests of the turns of tenants: whose run starts, and whose gives way."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from greval.serve.jobs.turns import MAX_JOBS, MAX_TENANT_JOBS, TURN_SECONDS, choose_next_run, choose_run_to_stop

ANA, BEN, EVE, ZOE, KAI = (Path(name) for name in ("ana", "ben", "eve", "zoe", "kai"))
RUNS = st.lists(st.builds(lambda tenant, n: tenant / str(n), st.sampled_from([ANA, BEN, EVE]), st.integers(0, 9)))


def of(tenant, *numbers):
    return [tenant / str(number) for number in numbers]


def test_the_tenant_with_the_fewest_runs_is_next():
    """Runs of other processes count too; of equals the longest without a turn is next, then the older run."""
    waiting = [*of(ANA, 2, 3), *of(BEN, 1)]
    assert choose_next_run(waiting, of(ANA, 1), [], {}) == BEN / "1"
    assert choose_next_run(waiting, of(ANA, 1), of(BEN, 5, 6), {}) == ANA / "2"
    assert choose_next_run(waiting, [], [], {ANA: 2.0, BEN: 1.0}) == BEN / "1"
    assert choose_next_run(waiting, [], [], {ANA: 2.0}) == BEN / "1"
    assert choose_next_run(waiting, [], [], {}) == ANA / "2"


@given(RUNS, RUNS)
def test_no_tenant_and_no_process_has_more_than_its_most(waiting, others):
    """Started as long as there is a next run, each tenant and all together keep to the limit, and no place is left."""
    started = []
    waiting = [*dict.fromkeys(waiting)]
    while run := choose_next_run(waiting, started, others, {}):
        waiting.remove(run)
        started.append(run)
    counts = Counter(run.parent for run in started)
    assert len(started) <= MAX_JOBS
    assert all(count <= MAX_TENANT_JOBS for count in counts.values())
    assert len(started) == MAX_JOBS or all(counts[run.parent] == MAX_TENANT_JOBS for run in waiting)


def test_the_longest_run_of_the_tenant_with_most_gives_way():
    """Only for a tenant without a run, only if there is no place, and one for each such tenant."""
    full = {ANA / "1": 5.0, ANA / "2": 9.0, BEN / "1": 7.0, EVE / "1": 99.0}
    assert choose_run_to_stop(of(ZOE, 1), full, [], []) == ANA / "2"
    assert choose_run_to_stop(of(ZOE, 1), full, of(ANA, 2), []) is None
    assert choose_run_to_stop([*of(ZOE, 1), *of(KAI, 1)], full, of(ANA, 2), []) == EVE / "1"
    assert choose_run_to_stop(of(ZOE, 1), full, [], of(ZOE, 2)) is None
    assert choose_run_to_stop(of(BEN, 2), full, [], []) is None
    assert choose_run_to_stop(of(ZOE, 1), {ANA / "1": 1.0, ANA / "2": 2.0}, [], []) is None
    assert choose_run_to_stop([], full, [], []) is None


def test_an_only_run_has_its_turn_first():
    """Where each tenant has one run, the one that has run longest gives way, but not before its time."""
    early = {tenant / "1": TURN_SECONDS - 1 - n for n, tenant in enumerate((ANA, BEN, EVE, ZOE))}
    assert choose_run_to_stop(of(KAI, 1), early, [], []) is None
    late = {run: seconds + 2 for run, seconds in early.items()}
    assert choose_run_to_stop(of(KAI, 1), late, [], []) == ANA / "1"
