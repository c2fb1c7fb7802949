"""Duels of a run: win rates and tests against other libraries, habits that are found, and fair judges that are not."""

from __future__ import annotations

import random

import pytest
from duelled_answers import ANSWERS, JUDGES, QUESTIONS, fair, first_shown, judge_by, longer, write_answers
from scipy.stats import binomtest

from greval.analysis.duel.api import summarise_duel
from greval.analysis.duel.judging import duel
from greval.analysis.duel.verdicts import compute_length_ratio, encode_clusters, read_outcome, read_verdicts
from greval.errors import DataError
from greval.metrics.computed import COMPUTED_METRICS
from greval.records.case import Case, Response
from greval.records.metric import PreferenceMetric
from greval.runs.duels import list_pairs
from greval.runs.evaluation import evaluate
from greval.runs.store import Store
from greval.stats.interval import MeasuredValue, Undefined
from greval.testing import ScriptedJudge

CLEAR = PreferenceMetric(name="clarity", description="d", needs=["question", "answer"], steps=["s"])
GRADED = PreferenceMetric(
    name="grade", description="d", needs=["question", "answer"], steps=["s"], levels={-2: "b", 0: "t", 2: "a"}
)
LOUD = ("POSITION BIAS", "LENGTH BIAS", "TIE HABIT")


def duelled(folder, decide, metric=CLEAR, seed=1, **options):
    """Judge the duels of a run, and summarise them."""
    run = evaluate(write_answers(seed), [COMPUTED_METRICS["latency"]], out=folder)
    return summarise_duel(duel(run, [metric], judge_by(decide)), **options)


@pytest.mark.parametrize(("decide", "habits"), JUDGES.values(), ids=JUDGES)
def test_each_habit_is_named_and_no_other(tmp_path, decide, habits):
    """A judge with a habit has it named; a fair judge is accused of nothing."""
    found = duelled(tmp_path / "run", decide)
    assert [warning.partition(":")[0] for warning in found.warnings if warning.startswith(LOUD)] == habits


def test_a_fair_judge_shows_the_better_method(tmp_path):
    """Win rates, verdicts and the ranking follow the quality of the methods; no verdict flips."""
    found = duelled(tmp_path / "run", fair).metrics[0]
    verdicts = {(pair.first, pair.second): pair.verdict for pair in found.pairs}
    assert verdicts == {
        ("middle", "strong"): "second preferred",
        ("strong", "weak"): "first preferred",
        ("middle", "weak"): "first preferred",
    }
    assert [(one.rank, one.method) for one in found.ranking] == [(1, "strong"), (2, "middle"), (3, "weak")]
    assert found.habits.flip_rate.value == 0.0
    assert found.habits.first_shown.value == 0.5


def test_counts_rates_and_the_sign_test(tmp_path):
    """Counts add up, the win rate counts ties as half, and p is scipy's exact binomial test, times three."""
    found = duelled(tmp_path / "run", fair)
    for pair in found.metrics[0].pairs:
        assert pair.won + pair.tied + pair.lost == QUESTIONS
        assert pair.win_rate.value == pytest.approx((pair.won + pair.tied / 2) / QUESTIONS)
        assert pair.win_rate.interval.low < pair.win_rate.value < pair.win_rate.interval.high
        p = binomtest(pair.won, pair.won + pair.lost).pvalue
        assert pair.test.p == pytest.approx(p)
        assert pair.test.corrected == pytest.approx(min(1, 3 * p))


def test_position_bias_makes_flips_and_ties(tmp_path):
    """A judge that prefers the first answer flips; what it decides in both orders is right."""
    found = duelled(tmp_path / "run", first_shown).metrics[0]
    assert found.habits.flip_rate.value > 0.3
    assert all(pair.tied >= QUESTIONS * 0.2 for pair in found.pairs)
    assert [pair.verdict for pair in found.pairs] == ["second preferred", "first preferred", "first preferred"]


def test_the_adjusted_rate_undoes_a_preference_for_length(tmp_path):
    """If the worse method writes longer answers, a judge that likes length is corrected towards quality."""
    rng = random.Random(3)
    given = [
        Case(id=f"q{n}", question="?", method=name, answer=f"{rng.gauss(mean, 1):.6f} {'x' * rng.randint(*size)}")
        for n in range(150)
        for name, mean, size in (("short", 0.6, (100, 300)), ("long", -0.6, (200, 400)))
    ]
    run = evaluate(given, [COMPUTED_METRICS["latency"]], out=tmp_path / "run")
    (pair,) = summarise_duel(duel(run, [CLEAR], judge_by(longer))).metrics[0].pairs
    assert (pair.first, pair.second) == ("long", "short")
    assert pair.adjusted_win_rate.value < pair.win_rate.value - 0.05
    assert pair.adjusted_win_rate.interval.low < pair.adjusted_win_rate.value


