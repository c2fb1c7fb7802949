"""The playground of the page in a real browser."""

from __future__ import annotations

import json

import pytest
from accessibility import find_violations
from page_judge import FAULTY


def test_judges_a_case(visit):
    """The example is judged: the verdict with its reason, and beside each chunk its own."""
    visit.open("playground?metric=correctness&metric=chunk_evaluation")
    visit.at.get_by_text("Fill in an example").click()
    visit.at.get_by_role("button", name="Judge", exact=True).click()
    visit.sees("2 results: 2 scored")
    assert "It reads as" in visit.text("article[aria-label=correctness]")
    assert visit.at.locator("section[aria-label=Chunks] .item").count() == 3
    for item in visit.at.locator("section[aria-label=Chunks] .item").all():
        assert "It reads as" in item.inner_text()
    assert "1 call" in visit.text("article[aria-label=correctness] .spent")


@pytest.mark.nightly
def test_asks_for_just_what_is_needed(visit):
    """The form has the fields that the chosen metrics need, and keeps what was filled in when they change."""
    visit.open("playground")
    visit.at.get_by_role("button", name="Judge", exact=True).click()
    visit.sees("Tick at least one metric.")
    question = visit.at.get_by_label("Question", exact=True)
    assert (question.count(), visit.at.get_by_label("Answer", exact=True).count()) == (1, 0)
    question.fill("Who?")
    visit.at.get_by_role("checkbox", name="correctness judged", exact=True).check()
    visit.at.get_by_label("Expected answer").fill("Ada.")
    visit.at.get_by_role("checkbox", name="triple_evaluation").check()
    assert visit.at.get_by_label("Subject 1").count() == 1
    assert (visit.at.get_by_label("Expected answer").input_value(), question.input_value()) == ("Ada.", "Who?")


@pytest.mark.nightly
def test_takes_a_case_as_json(visit):
    """A case may be JSON with the names of other tools; bad JSON, and what the server refuses, is told and stays."""
    visit.open("playground?metric=answer_quality&metric=chunk_evaluation")
    visit.at.get_by_role("radio", name="JSON").check()
    area = visit.at.get_by_label("Case as JSON")
    judge = visit.at.get_by_role("button", name="Judge", exact=True)
    visit.expect("status of 4")
    for text, message in (("{not json", "The case cannot be read"), ('{"answer": "Ada."}', "question")):
        area.fill(text)
        judge.click()
        visit.sees(message, "[role=alert]")
        assert area.input_value() == text
    area.fill(json.dumps({"user_input": "Who?", "response": "Ada.", "retrieved_contexts": ["Ada wrote it.", "Rain."]}))
    judge.click()
    visit.sees("2 results: 2 scored")
    assert visit.at.locator("section[aria-label=Chunks] .item").count() == 2


def test_shows_failures_with_what_to_do(visit):
    """A judgement that failed is told with its kind, what to do, and what the judge said."""
    visit.open("playground?metric=answer_quality&metric=token_f1")
    visit.at.get_by_label("Question", exact=True).fill("Who?")
    visit.at.get_by_label("Answer", exact=True).fill(f"This {FAULTY}.")
    visit.at.get_by_role("button", name="Judge", exact=True).click()
    visit.sees("1 skipped, 1 failed")
    failed = visit.at.locator("article[aria-label=answer_quality]")
    assert "malformed" in failed.inner_text()
    assert "No readable verdict" in failed.inner_text()
    failed.get_by_text("What the judge said", exact=True).click()
    assert "I had rather not say." in failed.inner_text()


@pytest.mark.nightly
def test_stops(visit):
    """While it is judged the button stops it."""
    visit.open("playground?metric=answer_quality&judge=slow")
    visit.at.get_by_label("Question", exact=True).fill("Who?")
    visit.at.get_by_label("Answer", exact=True).fill("Ada.")
    visit.at.get_by_role("button", name="Judge", exact=True).click()
    visit.at.get_by_role("button", name="Stop").click()
    visit.sees("Stopped.")
    assert visit.at.get_by_role("button", name="Judge", exact=True).count() == 1


