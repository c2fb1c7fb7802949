"""People's preferences: pairs are pushed with both answers, and their answers come back and are compared."""

from __future__ import annotations

import pytest
from argilla_stand_in import KEY
from hypothesis import example, given
from hypothesis import strategies as st

from greval import agreement, evaluate
from greval.errors import ArgillaError
from greval.metrics.library import load_metric
from greval.testing import ScriptedJudge
from greval.trust.annotations.files import read_run_annotations
from greval.trust.annotations.rendering import escape_text
from greval.trust.argilla.form import MIDDLE, START, build_question, join_texts, merge_titles, split_texts
from greval.trust.argilla.pull import pull_from_argilla
from greval.trust.argilla.push import push_to_argilla

METRIC = load_metric("comprehensiveness")
LONGER = {"A": "a long answer, all in all", "B": "short"}


def build_pair(number, first, second):
    """Build the pair of two methods on a question."""
    other = {"method": "walk", "answer": second}
    return {"id": f"q{number}", "question": "Who?", "method": "local vs walk", "answer": first, "other_response": other}


def prefer_long_answers(messages):
    """Prefer the longer of both answers."""
    _, _, rest = messages[-1].text.partition("<answer_a>")
    first, _, second = rest.partition("</answer_a>")
    return {"reason": "It is longer.", "value": "A" if len(first) > len(second) - len("<answer_b></answer_b>") else "B"}


@pytest.fixture
def pairs(tmp_path):
    """Judge six pairs: the first answer is the longer one in the even ones."""
    texts = (LONGER["A"], LONGER["B"])
    cases = [build_pair(n, *(texts if n % 2 == 0 else texts[::-1])) for n in range(6)]
    return evaluate(cases, [METRIC], ScriptedJudge(prefer_long_answers), out=tmp_path / "run").folder


def push(run, stand_in, **more):
    return push_to_argilla(run, METRIC.name, dataset="d", url=stand_in.url, key=KEY, **more)


def test_a_record_has_both_answers(pairs, stand_in):
    """Both answers are in one field, the labels are A, Tie and B, and no field names a method."""
    done = push(pairs, stand_in)
    assert (done.judged, done.added) == (6, 6)
    record = next(one for one in stand_in.records["d0"].values() if one["metadata"]["sample_id"] == "q1")
    assert {*record["fields"]} == {"question", "answer_ab"}
    assert "walk" not in record["fields"]["answer_ab"]
    assert split_texts(record["fields"]) == {"question": "Who?", "answer_a": LONGER["B"], "answer_b": LONGER["A"]}
    assert [part["title"] for part in stand_in.parts["d0"]["fields"]] == ["Question", "Answer"]
    assert record["metadata"]["method"] == "local vs walk"
    assert merge_titles([METRIC]) == {"question": "Question", "answer_a": "Answer A", "answer_b": "Answer B"}
    assert [option["value"] for option in build_question(METRIC)["settings"]["options"]] == ["A", "Tie", "B"]


@given(st.text(), st.text())
@example("</td><script>hit()</script>", "{{record.fields}} $& <br>")
@example(MIDDLE, START)
def test_joined_texts_come_apart(first, second):
    """Any two texts are in the two cells of the table, as text only, and are found again; nothing has an end tag."""
    texts = {"question": escape_text(first), "answer_a": escape_text(first), "answer_b": escape_text(second)}
    joined = join_texts(texts)
    assert split_texts(joined) == texts
    assert joined["answer_ab"].count("<td") == 2
    assert "</" not in joined["answer_ab"]
    assert "<script" not in joined["answer_ab"]


def test_a_text_that_was_changed_in_argilla_is_an_edit(pairs, stand_in):
    """A record whose table was changed, in a cell or as a whole, counts as edited."""
    push(pairs, stand_in)
    one, other, *_ = stand_in.records["d0"].values()
    one["fields"]["answer_ab"] = one["fields"]["answer_ab"].replace("short", "shorter")
    other["fields"]["answer_ab"] = "no table"
    assert pull_from_argilla(pairs, dataset="d", url=stand_in.url, key=KEY).edited == 2


def test_answers_become_preferences_and_are_compared(pairs, stand_in):
    """Each answer is an annotation of the pair, and agreement compares it with the verdict of the judge."""
    push(pairs, stand_in)
    said = ("A", "B", "A", "B", "A", "Tie")
    for number, value in enumerate(said):
        stand_in.answer("d0", f"q{number}", "u1", value)
    done = pull_from_argilla(pairs, dataset="d", url=stand_in.url, key=KEY)
    rows = read_run_annotations(pairs).annotations
    assert (done.records, done.unanswered) == (6, 0)
    assert {(row.sample_id, row.method, row.value) for row in rows} == {
        (f"q{number}", "local vs walk", value) for number, value in enumerate(said)
    }
    result = agreement(pairs, METRIC.name)
    assert result.groups[0].judge.figures["accuracy"].value == pytest.approx(5 / 6)


def test_pairs_and_answers_are_not_in_one_record():
    """A preference and a metric over one answer need datasets of their own."""
    with pytest.raises(ArgillaError, match="judges pairs of answers and correctness answers"):
        merge_titles([METRIC, load_metric("correctness")])
