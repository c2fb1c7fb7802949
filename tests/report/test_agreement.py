"""An agreement for the terminal: which tables and columns it has, and what its legend explains."""

import pytest
from report_page import find_row, known, print_page

from greval.report.agreement import build_pairs_tables, format_agreement_legend, format_verdict, render
from greval.trust.agreement.records import Agreement, PeopleAgreement

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


ENDS = {"low": 0.81, "high": 0.9, "method": "t"}
VERDICT = {
    "use": "means",
    "baselines": {"length": "better"},
    "best_floor": "length",
    "people": "as good",
    "difference": known(0.01, interval={"low": -0.03, "high": 0.05, "method": "t"}),
    "same": known(0.86, interval=ENDS),
    "mean_of": 80,
    "bias": known(0.02, interval={"low": -0.01, "high": 0.05, "method": "t"}),
}


def build(judge=CATEGORICAL, groups=(), **more):
    """Return an agreement with one group over all, and others."""
    whole = {"name": "", "things": 9, "questions": 6, "enriched": False, "judge": judge, "people": PEOPLE}
    whole |= {"baselines": [{"name": "length", "figures": {"accuracy": known(0.55)}}]} | more.pop("whole", {})
    fields = {"folder": "runs/a", "metric": "tone", "judges": ["m"], "annotators": ["ada", "bob"], "by": [], **more}
    fields |= {"treat_as": "categories", "combine": "majority", "level": 0.95, "statuses": {}}
    fields["verdict"] = more.get("verdict", VERDICT)
    fields["groups"] = [whole, *(whole | {"name": name, "things": 4} for name in groups)]
    return Agreement.model_validate(fields)


def test_there_is_no_empty_column_for_people_that_are_not_known():
    """With one annotator nothing is known of people among themselves: the legend says so, in place of a column."""
    alone = PEOPLE | {"figures": {}, "pairs": [], "why": "one annotator only"}
    page = print_page(render, build(whole={"people": alone}))
    assert "people among themselves" not in page
    assert "Agreement among annotators is unknown: one annotator only." in page
    assert "people among themselves" in print_page(render, build())


def test_judge_people_and_floor_are_side_by_side():
    """A row has the judge's figure, its interval by question, people's own agreement and the baseline."""
    page = print_page(render, build())
    assert find_row(page, "accuracy") == ["accuracy", "9", "0.75", "[0.50, 0.90]", "0.90", "0.55"]
    name = "Cohen's kappa (unweighted)"
    assert find_row(page, name) == [name, "9", "-", "-"]
    assert f"{name} is undefined: both sides use one category only." in page


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
    assert lines[1].startswith("runs/a: tone, judge m and 2 annotators on 9 items")
    assert lines[-1] == "few labels"


@pytest.mark.parametrize(
    ("part", "name"), [("people", "Agreement among annotators"), ("baselines", "The baseline 'length'")]
)
def test_a_missing_comparison_has_its_reason(part, name):
    """If people or a baseline cannot be compared, the legend says why."""
    reason = {"why": "one annotator only"}
    whole = {"people": {"annotators": ["ada"], **reason}, "baselines": [{"name": "length", **reason}]}
    legend = [*format_agreement_legend(build(whole={part: whole[part]}))]
    assert [line for line in legend if line.startswith(name)] == [f"{name} is unknown: one annotator only."]


def test_pairs_that_were_left_out_are_counted():
    """The heading of the pairs has the number of those that are not listed."""
    page = print_page(lambda among, console: console.print(*build_pairs_tables("people", among, console)), among_many())
    assert "people (and 3 more pairs)" in page
    assert find_row(page, "ada and bob") == ["ada and bob", "7", "0.90"]


def among_many():
    return PeopleAgreement.model_validate(PEOPLE | {"left_out": 3})


def test_one_paragraph_says_what_the_figures_mean():
    """Baselines, people, and what to use the judge for, each with the interval that decided; it is in the report."""
    agreement = build()
    assert format_verdict(agreement) == (
        "What this means: the judge is better than every baseline; the intervals do not overlap "
        "(the best: length, accuracy 0.55 against 0.75). "
        "The judge agrees with people as well as they agree with each other (+0.01 [-0.03, +0.05]). "
        "It gives people's value on 0.86 [0.81, 0.90] of the items: use means of 80 or more items, not single cases."
    )
    assert format_verdict(agreement) in print_page(render, agreement)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"use": "single cases"}, "use single verdicts, and means of 80 or more items."),
        ({"mean_of": None}, "how many items a mean needs is unknown; do not use single cases."),
        ({"people": "worse"}, "The judge agrees with people less than they agree with each other"),
        (
            {"people": "not shown"},
            "Whether the judge agrees with people as well as they do with each other is undecided",
        ),
        ({"people": "not known", "difference": None}, "How well people agree with each other is unknown."),
        ({"baselines": {"length": "not shown"}, "use": "nothing yet"}, "0.55 against 0.75): the intervals overlap."),
        ({"baselines": {"length": "not shown"}, "use": "nothing yet"}, "Do not rely on the judge yet: label more"),
        ({"baselines": {"length": "not better"}, "use": "nothing"}, "the judge is no better than a baseline (length"),
        ({"baselines": {"length": "not better"}, "use": "nothing"}, "Do not use the judge for this metric."),
        (
            {"baselines": {}, "best_floor": None, "use": "nothing yet"},
            "no baseline could be computed to compare the judge with.",
        ),
        (
            {"bias": known(-0.1, interval={"low": -0.15, "high": -0.05, "method": "t"})},
            "Its means are 0.10 [0.05, 0.15] of the scale's width below people's: greval estimate corrects them.",
        ),
        ({"use": "nothing yet", "why": "x"}, "the rules do not apply, because x."),
    ],
)
def test_the_paragraph_follows_the_verdict(change, told):
    """Each verdict has its sentence."""
    assert told in format_verdict(build(verdict=VERDICT | change))


def test_at_80_columns_no_figure_is_broken():
    """Tables that are too wide come in parts, each with the names of the rows; a wide terminal has one."""
    ends = {"low": 0.5, "high": 0.9, "method": "t"}
    figures = {name: known(0.75, interval=ends, clustered=ends) for name in ("accuracy", "kappa", "macro precision")}
    floors = [{"name": name, "figures": figures} for name in ("most frequent label", "length of the text")]
    people = PEOPLE | {"figures": figures, "pairs": [PEOPLE["pairs"][0] | {"figures": figures}]}
    agreement = build(CATEGORICAL | {"figures": figures}, whole={"baselines": floors, "people": people})
    narrow, wide = (print_page(render, agreement, width=width) for width in (80, 200))
    lines = narrow.splitlines()
    tables = lines[lines.index("") : len(lines) - lines[::-1].index("")]
    assert max(map(len, tables)) <= 80
    assert narrow.count("0.75 [0.50, 0.90]") == wide.count("0.75 [0.50, 0.90]")
    assert sum(line.startswith("accuracy") for line in narrow.splitlines()) > 1
    assert sum(line.startswith("accuracy") for line in wide.splitlines()) == 1
