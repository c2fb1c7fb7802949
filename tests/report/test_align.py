"""An alignment for the terminal: attempts, the gain on held-out folds, and the outcome."""

import pytest
from report_page import find_row, print_page

from greval.report.align import render, render_forecast
from greval.trust.alignment.records import Alignment, AlignmentForecast

GAIN = {"figure": "kappa", "things": 40, "questions": 20, "before": 0.4, "after": 0.7, "gain": 0.3, "p": 0.0123}
GAIN |= {"interval": {"low": 0.1, "high": 0.5, "method": "expanded percentile"}, "changed": 12}
ATTEMPTS = [
    {"fold": 1, "way": "examples", "learned": 5, "things": 9, "before": 0.4, "after": 0.6, "chosen": True, "failed": 2},
    {"fold": 0, "way": "rewrite", "dropped": "the file is no metric"},
]


def build(**more):
    """Return an alignment that was accepted."""
    fields = {"folder": "runs/a", "metric": "tone", "judge": "m", "writer": "m", "annotators": ["ada"], "labels": 40}
    fields |= {"questions": 20, "folds": 4, "level": 0.95, "seed": 0, "ways": ["examples"], "attempts": ATTEMPTS}
    fields |= {"gain": GAIN, "accepted": True, "why": "kappa rose", "path": "tone.yaml"}
    return Alignment.model_validate({**fields, **more})


def test_attempts_have_their_figures_or_why_they_were_dropped():
    """A dropped attempt has empty cells and its reason in the last one."""
    page = print_page(render, build())
    row = find_row(page, "all but fold 1 of 4")
    assert row == ["all but fold 1 of 4", "examples", "5", "9", "0.40", "0.60", "chosen, 2 failed"]
    assert find_row(page, "all labels") == ["all labels", "rewrite", "dropped: the file is no metric"]


def test_the_gain_has_its_interval_and_p():
    """A figure without an interval stands alone; the rank correlations of numbers have a row of their own."""
    page = print_page(render, build(gain=GAIN | {"ranks": [0.5, None]}))
    name = "kappa (unweighted)"
    assert find_row(page, name) == [name, "40", "0.40", "0.70", "0.30 [0.10, 0.50]", "0.0123", "12"]
    assert find_row(page, "Spearman") == ["Spearman", "40", "0.50", "-"]


@pytest.mark.parametrize(
    ("accepted", "line"),
    [(True, "accepted: kappa rose; the new definition is in tone.yaml"), (False, "nothing helped: kappa rose")],
)
def test_the_outcome_is_a_sentence(accepted, line):
    """It says whether a definition was written, and where."""
    assert line in print_page(render, build(accepted=accepted))


def test_the_diff_is_printed_verbatim_at_the_end():
    """Brackets of the definition are no markup."""
    assert print_page(render, build(diff="- [old]\n+ [/new]\n", warnings=["few"])).endswith("- [old]\n+ [/new]\n")


def test_warnings_that_decide_come_first_and_the_others_last():
    """Before them is nothing; another writer and what the gain leaves out are told too; nothing tried has no table."""
    page = print_page(
        render,
        build(attempts=[], failed=1, accepted=False, writer="w", warnings=["2 left out", "ENRICHED SAMPLE: beware"]),
    )
    assert page.startswith("ENRICHED SAMPLE: beware")
    assert page.endswith("2 left out\n")
    assert "judge m, writer w;" in page
    assert "excluded from the gain: 1 item" in page
    assert "learned on" not in page


def test_what_was_spent_is_named():
    """Calls, tokens and cost, and the judgements that existed before; an unknown price is called unknown."""
    usage = {"calls": 3, "input_tokens": 4000, "output_tokens": 5}
    page = print_page(render, build(usage=usage, kept=1200))
    assert "spent: 3 calls, 4,000 input tokens, 5 output tokens, cost unknown; 1,200 judgements" in page


def test_a_forecast_is_an_upper_bound():
    """The counts have separators, and the cost is that of its price."""
    counts = {"labels": 1000, "questions": 9, "before": 1, "learned": 2, "calls": 3, "written": 4, "input_tokens": 50}
    page = print_page(render_forecast, AlignmentForecast(metric="tone", judge="m", cost=1.5, **counts))
    assert page.startswith("tone: 1,000 labelled")
    assert "$1.5000" in page
