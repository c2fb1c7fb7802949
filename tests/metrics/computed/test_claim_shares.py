"""Precision, recall and the rest from the verdicts on claims: RAGChecker's figures, and the laws between them."""

from __future__ import annotations

from statistics import fmean

import pytest
from claim_judge import make_judge
from hypothesis import given
from hypothesis import strategies as st

from greval import Case, evaluate, load_metric
from greval.metrics.computed import CLAIM_FAMILIES, explain_bad_name, find_computed_metric
from greval.records.result import Judgement, Scored, Skipped

RECORDED = (
    {
        "correct": "01111111100",
        "stated": "1111110011000001000011",
        "support": "0100 0000 0000 0000 0000 0000 0100 0000 1001 0001 0000",
        "found": f"0100 0000 0000 1000 1100 1001 {'0000 ' * 15}0100",
        "figures": {
            "claim_precision": 0.7272727272727273,
            "claim_recall": 0.5,
            "claim_f1": 0.5925925925925926,
            "context_claim_recall": 0.22727272727272727,
            "context_claim_precision": 0.75,
            "claim_faithfulness": 0.36363636363636365,
            "relevant_noise_sensitivity": 0.18181818181818182,
            "irrelevant_noise_sensitivity": 0.0,
            "hallucination": 0.09090909090909091,
            "self_knowledge": 0.5454545454545454,
            "context_utilisation": 1.0,
        },
    },
    {
        "correct": "01111",
        "stated": "11010111",
        "support": "010 011 011 101 011",
        "found": "010 011 010 011 001 101 111 011",
        "figures": {
            "claim_precision": 0.8,
            "claim_recall": 0.75,
            "claim_f1": 0.7741935483870969,
            "context_claim_recall": 1.0,
            "context_claim_precision": 1.0,
            "claim_faithfulness": 1.0,
            "relevant_noise_sensitivity": 0.2,
            "irrelevant_noise_sensitivity": 0.0,
            "hallucination": 0.0,
            "self_knowledge": 0.0,
            "context_utilisation": 0.75,
        },
    },
)
"""The entailment labels (1 if entailed) of the two examples that RAGChecker ships, and the figures that it gives them.

From examples/checking_outputs.json of github.com/amazon-science/RAGChecker at 0faca925a82b (Apache-2.0). A row of
`support` and `found` is a claim, a column a chunk.
"""
PUBLISHED = {
    "claim_precision": 76.4,
    "claim_recall": 62.5,
    "claim_f1": 68.3,
    "context_claim_recall": 61.4,
    "context_claim_precision": 87.5,
    "context_utilisation": 87.5,
    "relevant_noise_sensitivity": 19.1,
    "irrelevant_noise_sensitivity": 0.0,
    "hallucination": 4.5,
    "self_knowledge": 27.3,
    "claim_faithfulness": 68.2,
}
"""The means of these figures that the same file gives, in percent."""
LOWER = {"hallucination", "self_knowledge", "relevant_noise_sensitivity", "irrelevant_noise_sensitivity"}


def judged(letter, flags, rows=None, chunks=0):
    """Give the verdicts on claims: whether each holds, with the chunks that state it by themselves."""
    shown_ids = {"chunk": tuple(f"c{n}" for n in range(1, chunks + 1))}
    judgements = []
    for n, holds in enumerate(flags):
        sources = [f"chunk {position}" for position, flag in enumerate(rows[n], 1) if flag] if rows else []
        notes = {"supported_by": [{"source": source} for source in sources]} if rows else {}
        number = float(holds)
        judgements.append(
            Judgement(
                value=str(holds), number=number, item=f"{letter}{n + 1}", reason="r", notes=notes, shown_ids=shown_ids
            )
        )
    return Scored(judgements=tuple(judgements)) if judgements else Skipped(reason="claims is empty")


