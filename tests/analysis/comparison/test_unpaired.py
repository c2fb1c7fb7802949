"""Comparisons of which the questions do not pair: an error with the remedy, or a remark before all figures."""

from __future__ import annotations

import pytest

from greval import evaluate, load_metric
from greval.analysis.comparison.api import compare
from greval.errors import DataError


def judge(folder, ids, tags=None):
    """Evaluate latencies of the ids of each method, with the tags that `tags` makes of the place of a case."""
    cases = [
        {
            "id": name,
            "question": "?",
            "method": method,
            "usage": {"latency": place + len(method)},
            "tags": tags(place, method) if tags else {},
        }
        for method, names in ids.items()
        for place, name in enumerate(names)
    ]
    return evaluate(cases, [load_metric("latency")], out=folder)


def test_no_question_in_common_is_an_error_with_an_id_of_each_side(tmp_path):
    """Methods without a common question cannot be compared, and the error names what would make the ids equal."""
    run = judge(tmp_path / "run", {"a": ["q1", "q2"], "bb": ["Q1", "Q2", "Q3"]})
    told = "0 of 2 questions of a met 0 of 3 questions of bb; 'q1' and 'Q1' differ only in case; give the same question"
    with pytest.raises(DataError, match=told):
        compare(run)


def test_a_column_that_pairs_is_proposed(tmp_path):
    """If a column repeats across methods and the id does not, the error proposes it as the id."""
    ids = {method: [f"{n}-{method}" for n in range(4)] for method in ("bm25", "graph")}
    run = judge(
        tmp_path / "run", ids, lambda place, method: {"row": f"e{place}", "kind": "k", "by": method + str(place)}
    )
    with pytest.raises(DataError, match=r"; row has the same values on both sides: judge .*columns={'id': 'row'}$"):
        compare(run)


def test_two_runs_without_a_common_question(tmp_path):
    """An earlier run of other questions is refused, with an id of each run."""
    old, new = judge(tmp_path / "old", {"a": ["1.0", "2.0"]}), judge(tmp_path / "new", {"a": ["1", "2"]})
    with pytest.raises(DataError, match=r"'1' and '1\.0' differ only in a trailing \.0"):
        compare(new, against=old)


def test_few_questions_in_common_is_the_first_warning(tmp_path):
    """If less than half of the questions pair, the first warning counts them."""
    run = judge(tmp_path / "run", {"a": ["q1", "q2", "q3"], "bb": ["q1", "q2 ", "q3 ", "q4"]})
    found = compare(run)
    assert found.contrasts[0].n == 1
    assert found.warnings[0].startswith("FEW IDS MET: 1 of 3 questions of a met 1 of 4 questions of bb; 'q2' and 'q2 '")
    assert not any(
        "IDS MET" in line for line in compare(judge(tmp_path / "whole", {"a": ["q1"], "bb": ["q1"]})).warnings
    )
