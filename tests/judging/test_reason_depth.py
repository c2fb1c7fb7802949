"""How much a judge writes for a verdict: one sentence, some sentences, or a finding for each step before its reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fault_server import FaultServer
from golden_files import GOLDEN, same, titled
from hypothesis import given
from hypothesis import strategies as st
from langchain_openai import ChatOpenAI
from strategies import metrics
from tone_metrics import PASSAGES

from greval import Judge, Result, ValueMetric, evaluate, load_metric
from greval.errors import DefinitionError, MalformedVerdictError
from greval.judging.answer_schema import build_answer_schema, list_answer_parts, parse_verdict
from greval.judging.metric_judge import MetricJudge
from greval.judging.model.answer_format import build_schema_arguments
from greval.judging.model.client import JudgeClient
from greval.judging.model.local_answers import compute_answer_limit
from greval.judging.model.openai_direct import build_body
from greval.judging.prompt import format_examples, format_system_text
from greval.metrics.computed import COMPUTED_METRICS
from greval.records.metric import build_metric, set_reason_depth
from greval.runs.forecast import estimate_output_tokens, forecast
from greval.runs.runnable import compile_metric
from greval.testing import ScriptedJudge

SCALE = {"range": (0, 1), "levels": {0: "No.", 1: "Yes."}}
DEPTHS = ("brief", "detailed", "steps")
FOUND = {"step_1": "It names Ada.", "step_2": "Nothing is left out."}
GOOD = {"findings": FOUND, "reason": "Ada is named.", "value": 1}
CASE = {"id": "q1", "question": "Who wrote it?", "answer": "Ada.", "expected_answer": "Ada Lovelace"}


def metric(depth="steps", **more):
    """Give a small metric of two steps."""
    return ValueMetric(
        **{"name": "m", "description": "d", "needs": ["answer"], "steps": ["Look.", "Weigh."], **SCALE, **more},
        reason_depth=depth,
    )


def test_what_is_asked_for_each_depth():
    """The messages and schemas of each depth change only with their golden file; brief ones are those of before."""
    parts = {}
    for name in ("correctness", "chunk_evaluation"):
        for depth in ("detailed", "steps"):
            (deepened,) = set_reason_depth([load_metric(name)], depth)
            for position in ("before", "after"):
                for form in (False, True) if deepened.over else (False,):
                    title = f"{name}, {depth}, reason {position}, {'many' if form else 'single'}"
                    text = format_system_text(deepened, many=form, example=True, reason=position)
                    schema = build_answer_schema(deepened, many=form, reason=position, reason_length=160)
                    parts[title] = f"{text[text.index('Answer with') :]}\n{json.dumps(schema)}"
    same(GOLDEN / "reason-depths.txt", titled(parts))


@given(metrics())
def test_a_brief_metric_is_written_and_marked_as_one_without_a_depth(made):
    """A definition says its depth only where it is not brief, so that older fingerprints stay."""
    written = made.model_dump(mode="json")
    assert written.get("reason_depth", "brief") == made.reason_depth
    assert ("reason_depth" in written) == (made.reason_depth != "brief")
    assert build_metric(written) == made


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=9), st.sampled_from(["before", "after"]))
def test_findings_are_read_in_the_order_of_the_steps(found, place):
    """Whatever the findings, in whatever order their keys come, each stands at the place of its step."""
    stepped = metric(steps=[f"Step {n}." for n, _ in enumerate(found)])
    answer_findings = {f"step_{n}": text for n, text in enumerate(found, 1)}
    answer = {"findings": dict(reversed(answer_findings.items())), "reason": "r", "value": 0}
    assert parse_verdict(stepped, answer).findings == tuple(text.strip() for text in found)
    schema = build_answer_schema(stepped, many=False, reason=place)
    assert [*schema["properties"]] == [*list_answer_parts(stepped, place)] == schema["required"]
    assert [*schema["properties"]["findings"]["properties"]] == [*answer_findings]


@pytest.mark.parametrize(
    ("findings", "place"),
    [
        (None, "findings"),
        ([*FOUND.values()], "findings"),
        ({"step_1": "a"}, "findings.step_2"),
        ({**FOUND, "step_2": " "}, "findings.step_2"),
        ({**FOUND, "step_2": 2}, "findings.step_2"),
        ({**FOUND, "step_3": "more"}, "findings.step_3"),
    ],
)
def test_findings_that_do_not_fit_the_steps_are_malformed(findings, place):
    """One finding for each step and no other: anything else is no verdict."""
    with pytest.raises(MalformedVerdictError, match=place) as caught:
        parse_verdict(metric(), {**GOOD, "findings": findings})
    assert caught.value.kind == "malformed"


@pytest.mark.parametrize("depth", ["brief", "detailed"])
def test_other_depths_have_no_findings(depth):
    """Findings that were not asked for are not taken."""
    assert parse_verdict(metric(depth), GOOD).findings == ()


@pytest.mark.parametrize("tier", ["schema", "tools", "text"])
def test_a_missing_finding_is_asked_for_once_more(tier):
    """The second question says which finding is missing; its answer counts."""
    judge = ScriptedJudge([{**GOOD, "findings": {"step_1": "a"}}, GOOD], tier=tier)
    result = compile_metric(metric(), judge).invoke({"question": "Who?", "answer": "Ada."})
    assert result.judgements[0].findings == tuple(FOUND.values())
    assert "findings.step_2" in judge.calls[1][-1].text


def test_each_item_has_its_findings():
    """In a list of verdicts every entry has findings of its own."""
    entries = [{"item": n, "findings": {"step_1": f"found {n}"}, "reason": "r", "value": "Good"} for n in (1, 2)]
    (metric,) = set_reason_depth([PASSAGES], "steps")
    result = compile_metric(metric, ScriptedJudge([{"judgements": entries}])).invoke(
        {"question": "q", "chunks": ["x", "y"]}
    )
    assert [judgement.findings for judgement in result.judgements] == [("found 1",), ("found 2",)]


def test_repeats_keep_the_findings_of_the_verdict_that_counts():
    """The majority's judgement stands with its own findings."""
    minority = {"findings": {"step_1": "x", "step_2": "y"}, "reason": "r", "value": 0}
    result = compile_metric(metric(), ScriptedJudge([minority, GOOD, GOOD]), repeats=3).invoke(
        {"question": "q", "answer": "a"}
    )
    assert result.judgements[0].findings in {tuple(FOUND.values()), ("x", "y")}
    assert result.judgements[0].votes == {"0": 1, "1": 2}


