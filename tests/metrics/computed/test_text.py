"""Answers are compared with the expected ones: the same, or sharing words."""

from __future__ import annotations

import pytest
from computed_figures import compute_answer
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases

from greval import Case, compile_metric
from greval.metrics.computed.text import token_f1
from greval.metrics.library import load_metric
from greval.records.result import Skipped

NAMES = ("exact_match", "token_f1", "fuzzy_containment@0.80", "fuzzy_containment@0.90")


class TestExactMatch:
    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ("The Harbour team.", "harbour team"),
            ("1,000.0", "1000"),
            ("September 2, 2024", "2024-09-02"),
            ("U.S.", "US"),
            ("\uff21\uff44\uff41", "Ada"),
            ("5 km", "5km"),
            ("\u5317\u4eac\u3002", "\u5317\u4eac"),
            ("!", "!"),
            ("A", "a"),
        ],
    )
    def test_same(self, answer, expected):
        """Case, punctuation, articles and the form of numbers and dates make no difference."""
        assert compute_answer("exact_match", answer, expected) == (1, f'the answer is "{expected}"')

    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ("3.14", "314"),
            ("-5", "5"),
            ("C++", "C"),
            ("A", "B"),
            ("x < 5", "x > 5"),
            ("!", "?"),
            ("Vitamin A", "Vitamin"),
        ],
    )
    def test_different(self, answer, expected):
        """What differs in meaning differs, though only a mark tells it."""
        told_ = f'the answer is "{answer}", expected "{expected}"'
        assert compute_answer("exact_match", answer, expected) == (0, told_)


class TestTokenF1:
    def test_by_hand(self):
        """The harmonic mean of precision and recall, words counted as often as they come."""
        outcome = compute_answer("token_f1", "The harbour team team", "Team Harbour Petrel")
        assert outcome == (
            pytest.approx(2 / 3),
            '2 shared words, 3 in the answer, 3 in "Team Harbour Petrel"; missed: petrel',
        )

    @given(st.text(max_size=30), st.text(max_size=30))
    def test_laws(self, answer, expected):
        """It is symmetric, of 0 to 1, and 1 for a text and itself."""
        assert token_f1(answer, expected) == token_f1(expected, answer)
        assert 0 <= token_f1(answer, expected) <= 1
        assert not answer.split() or token_f1(answer, answer) == 1


class TestExpected:
    def test_the_best_counts(self):
        """Lines of the expected answer and the gold's other answers are as good as the first."""
        assert compute_answer("exact_match", "Ada", "Grace\nAda") == (1, 'the answer is "Ada"')
        assert compute_answer("exact_match", "Ada", "Grace", answers=["ADA"]) == (1, 'the answer is "ADA"')
        assert compute_answer("exact_match", "Ada", None, answers=["Ada"])[0] == 1
        assert compute_answer("token_f1", "Ada Lovelace", "Grace", answers=["Ada", "x"])[0] == pytest.approx(2 / 3)

    @pytest.mark.parametrize("name", ["exact_match", "token_f1"])
    def test_lines_joined_are_no_answer(self, name):
        """An answer that names both right answers is none of them; one answer of two lines stands in the gold."""
        alone = compute_answer(name, "Ada Grace", "Grace")
        assert compute_answer(name, "Ada Grace", "Ada\nGrace")[0] == alone[0] < 1
        assert compute_answer(name, "Ada Grace", None, answers=["Ada\nGrace"])[0] == 1

    def test_the_nearest_is_reported(self):
        """Where none is right, the reason is of the nearest."""
        told_ = compute_answer("exact_match", "Ada Lovelace", "Grace", answers=["Ada"])[1]
        assert told_ == 'the answer is "Ada Lovelace", expected "Ada"'

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("answer", ["", "  \n"])
    def test_empty_answer(self, name, answer):
        """An empty answer is an answer, and wrong."""
        assert compute_answer(name, answer, "Ada") == (0, "the answer is empty")

    @pytest.mark.parametrize("name", NAMES)
    def test_skipped(self, name):
        """Without an answer or an expected one there is nothing to compare."""
        assert compute_answer(name, "Ada") == Skipped(reason="expected_answer is not recorded")
        assert compute_answer(name, "Ada", " ") == Skipped(reason="expected_answer is empty")
        assert compute_answer(name, "Ada", answers=[]) == Skipped(reason="expected_answer is empty")
        assert compute_answer(name, None, "Ada") == Skipped(reason="answer is not recorded")

    @pytest.mark.parametrize("name", NAMES)
    def test_other_answers_alone(self, name):
        """In a run, the gold's answers are enough."""
        answered = Case(question="?", answer="Ada", gold={"answers": ["Ada"]})
        assert compile_metric(load_metric(name)).invoke(answered).judgements[0].value == 1


@given(cases())
def test_any_case(case):
    """Every case gives a figure on the scale or is skipped with a reason."""
    for name in NAMES:
        metric = load_metric(name)
        outcome = metric.compute(case)
        if isinstance(outcome, Skipped):
            assert outcome.reason
        else:
            assert metric.scale.read(outcome[0].value) == outcome[0].number
            assert "\n" not in outcome[0].reason
