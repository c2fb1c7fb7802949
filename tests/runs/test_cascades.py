"""A formula asks the judge only for the cases that its cheaper metrics leave open: in forecast, run and report."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage
from tone_metrics import TONE

from greval import (
    Case,
    FormulaMetric,
    compile_metric,
    evaluate,
    forecast,
    load_metric,
)
from greval.analysis.summary import build_report
from greval.runs.judge_session import JudgeSession
from greval.runs.store import Store
from greval.runs.worker import is_unneeded
from greval.testing import ScriptedJudge

EXACT, CORRECT = load_metric("exact_match"), load_metric("correctness")
CASCADE = FormulaMetric(name="cascade", description="d", formula="1 if exact_match >= 1 else correctness")
UNNEEDED = "not needed: cascade does not read it on this case"


def cases(*answers):
    """Give a case for each answer; Ada is the right one."""
    return [
        Case(id=f"q{n}", question=f"Who, {n}?", expected_answer="Ada", answer=answer)
        for n, answer in enumerate(answers)
    ]


SIX = cases("Ada", "Lovelace", "Ada", "Byron", "Ada", "the countess")
"""Three cases that the exact match decides."""


def answer(messages):
    """Judge the tone by the first letter of the question's number, and everything else as right."""
    if "tone" in messages[0].text:
        return {"reason": "r", "value": "Rude" if "Byron" in messages[-1].text else "Polite"}
    return {"reason": "r", "value": 1}


def read(run, metric="correctness"):
    """Give the value, or the reason why there is none, of each case by its id."""
    return {
        row.sample_id: row.judgements[0].number if row.judgements else getattr(row.outcome, "reason", row.outcome)
        for row in run.results()
        if row.metric == metric
    }


def test_only_open_cases_are_judged(tmp_path):
    """Three of six cases are asked about; the others are skipped with a reason, and the formula has all six."""
    judge = ScriptedJudge(answer)
    expected = forecast(SIX, [CASCADE], judge, out=tmp_path)
    run = evaluate(SIX, [CASCADE], judge, out=tmp_path)
    assert (len(judge.calls), expected.calls) == (3, 3)
    assert {part.metric: (part.judged, part.skipped) for part in expected.expected} == {
        "exact_match": (6, 0),
        "correctness": (3, 3),
        "cascade": (6, 0),
    }
    assert read(run, "cascade") == dict.fromkeys(read(run, "cascade"), 1)
    assert read(run) == {"q0": UNNEEDED, "q1": 1, "q2": UNNEEDED, "q3": 1, "q4": UNNEEDED, "q5": 1}
    with Store.open(tmp_path) as store:
        report = build_report(store)
    counts = {part.metric: (part.planned, part.counted, part.skipped) for part in report.summaries}
    assert counts == {"exact_match": (6, 6, 0), "correctness": (6, 3, 3), "cascade": (6, 6, 0)}
    assert (report.pending, run.progress.done, run.progress.total) == ({}, 18, 18)


def test_what_is_asked_for_is_judged_on_all_cases(tmp_path):
    """A metric that is named beside the formula is judged everywhere, and an earlier skip does not stand for it."""
    judge = ScriptedJudge(answer)
    evaluate(SIX, [CASCADE], judge, out=tmp_path)
    assert forecast(SIX, [CASCADE, CORRECT], judge, out=tmp_path).calls == 3
    run = evaluate(SIX, [CASCADE, CORRECT], judge, out=tmp_path)
    assert (len(judge.calls), {*read(run).values()}) == (6, {1})
    second_run = evaluate(SIX, [CASCADE], judge, out=tmp_path)
    assert (len(judge.calls), {*read(second_run).values()}) == (6, {1})  # what was paid for stays


@pytest.mark.parametrize(
    ("formula", "calls"),
    [
        ("exact_match >= 1 or correctness >= 0.5", 3),
        ("any(exact_match >= 1, correctness >= 0.5)", 3),
        ("exact_match >= 1 and correctness >= 0.5", 3),
        ("all(exact_match >= 1, correctness >= 0.5)", 3),
        ("1 if not exact_match < 1 else 0.5 * correctness", 3),
        ("(1 if exact_match >= 1 else correctness) / 2", 3),
        ("correctness if exact_match < 1 else exact_match", 3),
        ("1 if exact_match >= 1 and answer_words < 9 else correctness", 3),
        ("mean(exact_match, correctness)", 6),
        ("correctness if correctness >= 0.5 else exact_match", 6),
        ("1 if correctness >= 0.5 else exact_match", 6),
        ("exact_match if exact_match >= 0 else correctness", 0),
    ],
)
def test_forms_of_cascades(tmp_path, formula, calls):
    """Whatever the form, a forecast and a run ask for the same cases, and the value is that of all verdicts."""
    words = FormulaMetric(name="answer_words", description="d", formula="exact_match + 0")
    metric = FormulaMetric(name="cascade", description="d", formula=formula)
    metrics = [metric, words] if "answer_words" in formula else [metric]
    judge = ScriptedJudge(answer)
    assert forecast(SIX, metrics, judge, out=tmp_path / "lazy").calls == calls
    lazy = evaluate(SIX, metrics, judge, out=tmp_path / "lazy")
    assert len(judge.calls) == calls
    full_run = evaluate(SIX, [*metrics, EXACT, CORRECT], ScriptedJudge(answer), out=tmp_path / "whole")
    assert read(lazy, "cascade") == read(full_run, "cascade")


