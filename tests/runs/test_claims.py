"""Claims in a run: listed once, judged by id, and read back with their texts."""

from __future__ import annotations

import json

import pytest
from claim_judge import METRICS, count_calls, judge_claims, make_judge, name_metric
from hypothesis import given
from hypothesis import strategies as st

from greval import Case, compile_metric, evaluate, load_metric
from greval.analysis.case_results import read_case_results
from greval.errors import DefinitionError
from greval.judging.prompt import format_case_text
from greval.metrics.library import add_dependencies
from greval.records.metric_input import list_judged_items
from greval.report.html.case_view import CaseViewBuilder
from greval.runs.forecast import forecast
from greval.runs.run_reader import add_texts, read_metrics
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.runs.worst_cases import read_worst_cases
from greval.testing import ScriptedJudge
from greval.trust.annotations.judged_items import read_judged_items

CASE = Case(
    id="q1",
    question="Who wrote it?",
    answer="Ada wrote it. It is from 1850.",
    expected_answer="Ada wrote it. It is from 1843.",
    chunks=["Tea is a drink.", "They say: Ada wrote it."],
)


def judge_all(folder, cases, judge=None, **options):
    """Judge cases by all metrics of claims, and return the judge and the rows by sample, method and metric."""
    judge = judge or make_judge()
    run = evaluate(cases, [load_metric(name) for name in METRICS], judge, out=folder, **options)
    with Store.open(run.folder) as store:
        return judge, {(row.sample_id, row.method, row.metric): row for row in store.results()}


def test_each_text_is_listed_once_and_each_claim_is_judged_by_its_id(tmp_path):
    """One listing serves all metrics: six calls for a case, and verdicts by the ids of claims, with their sources."""
    judge, rows = judge_all(tmp_path, [CASE])
    assert count_calls(judge) == dict.fromkeys(("answer_claims", "expected_answer_claims", *METRICS), 1)
    assert rows["q1", "", "answer_claims"].value == 2
    (first, second) = rows["q1", "", "claim_support"].judgements
    assert [(verdict.item, verdict.value) for verdict in (first, second)] == [("a1", "Supported"), ("a2", "Not stated")]
    assert first.notes == {"supported_by": [{"source": "chunk 2"}]}
    assert first.shown_ids == {"chunk": ("c1", "c2"), "item": ("a1", "a2")}
    covered = rows["q1", "", "expected_claim_coverage"].judgements
    assert [(verdict.item, verdict.value) for verdict in covered] == [("e1", "Stated"), ("e2", "Not stated")]


def test_equal_texts_share_a_listing(tmp_path):
    """The expected answer of a sample, and an answer that two methods gave, are listed once."""
    other_case = CASE.model_copy(update={"method": "other", "chunks": None})
    judge, rows = judge_all(tmp_path, [CASE.model_copy(update={"method": "one"}), other_case])
    calls = count_calls(judge)
    assert (calls["answer_claims"], calls["expected_answer_claims"]) == (1, 1)
    assert rows["q1", "other", "answer_claims"].value == 2
    assert rows["q1", "other", "claim_support"].outcome.reason == "context is not recorded"


def test_recorded_claims_are_used_as_they_are(tmp_path):
    """No call lists the claims of a case that has them, and their ids are kept."""
    case = CASE.model_copy(update={"claims": Case(question="", claims=[{"id": "x", "text": "Ada wrote it."}]).claims})
    judge, rows = judge_all(tmp_path, [case])
    assert "answer_claims" not in count_calls(judge)
    assert rows["q1", "", "answer_claims"].outcome.reason == "claims are recorded, so that none are listed"
    assert [judgement.item for judgement in rows["q1", "", "claim_support"].judgements] == ["x"]


def test_recorded_claims_are_not_mixed_up_with_listed_ones(tmp_path):
    """Of two cases with one answer, the one without recorded claims is still listed."""
    case = CASE.model_copy(update={"id": "q0", "claims": Case(question="", claims=["Ada wrote it."]).claims})
    _, rows = judge_all(tmp_path, [case, CASE])
    assert [rows[name, "", "answer_claims"].outcome.status for name in ("q0", "q1")] == ["skipped", "scored"]


def test_a_text_without_claims_has_none(tmp_path):
    """An answer that claims nothing has 0 claims, which is a number; there is nothing to judge of it."""
    _, rows = judge_all(tmp_path, [CASE.model_copy(update={"answer": ""})])
    assert rows["q1", "", "answer_claims"].value == 0
    assert rows["q1", "", "claim_support"].outcome.reason == "claims is empty"
    assert rows["q1", "", "expected_claim_coverage"].outcome.status == "scored"


