"""A probe for the terminal: kill rates, noise, survivors, and what was not done."""

from report_page import find_row, print_page

from greval.report.probe import format_probe_legend, format_troubles, render
from greval.trust.probing.records import Probe

RATE = {"status": "known", "value": 0.75, "n": 8, "interval": {"low": 0.4, "high": 0.93, "method": "wilson"}}
CHECK = {"name": "emptied", "holds": "an empty answer is worse", "rate": RATE, "killed": 6, "mutants": 8}
CHECK |= {"questions": 8, "better": 1, "worse": 6, "failed": 2, "unused": {"no answer": 3, "too short": 4}}


def survivor(variant, case, reason="fine"):
    """Return a mutant that was not caught as JSON."""
    return {"check": "emptied", "variant": variant, "sample_id": case, "before": 4, "after": 5, "reason": reason}


def build(**more):
    """Return a probe with one check."""
    fields = {"folder": "runs/p", "metric": "tone", "judge": "m", "cases": 8, "checks": [CHECK]}
    return Probe.model_validate({**fields, **more})


def test_a_check_has_its_rate_and_its_counts():
    """The row adds up what was not used; there is no column by question if each has one mutant."""
    page = print_page(render, build())
    assert find_row(page, "emptied") == ["emptied", "6 of 8", "0.75 [0.40, 0.93]", "1", "6", "2", "7"]
    assert "by question" not in page


def test_mutants_of_one_question_have_an_interval_of_their_own():
    """The column and the line that explains it come together."""
    clustered = CHECK | {"rate": RATE | {"clustered": {"low": 0.2, "high": 0.98, "method": "t"}}}
    page = print_page(render, build(checks=[clustered]))
    assert find_row(page, "emptied")[3] == "[0.20, 0.98]"
    assert '"by question" resamples whole questions' in page


def test_survivors_of_each_variant_come_first():
    """One survivor of each kind is printed before a second one of the same; long reasons are cut."""
    survivors = [survivor("a", "q1"), survivor("a", "q2"), survivor("b", "q3", "x" * 150)]
    page = print_page(render, build(survivors=survivors), show=2)
    assert "Not caught (2 of 3)" in page
    assert page.index("q1") < page.index("q3")
    assert "q2" not in page
    assert f"{'x' * 100}..." in page
    assert "x" * 101 not in page


def test_no_survivors_are_printed_if_none_are_wanted():
    """With `show=0` the table is left out."""
    assert "Not caught" not in print_page(render, build(survivors=[survivor("a", "q1")]), show=0)


def test_noise_is_a_share_with_its_interval():
    """Repeats give the share of verdicts that changed, the flip rate and the spread."""
    noise = {"repeats": 3, "things": 8, "unsteady": RATE, "flip_rate": 0.125, "sd": 0.5, "failed": 1}
    (line,) = [line for line in format_probe_legend(build(noise=noise)) if line.startswith("repeats")]
    assert "of 8 verdicts judged 3 times 0.75 [0.40, 0.93] changed" in line
    assert line.endswith("flip rate 0.12, standard deviation 0.50, 1 failed")


def test_the_legend_ends_with_the_cost():
    """Checks that were not made have their reason; an unknown price is not printed as 0."""
    usage = {"calls": 2, "input_tokens": 1200, "output_tokens": 30}
    legend = [*format_probe_legend(build(skipped=[{"check": "swapped", "reason": "one chunk"}], usage=usage))]
    assert "swapped: not made: one chunk" in legend
    assert legend[-1] == "asked now: 2 calls, 1,200 input tokens, 30 output tokens"
    assert [*format_probe_legend(build(usage=usage, cost=0.5))][-1].endswith(", $0.5000")


def test_gaps_are_named_with_their_number():
    """Unused mutants, unread rows and failures each have a line, and no gap has none."""
    troubles = [*format_troubles(build(left_out={"no answer": 1}, unread=["a.csv:2"], failures={"timeout": 2}))]
    assert troubles[:2] == ["emptied: 3 not used: no answer", "emptied: 4 not used: too short"]
    assert troubles[2:4] == ["1 case left out: no answer", "not a case: a.csv:2"]
    assert "timeout 2" in troubles[4]
    assert [*format_troubles(build(checks=[]))] == []
