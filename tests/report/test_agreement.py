"""An agreement for the terminal: which tables and columns it has, and what its legend explains."""

import pytest
from report_page import find_row, print_page

from greval.report.agreement import build_pairs_table, format_legend, render
from greval.trust.agreement.records import Agreement, PeopleAgreement


def known(value, n=9, **more):
    """Return a known figure as JSON."""
    return {"status": "known", "value": value, "n": n, **more}


NONE = {"status": "undefined", "n": 9, "reason": "both sides use one category only"}
SPREAD = {"n": 9, "mean": known(3.2), "median": known(3.0), "sd": known(0.8), "min": 1.0, "max": 5.0}
CATEGORICAL = {
    "kind": "categorical",
    "figures": {"accuracy": known(0.75, clustered={"low": 0.5, "high": 0.9, "method": "t"}), "kappa": NONE},
    "classes": [
        {"name": name, "support": 1234, "precision": known(0.5), "recall": NONE, "f1": known(0.6)}
        for name in ("[Polite]", "Rude")
    ],
    "confusion": [[3, 1], [0, 5]],
}
NUMERIC = {"kind": "numeric", "figures": {"mae": known(0.4)}, "people": SPREAD, "judge": SPREAD | {"min": 2.0}}
PEOPLE = {
    "annotators": ["ada", "bob"],
    "figures": {"accuracy": known(0.9)},
    "pairs": [{"annotators": ["ada", "bob"], "n": 7, "figures": {"accuracy": known(0.9)}}],
}


def build(judge=CATEGORICAL, groups=(), **more):
    """Return an agreement with one group over all, and others."""
    whole = {"name": "", "things": 9, "questions": 6, "enriched": False, "judge": judge, "people": PEOPLE}
    whole |= {"baselines": [{"name": "length", "figures": {"accuracy": known(0.55)}}]} | more.pop("whole", {})
    fields = {"folder": "runs/a", "metric": "tone", "judges": ["m"], "annotators": ["ada", "bob"], "by": [], **more}
    fields |= {"treat_as": "categories", "combine": "majority", "level": 0.95, "statuses": {}}
    fields["groups"] = [whole, *(whole | {"name": name, "things": 4} for name in groups)]
    return Agreement.model_validate(fields)


def test_judge_people_and_floor_are_side_by_side():
    """A row has the judge's figure, its interval by question, people's own agreement and the baseline."""
    page = print_page(render, build())
    assert find_row(page, "accuracy") == ["accuracy", "9", "0.75", "[0.50, 0.90]", "0.90", "0.55"]
    assert find_row(page, "Cohen's kappa") == ["Cohen's kappa", "9", "-", "-"]
    assert "Cohen's kappa is undefined: both sides use one category only." in page


def test_categories_have_a_report_and_a_matrix():
    """Names of categories are printed as they are, with large counts in groups of three digits."""
    page = print_page(render, build())
    assert find_row(page, "[Polite]") == ["[Polite]", "1,234", "0.50", "-", "0.60"]
    assert find_row(page[page.index("people \\ judge") :], "[Polite]") == ["[Polite]", "3", "1"]


def test_a_large_matrix_is_left_out():
    """More than twelve categories do not fit a terminal."""
    classes = [CATEGORICAL["classes"][0] | {"name": f"c{n}"} for n in range(13)]
    page = print_page(render, build(CATEGORICAL | {"classes": classes, "confusion": [[0] * 13] * 13}))
    assert "c12" in page
    assert "people \\ judge" not in page


def test_numbers_have_their_distributions():
    """Both sides are described, with minimum and maximum."""
    page = print_page(render, build(NUMERIC))
    assert find_row(page, "judge  ") == ["judge", "9", "3.20", "3.00", "0.80", "2.00", "5.00"]
    assert "mean absolute error" in page


def test_an_enriched_sample_has_weighted_figures():
    """The unweighted figure is labelled as one of the sample only."""
    page = print_page(render, build(whole={"enriched": True, "weighted": {"accuracy": known(0.8)}}))
    assert "on this sample [95%]" in page
    assert find_row(page, "accuracy")[4] == "0.80"


def test_groups_have_a_row_each():
    """Groups come after the whole, named by their tag."""
    page = print_page(render, build(groups=("hard", "easy"), by=["kind"]))
    assert "by kind" in page
    assert find_row(page, "hard") == ["hard", "4", "0.75", "-"]


def test_important_warnings_come_before_the_title():
    """A mix of judges is said before any figure, other warnings after all of them."""
    lines = print_page(render, build(warnings=["few labels", "MIXED: two judges"])).splitlines()
    assert lines[0] == "MIXED: two judges"
    assert lines[1].startswith("runs/a: tone, judge m and 2 annotators on 9 things")
    assert lines[-1] == "few labels"


@pytest.mark.parametrize(("part", "name"), [("people", "People among themselves"), ("baselines", "Floor, length")])
def test_a_missing_comparison_has_its_reason(part, name):
    """If people or a baseline cannot be compared, the legend says why."""
    reason = {"why": "one annotator only"}
    whole = {"people": {"annotators": ["ada"], **reason}, "baselines": [{"name": "length", **reason}]}
    legend = [*format_legend(build(whole={part: whole[part]}))]
    assert [line for line in legend if line.startswith(name)] == [f"{name}: not known, one annotator only."]


def test_pairs_that_were_left_out_are_counted():
    """The heading of the pairs has the number of those that are not listed."""
    page = print_page(lambda table, console: console.print(table), build_pairs_table("people", among_many()))
    assert "people (and 3 more pairs)" in page
    assert find_row(page, "ada and bob") == ["ada and bob", "7", "0.90"]


def among_many():
    """Return the agreement of more pairs than are listed."""
    return PeopleAgreement.model_validate(PEOPLE | {"left_out": 3})
