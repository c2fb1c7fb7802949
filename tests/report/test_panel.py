"""A panel for the terminal: judges against each other and against people."""

from report_page import find_row, known, print_page

from greval.report.panel import describe_panel, render
from greval.trust.panels.records import Panel


def judge(name, kappa, **more):
    """Return the figures of one judge as JSON."""
    return {"name": name, "others": {"n": 9, "ties": 1, "figures": {"kappa": known(kappa)}}, **more}


def build(count=3, *, groups=(), people=None, **more):
    """Return a panel of judges with falling kappas."""
    judges = [judge(f"j{n}", 0.9 - n / 10, alpha_without=known(0.5)) for n in range(count)]
    pair = {"annotators": ["j0", "j1"], "n": 8, "figures": {"kappa": known(0.7)}}
    among = {"annotators": [one["name"] for one in judges], "figures": {"alpha": known(0.66)}, "pairs": [pair]}
    whole = {"name": "", "things": 9, "questions": 9, "ties": 0, "unanimous": known(0.4), "among": among}
    whole |= {"judges": judges, "people": people}
    runs = [
        {"name": f"j{n}", "folder": "r", "judges": [], "verdicts": 9, "failed": 2, "skipped": 1, "missing": 3}
        for n in range(count)
    ]
    fields = {"metric": "tone", "runs": runs, "treat_as": "categories", "combine": "majority", "by": []}
    rows = [whole, *(whole | {"name": name} for name in groups)]
    return Panel.model_validate({**fields, "level": 0.95, "groups": rows, **more})


def test_each_judge_has_its_run_and_its_figures():
    """The runs are counted, and each judge is compared with the others, with alpha if it is left out."""
    page = print_page(render, build())
    assert find_row(page, "j1") == ["j1", "9", "3", "2", "1"]
    assert find_row(page[page.index("against the others") :], "j1") == ["j1", "9", "1", "0.80", "0.50"]
    assert find_row(page, "Krippendorff's alpha")[:3] == ["Krippendorff's alpha", "9", "0.66"]
    assert find_row(page, "unanimous")[:3] == ["unanimous", "9", "0.40"]


def test_pairs_are_listed_for_three_judges_or_more():
    """With two judges their pair is the whole panel, so that the table would repeat it."""
    assert "pairs of judges" in print_page(render, build(3))
    assert "pairs of judges" not in print_page(render, build(2))


def test_people_are_compared_with_the_panel_and_each_judge():
    """The table is there only if people labelled the items."""
    side = {"n": 5, "figures": {"accuracy": known(0.8)}}
    page = print_page(render, build(people=side))
    assert find_row(page[page.index("against people") :], "the panel") == ["the panel", "5", "0", "0.80"]
    assert "against people" not in print_page(render, build())


def test_groups_show_one_figure_of_each_judge():
    """A group's row has the panel's figures, then kappa of each judge with the others."""
    page = print_page(render, build(2, groups=("hard",), by=["kind"]))
    assert find_row(page, "hard") == ["hard", "9", "0.66", "0.40", "0.90", "0.80"]


def test_a_panel_begins_with_a_plain_sentence():
    """How often all agree, a judge that stands out or why none is named, and how near the panel is to people."""
    side = {"n": 5, "figures": {"accuracy": known(0.8, 5)}}
    agree = "All 3 judges give the same verdict on 0.40 of the items."
    assert [*describe_panel(build(outlier="j2", people=side))] == [
        agree,
        "j2 is an outlier: it agrees with the others less than they agree with each other.",
        "The panel's verdict and people on 5 items: accuracy 0.80.",
    ]
    why = "the intervals overlap"
    assert [*describe_panel(build(why_none=why))] == [agree, f"No judge is named as an outlier: {why}."]
    assert agree in print_page(render, build(why_none=why)).splitlines()[1]