def test_two_judged_steps(tmp_path):
    """A judged metric may decide too; the forecast then counts what it may leave open."""
    metric = FormulaMetric(name="cascade", description="d", formula="correctness if tone == 'Polite' else 0")
    judge = ScriptedJudge(answer)
    assert forecast(SIX, [metric, TONE], judge, out=tmp_path, asked=["cascade"]).calls == 12
    run = evaluate(SIX, [metric, TONE], judge, out=tmp_path, concurrency=3, asked=["cascade"])
    assert len(judge.calls) == 11
    assert (read(run)["q3"], read(run, "cascade")["q3"]) == (UNNEEDED, 0)
    assert forecast(SIX, [metric, TONE], judge, out=tmp_path, asked=["cascade"]).calls == 0


def test_formulas_of_formulas(tmp_path):
    """What a formula that is not needed reads is not needed either."""
    outer = FormulaMetric(name="outer", description="d", formula="1 if exact_match >= 1 else cascade")
    inner = FormulaMetric(name="cascade", description="d", formula="0.5 * correctness + 0.5")
    judge = ScriptedJudge(answer)
    assert forecast(SIX, [outer, inner], judge, out=tmp_path, asked=["outer"]).calls == 3
    run = evaluate(SIX, [outer, inner], judge, out=tmp_path, asked=["outer"])
    assert (len(judge.calls), [*read(run, "outer").values()]) == (3, [1] * 6)
    assert [*read(run, "cascade").values()].count("not needed: outer does not read it on this case") == 3


def test_a_failure_of_what_is_not_read_does_not_matter(tmp_path):
    """A formula fails by what it reads only, also if a metric that was asked for beside it failed there."""
    run = evaluate(SIX, [CASCADE, CORRECT], ScriptedJudge([AIMessage("no verdict")] * 99), out=tmp_path)
    values = read(run, "cascade")
    assert [values[name] for name in ("q0", "q2", "q4")] == [1, 1, 1]
    assert {values[name].error.kind for name in ("q1", "q3", "q5")} == {"dependency"}


def test_a_failed_first_step_is_asked_again(tmp_path):
    """If the step that decides failed and is retried, the next one is asked then; nothing is counted twice."""
    metric = FormulaMetric(name="cascade", description="d", formula="correctness if tone == 'Polite' else 0")
    replies = iter(["?", "?", {"reason": "r", "value": "Polite"}, {"reason": "r", "value": 1}])
    judge = ScriptedJudge(lambda _: next(replies))
    run = evaluate(cases("Byron"), [metric, TONE], judge, out=tmp_path, asked=["cascade"])
    assert [row.outcome.status for row in run.results()] == ["scored"] * 3
    assert (run.progress.done, run.progress.scored, run.progress.failed) == (3, 3, 0)


def test_skipped_steps(tmp_path):
    """If the first step is not defined for a case, neither is the formula, and the judge is not asked."""
    bare = [Case(id="bare", question="Who?", answer="Ada")]
    judge = ScriptedJudge(answer)
    run = evaluate(bare, [CASCADE], judge, out=tmp_path)
    assert "exact_match is skipped" in read(run, "cascade")["bare"]
    assert (len(judge.calls), read(run)["bare"]) == (0, UNNEEDED)


def test_single_cases():
    """A compiled formula and a session of a test run ask for open cases only."""
    judge = ScriptedJudge(answer)
    runnable = compile_metric(CASCADE, judge, built_on=[EXACT, CORRECT])
    results = runnable.batch(SIX)
    assert ([result.value for result in results], len(judge.calls)) == ([1.0] * 6, 3)
    assert [sum(map(is_unneeded, result.built_on)) for result in results] == [1, 0, 1, 0, 1, 0]
    session = JudgeSession(judge)
    assert session.judge_case(SIX[0], CASCADE, built_on=[EXACT, CORRECT]).value == 1
    assert len(judge.calls) == 3
