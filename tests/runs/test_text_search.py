"""Words are found in the texts of a run, and only in its texts."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greval import Case, Store
from greval.records.result import Failed, Failure, Judgement, Result, Scored, Skipped
from greval.runs.text_search import search_texts

WORDS = st.lists(st.text(min_size=1, max_size=4).filter(str.split), min_size=1, max_size=3)


def result(sample, outcome):
    return Result(sample_id=sample, metric="right", fingerprint="f", judge="openai:gpt", tier="schema", outcome=outcome)


def found(query, cases=(), results=()):
    """Write a run and give the ids that a search finds in it."""
    with Store.create(tempfile.mkdtemp()) as store:
        store.keep_cases(cases)
        for number, one in enumerate(results):
            store.append(f"{number:032x}", one)
        return search_texts(store, query).sample_ids


@settings(max_examples=20, deadline=None)
@given(WORDS, st.sampled_from(["question", "answer", "expected_answer"]))
def test_each_text_is_searched(words, field):
    """Words are found wherever they stand in a text, whatever they are made of."""
    text = " and ".join(reversed(words))
    case = Case.model_validate({"id": "q", "question": "?", field: f"before {text} after"})
    written = getattr(case, field)  # the reader normalises texts
    wanted = " ".join(words)
    expected = all(word in written.casefold() for word in wanted.casefold().split())
    assert found(wanted, [case]) == (("q",) if expected else ())


@pytest.mark.parametrize("query", ["question", "outcome", "schema", "gpt", "reason", "q1", "\\n", "null"])
def test_only_texts_are_searched(query):
    """Names of fields, judges and ids are no texts."""
    cases = [Case(id="q1", question="Who?\nWhen?", answer="Ada")]
    outcome = Scored(judgements=(Judgement(value=1, number=1.0, reason="It fits."),))
    assert found(query, cases, [result("q1", outcome)]) == ()


@pytest.mark.parametrize(
    ("query", "ids"),
    [("NAMES owner", ("a",)), ("no answer", ("b",)), ("too late", ("c",)), ("straße", ("d",)), ("STRASSE", ("d",))],
)
def test_reasons_are_searched(query, ids):
    """Reasons of verdicts and skips and messages of failures are found, in any case of letters."""
    results = [
        result("a", Scored(judgements=(Judgement(value=1, number=1.0, reason="It names the owner."),))),
        result("b", Skipped(reason="the case has no answer")),
        result("c", Failed(error=Failure(kind="timeout", message="Too late"))),
        result("d", Scored(judgements=(Judgement(value=1, number=1.0, reason="Die Straße ist richtig."),))),
    ]
    assert found(query, (), results) == ids


def test_words_may_not_be_of_several_texts():
    """All words are in one case or in one verdict."""
    verdict = Scored(judgements=(Judgement(value=1, number=1.0, reason="It fits."),))
    assert found("who fits", [Case(id="q", question="Who?")], [result("q", verdict)]) == ()
