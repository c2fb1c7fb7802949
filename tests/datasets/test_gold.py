"""Gold is read from its own files and joined with the cases of the same id."""

from __future__ import annotations

import pytest

from greval import Case
from greval.datasets import join_gold
from greval.errors import DataError


def test_rows_of_gold_complete_each_other_and_may_not_contradict():
    """Documents and paths of one id are put together field by field; two answers to one field are an error."""
    first_row, two = (
        {"id": "q1", "question": "", "gold": gold} for gold in ({"essential_docs": ["d"]}, {"answers": ["x"]})
    )
    (case,) = join_gold([Case(id="q1", question="?")], [Case(**first_row), Case(**two)])
    assert (case.gold.essential_docs, case.gold.answers) == (("d",), ("x",))
    second_row = Case(id="q1", question="", gold={"essential_docs": ["e"]})
    with pytest.raises(DataError, match="gold of q1: two rows differ in essential_docs"):
        join_gold([], [Case(**first_row), second_row])
    with pytest.raises(
        DataError, match=r"no case has the id of a row there \(rows 1, cases 1\), such as 'q2' and 'q1'"
    ):
        [*join_gold([Case(id="q2", question="?")], [second_row])]