def build_verdicts(correct, stated, support, found):
    """Give a case and the four outcomes of flags and of tables of claims and chunks."""
    count = len((*support, *found)[0]) if (*support, *found) else 0
    case = Case(question="?", chunks=[f"text {n}" for n in range(count)])
    return case, {
        "claim_correctness": judged("a", correct),
        "expected_claim_coverage": judged("e", stated),
        "claim_support": judged("a", map(any, support), support, count),
        "expected_claim_support": judged("e", map(any, found), found, count),
    }


def compute(name, case, verdicts):
    """Give the figure of a metric, or why it is skipped."""
    metric = load_metric(name)
    outcome = metric.call_function(case, {source: verdicts[source] for source in metric.built_on})
    return outcome.reason if isinstance(outcome, Skipped) else outcome[0].number


def read_recorded(recorded):
    """Give the recorded labels as flags."""
    table = {name: [[*map(int, row)] for row in recorded[name].split()] for name in ("support", "found")}
    return build_verdicts([*map(int, recorded["correct"])], [*map(int, recorded["stated"])], **table)


@pytest.mark.parametrize("name", PUBLISHED)
def test_recorded_labels_give_the_recorded_figures(name):
    """The figures of RAGChecker's own labels are the figures that it records, of each example and on average."""
    figures = [compute(name, *read_recorded(recorded)) for recorded in RECORDED]
    assert figures == pytest.approx([recorded["figures"][name] for recorded in RECORDED], abs=1e-12)
    assert 100 * fmean(figures) == pytest.approx(PUBLISHED[name], abs=0.0501)


def test_every_metric_has_a_published_figure():
    """No metric of claims is without an oracle."""
    assert {*PUBLISHED} == {*CLAIM_FAMILIES}


@st.composite
def tables(draw):
    """Flags and tables of up to five claims in the answer and as many expected ones, and up to four chunks."""
    chunks = draw(st.integers(1, 4))
    row = st.lists(st.booleans(), min_size=chunks, max_size=chunks)
    support, found = (draw(st.lists(row, min_size=1, max_size=5)) for _ in range(2))
    correct, stated = (draw(st.lists(st.booleans(), min_size=len(one), max_size=len(one))) for one in (support, found))
    return {"correct": correct, "stated": stated, "support": support, "found": found}


@given(tables())
def test_figures_are_shares_that_add_up(given_tables):
    """Each figure is from 0 to 1, and the parts of an answer add up to the whole of it."""
    verdicts = build_verdicts(**given_tables)
    figures = {name: compute(name, *verdicts) for name in CLAIM_FAMILIES}
    numbers = {name: number for name, number in figures.items() if not isinstance(number, str)}
    assert {*figures} - {*numbers} <= {"context_utilisation"}
    assert all(0 <= number <= 1 for number in numbers.values())
    wrong = figures["relevant_noise_sensitivity"] + figures["irrelevant_noise_sensitivity"] + figures["hallucination"]
    assert figures["claim_precision"] + wrong == pytest.approx(1)
    parts = figures["claim_faithfulness"] + figures["hallucination"] + figures["self_knowledge"]
    assert parts == pytest.approx(1)


@given(tables(), st.randoms())
def test_the_order_of_claims_does_not_matter(given_tables, random):
    """The same claims in another order have the same figures."""
    answer = [*zip(given_tables["correct"], given_tables["support"], strict=True)]
    expected = [*zip(given_tables["stated"], given_tables["found"], strict=True)]
    original = build_verdicts(**given_tables)
    random.shuffle(answer)
    random.shuffle(expected)
    correct, support = map(list, zip(*answer, strict=True))
    stated, found = map(list, zip(*expected, strict=True))
    after = build_verdicts(correct, stated, support, found)
    assert [compute(name, *original) for name in CLAIM_FAMILIES] == [compute(name, *after) for name in CLAIM_FAMILIES]


