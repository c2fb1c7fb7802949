"""A cap on calls or cost holds for the run folder: what any command spent on it counts."""

from __future__ import annotations

import os

import fault_server as fault
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tone_metrics import PASSAGES, TONE, by_metric, cases

from greval import Case, Judge, evaluate
from greval.judging.model.budget import RunSpending, format_cap_reason
from greval.judging.model.prices import Price, Prices
from greval.runs import merge_runs
from greval.runs.manifest import SPENDING, read_spending, sum_spending
from greval.runs.store import Store
from greval.runs.store.writer import StoreWriter
from greval.testing import ScriptedJudge

PRICES = Prices(
    models={name: Price(input=1000, output=1000) for name in ("ScriptedJudge", "openai:fake")},
    as_of="2026-11-21",
    source="test",
)
A_CALL = 0.12
"""What a call costs by these prices."""


def spent(folder, prices=PRICES):
    """Give what was spent on a run."""
    with Store.open(folder) as store:
        return read_spending(store, prices)


@settings(max_examples=8)
@given(st.lists(st.tuples(st.integers(1, 16), st.integers(1, 8)), min_size=1, max_size=4))
def test_a_cap_on_calls_holds_over_all_commands(tmp_path_factory, commands):
    """Whatever commands came before, a run never makes more calls than the cap of the command that makes them."""
    judge, folder, calls = ScriptedJudge(by_metric), tmp_path_factory.mktemp("run"), 0
    for cap, width in commands:
        run = evaluate(cases(9), [TONE], judge, out=folder, concurrency=width, max_calls=cap)
        calls = max(calls, min(cap, 9))
        assert len(judge.calls) == calls == spent(folder).calls
        assert run.stopped == (calls < 9)
    evaluate(cases(9), [TONE], judge, out=folder)
    assert len(judge.calls) == 9


@settings(max_examples=5)
@given(st.lists(st.floats(0.2, 1.5), min_size=1, max_size=3))
def test_a_cap_on_cost_holds_over_all_commands(tmp_path_factory, caps):
    """The folder costs no more than the highest cap so far, and the same command asks nothing more at its cap."""
    judge, folder = ScriptedJudge(by_metric), tmp_path_factory.mktemp("run")
    for n, cap in enumerate(caps):
        run = evaluate(cases(25), [TONE], judge, out=folder, concurrency=2, max_cost=cap, prices=PRICES)
        assert A_CALL * len(judge.calls) <= max(caps[: n + 1]) + 1e-9
        assert spent(folder).cost == pytest.approx(A_CALL * len(judge.calls)) or not judge.calls
        assert run.stopped
    calls_before = len(judge.calls)
    evaluate(cases(25), [TONE], judge, out=folder, concurrency=2, max_cost=max(caps), prices=PRICES)
    assert A_CALL * len(judge.calls) <= max(caps) + 1e-9
    assert len(judge.calls) - calls_before <= 1  # the first call of a command is counted by a guess


def test_calls_without_a_result_count_too(fault_server, tmp_path):
    """Attempts of one command that led to nothing are not free for the next one."""
    fault_server.plan = fault.error(503, Retry_After="0")
    judge = Judge("openai:fake", base_url=fault_server.url, max_retries=9)
    for cap in (5, 5, 7):
        run = evaluate(cases(9), [TONE], judge, out=tmp_path, concurrency=1, max_calls=cap)
        assert (fault_server.calls, run.stopped) == (cap, True)


def test_calls_of_an_open_judgement_count_too(tmp_path):
    """A case that takes several calls: those that were answered before the stop are neither free nor counted twice."""
    case = Case(id="q", question="?", chunks=[f"passage {n}" for n in range(50)])
    judge = ScriptedJudge(by_metric)
    for cap, calls in ((2, 2), (2, 2), (4, 4), (5, 5)):
        run = evaluate([case], [PASSAGES], judge, out=tmp_path, concurrency=1, max_calls=cap)
        assert (len(judge.calls), run.stopped) == (calls, calls < 5)
    assert spent(tmp_path).calls == 5


def test_rows_without_a_note_count(tmp_path):
    """A run that was killed before its note, or merged of others, is counted by its rows."""
    judge = ScriptedJudge(by_metric)
    for name, given_cases in (("a", cases(4)), ("b", cases(8)[4:])):
        evaluate(given_cases, [TONE], judge, out=tmp_path / name, prices=PRICES)
    with StoreWriter.create(tmp_path / "a") as writer:
        writer.put_fact(SPENDING, None)
    assert spent(tmp_path / "a").calls == 4
    assert spent(tmp_path / "a").cost == pytest.approx(4 * A_CALL)
    merge_runs(tmp_path / "all", [tmp_path / "a", tmp_path / "b"])
    run = evaluate(cases(12), [TONE], judge, out=tmp_path / "all", max_calls=10)
    assert (run.stopped, len(judge.calls)) == (True, 10)
    assert sum_spending([tmp_path / "all", tmp_path / "b", tmp_path / "none"], PRICES).calls == 14


def test_the_message_says_what_was_spent_before_and_what_goes_on(tmp_path):
    """At the cap of an earlier command the same one asks nothing, and says why and how it goes on."""
    judge = ScriptedJudge(by_metric)
    first = evaluate(cases(9), [TONE], judge, out=tmp_path, max_calls=3)
    assert first.why == "the cap of 3 calls is reached (--max-calls); raise it to continue"
    second_run = evaluate(cases(9), [TONE], judge, out=tmp_path, max_calls=3)
    assert second_run.why == format_cap_reason(RunSpending(calls=3), max_calls=3)
    assert "earlier commands on this run made 3 of them" in second_run.why
    cost = format_cap_reason(RunSpending(calls=3, cost=0.36), max_cost=0.4)
    assert "the cap of $0.4 is reached (--max-cost); earlier commands on this run spent $0.3600 of it" in cost


def test_spending_survives_a_run_that_is_cancelled(tmp_path):
    """What was spent is written down also where the caller's own function ends the run with an error."""

    def fail(progress):
        if progress.done == 3:
            raise RuntimeError(os.strerror(5))

    with pytest.raises(RuntimeError):
        evaluate(cases(9), [TONE], ScriptedJudge(by_metric), out=tmp_path, concurrency=1, on_progress=fail)
    with Store.open(tmp_path) as store:
        assert RunSpending.model_validate(store.fact(SPENDING)).calls >= 3
