"""Intervals of estimates hold the truth on the labels of people: a short version of benchmarks/estimate_coverage.py."""

import sys
from pathlib import Path

import numpy as np
import pytest
from compared_runs import real

from greval.stats.interval import ClusterSums
from greval.stats.prediction_powered import EstimateTerm
from greval.stats.sampling import build_weighted_sample
from greval.trust.estimates.figures import LabelledSample, ValueRange, compute_figures

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from estimate_coverage import (
    DESIGNS,
    JUDGES,
    MADE,
    PAIRS,
    RATES,
    answers,
    coverage,
    differences,
    from_two,
    make_run,
    pair,
    recorded,
    set_of,
    whole_questions,
)

pytestmark = [pytest.mark.nightly, pytest.mark.no_cover]  # its lines are reached by other tests, and it is slow enough

REPEATS = 300
ERROR = 0.038
"""Three standard errors of a share of 0.95 in 300 repeats."""
MANY = 0.05
"""Four standard errors, where many shares are looked at."""
DATA = "nq301_answer_judgments/judgments.jsonl"


@pytest.fixture(scope="module")
def data():
    """Read the answers."""
    real(DATA)
    return answers()


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("judge", ["judge_gpt4", "judge_bem"])
def test_estimates_hold_the_truth(data, judge, design):
    """Of 100 labels, however they were drawn, 95 % of intervals hold what people say of all answers."""
    coverages = coverage(data, judge, DESIGNS[design], REPEATS)
    for name in ("labels", "PPI++", "Rogan-Gladen"):
        assert coverages[name].share == pytest.approx(0.95, abs=ERROR), name
    assert coverages["judge alone"].share == 0
    assert (
        coverages["PPI++"].width < 0.9 * coverages["labels"].width or "judged correct" in design
    )  # these strata hold the judge already


@pytest.mark.parametrize("design", ["enriched: 70 judged correct, 30 not", "enriched: by uncertainty, chances 1 to 6"])
def test_figures_that_leave_out_the_weights_do_not(data, design):
    """The plain mean of labels that were not drawn at random misses the truth far more often."""
    coverages = coverage(data, "judge_gpt4", DESIGNS[design], REPEATS)
    assert coverages["plain labels"].share < 0.95 - ERROR


@pytest.mark.parametrize("how", ["answers", "questions", "questions, half where verdicts differ"])
def test_differences_hold_the_truth(data, how):
    """The difference of two systems is held as often at least, whether answers or whole questions are drawn."""
    real(DATA)
    two = pair("judge_gpt4", *PAIRS[0])
    found = differences(two, how, REPEATS)
    assert found["PPI++"].share > 0.95 - ERROR
    assert found["PPI++"].width < found["labels"].width


@pytest.mark.parametrize("made", MADE, ids=[made.told for made in MADE])
def test_whole_questions_of_made_runs(made):
    """Of few whole questions intervals hold the truth as often as they say, or are not given, whatever the judge."""
    reach = ValueRange((1.0, 5.0), 4.0, binary=False) if made.levels else RATES
    judges, _ = set_of(made)
    for count in (5, 8, 12, 20, 30, 40, 60):
        if count < made.questions:
            coverages = whole_questions(
                lambda rng, n: make_run(rng, made, judges[n % len(judges)]), count, REPEATS, reach
            )
            for kind, seen in coverages.seen.items():
                if seen:
                    assert coverages.share(kind) == pytest.approx(0.95, abs=MANY), (count, kind)
                    assert count >= (40 if kind != "labels" else 8)


@pytest.mark.parametrize("judge", JUDGES)
def test_whole_questions_of_recorded_answers(judge):
    """The same of recorded answers and judges, that nothing was chosen by."""
    real(DATA)
    run = recorded(judge)
    for count in (8, 20, 40):
        coverages = whole_questions(lambda *_: run, count, REPEATS, RATES)
        given = {kind for kind, seen in coverages.seen.items() if seen}
        assert given == ({"labels", "PPI++", "Rogan-Gladen"} if count == 40 else {"labels"})
        for kind in given:
            assert coverages.share(kind) == pytest.approx(0.95, abs=MANY), (count, kind)


@pytest.mark.parametrize("enriched", [False, True])
def test_intervals_for_new_questions_hold_what_is_not_in_the_run(data, enriched):
    """Runs of 400 answers drawn from all: the intervals for new questions hold the share of all, others do not."""
    rng = np.random.default_rng(5)
    held = {True: 0, False: 0}
    for _ in range(REPEATS):
        answers_of = rng.integers(0, len(data.people), 400)
        people, verdicts = data.people[answers_of], data.judges["judge_bem"][answers_of]
        drawing = from_two(rng, verdicts > 0.5 if enriched else rng.permutation(400) < 200)
        sample = build_weighted_sample(drawing.weights, drawing.strata, population=400)
        chosen = LabelledSample(sample, people[drawing.places], verdicts[drawing.places])
        error = ClusterSums(verdicts, np.ones(400, dtype=np.int64)).error ** 2
        for new in held:
            side = [EstimateTerm(np.ones(100), float(verdicts.mean()))]
            figures = compute_figures(chosen, side, RATES, judged=400, level=0.95, judge_error=error if new else 0.0)
            interval = figures.prediction_powered.interval
            held[new] += interval.low <= data.people.mean() <= interval.high
    assert held[True] / REPEATS == pytest.approx(0.95, abs=ERROR)
    assert held[False] < held[True] - 0.03 * REPEATS
