"""Reports: what a person reads at the end of a run, and what of it is told about gaps."""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_page import print_page

from greval import Case, CategoricalMetric, ComputedMetric, Judgement, MeasureScale, Store, ValueMetric, evaluate
from greval.analysis.summary import MetricSpending, Report, build_report, compute_spending
from greval.errors import DataError
from greval.judging.model.prices import Price
from greval.records.result import Failed, Failure, Result, Scored, Skipped, Usage
from greval.report.check_list import list_report_checks
from greval.report.console import format_mean, format_spending, render
from greval.report.html.figure_rows import build_figure_rows
from greval.runs.store.writer import StoreWriter
from greval.stats.summary import Summary, summarise
from greval.testing import ScriptedJudge

TONE = CategoricalMetric(
    name="tone",
    description="The tone.",
    needs=["answer"],
    categories={"Polite": {"means": "Courteous.", "score": 1}, "Rude": {"means": "Insults.", "score": 0}},
    steps=["Read."],
)
DEPTH = ValueMetric(
    name="depth",
    description="The depth.",
    needs=["answer"],
    range=(1, 50),
    levels={1: "None.", 50: "All."},
    steps=["Read."],
)
WORDS = ComputedMetric(
    name="words",
    description="Length.",
    needs=["answer"],
    scale=MeasureScale(unit="words"),
    compute=lambda case: (Judgement(value=len(case.answer), number=len(case.answer), reason="counted"),),
)


def answer(messages):
    if "BAD" in messages[-1].text:
        return RuntimeError("late")
    polite = "please" in messages[-1].text
    return {
        "reason": "[bold]It says please[/bold]",
        "value": ("Polite" if polite else "Rude") if "tone" in messages[0].text else 7,
    }


def finished(folder, metrics=(TONE,), given=None):
    cases = given or [
        Case(id="1", question="?", answer="please", method="a", tags={"kind": "x"}),
        Case(id="2", question="?", answer="no", method="a", tags={"kind": "y"}),
        Case(id="1", question="?", answer="please!", method="b", tags={"kind": "x"}),
        Case(id="3", question="?", answer="BAD", method="b"),
        Case(id="4", question="?", method="b"),
    ]
    evaluate(cases, metrics, ScriptedJudge(answer), out=folder)
    return Store.open(folder)


def printed(report, width=150, **options):
    return print_page(render, report, width=width, **options)


def test_long_names_are_short_on_the_page_only(tmp_path):
    """Of an id, a method or an item of thousands of letters a page shows the ends; the data keep it whole."""
    long, hashed = "q" * 4000 + "1", "0123456789abcdef" * 4
    given = [Case(id=long, question="?", answer="please"), Case(id=hashed, question="?", answer="no")]
    with finished(tmp_path, given=given) as store:
        report = build_report(store, show=2)
    page = printed(report, width=200)
    assert f"{'q' * 30}...{'q' * 29}1 " in page
    assert "q" * 31 not in page
    assert f"{hashed} " in page
    assert {verdict.sample_id for verdict in report.verdicts} == {long, hashed}
    assert long in report.model_dump_json()


def test_one_method_needs_no_groups(tmp_path):
    """Where there is one method only, the report has no groups, unless they are asked for."""
    with finished(tmp_path, given=[Case(id="1", question="?", answer="please", method="a")]) as store:
        alone, asked = build_report(store), build_report(store, by=["method"])
    assert (alone.by, [summary.group for summary in alone.summaries]) == ((), [""])
    assert (asked.by, [summary.group for summary in asked.summaries]) == (("method",), ["a"])


def test_a_run_has_the_summary_of_its_report(tmp_path):
    """`Run.summary` is what the report holds, by any groups; a tag that no case has is an error."""
    run = evaluate([Case(id="1", question="?", answer="please", method="a", tags={"kind": "x"})], [WORDS], out=tmp_path)
    with Store.open(tmp_path) as store:
        for by in ((), ("method",), ("kind", "method")):
            assert run.summary(by) == build_report(store, by=by).summaries
    assert run.summary("kind") == run.summary(["kind"])
    assert [summary.group for summary in run.summary("kind")] == ["x"]
    with pytest.raises(DataError, match=r"no tag 'kin' is there; did you mean kind\?"):
        run.summary("kin")


def test_a_wide_page_shows_how_numbers_are_spread(tmp_path):
    """On a wide page median, standard deviation and ends follow the mean; a narrow one leaves them out."""
    cases = [Case(id=str(n), question="?", answer="x" * n) for n in (1, 2, 6)]
    with finished(tmp_path, metrics=(WORDS,), given=cases) as store:
        wide, narrow = printed(build_report(store), width=160), printed(build_report(store), width=100)
    assert wide.splitlines()[1].split()[-4:] == ["median", "sd", "min", "max"]
    assert wide.splitlines()[2].split()[-4:] == ["2", "2.65", "1", "6"]
    assert "median" not in narrow


