"""Shared words: what each metric compares, and what it says if a text is missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.metrics.computed import explain_bad_name
from greval.metrics.computed.outcomes import compute_outcome
from greval.metrics.computed.shared_words import list_content_words, share_words
from greval.metrics.library import load_metric
from greval.records.case import Case

CASE = Case(
    question="Who directed the film Silver Boat?",
    answer="Ada Moreau directed it in 1952.",
    expected_answer="Grace\nAda Moreau",
    chunks=(
        {"id": "c1", "text": "Silver Boat, a film of 1952, was directed by Ada Moreau."},
        {"id": "c2", "text": "Turin"},
        {"id": "c3", "doc_id": "d"},
    ),
    triples=(("Silver Boat", "is a", "film"),),
    claims=("Ada Moreau is from Turin.",),
    expected_claims=("Moreau directed it.",),
)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("answer_words", {None: 1.0}),  # the best of the expected answers
        ("answer_words-context", {None: 1.0}),
        ("context_words", {None: 1.0}),
        ("chunk_words", {"c1": 1.0, "c2": 0.0}),  # nothing is known of a chunk without text
        ("triple_words", {"t1": 0.75}),
        ("claim_words", {"a1": 1.0}),
        ("claim_words-expected", {"a1": 2 / 3}),
        ("expected_claim_words-answer", {"e1": 1.0}),
        ("expected_claim_words", {"e1": 1.0}),
        ("triple_words@0.75", {"t1": 1}),
        ("triple_words@0.76", {"t1": 0}),
    ],
)
def test_each_metric_compares_its_two_texts(name, values):
    """The share of the content words of the one that the other has too; with a threshold, whether it is reached."""
    outcome = compute_outcome(load_metric(name), CASE)
    given_ids = [item for item in values if item]
    found = {judgement.item: judgement.value for judgement in outcome.judgements}
    assert [*found.values()] == pytest.approx([*values.values()])
    assert len(found) == max(1, len(given_ids))


def test_without_a_text_there_is_no_share():
    """A missing or empty text is no 0."""
    outcome = compute_outcome(load_metric("answer_words"), CASE.model_copy(update={"expected_answer": None}))
    assert outcome.status == "skipped"
    assert share_words("?!", "Ada") is None


def test_words_are_compared_as_numbers_and_dates_are():
    """Other spellings of a number or a date are the same; a title of stop words has words."""
    assert share_words("2 September 2024", "on 2024-09-02") == 1
    assert share_words("The Who", "It was played by The Who.") == 1
    assert list_content_words("Which of the two is older?") == {"two", "older"}


def test_a_threshold_beyond_1_is_explained():
    """A wrong setting is told with a right one."""
    assert explain_bad_name("chunk_words@2") == (
        "after @ stands a number above 0, up to 1, got '2'; write chunk_words@0.50"
    )


@given(st.text(), st.text())
def test_a_text_has_all_of_its_own_words(sought, more):
    """A share is of 0 to 1, 1 for what holds the text, whatever is added."""
    share = share_words(sought, f"{sought} {more}")
    assert share is None or 0 <= share <= 1
    assert share_words(sought, sought) in {None, 1.0}
