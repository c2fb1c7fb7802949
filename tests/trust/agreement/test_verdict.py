"""The verdict of an agreement: each rule on both sides of its limit, and what few items cannot show."""

from __future__ import annotations

import pytest
from agreed_runs import METRICS, defined, said, write
from hypothesis import assume, given
from hypothesis import strategies as st

from greval.records.scale import CategoricalScale, MeasureScale
from greval.report.agreement import describe_best_floor, find_best_floor
from greval.stats.interval import Interval, MeasuredValue, Undefined
from greval.trust.agreement.api import agreement
from greval.trust.agreement.records import Baseline
from greval.trust.agreement.verdict import MARGIN, RELIABLE, decide_use, rank_baselines, round_up

GRADES = {"Good": 1, "Fair": 0.5, "Poor": 0}
SCORED = defined(
    "scored", CategoricalScale.model_validate({"categories": {name: {"score": n} for name, n in GRADES.items()}})
)
SHARE = defined("share", MeasureScale(low=0.0, high=1.0))
METRICS |= {"scored": SCORED, "share": SHARE}


def decide(folder, metric, verdicts, *people, texts=None, **options):
    """Return the verdict on a run whose items have these verdicts and labels of some people."""
    run = write(folder / "run", metric, verdicts, texts=texts or ["x" * (1 + n * 7 % 13) for n in range(len(verdicts))])
    labels = [
        label for name, values in zip("abc", people, strict=False) for label in said(metric, name, values, **options)
    ]
    return agreement(run, metric, labels).verdict


def answers(count, *, wrong=0):
    """Give yes and no in turn, the first `wrong` of them the other way round."""
    right = ["Yes" if n % 2 else "No" for n in range(count)]
    return [("No" if one == "Yes" else "Yes") if n < wrong else one for n, one in enumerate(right)]


@pytest.mark.parametrize(
    ("count", "wrong", "use"),
    [
        (200, 4, "single cases"),  # 0.98, of which the interval begins above 0.9
        (200, 16, "means"),  # 0.92, of which it begins below
        (20, 0, "means"),  # all are right, but 20 items cannot show 0.9
        (6, 2, "nothing yet"),  # 0.67 of 6 is not shown to be better than chance
        (200, 100, "nothing yet"),  # 0.5 could be a little better than chance
        (200, 130, "nothing"),  # 0.35 is worse than chance for sure
    ],
)
def test_the_interval_decides_on_the_use(tmp_path, count, wrong, use):
    """Single cases need nine of ten right for sure, means a judge better than every baseline."""
    people = answers(count)
    verdict = decide(tmp_path, "right", answers(count, wrong=wrong), people)
    assert verdict.use == use
    if use in {"single cases", "means"}:
        assert (verdict.same.interval.low >= RELIABLE) == (use == "single cases")
        assert set(verdict.baselines.values()) == {"better"}
    else:
        assert verdict.mean_of is None


def test_a_judge_that_measures_length_is_not_better_than_length(tmp_path):
    """A judge must beat each baseline, not only the commonest value."""
    people = answers(120)
    texts = ["x" * (100 if person == "Yes" else 10) for person in people]
    verdict = decide(tmp_path, "right", answers(120, wrong=6), people, texts=texts)
    assert verdict.baselines == {"most frequent label": "better", "length of the text": "not better"}
    assert verdict.best_floor == "length of the text"
    assert verdict.use == "nothing"


@pytest.mark.parametrize(
    ("judge_wrong", "people_apart", "count", "people"),
    [
        (5, 12, 300, "as good"),
        (60, 6, 300, "worse"),
        (3, 3, 20, "not shown"),
    ],
)
def test_people_are_the_measure_on_the_items_that_both_labelled(tmp_path, judge_wrong, people_apart, count, people):
    """As good is at most 0.05 less agreement for sure; worse is less for sure; else the items do not show it."""
    ana = answers(count)
    bob = answers(count)[: count - people_apart] + answers(count, wrong=count)[count - people_apart :]
    verdict = decide(tmp_path, "right", answers(count, wrong=judge_wrong), ana, bob)
    assert verdict.people == people
    ends = verdict.difference.interval
    assert (ends.low > -MARGIN) == (people == "as good")
    assert (ends.high < 0 and ends.low <= -MARGIN) == (people == "worse")


def test_one_annotator_is_no_measure_of_people(tmp_path):
    """Without a second label nothing is said about people."""
    verdict = decide(tmp_path, "right", answers(40), answers(40))
    assert (verdict.people, verdict.difference.status) == ("not known", "undefined")


def test_a_referee_does_not_make_people_agree_more(tmp_path):
    """Who was asked only where the others disagree adds agreement to just these items, and is left out."""
    ana, bob = answers(100), answers(100, wrong=20)
    referee = [one if one != bob[n] else None for n, one in enumerate(ana)]
    two = decide(tmp_path / "two", "right", ana, ana, bob)
    three = decide(tmp_path / "three", "right", ana, ana, bob, referee)
    assert two.difference == three.difference


