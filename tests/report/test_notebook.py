"""What a notebook shows of findings: tables as HTML, frames with the same figures, and plots."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import pytest
from compared_runs import FAILED, write
from doc_pages import PAGES
from hypothesis import given
from hypothesis import strategies as st
from labelled_world import World
from probed_judges import RIGHT, likes_length, probe_world
from report_page import print_page

from greval import PreferenceMetric, Run, agreement, compare, estimate, evaluate
from greval.analysis import summarise_duel
from greval.analysis.comparison.records import Comparison
from greval.analysis.summary import build_report
from greval.errors import DataError, MissingExtraError
from greval.records.case import Case
from greval.report import agreement as agreement_report
from greval.report import comparison, console, estimates, probe
from greval.report import duel as duel_report
from greval.report.notebook import format_html
from greval.report.plot_style import format_svg
from greval.runs.duels import list_pairs
from greval.runs.progress import Progress
from greval.runs.store import Store
from greval.testing import ScriptedJudge

KINDS = ("run", "comparison", "duel", "agreement", "estimate", "probe")
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a$x^2$",
    "[bold]b[/bold]",
    "c\x1b[31m\x00d",
    "&lt;",
)


def judge_duel(folder):
    """Judge pairs of three methods by a judge that prefers what stands first, and summarise them."""
    metric = PreferenceMetric(name="clarity", description="d", needs=["question", "answer"], steps=["s"])
    pairs = list_pairs(
        (
            Case(id=f"q{n}", question="Who?", method=name, answer=f"{name} {n}")
            for n in range(8)
            for name in ("walk", "local", "flat")
        ),
        [metric],
    )
    return summarise_duel(evaluate(pairs, [metric], ScriptedJudge([{"reason": "r", "value": "A"}]), out=folder))


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """Return a finding of each kind, of a world whose truth is known."""
    folder = tmp_path_factory.mktemp("notebook")
    world = World(folder, count=60)
    labels = world.at_random(40)
    return {
        "run": Run(world.run, Progress()),
        "comparison": compare(world.run, baseline="local", by="area"),
        "duel": judge_duel(folder / "duel"),
        "agreement": agreement(world.run, "right", annotations=labels),
        "estimate": estimate(world.run, "right", annotations=labels, baseline="local"),
        "probe": probe_world(RIGHT, likes_length, folder / "probe"),
    }


def print_finding(finding, kind):
    """Return the report of the terminal at the width that notebooks use."""
    if kind == "run":
        with Store.open(finding.folder) as store:
            return print_page(console.render, build_report(store))
    modules = {
        "comparison": comparison,
        "duel": duel_report,
        "agreement": agreement_report,
        "estimate": estimates,
        "probe": probe,
    }
    return print_page(modules[kind].render, finding)


class Reader(HTMLParser):
    """Reads the texts and the tags of a page."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.tags = [], []
        self.feed(page)

    def handle_data(self, data):
        self.texts.append(data)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_html_has_every_word_of_the_terminal(findings, kind):
    """A notebook shows the words and figures that the terminal shows, in the same order within each line."""
    shown = re.sub(r"\s+", " ", " ".join(Reader(findings[kind]._repr_html_()).texts))
    printed = print_finding(findings[kind], kind).split()
    assert sorted(shown.split()) == sorted(printed)


@pytest.mark.parametrize("kind", KINDS)
def test_the_html_is_tables_and_paragraphs_without_scripts(findings, kind):
    """The page has a table, and no element that runs or loads anything."""
    tags = Reader(findings[kind]._repr_html_()).tags
    assert {tag for tag, _ in tags} <= {
        *("div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p", "span", "br")
    }
    assert {name for _, attributes in tags for name in attributes} <= {"style"}
    assert "table" in {tag for tag, _ in tags}


@given(st.lists(st.one_of(st.text(max_size=30), st.sampled_from(HOSTILE)), min_size=4, max_size=4))
def test_texts_of_the_data_stay_text(names):
    """Whatever a metric, a group, a method or a warning is called, the page has the tags of a harmless one."""
    contrast = {"better": "higher", "questions": 1, "n": 0}
    fields = {"against": None, "by": [], "cluster_by": None, "level": 0.95, "levels": []}
    family = {"tests": 1, "counted": 1, "told": "1 test", "correction": "holm", "alpha": 0.05}

    def build(metric, group, method, folder):
        one = {**contrast, "metric": metric, "group": group, "method": method, "baseline": "b"}
        return Comparison.model_validate(
            {**fields, "folder": folder, "baseline": "b", "methods": [method], "family": family, "contrasts": [one],
             "warnings": [metric]}
        )  # fmt: skip

    tags = {tag for tag, _ in Reader(format_html(build(*names))).tags}
    assert tags <= {"div", "table", "thead", "tbody", "tr", "th", "td", "p", "span", "br"}
    build(*names).plot()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_shown_verbatim(tmp_path, name):
    """Markup, formulas and control characters in the name of a method are neither run nor lost."""
    folder = write(tmp_path / "run", {(name, "right"): [1, 0], ("b", "right"): [0, 0]})
    run = Run(folder, Progress())
    visible = re.sub("[\x00\x1b]", "\ufffd", name)
    assert visible in Reader(run._repr_html_()).texts
    drawn = Reader(format_svg(run.plot()))
    assert visible in drawn.texts
    assert "script" not in {tag for tag, _ in drawn.tags}


