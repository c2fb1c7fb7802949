"""Words are found in the texts of a run, and only in its texts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greval import Case
from greval.records.result import Failed, Failure, Judgement, Result, Scored, Skipped
from greval.runs.store.writer import StoreWriter
from greval.runs.text_search import build_text_index, search_text_index, search_texts

WORDS = st.lists(st.text(min_size=1, max_size=4).filter(str.split), min_size=1, max_size=3)


def result(sample, outcome):
    return Result(sample_id=sample, metric="right", fingerprint="f", judge="openai:gpt", tier="schema", outcome=outcome)


def found(query, cases=(), results=()):
    """Write a run and give the ids that a search finds in it, which a search in its text index finds too."""
    folder = Path(tempfile.mkdtemp())
    with StoreWriter.create(folder) as writer:
        writer.keep_cases(cases)
        for number, one in enumerate(results):
            writer.append(f"{number:032x}", one)
        ids = search_texts(writer.reader, query)
        build_text_index(writer.reader, folder / "index", "now")
    assert search_text_index(folder / "index", "now", query) == ids
    return ids.sample_ids


@settings(max_examples=20)
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


def test_an_index_of_another_state_is_not_used(tmp_path):
    """Without an index, with that of another state and with a damaged one there is no answer."""
    path = tmp_path / "index"
    assert search_text_index(path, "now", "who") is None
    with StoreWriter.create(tmp_path / "run") as writer:
        writer.keep_cases([Case(id="q1", question="Who?")])
        build_text_index(writer.reader, path, "before")
        assert search_text_index(path, "now", "who") is None
        build_text_index(writer.reader, path, "now")
    assert search_text_index(path, "now", "who").sample_ids == ("q1",)
    assert search_text_index(path, "now", "when").sample_ids == ()
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["index"]
    path.write_bytes(b"SQLite format 3\0" + b"?" * 200)
    assert search_text_index(path, "now", "who") is None