def test_what_is_missing_is_told_with_the_way_to_mend_it(tmp_path):
    """Failures, skips and rows that are no cases stand below the table."""
    with finished(tmp_path) as store:
        store_report = build_report(store)
    text = printed(store_report.model_copy(update={"unread": tuple(f"f:{n}: bad {n}" for n in range(7))}))
    assert "tone (b): failures: error 1; run the same command again" in text
    assert "tone (b): 1 skipped: answer is not recorded" in text
    assert "not a case: f:0: bad 0" in text
    assert "not a case: and 2 more rows" in text


def test_an_unfinished_run_says_how_much_is_left(tmp_path):
    """Cases that were planned and not judged are pending, and the report says how to go on."""
    with finished(tmp_path, given=[Case(id="1", question="?", answer="please")]):
        pass
    with StoreWriter.create(tmp_path) as writer:
        writer._connection.execute("UPDATE plans SET planned = 5")
        text = printed(build_report(writer.reader))
    assert "tone: 4 not judged yet; run the same command again to continue" in text


def test_many_values_are_told_by_their_ends_and_middle(tmp_path):
    """A measure with many values is not listed value by value: one without an upper end is told by its quantiles."""
    share = WORDS.model_copy(update={"name": "share", "scale": MeasureScale(high=100.0)})
    cases = [Case(id=str(n), question="?", answer="x" * n) for n in range(1, 10)]
    with finished(tmp_path, metrics=(WORDS, share, DEPTH), given=cases) as store:
        text = printed(build_report(store))
    assert "p50 5, p95 8.6" in text
    assert "5.00 [2.89, 7.11] n=9" in text
    assert "min 1, median 5, max 9" in text
    assert "7: 9" in text


def test_verdicts_are_shown_as_the_judge_wrote_them(tmp_path):
    """Markup in a reason is text, and failures and skips are among the verdicts."""
    with finished(tmp_path) as store:
        text = printed(build_report(store, show=10))
    assert "[bold]It says please[/bold]" in text
    assert "failed: error" in text
    assert "skipped" in text


def test_a_run_without_a_judge_has_a_report(tmp_path):
    """Computed metrics are reported without naming a judge."""
    evaluate([{"question": "?", "answer": "one"}], [WORDS], out=tmp_path)
    with Store.open(tmp_path) as store:
        report = build_report(store)
    assert report.judge is None
    assert ", judge" not in printed(report)


rates = st.one_of(st.sampled_from([0.0, 1.0]), st.integers(0, 5).map(float), st.floats(-3, 3))
judged = st.builds(
    Judgement, value=st.sampled_from(["Yes", "No", 1, 2.5]), reason=st.just("r"), number=st.none() | rates
)
failures = st.builds(
    Failure, kind=st.sampled_from(["timeout", "length"]), message=st.just("m"), item=st.sampled_from([None, "c1"])
)
outcomes = st.one_of(
    st.builds(
        Scored,
        judgements=st.lists(judged, min_size=1, max_size=3).map(tuple),
        failures=st.lists(failures, max_size=2).map(tuple),
    ),
    st.builds(Failed, error=failures),
    st.builds(Skipped, reason=st.sampled_from(["no answer", "no chunks"])),
)
KNOWN = [  # n has no upper end
    WORDS.model_copy(update={"name": name, "scale": MeasureScale(low=-3.0, high=high)})
    for name, high in (("m", 5.0), ("n", None))
]
tokens = st.none() | st.integers(0, 9)
written = st.builds(
    Result,
    sample_id=st.sampled_from(["q1", "q2", "q3", "q4"]),
    method=st.sampled_from(["", "a", "b"]),
    metric=st.sampled_from(["m", "n"]),
    repeat=st.integers(0, 1),
    fingerprint=st.just("f"),
    judge=st.just("j"),
    tier=st.just("schema"),
    outcome=outcomes,
    usage=st.builds(Usage, calls=st.integers(0, 3), input_tokens=tokens, output_tokens=tokens, cached_tokens=tokens),
    tags=st.sampled_from([{}, {"kind": "x"}, {"kind": "y"}]),
)