def test_a_frame_has_the_figures_of_the_records(findings):
    """Each figure with the ends of its interval is in one row, under a name that tells what it is of."""
    found = findings["comparison"]
    frame = found.frame()
    assert frame["difference"].tolist() == [one.difference for one in found.contrasts]
    assert frame["low"].tolist() == [one.interval.low for one in found.contrasts]
    assert frame["verdict"].tolist() == [one.verdict for one in found.contrasts]
    found = findings["duel"]
    frame = found.frame()
    rates = frame[frame["figure"] == "win_rate"]
    assert rates["value"].tolist() == [pair.win_rate.value for pair in found.metrics[0].pairs]
    assert rates["verdict"].tolist() == [pair.verdict for pair in found.metrics[0].pairs]
    habit = frame[frame["figure"] == "judge: first_shown"]
    assert habit["value"].tolist() == [1.0]
    assert frame["figure"].tolist().count("strength") == 3
    found = findings["agreement"]
    rows = found.frame().set_index(["group", "compared", "figure"])
    error = found.groups[0].judge.figures["mae"]
    assert rows.loc[("", "judge and people", "mae"), ["value", "low", "high", "n"]].tolist() == [
        *(error.value, error.interval.low, error.interval.high, error.n)
    ]
    found = findings["estimate"]
    rows = found.frame()
    both = rows[rows["estimate"] == "prediction_powered"]
    assert both["value"].tolist() == [row.prediction_powered.value for row in found.rows]
    assert both["baseline"].tolist()[-1] == "local"
    found = findings["probe"]
    assert found.frame().set_index("check")["killed"].to_dict() == {one.name: one.killed for one in found.checks}


@pytest.mark.parametrize("kind", ["comparison", "duel", "agreement", "estimate", "probe"])
def test_the_page_has_the_columns_of_each_frame(findings, kind):
    """docs/notebook.md names every column of a frame, in its order."""
    page = PAGES["docs/notebook.md"].read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith(f"| `{kind.capitalize()}` |"))
    assert re.findall(r"`(\w+)`", row.split("|")[3]) == [*findings[kind].frame().columns]


def test_an_undefined_figure_has_its_reason_and_no_number(tmp_path):
    """A figure that is not defined is empty in the frame, with the reason beside it, and no point in the plot."""
    labels = World(tmp_path, count=20).at_random(3)
    frame = agreement(tmp_path / "run", "right", annotations=labels).frame()
    undefined = frame[frame["value"].isna()]
    assert len(undefined)
    assert undefined["reason"].notna().all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_plot_is_shown_as_svg_with_every_label(findings, kind):
    """A plot is a matplotlib figure that shows itself as SVG, with titles of what is drawn and no foreign address."""
    figure = findings[kind].plot()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    expected = {
        "run": ["right: mean"],
        "comparison": ["right: difference, walk less local (higher is better)"],
        "duel": ["clarity: win rate"],
        "agreement": [
            f"right: {name}"
            for name in ("mean absolute error", "bias", "Pearson", "Spearman", "Krippendorff's alpha (interval)")
        ],
        "estimate": ["right: local", "right: walk", "right: walk less local"],
        "probe": ["right: planted faults caught"],
    }
    assert titles == expected[kind]
    svg = figure._repr_svg_()
    assert all(title in Reader(svg).texts for title in titles)
    assert {*re.findall(r"https?://[^/\"]+", svg)} == {"http://www.w3.org"}


def test_the_points_of_a_plot_are_the_figures(findings):
    """Points and intervals are drawn at the figures, the means of a run by the groups that were asked for."""
    (axes,) = findings["run"].plot(by="area").axes
    summaries = findings["run"].summary(by="area")
    assert [label.get_text() for label in axes.get_yticklabels()] == [one.group for one in summaries]
    points = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
    ends = [tuple(line.get_xdata()) for line in axes.lines if line.get_marker() != "o"]
    assert points == [one.mean for one in summaries]
    assert ends == [(one.interval.low, one.interval.high) for one in summaries]
    with pytest.raises(DataError, match="aera"):
        findings["run"].plot(by="aera")


def test_a_run_without_numbers_has_an_empty_plot(tmp_path):
    """If nothing was scored there is nothing to draw, and that is no error."""
    run = Run(write(tmp_path / "run", {("walk", "right"): [FAILED]}), Progress())
    assert run.plot().axes == []


@pytest.mark.parametrize(
    ("method", "package", "extra"), [("plot", "matplotlib", "plots"), ("frame", "pandas", "stats")]
)
def test_a_missing_package_is_named_with_its_extra(findings, monkeypatch, method, package, extra):
    """Without matplotlib or pandas the error says what to install."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package} is not installed: pip install 'greval\[{extra}\]'"):
        getattr(findings["comparison"], method)()
