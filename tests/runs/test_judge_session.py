"""A judge session: each case once, metrics that build on others, a shared cap, and rows of several processes."""

from __future__ import annotations

import pytest
from fault_server import gives

from greval import Case, load_metric
from greval.errors import JudgeError, StoppedError
from greval.records.judge_choice import JudgeChoice
from greval.runs.judge_session import CallCap, JudgedRow, JudgeSession, merge_rows
from greval.testing import ScriptedJudge

CASE = Case(id="q1", question="Who?", expected_answer="Ada", answer="Ada.", chunks=["Ada wrote it."], triples=[])
GOOD = {"reason": "R.", "value": 1}


def test_a_case_is_judged_once():
    """The second time nothing is asked, and its row counts once; a failure is asked again."""
    judge = ScriptedJudge(["no JSON", "no JSON", GOOD])
    session = JudgeSession(judge)
    metric = load_metric("correctness")
    assert [session.judge_case(CASE, metric).outcome.status for _ in range(3)] == ["failed", "scored", "scored"]
    assert len(judge.calls) == 3
    (row,) = merge_rows(session.rows)
    assert row.costs[0] == 3


def test_a_metric_that_builds_on_others_counts_them_too():
    """The metrics below are judged first, have rows of their own, and are shared by another metric."""
    judge = ScriptedJudge(lambda _: {"judgements": [{"item": 1, "reason": "R.", "value": "Relevant"}]})
    session = JudgeSession(judge)
    result = session.judge_case(CASE, load_metric("answer_completeness"))
    assert [below.metric for below in result.built_on] == ["chunk_evaluation", "triple_evaluation"]
    assert {row.metric for row in session.rows} == {"chunk_evaluation", "triple_evaluation", "answer_completeness"}


def test_without_a_judge():
    """Computed metrics need none, and judged ones say what to do."""
    session = JudgeSession(None, hint="name one")
    assert session.judge_case(CASE, load_metric("exact_match")).value == 1
    with pytest.raises(JudgeError, match="correctness: is judged by a model; name one"):
        session.judge_case(CASE, load_metric("correctness"))


def test_a_cap_is_shared_by_its_file(tmp_path):
    """Two processes together make as many calls as the cap allows."""
    caps = [CallCap(3, tmp_path / "calls.sqlite", reason="enough") for _ in range(2)]
    sessions = [JudgeSession(ScriptedJudge([GOOD]), cap=cap) for cap in caps]
    metric = load_metric("correctness")
    for number in range(3):
        sessions[number % 2].judge_case(CASE.model_copy(update={"answer": str(number)}), metric)
    for session in sessions:
        with pytest.raises(StoppedError, match="enough"):
            session.judge_case(CASE.model_copy(update={"answer": "more"}), metric)
    for cap in caps:
        cap.close()


def test_rows_of_several_processes():
    """The last result of a case counts, its costs add up, and a reply used again counts once."""
    failed = JudgedRow("k", "m", "j", '["failed",[],[["malformed",false]],null]', (2, 20, 4, None, 0, None))
    scored = JudgedRow("k", "m", "j", '["scored",[["1",1.0]],[],null]', (1, 10, 2, None, 0, None))
    reused = scored._replace(costs=(0, None, None, None, 1, None))
    (row,) = merge_rows([failed, scored, reused])
    assert row == scored._replace(costs=(3, 30, 6, None, 0, None))


def test_a_metric_that_names_its_judge_asks_it_in_a_session(fault_server):
    """No judge of the session is needed for it, and its client is kept."""
    fault_server.plan = gives(GOOD)
    own_metric = load_metric("correctness").model_copy(
        update={"judge": JudgeChoice(model="openai:own", base_url=fault_server.url)}
    )
    session = JudgeSession(None)
    for answer in ("Ada", "Ada Lovelace"):
        assert session.judge_case(CASE.model_copy(update={"answer": answer}), own_metric).judge == "openai:own"
    assert [body["model"] for body in fault_server.bodies] == ["own", "own"]