@given(st.lists(written, max_size=30), st.sampled_from(["method", "kind"]))
def test_a_report_says_what_the_results_say(rows, by):
    """The figures that are read from the log in narrow columns are those of the results themselves, row by row."""

    def group(result):
        return (result.method if by == "method" else result.tags.get(by)) or "(none)"

    with tempfile.TemporaryDirectory() as folder:
        with StoreWriter.create(Path(folder)) as writer:
            writer.put_fact("metrics", [metric.model_dump(mode="json") for metric in KNOWN])
            for number, result in enumerate(rows):
                writer.append(str(number), result)
        with Store.open(Path(folder)) as store:
            newest = [*store.results()]
            if by != "method" and rows and not any(by in result.tags for result in newest):
                with pytest.raises(DataError, match=f"no tag '{by}' is there; known: method"):
                    build_report(store, by=[by])
                return
            report = build_report(store, by=[by])
    last = {(r.sample_id, r.method, r.metric, r.repeat): place for place, r in enumerate(rows)}
    assert newest == [rows[place] for place in sorted(last.values())]
    plain = summarise(newest, KNOWN, by=group)
    summaries = {(summary.metric, summary.group): summary for summary in report.summaries}
    assert {key: summary.model_copy(update={"usage": Usage()}) for key, summary in summaries.items()} == {
        (summary.metric, summary.group): summary.model_copy(update={"usage": Usage()}) for summary in plain
    }
    for metric in {result.metric for result in rows}:
        shown = sum((summary.usage for summary in report.summaries if summary.metric == metric), Usage())
        assert shown == sum((result.usage for result in rows if result.metric == metric), Usage())


def test_more_unreadable_rows_than_are_kept_are_counted(tmp_path):
    """At most a thousand rows that are no cases are in the report, and their number is that of all."""
    with StoreWriter.create(tmp_path) as writer:
        writer.put_fact("unread", [f"f:{n}: bad {n}" for n in range(1000)])
        writer.put_fact("unread_count", 7_000_000)
        report = build_report(writer.reader)
    assert len(report.unread) == 1000
    assert report.unread_count == 7_000_000
    assert "not a case: and 6,999,995 more rows" in printed(report)


def test_weighted_means_have_the_mean_of_the_values_beside_them():
    """The terminal, the lists for CI and the page say it beside the figure, and why the two differ."""
    judged = [
        Result(
            metric="tone",
            fingerprint="f",
            judge="local",
            tier="schema",
            outcome=Scored(judgements=(Judgement(value=value, number=number, reason="r"),)),
        )
        for value, number in (("Polite", 0.75), ("Polite", 0.5), ("Rude", 0.125), ("Rude", 0.25))
    ]
    (summary,) = summarise(judged, [TONE])
    assert format_mean(summary).endswith(" n=4, plain 0.50")
    fields = {"folder": "r", "judge": "local", "by": (), "scales": {}, "pending": {}, "unread": ()}
    report = Report(**fields, summaries=(summary,))
    text = " ".join(printed(report).split())
    assert "0.41 [" in text
    assert "tone: each number is weighted by the probabilities that the judge gave to the values" in text
    checks = list_report_checks(report)
    assert checks.rows[0][1] == format_mean(summary)
    assert any("weighted by the probabilities" in line for line in checks.warnings)
    (row,) = build_figure_rows(report, report.summaries, {"tone": TONE.scale})["tone"]
    assert (row.mean, row.number) == ("0.41", "n=4, plain 0.50")
    assert "weighted" not in printed(report.model_copy(update={"summaries": ()}))


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (None, "cost: not known"),
        (
            {"input": 0, "output": 0},
            "cost: nothing; 4 calls, 4,000,000 input tokens (25% cached), 400,000 output tokens",
        ),
        (
            {"input": 2, "cached_input": 1, "output": 10},
            "cost: $11.0000; 4 calls, 4,000,000 input tokens (25% cached), 400,000 output tokens",
        ),
    ],
)
def test_the_cost_is_one_total(price, said):
    """What was asked has a price where one is known; nothing is made up, and cached tokens cost their own price."""
    usage = Usage(calls=2, input_tokens=2_000_000, cached_tokens=500_000, output_tokens=200_000)
    empty = {"planned": 1, "scored": 1, "skipped": 0, "failed": 0, "items": 1, "items_failed": 0, "distribution": {}}
    rest = {"counted": 0, "mean": None, "interval": None, "failures": {}, "skips": {}}
    groups = [Summary(metric="tone", group=name, usage=usage, **empty, **rest) for name in ("a", "b")]
    silent = Summary(metric="latency", usage=Usage(), **empty, **rest)
    prices = {"j": Price.model_validate(price)} if price else {}
    judges = {"tone": ["j"], "latency": ["j"]}
    assert format_spending(compute_spending([*groups, silent], judges, prices)).startswith(said)
    assert format_spending(compute_spending([silent], judges, prices)) is None


def test_the_cost_of_each_metric_is_shown_if_asked_for():
    """The table has a row for each metric and group; the total below it is the same."""
    usage = Usage(calls=2, input_tokens=2_000, output_tokens=200)
    spending = [MetricSpending(metric="tone", group=name, usage=usage, cost=1.5) for name in ("a", "b")]
    fields = {"folder": "r", "judge": "j", "by": (), "scales": {}, "pending": {}, "unread": (), "summaries": ()}
    report = Report(**fields, spending=tuple(spending))
    plain, detailed = printed(report), printed(report, with_costs=True)
    assert "tone (a)" not in plain
    assert re.search(r"tone \(a\) +2 +2,000 +200 +0 +\$1.5000", detailed)
    assert all("cost: $3.0000; 4 calls" in text for text in (plain, detailed))
