"""A judge whose answers hold no verdict: the run ends after a few dozen calls, and goes on where it stopped."""

from __future__ import annotations

import fault_server as fault
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tone_metrics import PASSAGES, TONE, by_metric, cases

from greval import Judge, evaluate
from greval.judging.model.budget import (
    MAX_EXCERPT_CHARS,
    MAX_UNPROVEN_CALLS,
    MAX_UNREADABLE_IN_A_ROW,
    UNREADABLE_KINDS,
    RunGuard,
)
from greval.records.result import Failure
from greval.testing import ScriptedJudge

FIRST, LATER = MAX_UNREADABLE_IN_A_ROW
MALFORMED = Failure(kind="malformed", message="no JSON object was found", raw="I think it is fine.")
NO_VERDICT = fault.says("I think that this answer is rather fine, all in all.")


def told(guard, *answers, metric="tone"):
    """Let a guard see what was read of answers: None is a verdict."""
    for answer in answers:
        guard.record_answer(metric, answer)
    return guard


@pytest.mark.parametrize("width", [1, 8, 50])
def test_a_judge_that_gives_no_verdict_ends_the_run_after_a_few_dozen_calls(fault_server, tmp_path, width):
    """However many calls want to go out and however many cases there are; what the judge said is in the reason."""
    fault_server.plan = NO_VERDICT
    fault_server.latency = 0.05  # so that as many are in flight as may be
    judge = Judge("openai:fake", base_url=fault_server.url)
    run = evaluate(cases(2000), [TONE], judge, out=tmp_path, concurrency=width)
    assert run.fatal
    assert FIRST <= fault_server.calls < FIRST + MAX_UNPROVEN_CALLS
    assert fault_server.most <= MAX_UNPROVEN_CALLS
    assert "40 answers of the judge in a row held no verdict that can be read" in run.why
    assert "began 'I think that this answer is rather fine, all in all.'" in run.why
    assert "greval judge check" in run.why
    assert {row.failures[0].kind for row in run.results()} <= {"malformed"}  # others were not asked twice


def test_the_run_goes_on_with_a_judge_that_can(fault_server, tmp_path):
    """What was failed and what was never asked is asked by the same command once the judge answers."""
    fault_server.plan = NO_VERDICT
    judge = Judge("openai:fake", base_url=fault_server.url)
    assert evaluate(cases(60), [TONE], judge, out=tmp_path).fatal
    fault_server.plan = fault.ok()
    run = evaluate(cases(60), [TONE], judge, out=tmp_path)
    assert (run.why, run.progress.scored) == (None, 60)


def test_a_few_stubborn_cases_of_a_judge_that_worked_end_nothing(fault_server, tmp_path):
    """A second command on a run that holds verdicts asks for what failed, and there every answer may be bad."""
    bad = {f"answer {n}" for n in range(FIRST)}

    def plan(body):
        return NO_VERDICT if any(f"{one}\n" in body["messages"][1]["content"] for one in bad) else fault.ok()

    rows = [{"id": f"q{n}", "question": "Well?", "answer": f"answer {n}\n"} for n in reversed(range(FIRST + 5))]
    fault_server.plan = plan
    judge = Judge("openai:fake", base_url=fault_server.url)
    first = evaluate(rows, [TONE], judge, out=tmp_path, concurrency=1, retry_failed=False)
    assert (first.why, first.progress.failed) == (None, FIRST)
    before = fault_server.calls
    again = evaluate(rows, [TONE], judge, out=tmp_path, concurrency=1)
    assert (again.why, again.progress.failed) == (None, FIRST)
    assert fault_server.calls - before > FIRST


def test_one_metric_that_cannot_be_read_ends_the_run_beside_one_that_can(tmp_path):
    """Each metric has a row of its own: verdicts of another one do not hide that it has none."""

    def answer(messages):
        return by_metric(messages) if "tone" in messages[0].text.lower()[:400] else "no verdict"

    judge = ScriptedJudge(answer)
    run = evaluate(cases(300), [TONE, PASSAGES], judge, out=tmp_path, concurrency=1)
    assert run.fatal
    assert "the last on passages" in run.why.lower()
    assert len(judge.calls) < 4 * FIRST


@pytest.mark.parametrize("kind", sorted(UNREADABLE_KINDS))
def test_forty_answers_without_a_verdict_are_the_end(kind):
    """One less is none; the advice is that of the kind."""
    bad = Failure(kind=kind, message="bad", raw="so")
    guard = told(RunGuard(), *[bad] * (FIRST - 1))
    assert guard.why is None
    assert told(guard, bad).fatal


@pytest.mark.parametrize("kind", ["refusal", "content_filter", "context_window", "timeout", "rate_limit"])
def test_what_is_about_one_case_or_the_endpoint_is_no_unreadable_answer(kind):
    """A refusal neither adds to the row nor ends it."""
    lost = Failure(kind=kind, message="lost")
    assert told(RunGuard(), *[lost] * (LATER * 2)).why is None
    assert told(RunGuard(), *[MALFORMED] * (FIRST - 1), lost, MALFORMED).fatal


def test_metrics_count_together_until_a_first_verdict():
    """Five metrics of a judge that can do none of them cost no more calls than one."""
    guard = RunGuard()
    for n in range(FIRST):
        assert guard.why is None
        told(guard, MALFORMED, metric=f"m{n % 5}")
    assert guard.fatal


def test_a_judge_that_never_judged_the_case_ends_no_single_call():
    """Outside a run there is nothing to end."""
    assert told(RunGuard(watchful=False), *[MALFORMED] * (LATER + 1)).why is None


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([1, FIRST - 1, FIRST, 250, LATER])), max_size=5), st.booleans()
)
def test_a_run_ends_exactly_where_the_row_is_long_enough(parts, before):
    """For any sequence of verdicts and answers without one: the row since the last verdict counts, and nothing else."""
    guard = RunGuard()
    guard.was_read = lambda _: before
    row, proven, over = 0, before, False
    for good, count in parts:
        for _ in range(count):
            told(guard, None if good else MALFORMED)
            row, proven = (0, True) if good else (row + 1, proven)
            over = over or row >= (LATER if proven else FIRST)
            assert (guard.why is not None) == over


def test_what_the_judge_said_is_told_safely(monkeypatch):
    """On one line, without keys or control characters, and cut; an empty answer is told as one."""
    monkeypatch.setenv("MY_API_KEY", "a-very-private-word")
    said = "a-very-private-word\x1b[31m\n\u202e " + "long " * 100
    why = told(RunGuard(), *[Failure(kind="malformed", message="m", raw=said)] * FIRST).why
    assert "private" not in why
    assert why.isprintable()
    assert len(why) < 4 * MAX_EXCERPT_CHARS + 200
    assert "which was empty" in told(RunGuard(), *[Failure(kind="malformed", message="m")] * FIRST).why