@pytest.mark.nightly
def test_shows_just_what_was_given_and_judged(visit):
    """Of the example, only what the metric needs is shown; of a case without chunks there is no list of chunks."""
    visit.open("playground?metric=correctness")
    visit.at.get_by_text("Fill in an example").click()
    visit.at.get_by_role("button", name="Judge", exact=True).click()
    visit.sees("1 result: 1 scored")
    shown_text = visit.text("section[aria-label=Verdicts]")
    for heading in ("Chunks", "Triples", "Walk", "Gold and effort"):
        assert heading not in shown_text
    visit.open("playground?metric=correctness&metric=chunk_evaluation&metric=edge_recall")
    visit.at.reload()
    for label in ("Question", "Answer", "Expected answer"):
        visit.at.get_by_label(label, exact=True).fill("Who?")
    visit.at.get_by_role("button", name="Judge", exact=True).click()
    visit.sees("1 scored, 2 skipped")
    shown_text = visit.text("section[aria-label=Verdicts]")
    assert "Chunks" not in shown_text
    assert "Walk" not in shown_text


@pytest.mark.nightly
def test_an_expected_node_in_the_middle_of_the_walk_is_reached(visit):
    """As for node_recall, an expected node counts wherever it is on the walk, however its name is written."""
    walk = {
        "start_nodes": ["crew-roster"],
        "traversed_edges": [["crew-roster", "calls", "Identity Service"], ["Identity Service", "issues", "session"]],
        "final_nodes": ["session"],
    }
    gold = {"expected_nodes": ["identity_service", "session", "ledger"]}
    visit.open("playground?metric=node_recall")
    visit.at.get_by_role("radio", name="JSON").check()
    visit.at.get_by_label("Case as JSON").fill(json.dumps({"question": "Which?", "traversal": walk, "gold": gold}))
    visit.at.get_by_role("button", name="Judge", exact=True).click()
    visit.sees("2 of 3 expected nodes on the walk")
    nodes = visit.at.locator("section[aria-label='Expected nodes'] .node")
    assert nodes.all_text_contents() == [
        "identity_service (expected)",
        "session (expected)",
        "ledger (expected, not walked)",
    ]


@pytest.mark.nightly
def test_a_preference_asks_for_both_responses(visit):
    """The form has the fields of the other response, which are sent as such, and each order has its verdict."""
    visit.open("playground?metric=comprehensiveness")
    visit.at.get_by_label("Question", exact=True).fill("Who?")
    visit.at.get_by_label("Answer", exact=True).fill("Ada.")
    visit.at.get_by_label("Answer B", exact=True).fill("Bob, as far as is known.")
    visit.at.get_by_role("radio", name="JSON").check()
    written = json.loads(visit.at.get_by_label("Case as JSON").input_value())
    assert written == {"question": "Who?", "answer": "Ada.", "other_response": {"answer": "Bob, as far as is known."}}
    visit.at.get_by_label("Case as JSON").fill(
        json.dumps({**written, "other_response": {"answer": "Eve.", "method": "x"}})
    )
    visit.at.get_by_role("radio", name="Form").check()
    assert visit.at.get_by_label("Answer B", exact=True).input_value() == "Eve."
    visit.at.get_by_role("button", name="Judge", exact=True).click()
    visit.sees("1 result: 1 scored")
    orders = visit.at.locator("article[aria-label=comprehensiveness] .order").all_inner_texts()
    assert len(orders) == 2
    assert "the judge saw A: A, B: x" in orders[0]
    assert "the judge saw A: x, B: A" in orders[1]
    assert find_violations(visit.at) == []


@pytest.mark.nightly
def test_a_metric_over_claims_offers_claims(visit):
    """Claims can be given; they are then judged as they are, and none are listed."""
    visit.open("playground?metric=claim_support")
    visit.at.get_by_label("Question", exact=True).fill("Who?")
    visit.at.get_by_label("Claim 1", exact=True).fill("Ada wrote it.")
    visit.at.get_by_role("button", name="Add claim", exact=True).click()
    visit.at.get_by_label("Claim 2", exact=True).fill("It is from 1843.")
    visit.at.get_by_label("Text 1", exact=True).fill("Ada wrote it in 1843.")
    visit.at.get_by_role("radio", name="JSON").check()
    written = json.loads(visit.at.get_by_label("Case as JSON").input_value())
    assert written["claims"] == [{"text": "Ada wrote it.", "id": "a1"}, {"text": "It is from 1843.", "id": "a2"}]
    visit.at.get_by_role("radio", name="Form").check()
    assert "Leave them empty to have the judge list them." in visit.text("form")
    assert find_violations(visit.at) == []