@given(tables())
def test_a_claim_out_of_thin_air_makes_no_figure_better(given_tables):
    """A further claim that is neither correct nor supported raises neither precision nor faithfulness."""
    original = build_verdicts(**given_tables)
    more = [*given_tables["support"], [False] * len(given_tables["support"][0])]
    after = build_verdicts(**{**given_tables, "correct": [*given_tables["correct"], False], "support": more})
    for name in ("claim_precision", "claim_faithfulness"):
        assert compute(name, *after) <= compute(name, *original)
    assert compute("hallucination", *after) >= compute("hallucination", *original)
    assert compute("claim_recall", *after) == compute("claim_recall", *original)


@given(tables(), st.integers(1, 5))
def test_recall_rises_with_the_rank(given_tables, k):
    """More chunks state no fewer expected claims, and all of them no more than the context supports."""
    verdicts = build_verdicts(**given_tables)
    at, beyond = (compute(f"context_claim_recall@{n}", *verdicts) for n in (k, k + 1))
    assert at <= beyond <= compute("context_claim_recall", *verdicts)


def test_a_reason_names_the_claims_that_count():
    """A person can check a figure by its reason."""
    (judgement,) = load_metric("claim_precision").call_function(*read_recorded(RECORDED[1]))
    assert judgement.reason == "4 of 5 claims of the answer correct: a2, a3, a4, a5"


def test_what_is_undefined_is_skipped():
    """A figure without claims or chunks is no 0, and says what is missing."""
    case, verdicts = build_verdicts([], [True], [], [[True]])
    assert compute("claim_precision", case, verdicts) == "claim_correctness is skipped: claims is empty"
    assert compute("claim_f1", case, verdicts) == "claim_correctness is skipped: claims is empty"
    assert compute("claim_recall", case, verdicts) == 1
    assert compute("context_claim_precision", Case(question="?"), verdicts) == "there are no chunks"
    assert compute("context_claim_recall@2", Case(question="?"), verdicts) == "chunks is not recorded"
    none = build_verdicts([True], [True], [[True]], [[False]])
    assert compute("context_utilisation", *none) == "the context supports no expected claim"


def test_a_source_counts_only_if_the_claim_is_supported():
    """A judge that names a chunk and says that it does not support the claim is taken at its verdict."""
    case, verdicts = build_verdicts([True], [True], [[True]], [[True]])
    denied = verdicts["expected_claim_support"].judgements[0].model_copy(update={"number": 0.0})
    verdicts["expected_claim_support"] = Scored(judgements=(denied,))
    assert compute("context_claim_precision", case, verdicts) == 0


def test_names():
    """A name finds its metric in its standard form; only recall of the context has a cut-off."""
    assert load_metric("context_claim_recall@3").name == "context_claim_recall@3"
    assert find_computed_metric("claim_recall@3") is None
    assert explain_bad_name("claim_recall@3") == "claim_recall has no number after @; write claim_recall"
    assert {name for name in CLAIM_FAMILIES if load_metric(name).scale.better == "lower"} == LOWER


CASE = Case(
    id="q1",
    question="Who wrote it?",
    answer="Ada wrote it. It is from 1850.",
    expected_answer="Ada wrote it. It is from 1843.",
    chunks=["Tea is a drink.", "They say: Ada wrote it."],
)


def test_a_run_computes_them_all_from_six_calls(tmp_path):
    """All figures of a case take two lists and four judgements, and come with intervals like any metric."""
    judge = make_judge()
    run = evaluate([CASE], [load_metric(name) for name in CLAIM_FAMILIES], judge, out=tmp_path)
    means = {summary.metric: summary.mean for summary in run.summary() if summary.metric in CLAIM_FAMILIES}
    assert len(judge.calls) == 6
    assert means == {
        **dict.fromkeys(CLAIM_FAMILIES, 0.5),
        "self_knowledge": 0,
        "relevant_noise_sensitivity": 0,
        "irrelevant_noise_sensitivity": 0,
        "context_utilisation": 1,
    }
