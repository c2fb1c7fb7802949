"""The parts of aligning: what belongs together, the gain and when it is believed, which examples are chosen."""

import asyncio
import random
import re
from collections import Counter
from io import StringIO

import numpy as np
import pytest
from aligned_runs import DEPTH, TONE
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from sklearn.metrics import cohen_kappa_score

from greval.judging.model.prices import Prices
from greval.metrics.files import parse_metric, write_metric
from greval.records.case import Case
from greval.records.metric import set_reason_depth
from greval.records.result import Judgement
from greval.records.scale import CategoricalScale, ValueScale
from greval.report.align import render
from greval.stats.interval import Interval
from greval.testing import ScriptedJudge
from greval.trust.alignment.api import add_provenance
from greval.trust.alignment.few_shot import add_examples, choose_items
from greval.trust.alignment.gain import VerdictPair, compute_gain, explain_rejection
from greval.trust.alignment.labelled_items import LabelledItem, assign_folds, draw_questions, number_clusters
from greval.trust.alignment.model_calls import AlignBudget, DefinitionWriter
from greval.trust.alignment.records import AgreementGain, AlignAttempt, Alignment
from greval.trust.alignment.rewrite import rewrite_metric

YES_NO = CategoricalScale.model_validate({"categories": {"Yes": "", "No": ""}})
GRADED = CategoricalScale.model_validate({"categories": dict.fromkeys(("Good", "Fair", "Poor"), "")})
UNORDERED = CategoricalScale.model_validate({"categories": dict.fromkeys(("A", "B", "C"), ""), "ordered": False})
NUMBERS = ValueScale(range=(0, 10), levels={0: "None.", 10: "All."})


@given(st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=3), min_size=1, max_size=30))
def test_what_shares_a_mark_is_one_cluster(marks):
    """Things with a mark in common have one number, and no two clusters share a mark."""
    found = number_clusters(marks)
    holders = {}
    for number, each in zip(found, marks, strict=True):
        for mark in each:
            assert holders.setdefault(mark, number) == number
    for number in set(found):
        held = [set(marks[place]) for place, one in enumerate(found) if one == number]
        reached, left = held[0], held[1:]
        while joined := [each for each in left if each & reached]:
            reached = reached.union(*joined)
            left = [each for each in left if each not in joined]
        assert not left


@given(st.lists(st.integers(0, 20), min_size=2, max_size=60), st.integers(2, 6), st.integers(0, 5))
def test_folds_hold_whole_clusters_and_about_as_many_things(numbers, count, seed):
    """Each cluster has one fold from 1 on; no fold is larger than another by more than a cluster."""
    found = assign_folds(numbers, count, seed=seed)
    assert set(found) == set(numbers)
    assert set(found.values()) <= set(range(1, count + 1))
    sizes = Counter(found[number] for number in numbers)
    held = [sizes.get(fold, 0) for fold in range(1, count + 1)]
    assert max(held) - min(held) <= max(Counter(numbers).values())
    assert found == assign_folds(numbers, count, seed=seed)


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(0, 40))
def test_what_is_drawn_is_whole_and_not_too_much(numbers, most):
    """Whole clusters are drawn, at most as many things as wanted, all where they fit, and the same for a seed."""
    found = draw_questions(numbers, most, seed="a")
    held = [number for number in numbers if number in found]
    assert len(held) <= most
    assert found <= set(numbers)
    assert len(held) == len(numbers) if most >= len(numbers) else True
    assert found == draw_questions(numbers, most, seed="a")


@pytest.mark.parametrize(("scale", "weights"), [(YES_NO, None), (GRADED, "linear"), (UNORDERED, None)])
@pytest.mark.parametrize("seed", range(3))
def test_the_gain_of_categories_is_the_difference_of_scikit_learns_kappas(scale, weights, seed):
    """Before and after are Cohen's kappas, with linear weights where an order of three or more counts."""
    draw = random.Random(seed)
    sides = [[draw.choice(scale.names) for _ in range(50)] for _ in range(3)]
    pairs = [VerdictPair(number % 20, *values) for number, values in enumerate(zip(*sides, strict=True))]
    found = compute_gain(pairs, scale, level=0.95)
    labels = [*scale.names]
    before, after = (cohen_kappa_score(sides[0], side, labels=labels, weights=weights) for side in sides[1:])
    assert found.before == pytest.approx(before)
    assert found.after == pytest.approx(after)
    assert found.gain == pytest.approx(after - before)
    assert found.interval.low < found.gain < found.interval.high
    assert (found.things, found.questions) == (50, 20)
    assert found.changed == sum(one != other for one, other in zip(*sides[1:], strict=True))


