"""Shares over notes are averaged with intervals, by group; verdicts that contradict them are counted and shown."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from statistics import fmean

import pytest
from golden_files import GOLDEN, same, titled
from rich.console import Console

from greval import CategoricalMetric, ValueMetric, evaluate
from greval.analysis.summary import build_report
from greval.errors import DataError
from greval.records.scale import NumberRange
from greval.report.console import render
from greval.runs.store import Store
from greval.stats.interval import mean_interval
from greval.testing import ScriptedJudge

NOTES = {
    "parts": {"means": "what was asked for", "each": {"what": "in a few words", "there": ["yes", "no"]}},
    "coverage": {"share": "parts", "where": {"there": "yes"}, "better": "higher"},
    "named": {"share": "parts", "where": {"there": ["yes", "no"]}},
    "advice": "what to add",
}
FULL = CategoricalMetric(
    name="full",
    description="d",
    needs=["answer", "chunks"],
    steps=["List.", "Weigh."],
    reason_depth="steps",
    categories={"All": "", "Some": "", "None": ""},
    notes=NOTES,
)
PLAIN = ValueMetric(
    name="plain", description="d", needs=["answer"], steps=["s"], range=(0, 1), levels={0: "No.", 1: "Yes."}
)
SHARES = {"q0": (2, 2), "q1": (1, 2), "q2": (3, 4), "q3": (0, 0), "q4": (1, 1), "q5": (0, 3)}
"""For each case how many parts are there, of how many; the judge always says Some."""


def answer(messages):
    """Answer by the number of the case, which is its answer."""
    if "Metric: full" not in messages[0].text:
        return {"reason": "r", "value": 1}
    hits, of = SHARES[messages[1].text.split("<answer>\n")[1].split("\n")[0]]
    parts = [{"what": f"part {n}", "there": "yes" if n < hits else "no"} for n in range(of)]
    return {
        "findings": {"step_1": f"{of} parts.", "step_2": "As chunk 2 has them."},
        "reason": "It leaves out the year.",
        "value": "Some",
        "parts": parts,
        "advice": "The year.",
    }


def cases():
    """Give cases of two kinds, one of which lacks an answer."""
    chunks = [{"id": "d7", "text": "a"}, {"id": "d9", "text": "b"}]
    rows = [
        {"id": name, "question": "?", "answer": name, "chunks": chunks, "tags": {"kind": "odd" if n % 2 else "even"}}
        for n, name in enumerate(SHARES)
    ]
    return [*rows, {"id": "q9", "question": "?", "chunks": chunks, "tags": {"kind": "odd"}}]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Give a run whose shares are known."""
    monkeypatch.chdir(tmp_path)
    return evaluate(cases(), [FULL, PLAIN], ScriptedJudge(answer), out="run", concurrency=1)


def test_the_mean_of_a_share_is_over_what_was_counted(run):
    """What had nothing to count is no 0; mean, ends and interval are those of the other shares."""
    coverage, named_share = run.shares()
    shares = [hits / of for hits, of in SHARES.values() if of]
    interval = mean_interval(shares, [1] * len(shares), NumberRange(0.0, 1.0))
    assert (coverage.metric, coverage.note, coverage.group) == ("full", "coverage", "")
    assert (coverage.counted, coverage.empty) == (5, 1)
    assert coverage.mean == pytest.approx(fmean(shares))
    assert coverage.interval == interval
    assert (coverage.minimum, coverage.maximum) == (0.0, 1.0)
    assert (named_share.note, named_share.mean, named_share.contradictions) == ("named", 1.0, None)


def test_contradictions_are_counted(run):
    """A full coverage with the middle value contradicts it: two of the cases."""
    coverage, _ = run.shares()
    assert coverage.contradictions == 2
    assert {share.group: share.contradictions for share in run.shares("kind") if share.note == "coverage"} == {
        "even": 2,
        "odd": 0,
    }
    with Store.open(run.folder) as store:
        report = build_report(store, show=14)
        contradictions = store.frame()["contradictions"].dropna()
    assert len(contradictions) == 2
    assert sum(bool(verdict.contradictions) for verdict in report.verdicts) == 2


def test_groups_are_those_of_the_report(run):
    """Shares have the groups of the summaries beside them; a tag that no case has is refused."""
    with Store.open(run.folder) as store:
        report = build_report(store, by=["kind"])
    assert report.shares == run.shares(["kind"])
    assert [share.group for share in report.shares] == ["even", "odd"] * 2
    even = [hits / of for n, (hits, of) in enumerate(SHARES.values()) if n % 2 == 0]
    assert report.shares[0].mean == pytest.approx(fmean(even))
    with pytest.raises(DataError, match="kid"):
        run.shares("kid")


def test_the_console_shows_what_the_judge_wrote(run):
    """Verdicts have findings, notes, ids and contradictions; shares stand in a table of their own."""
    out = StringIO()
    with Store.open(Path("run")) as store:
        render(build_report(store, show=4), Console(width=120, file=out))
        text = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
        by = StringIO()
        render(build_report(store, by=["kind"]), Console(width=120, file=by))
    grouped = "\n".join(line.rstrip() for line in by.getvalue().splitlines())
    same(GOLDEN / "report-notes.txt", titled({"with verdicts": text, "by kind": grouped}))
