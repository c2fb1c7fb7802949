"""Comparisons of systems, made up and published: retrieval rates, McNemar pairs and intervals are reproduced."""

from itertools import pairwise

import pytest
from compared_runs import MISSING, content, rows, write

from greval.analysis.comparison.api import compare
from greval.metrics.computed import find_computed_metric
from greval.runs.evaluation import evaluate
from greval.stats.paired import mcnemar

WIKI = "multihop_2wiki_51_systems"


@pytest.fixture(scope="module")
def retrieval(data_set, tmp_path_factory):
    """Compare four retrieval systems on questions of several hops, all pairs."""
    cases = [
        {
            "id": row["id"],
            "question": row["question"],
            "method": system,
            "chunks": [{"id": f"c{n}", "text": title, "doc_id": title} for n, title in enumerate(titles)],
            "gold": {"essential_docs": row["gold_titles"]},
            "tags": {"multihop": row["multihop"]},
        }
        for row in rows(data_set(WIKI) / "questions.jsonl")
        for system, titles in row["retrieved"].items()
    ]
    names = ("perfect_recall@10", "recall@2", "recall@5", "recall@8", "mrr", "ndcg@10")
    run = evaluate(cases, [find_computed_metric(name) for name in names], out=tmp_path_factory.mktemp("wiki") / "run")
    return compare(run.folder, by="multihop"), run.folder


def test_rates_are_the_published_ones(data_set, retrieval):
    """Perfect retrieval, recall, MRR and nDCG of the four systems are those of the reference."""
    found = {(one.metric, one.group, one.method): one.mean for one in retrieval[0].levels}
    names = {"recall@2": "recall_at_2", "recall@5": "recall_at_5", "recall@8": "recall_at_8", "mrr": "mrr"}
    for system, reference in content(data_set(WIKI) / "reference.json")["systems"].items():
        assert found["perfect_recall@10", "", system] == pytest.approx(reference["published_all"])
        assert found["perfect_recall@10", "true", system] == pytest.approx(reference["perfect_retrieval_multihop"])
        assert found["ndcg@10", "", system] == pytest.approx(reference["ndcg_at_10_binary"])
        for name, key in names.items():
            assert found[name, "", system] == pytest.approx(reference[key])


def test_mcnemar_of_six_pairs_with_bonferroni(data_set, retrieval):
    """Each pair of systems has the table, the p and the corrected p of the reference."""
    compared = compare(retrieval[1], metrics=["perfect_recall@10"])
    assert compared.family.tests == 6
    found = {(one.baseline, one.method): one for one in compared.contrasts}
    for pair in content(data_set(WIKI) / "reference.json")["mcnemar"]:
        a, b = (pair["a"], pair["b"]), (pair["b"], pair["a"])
        one = found.get(a) or found[b]
        lost, won = (pair["only_a"], pair["only_b"]) if a in found else (pair["only_b"], pair["only_a"])
        assert (one.lost, one.won, one.tied) == (lost, won, pair["both"] + pair["neither"])
        exact = one.won + one.lost < 25
        assert one.test.name == ("mcnemar exact" if exact else "mcnemar chi-square")
        assert one.test.p == pytest.approx(pair["exact_p" if exact else "chi2_cc_p"])
        assert one.test.corrected == pytest.approx(min(1, 6 * one.test.p))
        if exact:
            assert one.test.corrected == pytest.approx(pair["exact_p_bonferroni6"])


def test_intervals_are_within_the_error_of_drawing(data_set, retrieval):
    """The percentile interval of each difference is the reference's but for one step of one question."""
    grid = 1 / len(rows(data_set(WIKI) / "questions.jsonl"))
    found = {
        (one.method, one.baseline): one
        for one in retrieval[0].contrasts
        if one.metric == "perfect_recall@10" and not one.group
    }
    for name, reference in content(data_set(WIKI) / "reference.json")["paired_bootstrap_diff_95_B100000"].items():
        method, baseline = name.split("-")
        is_reversed = (method, baseline) not in found
        one = found[baseline, method] if is_reversed else found[method, baseline]
        low, high = reference["ci"]
        expected_ends = (-high, -low) if is_reversed else (low, high)
        assert one.difference == pytest.approx(-reference["diff"] if is_reversed else reference["diff"])
        for ours, theirs in zip((one.percentile.low, one.percentile.high), expected_ends, strict=True):
            assert ours == pytest.approx(theirs, abs=grid + 1e-9)
        assert one.interval.low <= one.percentile.low <= one.percentile.high <= one.interval.high


def test_questions_of_several_hops_are_compared_by_themselves(data_set, retrieval):
    """The group of the multi-hop questions is in the same family as all."""
    hops = sum(row["multihop"] for row in rows(data_set(WIKI) / "questions.jsonl"))
    comparison = retrieval[0]
    assert comparison.family.tests == 6 * 6 * 3
    (one,) = [
        one
        for one in comparison.contrasts
        if (one.metric, one.group, one.method, one.baseline)
        == ("perfect_recall@10", "true", "vectordb", "fast_graphrag")
    ]
    assert (one.n, one.verdict) == (hops, "worse")


def test_twelve_systems_judged_by_people(data_set, tmp_path):
    """All 66 pairs of the reference: the table, both tests and Bonferroni's correction."""
    folder = data_set("nq301_answer_judgments")
    figures: dict[tuple[str, str], list[object]] = {}
    for row in rows(folder / "systems.jsonl"):
        figure = {"correct": 1, "incorrect": 0, None: MISSING}[row["human"]]
        figures.setdefault((row["system"], "right"), []).append(figure)
    assert all(len(left) == len(right) > 0 for left, right in pairwise(figures.values()))
    compared = compare(write(tmp_path, figures))
    assert compared.family.tests == 66
    found = {(one.baseline, one.method): one for one in compared.contrasts}
    for pair in content(folder / "reference.json")["mcnemar_human"]:
        a, b = (pair["a"], pair["b"]), (pair["b"], pair["a"])
        one = found.get(a) or found[b]
        lost, won = (pair["only_a"], pair["only_b"]) if a in found else (pair["only_b"], pair["only_a"])
        assert (one.n, one.lost, one.won) == (pair["n"], lost, won)
        table = mcnemar(won, lost)
        assert table.exact_p == pytest.approx(pair["exact_p"])
        assert (table.chi2, table.chi2_p) == (pytest.approx(pair["chi2_cc"]), pytest.approx(pair["chi2_cc_p"]))
        assert min(1, 66 * table.exact_p) == pytest.approx(pair["exact_p_bonferroni"])
        assert one.test.p == table.p
        assert one.test.corrected == pytest.approx(min(1, 66 * table.p))
