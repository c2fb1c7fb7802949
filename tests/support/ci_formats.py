"""Reports and comparisons with a gate, of real runs, for the formats that CI reads."""

from compared_runs import FAILED, SKIPPED, write

from greval.analysis.comparison.api import compare
from greval.analysis.gate.api import check_gate
from greval.analysis.summary import build_report
from greval.report.check_list import Check, CheckList
from greval.runs.store import Store

HOSTILE = "a|b <b>&amp; `x` [y](http://z) @team #1 %0A\n::error::\x1b[31m\x00\ufffe\ud800 *_~ \\| ]]> -->"
"""A text that tries to leave its place in XML, Markdown and workflow commands."""


def gated_report(folder):
    """Return the report of a run with a passed, a failed and an undecided condition, and a skipped metric."""
    figures = {("", "right"): [1, 1, 0, FAILED], ("", "depth"): [SKIPPED] * 4, ("", "latency"): [1.0, 2.0, 1.0, 2.0]}
    run = write(folder, figures, tags=[{"kind": "x"}] * 4)
    conditions = ["latency > 9", "right@x < 0.7", "depth < 3"]
    with Store.open(run) as store:
        return build_report(store).model_copy(update={"gate": check_gate(store, conditions)})


def gated_comparison(folder):
    """Return a comparison in which one method is worse, with a failed and a passed condition."""
    figures = {("local", "right"): [1] * 30, ("walk", "right"): [0] * 20 + [1] * 10}
    figures |= {("local", "latency"): [1.0] * 30, ("walk", "depth"): [3] * 30}
    found = compare(write(folder, figures), baseline="local")
    return found.model_copy(update={"gate": check_gate(found, ["right < baseline - 0.02", "right.n < 9"])})


def list_of(text):
    """Return a list of checks in which every text from data is this one."""
    checks = (
        Check(text, "greval.gate", "failed", text),
        Check(text, "greval.gate", "undecided", text),
        Check(text, "greval.metrics", "skipped", text),
        Check(text, "greval.metrics", "passed", text),
    )
    return CheckList(text, checks, ("metric", "mean"), ((text, text),), (text,))