def test_a_missing_answer_is_skipped(tmp_path):
    """A case without an answer has no claims, and says what is missing."""
    _, rows = judge_all(tmp_path, [CASE.model_copy(update={"answer": None})])
    assert rows["q1", "", "answer_claims"].outcome.reason == "answer is not recorded"
    assert rows["q1", "", "claim_support"].outcome.reason == "claims is not recorded, and neither is answer"


def test_a_listing_that_failed_fails_what_builds_on_it(tmp_path):
    """Claims that could not be listed are a failure of each metric that judges them, never a verdict."""

    def refuse(messages):
        return "No." if name_metric(messages) == "answer_claims" else judge_claims(messages)

    _, rows = judge_all(tmp_path, [CASE], ScriptedJudge(refuse))
    assert rows["q1", "", "answer_claims"].failures[0].kind == "malformed"
    assert [failure.kind for failure in rows["q1", "", "claim_support"].failures] == ["dependency"]
    assert rows["q1", "", "expected_claim_support"].outcome.status == "scored"


def test_nothing_paid_for_is_lost(tmp_path):
    """A run that stops after each single call, and is resumed, makes no call twice."""
    judge, spent = make_judge(), 0
    for most in range(1, 8):
        _, rows = judge_all(tmp_path, [CASE], judge, max_calls=most)
        spent = len(judge.calls)
        assert spent <= most
    assert spent == 6
    assert {row.outcome.status for row in rows.values()} == {"scored"}


def test_a_forecast_assumes_a_claim_for_each_sentence(tmp_path):
    """Before anything is listed, the calls that judge claims are counted with one claim a sentence."""
    claimed_cases = [CASE.model_copy(update={"answer": " ".join(f"Fact {n} holds." for n in range(25))})]
    estimate = forecast(claimed_cases, [load_metric("claim_support")], make_judge(), out=tmp_path)
    assert [(part.metric, part.calls) for part in estimate.expected] == [("answer_claims", 1), ("claim_support", 3)]
    judge, _ = judge_all(tmp_path, claimed_cases)
    assert count_calls(judge)["claim_support"] == 3


def test_readers_show_the_texts_of_claims(tmp_path):
    """What reads a run shows claims by their texts: worst cases, exports, annotations and pages."""
    judge_all(tmp_path, [CASE])
    with Store.open(tmp_path) as store:
        worst = {found.metric: found.cases[0] for found in read_worst_cases(store, 1)}
        exported = [
            json.loads(line) for line in add_texts(store, store.lines(ResultFilter(metrics=("claim_support",))))
        ]
        items = [*read_judged_items(store, load_metric("claim_support"))]
        (found,) = read_case_results(store)
        view = CaseViewBuilder(read_metrics(store)).build_view(found)
    texts = {"a1": "Ada wrote it.", "a2": "It is from 1850."}
    assert worst["claim_support"].item_texts == texts
    assert exported[0]["texts"]["items"] == texts
    assert [item.fields["claim"] for item in items] == [*texts.values()]
    assert [title for title, _ in view.claims] == ["Claims", "Claims of the expected answer"]
    shown = [(claim.id, claim.text, [verdict.metric for verdict in claim.verdicts]) for claim in view.claims[0][1]]
    assert shown[1] == ("a2", "It is from 1850.", ["claim_support", "claim_correctness"])


def test_an_own_listing_takes_the_place_of_the_predefined_one():
    """A metric of the same name lists the claims; one that does not list claims is refused with what to do."""
    own_listing = load_metric("answer_claims").model_copy(update={"instructions": "Only names."})
    assert own_listing in add_dependencies([load_metric("claim_support"), own_listing])
    bad = load_metric("relevance").model_copy(update={"name": "answer_claims"})
    with pytest.raises(DefinitionError, match="answer_claims must list them; give it the list note 'claims'"):
        add_dependencies([load_metric("claim_support"), bad])


def test_a_metric_alone_carries_the_listing():
    """A compiled metric lists the claims itself, and the result says from what it was judged."""
    result = compile_metric(load_metric("claim_support"), make_judge()).invoke(CASE)
    assert [row.metric for row in result.built_on] == ["answer_claims"]
    assert [judgement.item for judgement in result.judgements] == ["a1", "a2"]


@given(st.lists(st.text(max_size=30), min_size=1, max_size=3), st.sampled_from(["</item>", '<item n="9">', "<answer>"]))
def test_a_claim_opens_and_closes_no_fence(texts, planted):
    """The text of a claim, which a model wrote, adds no item to the prompt and ends none."""
    case = CASE.model_copy(update={"claims": Case(question="", claims=[f"{text}{planted}" for text in texts]).claims})
    metric = load_metric("claim_support")
    message = format_case_text(metric, case, list_judged_items(metric, case))
    assert (message.count("<item n="), message.count("</item>")) == (len(texts), len(texts))
    assert "<answer>" not in message