def test_results_without_findings_are_read():
    """A line of a log that was written before there were findings is read as it was."""
    old = compile_metric(metric("brief"), ScriptedJudge([GOOD])).invoke({"question": "q", "answer": "a"})
    line = json.loads(old.model_dump_json())
    del line["outcome"]["judgements"][0]["findings"]
    assert Result.model_validate_json(json.dumps(line)) == old


def test_a_note_named_findings_stands_in_the_way_of_steps_only():
    """The name is taken only if findings are asked for; a run cannot force it either."""
    noted = metric("brief", notes={"findings": "what was found"})
    with pytest.raises(DefinitionError, match=r"notes\.findings: the name is taken"):
        metric("steps", notes={"findings": "what was found"})
    with pytest.raises(DefinitionError, match=r"m: reason_depth steps: notes\.findings"):
        set_reason_depth([noted], "steps")


def test_examples_show_a_finding_for_each_step():
    """An example of a metric by steps has findings, and is shown with them; other depths leave them out."""
    example = {"case": {"question": "q", "answer": "a"}, "reason": "r", "value": 1}
    with pytest.raises(DefinitionError, match=r"examples\.1: findings: give one for each of the 2 steps, got 0"):
        metric("steps", examples=[example])
    with pytest.raises(DefinitionError, match="findings: give one for each of the 2 steps, got 1"):
        metric("brief", examples=[{**example, "findings": ["a"]}])
    told = {**example, "findings": [*FOUND.values()]}
    (answer_text,) = [answer for _, answer in format_examples(metric("steps", examples=[told]), many=False)]
    assert json.loads(answer_text) == {"findings": FOUND, "reason": "r", "value": 1}
    (answer_text,) = [answer for _, answer in format_examples(metric("brief", examples=[told]), many=False)]
    assert json.loads(answer_text) == {"reason": "r", "value": 1}


