"""The one value of a result, and what is raised where there is none."""

from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import Judge, compile_metric, load_metric
from greval.errors import GrevalError, OutcomeError
from greval.records.result import Failed, Failure, Judgement, Result, Scored, Skipped, format_outline, read_outline

CASE = {"question": "Who?", "expected_answer": "Ada", "answer": "Ada Lovelace"}
ONE = Judgement(value=1, number=1.0, reason="Same person.")
LOST = Failure(kind="timeout", message="no answer after 60 s")


def row(outcome):
    return Result(metric="tone", fingerprint="f", judge="openai:m", tier="schema", outcome=outcome)


def test_the_value_of_one_judgement():
    """A result with one judgement has its value and its reason."""
    assert (row(Scored(judgements=(ONE,))).value, row(Scored(judgements=(ONE,))).reason) == (1, "Same person.")


@pytest.mark.parametrize(
    ("outcome", "kind", "told"),
    [
        (Failed(error=LOST), "timeout", "tone: timeout: no answer after 60 s"),
        (Skipped(reason="answer is not recorded"), "skipped", "tone: skipped: answer is not recorded"),
        (Scored(judgements=(ONE, ONE)), "several", "judgements: 2, failures: 0"),
        (Scored(judgements=(ONE,), failures=(LOST,)), "several", "judgements: 1, failures: 1"),
    ],
)
@pytest.mark.parametrize("name", ["value", "reason"])
def test_without_one_judgement_the_failure_is_raised_in_its_own_words(outcome, kind, told, name):
    """What happened is what is raised, with its kind; several judgements say where they stand."""
    with pytest.raises(OutcomeError, match="tone: ") as raised:
        getattr(row(outcome), name)
    assert raised.value.kind == kind
    assert told in str(raised.value)
    assert (kind == "several") == (".judgements" in str(raised.value))
    assert isinstance(raised.value, GrevalError)
    unpickled = pickle.loads(pickle.dumps(raised.value))  # noqa: S301 - our own
    assert (unpickled.kind, str(unpickled)) == (kind, str(raised.value))


def test_a_server_that_is_down_is_what_is_raised():
    """The first lines of the README, with nobody at the address."""
    judge = Judge("openai:any", base_url="http://127.0.0.1:9/v1", max_retries=0)
    with pytest.raises(OutcomeError, match="correctness: connection: ") as raised:
        compile_metric(load_metric("correctness"), judge).invoke(CASE).value  # noqa: B018 - it raises
    assert raised.value.kind == "connection"


NUMBERS = st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=5)


@given(numbers=NUMBERS, failed=st.lists(st.none() | st.just("c1"), max_size=3))
def test_outlines_hold_what_statistics_need(numbers, failed):
    """An outline read back has the values, the numbers with their sum, and the kinds of the failures."""
    judgements = [Judgement(value=str(n), number=number, reason="r") for n, number in enumerate(numbers)]
    failures = [Failure(kind="timeout", message="m", item=item) for item in failed]
    outline = read_outline(format_outline(row(Scored(judgements=judgements, failures=failures))))
    known_numbers = tuple(number for number in numbers if number is not None)
    assert (outline.status, outline.values) == ("scored", tuple(str(n) for n in range(len(numbers))))
    assert (outline.numbers, outline.total) == (known_numbers, math.fsum(known_numbers))
    assert (outline.kinds, outline.items_failed) == (("timeout",) * len(failed), failed.count("c1"))


def test_outlines_of_skipped_and_failed_cases():
    """A skipped case keeps its reason, a failed one the kind of its failure; neither has a number."""
    skipped = read_outline(format_outline(row(Skipped(reason="no gold"))))
    assert (skipped.status, skipped.skip, skipped.numbers) == ("skipped", "no gold", ())
    failed = read_outline(format_outline(row(Failed(error=LOST))))
    assert (failed.status, failed.kinds, failed.items_failed, failed.skip) == ("failed", ("timeout",), 0, None)
