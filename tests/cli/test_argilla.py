"""The lines that `greval argilla push` and `pull` print."""

from __future__ import annotations

import pytest

from greval.cli.argilla import describe_pull, describe_push
from greval.trust.argilla.pull import AnnotatorCounts, PullResult
from greval.trust.argilla.push import PushResult

PUSHED = PushResult(
    dataset="d",
    workspace="w",
    page="http://a/d",
    metrics=("tone",),
    suggestions=False,
    suggested=0,
    sample=None,
    judged=1200,
    drawn=1200,
    added=5,
    known=7,
    changed=0,
)
PULLED = PullResult(
    dataset="d",
    workspace="w",
    metrics=("tone",),
    path="run/annotations.jsonl",
    records=4,
    gone_path="gone",
    outdated_path="outdated",
)


def test_a_push_reports_its_counts_and_its_page():
    """Without a sample all items are named, and the last line is the address for the annotators."""
    first, second, last = describe_push(PUSHED)
    assert "tone" in first
    assert first.endswith("all 1,200")
    assert second.startswith("5 records added, 7 ")
    assert last.endswith("http://a/d")


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"sample": "random:50", "drawn": 50}, "50 of 1,200 drawn (random:50)"),
        ({"changed": 2}, "2 of them changed since they were pushed"),
        ({"suggested": 3}, "3 of those that existed were given suggestions"),
        ({"suggestions": True}, "not a fair measure of the judge"),
    ],
)
def test_what_a_push_adds_is_reported(fields, part):
    """A sample, changed items and visible verdicts have a line or a part of their own."""
    plain = "\n".join(describe_push(PUSHED))
    assert part in "\n".join(describe_push(PUSHED.model_copy(update=fields)))
    assert part not in plain


def test_a_pull_counts_each_annotator():
    """The submitted answers of all annotators are summed, and each has a line with all statuses."""
    people = (
        AnnotatorCounts(annotator="ana", submitted=3, pending=1),
        AnnotatorCounts(annotator="bo", submitted=1, draft=1),
    )
    first, ana, bo = describe_pull(PULLED.model_copy(update={"annotators": people, "unanswered": 1}))
    assert first == "run/annotations.jsonl: 4 submitted answers on 3 of 4 records"
    assert ana == "  ana: 3 submitted, 0 draft, 0 discarded, 1 pending"
    assert bo == "  bo: 1 submitted, 1 draft, 0 discarded, 0 pending"


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"edited": 2}, "2 records edited in Argilla"),
        ({"outdated": 3}, "outdated"),
        ({"unknown": 1}, "1 record not pushed by greval"),
        ({"gone": {"ana": 2}}, "2 answers of ana"),
    ],
)
def test_answers_that_are_left_out_are_reported(fields, part):
    """Each reason for leaving out answers has a line, with their number."""
    assert [*describe_pull(PULLED)][1:] == []
    (line,) = [*describe_pull(PULLED.model_copy(update=fields))][1:]
    assert part in line