def test_no_such_depth():
    """A depth that there is not is refused with those that there are; what is computed has none."""
    assert set_reason_depth([COMPUTED_METRICS["latency"]], "steps") == (COMPUTED_METRICS["latency"],)
    with pytest.raises(DefinitionError, match="one of brief, detailed, steps, got 'deep'"):
        set_reason_depth([metric()], "deep")


def test_a_run_sets_the_depth_for_all_its_metrics(tmp_path):
    """The option of a run asks as a metric of that depth does, with the same fingerprint: nothing is asked twice."""
    case = {"id": "q1", "question": "Who?", "answer": "Ada."}
    judge = ScriptedJudge([GOOD])
    prints = {}
    for depth in DEPTHS:
        folder = tmp_path / depth
        (row,) = evaluate([case], [metric("brief")], judge, out=folder, reason_depth=depth).results()
        calls = len(judge.calls)
        (second_row,) = evaluate([case], [metric(depth)], judge, out=folder).results()
        assert len(judge.calls) == calls
        assert second_row == row
        prints[depth] = row.fingerprint
        assert len(row.judgements[0].findings) == (2 if depth == "steps" else 0)
    assert len({*prints.values()}) == len(DEPTHS)
    (row,) = evaluate([case], [metric("steps")], judge, out=tmp_path / "brief").results()
    assert row.fingerprint == prints["steps"]


def test_a_forecast_counts_on_longer_answers(tmp_path):
    """What a run is expected to write grows with the depth, and with the number of steps."""
    case = {"id": "q1", "question": "Who?", "answer": "Ada."}
    tokens = {}
    for depth in DEPTHS:
        told = forecast([case], [metric("brief")], ScriptedJudge([GOOD]), out=tmp_path, reason_depth=depth)
        tokens[depth] = told.expected[0].output_tokens
        assert tokens[depth] == estimate_output_tokens(metric(depth))
    assert (tokens["brief"], estimate_output_tokens(metric("brief"), local=True)) == (60, 30)
    assert tokens["brief"] < tokens["steps"] < estimate_output_tokens(metric(steps=["s"] * 9))
    assert tokens["brief"] < tokens["detailed"]


def test_the_embedded_model_may_write_as_much_as_the_depth_needs():
    """Its longest answer grows with the depth; a limit that was set holds, and brief questions are as they were."""
    limits = {depth: MetricJudge(metric(depth), JudgeClient(Judge("local"))).question.max_tokens for depth in DEPTHS}
    assert limits == {"brief": None, "detailed": 1504, "steps": 1344}
    assert compute_answer_limit(metric("brief")) == 1024
    assert MetricJudge(metric(), JudgeClient(Judge("local", max_tokens=99))).question.max_tokens is None
    assert MetricJudge(metric(), JudgeClient(Judge("openai:x"))).question.max_tokens is None
    question = MetricJudge(metric(), JudgeClient(Judge("local"))).question
    model = ChatOpenAI(model="x", api_key="k", max_completion_tokens=1024)
    assert build_body(model, [], build_schema_arguments(model, question))["max_completion_tokens"] == 1344


@pytest.mark.usefixtures("empty_folder")
def test_the_command_line_has_the_option(greval_says, fault_server: FaultServer):
    """`--reason-depth` asks for findings, which stand in the results."""
    Path("cases.jsonl").write_text(json.dumps(CASE), encoding="utf-8")
    words = ["evaluate", "cases.jsonl", "-m", "correctness", "--judge", "openai:m", "--base-url", fault_server.url]
    code, _, _ = greval_says(*words, "-o", "run", "--reason-depth", "steps")
    assert code == 0
    assert "step_1 to step_3" in fault_server.bodies[0]["messages"][0]["content"]
    code, out, _ = greval_says("results", "run", "--format", "jsonl")
    assert len(json.loads(out)["outcome"]["judgements"][0]["findings"]) == 3