def test_a_graded_scale_counts_winners(tmp_path):
    """On the graded scale a question is won if both orders name the same winner."""
    found = duelled(tmp_path / "run", lambda one, other: 2 if one[0] > other[0] else -1, GRADED).metrics[0]
    assert all(pair.tied == 0 for pair in found.pairs)
    assert found.pairs[1].win_rate.value > 0.6
    assert (read_outcome(1.5), read_outcome(0), read_outcome(-0.5)) == (1.0, 0.5, 0.0)


def test_clusters_are_less_certain_than_questions(tmp_path):
    """If whole documents count as one, the test is of whole clusters and its p is not smaller than 2 to the -11."""
    found = duelled(tmp_path / "run", fair, cluster_by="doc")
    assert all(pair.test.least >= 2.0**-11 for pair in found.metrics[0].pairs)


def test_an_id_is_no_value_of_a_tag(tmp_path):
    """A question without the tag is a cluster of its own, even if its id is the value of the tag of others."""
    given = [
        case.model_copy(update={"tags": {} if case.id == "q0" else {"doc": "q0" if case.id < "q3" else case.id}})
        for case in write_answers(questions=10)
    ]
    run = evaluate(given, [COMPUTED_METRICS["latency"]], out=tmp_path / "run")
    duel(run, [CLEAR], judge_by(fair))
    with Store.open(run.folder) as store:
        verdicts = read_verdicts(store, "clarity", "doc")
    alone = {one.cluster for one in verdicts if one.sample_id == "q0"}
    assert len(alone) == 1
    assert alone.isdisjoint(one.cluster for one in verdicts if one.sample_id != "q0")
    assert len(set(encode_clusters(verdicts))) == 9


def test_mirrored_pairs_count_once(tmp_path):
    """Verdicts on `b vs a` are those on `a vs b`, and a question that has both counts once."""
    pairs = list_pairs(write_answers(questions=40), [CLEAR], ["middle", "strong"])
    mirrored = [
        pair.model_copy(
            update={
                "method": "strong vs middle",
                "answer": pair.other_response.answer,
                "other_response": Response(method="middle", answer=pair.answer),
            }
        )
        for pair in pairs
    ]
    found = [
        summarise_duel(evaluate(given, [CLEAR], judge_by(first_shown), out=tmp_path / str(number))).metrics[0]
        for number, given in enumerate([pairs, mirrored, [*mirrored, *pairs], [*pairs[:19], *mirrored[9:]]])
    ]
    assert all(len(one.pairs) == 1 for one in found)
    plain = found[0].pairs[0]
    for one in found[1:]:
        (pair,) = one.pairs
        assert (pair.first, pair.won, pair.tied, pair.lost) == ("middle", plain.won, plain.tied, plain.lost)
        assert pair.adjusted_win_rate.value == pytest.approx(plain.adjusted_win_rate.value)
        assert one.habits.first_shown.value == pytest.approx(found[0].habits.first_shown.value)


def test_what_failed_is_in_no_figure(tmp_path):
    """A failed pair is counted as failed, is in no rate, and a warning says so."""

    def answer(messages):
        broken = "0" in ANSWERS.search(messages[-1].text)[1][-6:]
        return "no JSON" if broken else {"reason": "r", "value": "A"}

    given = [
        Case(id=f"q{n}", question="?", method=name, answer=f"{name} {n % 2}") for n in range(8) for name in ("a", "b")
    ]
    run = evaluate(given, [COMPUTED_METRICS["latency"]], out=tmp_path / "run")
    found = summarise_duel(duel(run, [CLEAR], ScriptedJudge(answer)))
    (pair,) = found.metrics[0].pairs
    assert (pair.failed, pair.win_rate.n, pair.tied) == (4, 4, 4)
    assert any("4 pairs failed" in warning for warning in found.warnings)


def test_undefined_figures_have_reasons(tmp_path):
    """Empty answers have no length, and a method that never lost has no strength: each says why."""
    given = [Case(id=f"q{n}", question="?", method=name, answer="") for n in range(6) for name in ("a", "b")]
    run = evaluate(given, [COMPUTED_METRICS["latency"]], out=tmp_path / "run")
    found = summarise_duel(duel(run, [CLEAR], ScriptedJudge([{"reason": "r", "value": "Tie"}]))).metrics[0]
    assert isinstance(found.habits.length_effect, Undefined)
    assert isinstance(found.ranking[0].strength, Undefined)
    assert isinstance(found.pairs[0].win_rate, MeasuredValue)
    assert found.ranking[0].rank is None
    assert compute_length_ratio(Case(question="?", answer="a")) is None


def test_a_run_without_preferences_is_refused(tmp_path):
    """A run without duels, and a metric that is no preference, are errors that say what to do."""
    run = evaluate(write_answers(questions=2), [COMPUTED_METRICS["latency"]], out=tmp_path / "run")
    with pytest.raises(DataError, match="has no preference"):
        summarise_duel(run)
    duel(run, [CLEAR], judge_by(fair))
    with pytest.raises(DataError, match="latency is no preference"):
        summarise_duel(run, ["latency"])
