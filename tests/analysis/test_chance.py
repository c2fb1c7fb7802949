"""Metrics by chance: questions exchange what was retrieved, so that only what they have in common remains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from greval import Case, evaluate, load_metric
from greval.analysis.chance import MAX_ROUNDS, estimate_chance
from greval.analysis.summary import build_report
from greval.metrics.computed.outcomes import compute_outcome
from greval.runs.store import Store


def estimate(folder, cases, *metrics):
    """Estimate the metrics of a run over these cases, by metric and method."""
    run = evaluate(cases, [load_metric(name) for name in metrics], out=folder)
    with Store.open(run.folder) as store:
        return {(figure.metric, figure.method): figure for figure in estimate_chance(store)}


def make_case(number, retrieved, essential, **more):
    chunks = [{"id": f"{name}#{number}", "text": name, "doc_id": name} for name in retrieved]
    return Case(id=f"q{number}", question=f"{number}?", chunks=chunks, gold={"essential_docs": essential}, **more)


def test_what_no_question_has_in_common_is_found_by_no_chance(tmp_path):
    """Each question has its own document: by chance none is found, and the mean is better than in every round."""
    cases = [make_case(n, [f"d{n}"], [f"d{n}"]) for n in range(6)]
    figure = estimate(tmp_path, cases, "recall@10")["recall@10", ""]
    assert (figure.mean, figure.by_chance, figure.low, figure.high, figure.n) == (1, 0, 0, 0, 6)
    assert figure.rounds == MAX_ROUNDS
    assert figure.p == pytest.approx(1 / (MAX_ROUNDS + 1))


def test_a_document_of_every_question_is_found_by_chance_as_well(tmp_path):
    """The mean is as high as by chance, so that nothing speaks for the method."""
    cases = [make_case(n, ["handbook"], ["handbook"]) for n in range(5)]
    figure = estimate(tmp_path, cases, "recall@10")["recall@10", ""]
    assert (figure.mean, figure.by_chance, figure.p) == (1, 1, 1)


@pytest.mark.filterwarnings("ignore:NO ID MET")
@examples(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=6))
def test_by_chance_is_the_mean_over_all_other_questions(tmp_path_factory, pairs):
    """Many rounds have about the mean of the metric over each question with the response of each other one."""
    cases = [make_case(n, [f"d{found}"], [f"d{wanted}"]) for n, (found, wanted) in enumerate(pairs)]
    metric = load_metric("recall@10")
    crossed = [
        compute_outcome(metric, case.model_copy(update={"chunks": donor.chunks})).judgements[0].number
        for case in cases
        for donor in cases
        if donor is not case
    ]
    figure = estimate(tmp_path_factory.mktemp("run"), cases, "recall@10")["recall@10", ""]
    # The standard error of a round is at most 1/2 over the root of the questions.
    assert abs(figure.by_chance - np.mean(crossed)) < 4 * 0.5 / np.sqrt(MAX_ROUNDS)
    assert figure.low <= figure.by_chance <= figure.high or figure.low == figure.high


def test_methods_are_estimated_by_themselves_and_other_metrics_are_not(tmp_path):
    """Lengths and overlaps of words compare no ids; a single question has no other one."""
    cases = [
        *(make_case(n, [f"d{n}"], [f"d{n}"], method="a", answer="Yes.", expected_answer="Yes.") for n in range(3)),
        make_case(0, ["d0"], ["d0"], method="b"),
    ]
    figures = estimate(tmp_path, cases, "recall@10", "exact_match", "mrr")
    assert set(figures) == {("recall@10", "a"), ("mrr", "a")}


def test_a_report_has_it_if_it_is_asked_for(tmp_path):
    """It costs computations, and most reports need none."""
    run = evaluate([make_case(n, [f"d{n}"], [f"d{n}"]) for n in range(3)], [load_metric("mrr")], out=tmp_path)
    with Store.open(run.folder) as store:
        assert build_report(store).chance == ()
        assert "chance" not in build_report(store).model_dump()
        (figure,) = build_report(store, with_chance=True).chance
        assert (figure.metric, figure.mean) == ("mrr", 1)
        assert build_report(store, with_chance=True, metrics=["mrr"]).chance == (figure,)
