"""Summaries: nothing is lost in them, and failures never enter a mean."""

import statistics
import tracemalloc
from collections import Counter
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from greval import Case, CategoricalMetric, ComputedMetric, MeasureScale, Store, ValueMetric, evaluate
from greval.analysis.summary import build_report
from greval.errors import DefinitionError
from greval.metrics.library import load_metric
from greval.records.result import Failed, Failure, Judgement, Result, Scored, Skipped, Usage
from greval.report.console import render
from greval.stats.summary import MAX_OUTLINES, ResultTallies, summarise


def rated(name="m", low=0, high=5):
    """Give a metric of a value scale."""
    return ValueMetric(
        name=name,
        description="d",
        needs=["answer"],
        steps=["Read."],
        range=(low, high),
        levels={low: "Least.", high: "Most."},
    )


def measured(name="m", **scale):
    """Give a computed metric of a measure."""
    return ComputedMetric(
        name=name,
        description="d",
        needs=["usage"],
        scale=MeasureScale(**scale),
        compute=lambda case: Skipped(reason="-"),
    )


RATED = rated()
SECONDS = measured(unit="s")


def row(outcome, sample="q", metric="m", **more):
    return Result(sample_id=sample, metric=metric, fingerprint="f", judge="j", tier="schema", outcome=outcome, **more)


def scored(*numbers):
    return Scored(judgements=tuple(Judgement(value=n, number=n, reason="r") for n in numbers))


FAILED = Failed(error=Failure(kind="timeout", message="late"))
SKIPPED = Skipped(reason="no answer")
PART = Scored(
    judgements=(Judgement(value="Yes", reason="r", item="c1"),),
    failures=(Failure(kind="missing_item", message="none", item="c2"), Failure(kind="length", message="cut")),
)
outcomes = st.one_of(
    st.lists(st.integers(0, 5), min_size=1, max_size=4).map(lambda ns: scored(*ns)),
    st.sampled_from([FAILED, SKIPPED, PART]),
)


@given(st.lists(outcomes, min_size=1, max_size=30))
def test_counts_add_up(found):
    """Planned cases are scored, skipped or failed, and nothing else."""
    (summary,) = summarise([row(outcome) for outcome in found], [RATED])
    assert summary.planned == len(found)
    assert summary.scored + summary.skipped + summary.failed == len(found)
    assert sum(summary.distribution.values()) == summary.items


@given(st.lists(outcomes, min_size=1, max_size=30))
def test_failures_and_skips_never_enter_the_mean(found):
    """The mean over all rows is the mean over the scored ones alone; without any there is none."""
    (summary,) = summarise([row(outcome) for outcome in found], [RATED])
    judgements = [j for outcome in found if isinstance(outcome, Scored) for j in outcome.judgements]
    alone = [j.number for j in judgements if j.number is not None]
    assert summary.mean == (sum(alone) / len(alone) if alone else None)
    assert (summary.interval is None) >= (not alone)


def test_groups_are_kept_apart():
    """Rows are summarised by metric and by the group that a caller names."""
    rows = [row(scored(1), tags={"t": "a"}), row(scored(0), tags={"t": "b"}), row(scored(1), metric="n")]
    found = summarise(rows, [RATED, rated("n")], by=lambda result: result.tags.get("t", ""))
    assert [(s.metric, s.group, s.mean) for s in found] == [("m", "a", 1), ("m", "b", 0), ("n", "", 1)]


def test_equal_values_have_the_scales_interval():
    """Ten times the best value does not mean that the next is sure to be the best."""
    (summary,) = summarise([row(scored(5)) for _ in range(10)], [rated(low=1)])
    assert summary.interval is not None
    assert summary.interval.low < 5
    assert summary.interval.high == 5


def test_equal_values_of_an_open_scale_have_no_interval():
    """Without ends there is nothing to say on how sure equal values are."""
    (summary,) = summarise([row(scored(3)) for _ in range(10)], [SECONDS])
    assert summary.interval is None


def test_the_scale_chooses_the_interval_and_not_the_values():
    """0/1 values are a proportion on a scale of two values only; several items of a case count as one observation."""
    ones = [scored(1), scored(0), scored(1)]
    several = [scored(1, 0), scored(1, 1), scored(0, 0)]
    kinds = [(ones, rated(high=1)), (ones, RATED), (ones, SECONDS), (several, rated(high=1)), (several, SECONDS)]
    found = [summarise([row(o) for o in kind], [metric])[0].interval for kind, metric in kinds]
    assert [interval.method for interval in found if interval] == [
        *("wilson", "wilson, effective n", "t", "wilson, effective n", "t"),
    ]