def test_the_gain_of_numbers_is_the_fall_of_the_error():
    """Of numbers the mean absolute error counts; a fall is a gain, and ranks are told beside it."""
    draw = np.random.default_rng(1)
    people = draw.integers(0, 11, 40).astype(float)
    before, after = people + draw.integers(1, 4, 40), people + draw.integers(0, 2, 40)
    pairs = [VerdictPair(n, *map(float, each)) for n, each in enumerate(zip(people, before, after, strict=True))]
    found = compute_gain(pairs, NUMBERS, level=0.95)
    assert found.figure == "mae"
    assert found.gain == pytest.approx(np.abs(before - people).mean() - np.abs(after - people).mean())
    assert found.interval.low > 0
    assert explain_rejection(found, level=0.95) is None
    assert 0.9 < found.ranks[1] <= 1


def test_a_gain_that_is_known_to_be_none_is_doubted():
    """No change, an undefined figure and an interval that holds 0 are each told as what they are."""
    same = [
        VerdictPair(n, "Yes" if n % 2 else "No", "Yes" if n % 3 else "No", "Yes" if n % 3 else "No") for n in range(30)
    ]
    assert "does not exclude 0" in explain_rejection(compute_gain(same, YES_NO, level=0.95), level=0.95)
    constant = [VerdictPair(n, "Yes", "Yes", "Yes") for n in range(30)]
    assert "undefined" in explain_rejection(compute_gain(constant, YES_NO, level=0.95), level=0.95)
    assert "undefined" in explain_rejection(compute_gain([], YES_NO, level=0.95), level=0.95)


def test_a_loss_is_told_as_one():
    """Where what was chosen is worse beyond noise, that is said, and not that the interval holds 0."""
    wrong = {"Yes": "No", "No": "Yes"}
    truth = ["Yes" if n % 2 else "No" for n in range(60)]
    pairs = [VerdictPair(n, one, one, wrong[one] if n < 12 else one) for n, one in enumerate(truth)]
    found = compute_gain(pairs, YES_NO, level=0.95)
    assert found.interval.high < 0
    assert explain_rejection(found, level=0.95) == "what was chosen is worse than the metric as it is, beyond noise"


def test_few_changes_are_not_believed_however_they_fall():
    """Five things that became right and none wrong are not enough; ten are."""

    def pairs(better):
        truth = ["Yes" if n % 2 else "No" for n in range(60)]
        wrong = {"Yes": "No", "No": "Yes"}
        return [VerdictPair(n, one, wrong[one] if n < 12 else one, wrong[one] if better <= n < 12 else one)
                for n, one in enumerate(truth)]  # fmt: skip

    five, ten = (compute_gain(pairs(better), YES_NO, level=0.95) for better in (5, 10))
    assert five.interval.low > 0
    assert "too few things changed: the sign-flip test gives p = 0.062" in explain_rejection(five, level=0.95)
    assert explain_rejection(ten, level=0.95) is None


def test_a_constant_is_no_gain_of_numbers():
    """A judge that always gives the middle has less error than a poor one, but orders nothing: it is refused."""
    draw = np.random.default_rng(2)
    people = draw.integers(0, 11, 200).astype(float)
    poor = np.clip(people + draw.integers(-9, 10, 200), 0, 10)
    pairs = [VerdictPair(n, one, other, 5.0) for n, (one, other) in enumerate(zip(people, poor, strict=True))]
    found = compute_gain(pairs, NUMBERS, level=0.95)
    assert found.interval.low > 0
    assert found.ranks[1] is None
    assert "orders things less" in explain_rejection(found, level=0.95)


def test_false_alarms_are_rarer_than_the_level_tells():
    """Two definitions that are right equally often: a gain is believed in at most 5 % of 200 samples."""
    draw = np.random.default_rng(3)
    believed = 0
    for _ in range(200):
        truth = draw.random(60) < 0.5
        sides = [np.where(draw.random(60) < 0.75, truth, ~truth) for _ in range(2)]
        pairs = [
            VerdictPair(n, *("Yes" if value else "No" for value in each))
            for n, each in enumerate(zip(truth, *sides, strict=True))
        ]
        believed += explain_rejection(compute_gain(pairs, YES_NO, level=0.95), level=0.95) is None
    assert believed <= 10


def points(values, said):
    """Give labelled answers."""
    return [
        LabelledItem(
            n, Case(id=f"q{n}", question=f"{n}?", answer=f"{n}"), None, n, people, Judgement(value=judge, reason="r")
        )
        for n, (people, judge) in enumerate(zip(values, said, strict=True))
    ]


def test_examples_are_balanced_and_disagreements_come_first():
    """Of each value as many are chosen, of these the ones on which judge and people disagree; none of one question."""
    people = ["Polite"] * 30 + ["Rude"] * 10
    judge = ["Rude" if n in {3, 7} else "Polite" for n in range(30)] + [
        "Polite" if n == 5 else "Rude" for n in range(10)
    ]
    found = [*choose_items(TONE, points(people, judge), dict(enumerate(judge)), seed="s")]
    assert Counter(point.people for point in found) == {"Polite": 2, "Rude": 2}
    assert {3, 7, 35} <= {point.number for point in found}
    twins = [point._replace(question=0) for point in points(people, judge)]
    assert len([*choose_items(TONE, twins, dict(enumerate(judge)), seed="s")]) == 1


