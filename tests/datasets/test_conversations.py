"""Conversations of rows: the turns before the question, the question and the answer, in the forms of many tools."""

from __future__ import annotations

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import read_cases
from greval.datasets.case_records import as_case, read_records
from greval.datasets.conversations import read_turns, split_conversation
from greval.records.case import ROLE_NAMES, Case

USER, AI = {"role": "user", "content": "Who wrote it?"}, {"role": "assistant", "content": "Ada."}
LAST, REPLY = {"role": "user", "content": "When?"}, {"role": "assistant", "content": "In 1843."}
TURNS = [("user", "Who wrote it?"), ("assistant", "Ada.")]
HUMAN, ROBOT = {"type": "human", "content": "Who wrote it?"}, {"type": "ai", "content": "Ada.", "tool_calls": None}
TOOL_CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "search"}}]}


def read(row):
    """Give the turns, the question and the answer of the case of a row."""
    (case,) = read_records([row])
    return [(turn.role, turn.text) for turn in case.history or ()], case.question, case.answer


@pytest.mark.parametrize(
    "history",
    [
        [USER, AI],
        [{"role": "human", "text": "Who wrote it?"}, {"role": "ai", "text": "Ada."}],
        [HUMAN, ROBOT],
        [{"from": "human", "value": "Who wrote it?"}, {"from": "gpt", "value": "Ada."}],
        [{"role": "user", "parts": [{"text": "Who wrote it?"}]}, {"role": "model", "parts": [{"text": "Ada."}]}],
        [{"role": "user", "content": [{"type": "text", "text": "Who wrote it?"}]}, AI],
        [{"lc": 1, "type": "constructor", "id": ["x"], "kwargs": HUMAN}, ROBOT],
        [["Who wrote it?", "Ada."]],
        [("user", "Who wrote it?"), ("assistant", "Ada.")],
        [{"user": "Who wrote it?", "assistant": "Ada."}],
        [{"inputs": {"question": "Who wrote it?"}, "outputs": {"answer": "Ada."}}],
        ["User: Who wrote it?", "Assistant: Ada."],
        "User: Who wrote it?\nAssistant: Ada.",
        "Human: Who wrote it?\n\nAI: Ada.\n",
        {"messages": [USER, AI]},
        json.dumps([USER, AI]),
        str([USER, AI]),
        [USER, TOOL_CALL, AI],
    ],
)
@pytest.mark.parametrize("name", ["history", "chat_history", "Conversation History"])
def test_forms_of_history(name, history):
    """The turns before the question are read in each form, under each name, from a cell too."""
    assert read({"question": "When?", name: history, "answer": "In 1843."}) == (TURNS, "When?", "In 1843.")


WHOLE = [USER, AI, LAST, REPLY]


@pytest.mark.parametrize(
    "row",
    [
        {"messages": WHOLE},
        {"conversation": {"messages": WHOLE}},
        {"input": WHOLE[:3], "actual_output": "In 1843."},
        {"user_input": [HUMAN, ROBOT, {"type": "human", "content": "When?"}], "response": "In 1843."},
        {"user_input": [HUMAN, ROBOT, {"type": "human", "content": "When?"}, {"type": "ai", "content": "In 1843."}]},
        {"inputs": {"messages": WHOLE[:3]}, "outputs": {"answer": "In 1843."}},
        {"inputs": {"question": "When?", "chat_history": WHOLE[:2]}, "outputs": {"answer": "In 1843."}},
        {"question": "When?", "messages": WHOLE},
        {"question": "When?", "messages": WHOLE[:2], "answer": "In 1843."},
        {"question": WHOLE[:3], "answer": "In 1843."},
        {"messages": [*WHOLE[:3], TOOL_CALL, {"role": "tool", "content": "1843"}, REPLY]},
        {"messages": json.dumps(WHOLE)},
        {"conversations": [{"from": "human", "value": "Who wrote it?"}, ["ai", "Ada."], ("user", "When?"), REPLY]},
    ],
)
def test_forms_of_whole_conversations(row):
    """The last turn of the user is the question, the answer after it is the answer, and the rest is history."""
    assert read(row) == (TURNS, "When?", "In 1843.")


def test_a_first_question_has_no_history():
    """Instructions of the system alone are none, so that such rows are the cases that they were."""
    row = {"messages": [{"role": "system", "content": "Be brief."}, USER, AI]}
    assert read(row) == ([], "Who wrote it?", "Ada.")
    assert "history" not in as_case({"question": "Who?", "history": []}).model_dump(mode="json")


@pytest.mark.parametrize("value", ["ancient", 1066, "yes"])
def test_a_column_called_history_may_be_a_tag(value):
    """A short value that is no conversation groups questions, as before."""
    (case,) = read_records([{"question": "Who?", "history": value}])
    assert (case.history, case.tags) == (None, {"history": str(value)})


@pytest.mark.parametrize(
    "history", [[{"role": "critic", "content": "x"}], [{"text": "x"}], ["x", "y"], [1], [{"role": "user", "text": 1}]]
)
def test_what_is_no_conversation_is_a_fault(history):
    """Turns without a known role are not guessed at: the row is named."""
    (fault,) = read_records([{"question": "Who?", "history": history}])
    assert "history" in fault.message


def test_conversations_in_tables(tmp_path):
    """A cell of a CSV file may hold messages as JSON, and a line of JSON Lines a history."""
    with (tmp_path / "cases.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["question", "chat_history"], ["When?", json.dumps([USER, AI])]])
    (case,) = read_cases(tmp_path / "cases.csv")
    assert [(turn.role, turn.text) for turn in case.history] == TURNS
    (tmp_path / "cases.jsonl").write_text(json.dumps({"messages": WHOLE}), encoding="utf-8")
    (case,) = read_cases(tmp_path / "cases.jsonl")
    assert ([(turn.role, turn.text) for turn in case.history], case.answer) == (TURNS, "In 1843.")


turns = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from([*ROLE_NAMES]), "content": st.text(min_size=1, max_size=8)}),
    min_size=1,
    max_size=6,
)


@given(turns)
def test_nothing_that_was_said_is_lost(messages):
    """History, question and what follows are the conversation, in its order; a case of it is read back as it was."""
    turns_read = read_turns(messages)
    assert [(turn["role"], turn["text"]) for turn in turns_read] == [
        (ROLE_NAMES[message["role"]], message["content"]) for message in messages
    ]
    parts = split_conversation(turns_read)
    assert (parts is None) == all(turn["role"] != "user" for turn in turns_read)
    if parts is not None:
        history, question, _ = parts
        texts = [turn["text"] for turn in turns_read]
        assert not history or texts[: len(history) + 1] == [*(turn["text"] for turn in history), question]
        case = Case(question=question, history=history)
        assert Case.model_validate_json(case.model_dump_json()).history == (case.history or None)


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)))
def test_any_value_is_looked_at_safely(value):
    """Whatever stands in a row, it is a conversation or it is none."""
    assert read_turns(value) is None or all({*turn} == {"role", "text"} for turn in read_turns(value))