def test_thirty_of_the_lowest_value_stay_on_the_scale():
    """Thirty times 1 on 1 to 5 is the scale's lower end, not a proportion of 1 whose interval lies below the scale."""
    (summary,) = summarise([row(scored(1)) for _ in range(30)], [rated(low=1)])
    assert (summary.interval.method, summary.interval.low) == ("bounded", 1.0)
    assert summary.interval.high == pytest.approx(1 + 4 * (1 - 0.05 ** (1 / 30)))


def test_seconds_of_0_and_1_are_no_proportion():
    """Latencies of 0 s and 1 s have Student's interval, which is not cut at 1 s, but at 0 s it is."""
    (even,) = summarise([row(scored(n % 2)) for n in range(4)], [SECONDS])
    assert (even.interval.method, even.interval.low) == ("t", 0.0)
    assert even.interval.high > 1
    (negative,) = summarise([row(scored(-n)) for n in (1, 2)], [SECONDS])
    assert negative.interval is None  # the numbers lie beyond the scale: it cannot be theirs


def test_repeats_that_average_to_fractions_are_no_proportion():
    """The number of a verdict that was repeated is a mean: fractions are no proportion, even on 0 to 1."""
    (summary,) = summarise([row(scored(n)) for n in (1 / 3, 1.0, 2 / 3)], [rated(high=1)])
    assert summary.interval.method == "wilson, effective n"


def test_a_metric_without_its_definition_is_an_error():
    """Without its scale nothing is known of a metric's interval: the error names it and says what to do."""
    with pytest.raises(DefinitionError, match=r"a result is of 'm', whose definition is not given.*load_metric\('m'\)"):
        summarise([row(scored(1))], [rated("n")])


def test_groups_by_method_and_tags():
    """`method` and tags name groups; without any, the methods do if there are several."""
    rows = [row(scored(1), method="b", tags={"t": "x"}), row(scored(0), method="a"), row(scored(3), method="a")]
    assert [(s.group, s.mean) for s in summarise(rows, [RATED], by="method")] == [("a", 1.5), ("b", 1)]
    assert summarise(rows, [RATED]) == summarise(rows, [RATED], by=["method"])
    assert [s.group for s in summarise(rows, [RATED], by=["t", "method"])] == ["(none) · a", "x · b"]
    assert [s.group for s in summarise(rows[1:], [RATED])] == [""]


def test_categories_without_scores_have_no_mean():
    """Categories that read as no number have counts only; a single score for all tells nothing of a spread."""

    def tone(**scores):
        categories = {name: {"means": "m", **({"score": scores[name]} if name in scores else {})} for name in "AB"}
        return CategoricalMetric(
            name="m", description="d", needs=["answer"], steps=["Read."], categories=categories, ordered=False
        )

    for metric, number in ((tone(), None), (tone(A=1.0), 1.0)):
        outcome = Scored(judgements=(Judgement(value="A", number=number, reason="r"),))
        (summary,) = summarise([row(outcome)] * 3, [metric])
        assert (summary.mean, summary.interval, summary.distribution) == (number, None, {"A": 3})


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4), min_size=1, max_size=30), st.randoms())
def test_moments_are_those_of_the_standard_library(numbers, random):
    """Median, standard deviation and ends equal the statistics module's, in any order of the rows."""
    flat = [number for case in numbers for number in case]
    rows = [row(scored(*case)) for case in numbers]
    (summary,) = summarise(rows, [RATED])
    assert summary.counted == len(flat)
    assert summary.median == statistics.median(flat)
    assert (summary.minimum, summary.maximum) == (min(flat), max(flat))
    if len(flat) > 1:
        assert summary.standard_deviation == pytest.approx(statistics.stdev(flat), abs=1e-12)
    else:
        assert summary.standard_deviation is None
    random.shuffle(rows)
    (shuffled,) = summarise(rows, [RATED])
    assert shuffled == summary.model_copy(update={"distribution": shuffled.distribution})
    assert shuffled.distribution == summary.distribution


def test_costs_and_kinds_are_summed():
    """Usage is summed over failed rows too, and failures and skips are counted by kind."""
    rows = [row(scored(1), usage=Usage(calls=1, input_tokens=5)), row(FAILED, usage=Usage(calls=2)), row(SKIPPED)]
    (summary,) = summarise(rows, [RATED])
    assert summary.usage == Usage(calls=3, input_tokens=5)
    assert summary.failures == {"timeout": 1}
    assert summary.skips == {"no answer": 1}


def test_items_that_failed_alone_are_counted():
    """An item that failed beside others leaves the case scored and is told."""
    part = Scored(
        judgements=(Judgement(value="Yes", reason="r", item="c1"),),
        failures=(Failure(kind="missing_item", message="none", item="c2"),),
    )
    (summary,) = summarise([row(part)], [RATED])
    assert (summary.scored, summary.items, summary.items_failed, summary.mean) == (1, 1, 1, None)


