"""Summaries: nothing is lost in them, and failures never enter a mean."""

import statistics
import tracemalloc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import CategoricalMetric, ComputedMetric, MeasureScale, ValueMetric
from greval.errors import DefinitionError
from greval.records.result import Failed, Failure, Judgement, Result, Scored, Skipped, Usage
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
def test_failures_and_skips_never_enter_the_mean(drawn):
    """The mean over all rows is the mean over the scored ones alone; without any there is none."""
    (summary,) = summarise([row(outcome) for outcome in drawn], [RATED])
    judgements = [j for outcome in drawn if isinstance(outcome, Scored) for j in outcome.judgements]
    alone = [j.number for j in judgements if j.number is not None]
    assert summary.mean == (sum(alone) / len(alone) if alone else None)
    assert (summary.interval is None) >= (not alone)
    assert (summary.median is None) == (not alone)


def test_groups_are_kept_apart():
    """Rows are summarised by metric and by the group that a caller names."""
    rows = [row(scored(1), tags={"t": "a"}), row(scored(0), tags={"t": "b"}), row(scored(1), metric="n")]
    summaries = summarise(rows, [RATED, rated("n")], by=lambda result: result.tags.get("t", ""))
    assert [(s.metric, s.group, s.mean) for s in summaries] == [("m", "a", 1), ("m", "b", 0), ("n", "", 1)]


def test_the_scale_chooses_the_interval_and_not_the_values():
    """0/1 values are a proportion on a scale of two values only, unless they are means; equal ones need its ends."""
    ones = [scored(1), scored(0), scored(1)]
    items = [scored(1, 0), scored(1, 1), scored(0, 0)]
    repeats = [scored(1 / 3), scored(1.0), scored(2 / 3)]
    equal, two = [scored(1)] * 3, rated(high=1)
    expected = [
        *((ones, two, "wilson"), (ones, RATED, "wilson, effective n"), (ones, SECONDS, "t")),
        *((items, two, "wilson, effective n"), (items, SECONDS, "t"), (repeats, two, "wilson, effective n")),
        *((equal, two, "wilson"), (equal, RATED, "bounded"), (equal, SECONDS, None)),
    ]
    for outcomes_of_cases, metric, method in expected:
        interval = summarise([row(outcome) for outcome in outcomes_of_cases], [metric])[0].interval
        assert (interval and interval.method) == method


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


def test_more_different_results_than_are_counted_at_a_time():
    """Results that all differ are counted in full, and in order of their first."""
    count = MAX_OUTLINES * 2 + 7
    (summary,) = summarise([row(scored(n % (count - 5))) for n in range(count)], [rated(high=count)])
    assert summary.planned == summary.scored == summary.items == summary.counted == count
    assert [*summary.distribution] == [str(n) for n in range(count - 5)]
    assert [summary.distribution[str(n)] for n in (0, 4, 5)] == [2, 2, 1]
    assert summary.mean == sum(n % (count - 5) for n in range(count)) / count


@given(st.lists(outcomes, min_size=1, max_size=30))
def test_every_count_is_that_of_the_rows(drawn):
    """Each row is scored, skipped or failed; its values, failures, skips and failed items are counted once."""
    rows = [row(outcome) for outcome in drawn]
    (summary,) = summarise(rows, [RATED])
    assert summary.planned == len(drawn) == summary.scored + summary.skipped + summary.failed
    assert sum(summary.distribution.values()) == summary.items
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