def test_examples_of_numbers_begin_with_the_ends():
    """On a value scale the lowest and the highest that people gave come first; a mean is taken to the nearest level."""
    people = [1, 2, 3, 4, 5, 2.5, 4.6]
    found = [*choose_items(DEPTH, points(people, [3] * 7), dict.fromkeys(range(7), 3), seed="s")]
    assert [round(point.people) for point in found][:2] == [1, 5]
    assert len({point.number for point in found}) == 5


def test_long_cases_make_no_example():
    """What would make every prompt long is passed over."""
    found = points(["Polite", "Rude"], ["Rude", "Polite"])
    long = found[0]._replace(case=found[0].case.model_copy(update={"answer": "x" * 5000}))
    assert [point.number for point in choose_items(TONE, [long, found[1]], {0: "Rude", 1: "Polite"}, seed="s")] == [1]


def test_provenance_is_a_comment_whatever_names_hold():
    """A name with a line break cannot put anything into the file; it reads as the same metric."""
    interval = Interval(low=0.1, high=0.3, method="expanded percentile")
    gain = AgreementGain(
        figure="kappa", things=9, questions=9, before=0.2, after=0.4, gain=0.2, interval=interval, p=0.01
    )
    told = Alignment(
        folder="/some/where/first", metric="tone", judge="j", writer="w", annotators=("ana\nname: evil", "bob\u2028x"),
        labels=9, questions=9, folds=3, level=0.95, seed=0, ways=("examples",), gain=gain, accepted=True, why="it is",
        attempts=(AlignAttempt(fold=0, way="examples", learned=4, chosen=True),),
    )  # fmt: skip
    text = add_provenance(write_metric(TONE), told)
    assert parse_metric(text) == TONE
    assert text.splitlines()[0].startswith("# yaml-language-server")
    assert "from the run first: examples (from 4 of the labels)" in text
    assert "/some/where" not in text


def test_every_part_of_a_report_finds_its_place():
    """Ranks, failures, dropped ways, another writer and loud warnings are told, each where it is looked for."""
    gain = AgreementGain(figure="mae", things=9, questions=9, before=1.5, after=1.2, gain=0.3, p=0.2, ranks=(0.5, None))
    told = Alignment(
        folder="first", metric="depth", judge="j", writer="w", annotators=("ana",), labels=10, questions=9, folds=3,
        level=0.9, seed=0, ways=("examples", "rewrite"), gain=gain, failed=1, accepted=False, why="it is not sure",
        attempts=(
            AlignAttempt(fold=1, way="examples", learned=4, things=5, before=1.0, after=0.5, failed=2, chosen=True),
            AlignAttempt(fold=1, way="rewrite", dropped="nothing was changed"),
        ),
        cost=0.25, warnings=("ENRICHED SAMPLE: beware", "2 left out: people are tied"),
    )  # fmt: skip
    console = Console(file=StringIO(), width=100)
    render(told, console)
    out = console.file.getvalue()
    assert out.startswith("ENRICHED SAMPLE: beware")
    assert re.search(r"Spearman +9 +0\.50 +-", out)
    for part in ("chosen, 2 failed", "dropped: nothing was changed", "judge j, writer w;", "cost $0.2500", "[90%]"):
        assert part in out
    assert "left out of the gain: 1 things" in out
    assert out.index("nothing helped: it is not sure") < out.index("2 left out")


def test_where_the_judge_was_right_nothing_is_shown():
    """Without a disagreement among what could be shown or told there is nothing to learn from, and nobody is asked."""
    found = points(["Polite", "Rude"], ["Polite", "Rude"])
    right = {0: "Polite", 1: "Rude"}
    assert "agrees with people" in asyncio.run(add_examples(TONE, found, right, None, seed="s"))
    assert "no disagreement" in asyncio.run(rewrite_metric(TONE, found, right, None, seed="s"))


def test_examples_of_a_metric_by_steps_have_findings(tmp_path):
    """An example keeps the findings of a right verdict; of a wrong one they are asked for with the reason."""
    (by_step,) = set_reason_depth([TONE], "steps")
    told = Judgement(value="Polite", reason="r", findings=("It thanks.", "Calm."))
    made = [one._replace(judgement=told) for one in points(["Polite", "Rude"], ["Polite", "Polite"])]
    answer = {"findings": {"step_1": "It insults.", "step_2": "Harsh."}, "reason": "An insult.", "value": "Rude"}
    judge = ScriptedJudge([answer])
    spent = AlignBudget(Prices.load(), tmp_path, max_calls=None, max_cost=None)
    with DefinitionWriter(judge, tmp_path, spent, width=1) as writer:
        metric, _ = asyncio.run(add_examples(by_step, made, {0: "Polite", 1: "Polite"}, writer, seed="s"))
    assert {one.value: one.findings for one in metric.examples} == {
        "Polite": ("It thanks.", "Calm."),
        "Rude": ("It insults.", "Harsh."),
    }
    assert "step_1 to step_2" in judge.calls[0][0].text
