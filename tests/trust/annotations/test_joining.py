"""How annotations meet verdicts: ids that nearly meet, annotators of two spellings, and labels on another scale."""

from __future__ import annotations

import pytest

from greval import evaluate, load_metric
from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.trust.agreement.api import agreement
from greval.trust.annotations.adjudication import adjudicate
from greval.trust.annotations.joining import unite_annotators
from greval.trust.estimates.api import estimate


@pytest.fixture
def run(tmp_path):
    """A run of which the latency of six cases was measured."""
    cases = [{"id": f"q{n}", "question": "?", "usage": {"latency": n}} for n in range(6)]
    return evaluate(cases, [load_metric("latency")], out=tmp_path / "run")


def label(sample_id, value, annotator="Ana"):
    """Return a label of the latency of a case."""
    return Annotation(sample_id=sample_id, metric="latency", annotator=annotator, value=value)


@pytest.mark.parametrize("spelling", ["ana", " Ana", "Ana ", "A\u200bna", "Ana\u00a0", "ＡNA"])  # noqa: RUF001
def test_two_spellings_of_a_name_are_one_person(run, spelling):
    """A person whose name differs in case, blanks or invisible characters is one annotator, with a remark."""
    rows = [label(f"q{n}", n, spelling if n == 3 else "Ana") for n in range(6)]
    found = agreement(run, "latency", rows)
    assert found.annotators == ("Ana",)
    assert any("is taken as the annotator 'Ana'" in line for line in found.warnings)
    assert any("is taken as the annotator 'Ana'" in line for line in estimate(run, "latency", rows).warnings)
    (verdict,) = adjudicate([label("q1", 1, "Ana"), label("q1", 2, spelling)])
    assert verdict.value == 2


def test_two_people_stay_two():
    """Names that differ in more than their form are left alone."""
    rows = [label("q1", 1, name) for name in ("Ana", "Anna", "Ana2")]
    assert unite_annotators(rows) == (rows, ())


def test_an_id_with_an_invisible_blank_is_named(run):
    """An item that is in the run but for what cannot be seen is shown with it, and the difference is named."""
    rows = [*(label(f"q{n}", n) for n in range(5)), label("q5\u00a0", 5)]
    told = r"1 annotated item not in the run: 'q5\xa0'; 'q5\xa0' and 'q5' differ only in blanks or invisible characters"
    assert told in agreement(run, "latency", rows).warnings
    assert any(line.startswith(r"'q5\xa0' and 'q5' differ") for line in estimate(run, "latency", rows).warnings)


def test_labels_of_which_none_meets_are_an_error(run):
    """If no label is of an item of the run, the error shows an id of each side and what differs."""
    rows = [label(f"Q{n}", n) for n in range(6)]
    with pytest.raises(DataError, match="'Q0' and 'q0' differ only in case"):
        agreement(run, "latency", rows)
    with pytest.raises(DataError, match="'Q0' and 'q0' differ only in case"):
        estimate(run, "latency", rows)


def test_few_labels_that_meet_come_first(run):
    """If less than half of the labels are of items of the run, the first warning counts them."""
    rows = [label("q0", 0), label("q1", 1), *(label(f"x{n}", n) for n in range(3))]
    for found in (agreement(run, "latency", rows), estimate(run, "latency", rows)):
        assert found.warnings[0].startswith("FEW IDS MET: 2 of 5 annotated items met 2 of 6 judged items")


def test_labels_on_another_scale_give_no_verdict(tmp_path):
    """If most labels are off the judge's scale, the first warning says so and the judge is neither trusted nor not."""
    cases = [{"id": f"q{n}", "question": "?", "answer": "a", "expected_answer": "a"} for n in range(6)]
    run = evaluate(cases, [load_metric("exact_match")], out=tmp_path / "run")
    path = tmp_path / "labels.csv"
    path.write_text("id,label\nq0,1\nq1,0\nq2,4\nq3,7\nq4,9\nq5,10\n", encoding="utf-8")
    found = agreement(run, "exact_match", path)
    assert found.warnings[0].startswith("OFF SCALE: 4 of 6 labels are not on the scale of the verdicts (")
    assert "labels.csv:4: value: " in found.warnings[0]
    assert (found.verdict.use, found.verdict.why) == ("nothing yet", "most labels are not on the scale of the verdicts")
    assert estimate(run, "exact_match", path).warnings[0].startswith("OFF SCALE: 4 of 6 labels")
    path.write_text("id,label\nq0,1\nq1,0\nq2,1\nq3,1\nq4,9\nq5,0\n", encoding="utf-8")
    assert not any(line.startswith("OFF SCALE") for line in agreement(run, "exact_match", path).warnings)