def test_more_different_results_than_are_counted_at_a_time():
    """Results that all differ are counted in full, and in order of their first."""
    count = MAX_OUTLINES * 2 + 7
    (summary,) = summarise([row(scored(n % (count - 5))) for n in range(count)], [rated(high=count)])
    assert summary.planned == summary.scored == summary.items == summary.counted == count
    assert [*summary.distribution] == [str(n) for n in range(count - 5)]
    assert [summary.distribution[str(n)] for n in (0, 4, 5)] == [2, 2, 1]
    assert summary.mean == sum(n % (count - 5) for n in range(count)) / count


@given(st.lists(outcomes, min_size=1, max_size=30))
def test_every_count_is_that_of_the_rows(found):
    """Values, failures, skips and failed items are counted once for each row that has them."""
    rows = [row(outcome) for outcome in found]
    (summary,) = summarise(rows, [RATED])
    failures = [failure for result in rows for failure in result.failures]
    assert summary.distribution == Counter(str(j.value) for result in rows for j in result.judgements)
    assert summary.failures == Counter(failure.kind for failure in failures)
    assert summary.items_failed == sum(failure.item is not None for failure in failures)
    assert summary.skips == Counter(result.outcome.reason for result in rows if result.outcome == SKIPPED)


@given(st.lists(st.integers(0, 10**6).map(lambda n: n / 1000), min_size=1, max_size=40))
def test_quantiles_of_a_measure(numbers):
    """Half of the numbers are at most the median, 95 % at most p95; failures and skips do not count."""
    np = pytest.importorskip("numpy")
    rows = [*(row(scored(number)) for number in numbers), row(FAILED), row(SKIPPED)]
    (summary,) = summarise(rows, [SECONDS])
    assert summary.median == pytest.approx(np.quantile(numbers, 0.5))
    assert summary.p95 == pytest.approx(np.quantile(numbers, 0.95))
    assert (summary.items, summary.counted, summary.distribution) == (len(numbers), len(numbers), {})


def test_a_mean_weighted_by_probability_has_the_mean_of_the_values_beside_it():
    """Numbers that are not those of the values are weighted; without them there is no other mean."""
    pairs = [(1, 1.5), (1, 2.25), (5, 4.0)]
    weighted = [row(Scored(judgements=(Judgement(value=value, number=number, reason="r"),))) for value, number in pairs]
    (summary,) = summarise(weighted, [RATED])
    assert (summary.mean, summary.plain_mean) == (pytest.approx(7.75 / 3), pytest.approx(7 / 3))
    (plain,) = summarise([row(scored(1)), row(scored(5)), row(FAILED)], [RATED])
    assert (plain.mean, plain.plain_mean) == (3, None)
    (measured,) = summarise([row(scored(1.5))], [SECONDS])
    assert measured.plain_mean is None


def test_no_quantiles_without_numbers_or_of_other_scales():
    """Where nothing was counted there is no quantile; other metrics count their values as ever."""
    (nothing,) = summarise([row(FAILED), row(SKIPPED)], [SECONDS])
    assert (nothing.median, nothing.p95, nothing.mean) == (None, None, None)
    (other,) = summarise([row(scored(1)), row(scored(2))], [RATED])
    assert (other.median, other.p95, other.distribution) == (1.5, None, {"1": 1, "2": 1})


@pytest.mark.nightly
def test_a_measure_needs_little_memory():
    """Twenty thousand further numbers take a few bytes each, though all of them differ."""
    tallies, used = ResultTallies({"m": SECONDS.scale}), []
    tracemalloc.start()
    for n in range(30_001):
        tallies.add("m", "", f'["scored",[["{n}.5",{n}.5]],[],null]', ())
        if n in {10_000, 30_000}:
            used.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert used[1] - used[0] < 20_000 * 40
    assert tallies.build_summaries()[0].median == 15_000.5


def test_the_report_shows_the_quantiles(tmp_path):
    """A run of latencies is told by p50 and p95, equal shares have an interval; small figures keep their digits."""
    cases = [
        Case(
            id=str(n),
            question="?",
            usage={"latency": n / 4, "cost": n / 10_000},
            answer="Ada x",
            expected_answer="Ada b",
        )
        for n in range(21)
    ]
    evaluate(cases, [load_metric("latency"), load_metric("cost"), load_metric("token_f1")], out=tmp_path)
    text = StringIO()
    with Store.open(tmp_path) as store:
        render(build_report(store), Console(file=text, width=150))
    lines = {line.split()[0]: line for line in text.getvalue().splitlines() if line}
    assert "p50 2.5, p95 4.75 " in lines["latency"]
    assert "2.50 [1.79, 3.21] n=21" in lines["latency"]
    assert "p50 0.001, p95 0.0019 " in lines["cost"]
    assert "0.001 [0.000718, 0.00128] n=21" in lines["cost"]
    assert "min 0.5, median 0.5, max 0.5" in lines["token_f1"]
    assert "0.50 [0.43, 0.57] n=21" in lines["token_f1"]