@pytest.mark.parametrize(
    ("metric", "people", "near", "far"),
    [
        ("scored", ["Good", "Fair", "Poor"], None, {"Good": "Poor", "Fair": "Good", "Poor": "Fair"}),
        ("depth", [1, 3, 5], None, {1: 4, 3: 5, 5: 2}),
        ("share", [0.1, 0.5, 0.9], 0.1, {0.1: 0.3, 0.5: 0.9, 0.9: 0.5}),
    ],
)
def test_numbers_are_the_same_within_a_tenth_of_the_scale(tmp_path, metric, people, near, far):
    """On levels this is the same level; larger errors need larger means."""
    labels = people * 30
    small = [value + near if near and n % 2 else value for n, value in enumerate(labels)]
    large = [far[value] if n % 4 == 0 else value for n, value in enumerate(labels)]
    close, wide = (decide(tmp_path / name, metric, given, labels) for name, given in (("s", small), ("l", large)))
    assert close.same.value == 1.0
    assert wide.same.value == pytest.approx(67 / 90)
    assert close.use == "single cases"
    assert wide.use == "means"
    assert close.mean_of < wide.mean_of


def test_a_bias_has_its_sign_and_interval(tmp_path):
    """A judge that says yes too often is above people by that share of the scale."""
    people = answers(200)
    verdicts = ["Yes" if n % 10 == 0 else one for n, one in enumerate(people)]
    bias = decide(tmp_path, "right", verdicts, people).bias
    assert bias.value == pytest.approx(0.1)
    assert bias.interval.low > 0


def test_an_enriched_sample_has_no_verdict(tmp_path):
    """Figures of a sample with unequal weights do not hold for the run."""
    run = write(tmp_path / "run", "right", answers(60))
    labels = said("right", "a", answers(60))
    labels = [one.model_copy(update={"weight": 1.0 + n % 2}) for n, one in enumerate(labels)]
    verdict = agreement(run, "right", labels).verdict
    assert (verdict.use, verdict.why) == ("nothing yet", "items were sampled with different probabilities")


@given(st.integers(1, 400))
def test_a_number_of_items_is_never_rounded_down(count):
    """And never up by more than a step."""
    assert count <= round_up(count) < count + (10 if count < 100 else 50)


USES = ("nothing", "nothing yet", "means", "single cases")
SENTENCES = (
    "a rule of one line does ",
    "the judge is no better",
    "the judge is not clearly",
    "the judge is better",
)
shares = st.floats(-1, 1)
measured = st.builds(
    lambda value, low, high: MeasuredValue(
        value=value, n=50, interval=Interval(low=min(low, high), high=max(low, high), method="t")
    ),
    shares,
    shares,
    shares,
)
floors = st.builds(
    Baseline,
    name=st.uuids().map(str),
    figures=st.fixed_dictionaries({"kappa": measured | st.just(Undefined(n=0, reason="no kappa"))}),
    lead=measured | st.none(),
    rule=st.sampled_from(["", "Yes above 3, else No"]),
)


def rate_kindness(judge, baselines):
    """Return how kind the use and the sentence are; the worst two sentences say the same."""
    verdicts, best = rank_baselines(judge, baselines)
    sentence = describe_best_floor(verdicts, find_best_floor(best, baselines), judge)
    place = next(place for place, begin in enumerate(SENTENCES) if sentence.startswith(begin))
    return USES.index(decide_use([*verdicts.values()], SURE)), max(place, 1)


SURE = MeasuredValue(value=0.99, n=400, interval=Interval(low=0.97, high=1.0, method="wilson"))


@given(measured, st.lists(floors, min_size=1, max_size=4), floors)
def test_one_more_floor_never_makes_the_verdict_kinder(kappa, baselines, one_more):
    """Whatever the floor, neither the use nor the sentence gets better."""
    judge = {"kappa": kappa}
    assume("not known" not in rank_baselines(judge, baselines)[0].values())
    before, after = (rate_kindness(judge, several) for several in (baselines, [*baselines, one_more]))
    assert all(later <= earlier for earlier, later in zip(before, after, strict=True))


@given(measured, st.lists(floors, min_size=1, max_size=5))
def test_the_best_floor_is_named(kappa, baselines):
    """The sentence names the floor that is the most ahead of those with the worst verdict."""
    judge = {"kappa": kappa}
    verdicts, best = rank_baselines(judge, baselines)
    worst = [name for name in ("not better", "not shown", "better") if name in verdicts.values()]
    assert (best is None) == (not worst)
    if best:
        assert verdicts[best] == worst[0]
        assert best in describe_best_floor(verdicts, find_best_floor(best, baselines), judge)
