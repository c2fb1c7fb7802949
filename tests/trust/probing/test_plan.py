"""Source cases, references and mutants of a probe."""

from __future__ import annotations

from probed_judges import (
    RIGHT,
    cases,
    judge,
)

from greval.records.case import Case
from greval.trust.probing.api import probe


def test_odd_cases_do_no_harm(tmp_path):
    """Rows that are no cases, doubles, broken responses and a lone case are told, and none is left out quietly."""
    rows = [
        {"nothing": 1},
        cases(1)[0],
        cases(1)[0],
        Case(id="e", question="?", error="down"),
        Case(id="n", question="?"),
    ]
    found = probe(RIGHT, judge(), rows, out=tmp_path / "run", repeats=1)
    assert found.cases == 1
    assert len(found.unread) == 2
    assert "q0 is at cases, row 2 already" in found.unread[1]
    assert found.left_out == {
        "its method gave no response": 1,
        "expected_answer is not recorded; answer is not recorded": 1,
    }
    by_name = {one.name: one for one in found.checks}
    assert by_name["contradicted"].unused == {"no other question to take something from": 1}
    assert by_name["empty"].killed == 1
