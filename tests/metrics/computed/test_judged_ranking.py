"""Ranked retrieval by judged relevance: worked by hand, equal to scikit-learn's, and named so that it is not gold."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from greval import Case, load_metric
from greval.metrics.computed import JUDGED_FAMILIES, explain_bad_name, find_computed_metric, list_name_variants
from greval.metrics.computed.judged_ranking import JUDGED
from greval.records.metric import DerivedMetric
from greval.records.result import Judgement, Scored, Skipped

numbers = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=12)
cutoffs = st.none() | st.integers(1, 14)


def judged(gains, source="chunk_evaluation", field="chunks"):
    """Give a case and the verdicts on its items, in order."""
    texts = (
        [f"text {n}" for n in range(len(gains))]
        if field == "chunks"
        else [["a", "b", str(n)] for n, _ in enumerate(gains)]
    )
    case = Case(question="?", **{field: texts})
    items = [item.id for item in getattr(case, field)]
    judgements = tuple(
        Judgement(value="x", number=gain, item=item, reason="r") for item, gain in zip(items, gains, strict=True)
    )
    return case, {source: Scored(judgements=judgements) if judgements else Skipped(reason=f"{field} is empty")}


def outcome(name, gains, **more):
    return load_metric(name).call_function(*judged(gains, **more))


def value(name, gains, **more):
    (judgement,) = outcome(name, gains, **more)
    return judgement.number


def at(family, k, options=""):
    return f"{family}{'' if k is None else f'@{k}'}-judged{options}"


@given(numbers, cutoffs)
def test_ndcg_is_that_of_scikit_learn(gains, k):
    """With linear gains the figure is that of `ndcg_score` over the judged items."""
    sklearn = pytest.importorskip("sklearn.metrics")
    assume(len(gains) > 1 and any(gains))
    scores = [[-float(rank) for rank, _ in enumerate(gains)]]
    assert value(at("ndcg", k), gains) == pytest.approx(sklearn.ndcg_score([gains], scores, k=k), abs=1e-12)


@given(numbers, cutoffs)
def test_context_precision_is_the_mean_precision_at_each_relevant_rank(gains, k):
    """The published definition, the long way: precision@rank times relevance, over the relevant in the first k."""
    hits = [gain > 0 for gain in gains][:k]
    total = sum(sum(hits[:rank]) / rank for rank in range(1, len(hits) + 1) if hits[rank - 1])
    assert value(at("context_precision", k), gains) == pytest.approx(total / sum(hits) if any(hits) else 0.0)


@given(numbers, cutoffs)
def test_figures_of_ranks(gains, k):
    """Precision, hit rate and reciprocal rank follow from which of the first items are relevant."""
    ranks = [rank for rank, gain in enumerate(gains[:k], 1) if gain > 0]
    assert value(at("precision", k), gains) == len(ranks) / (k or len(gains))
    assert value(at("hit_rate", k), gains) == bool(ranks)
    assert value(at("mrr", k), gains) == (1 / ranks[0] if ranks else 0)


@given(numbers, cutoffs)
def test_laws(gains, k):
    """All lie in 0 to 1; the best order has ndcg 1; a relevant item in the place of another one lowers nothing."""
    for family in JUDGED_FAMILIES:
        judgements = outcome(at(family, k), gains)
        assert isinstance(judgements, Skipped) or 0 <= judgements[0].number <= 1 + 1e-12
    if any(gains):
        assert value(at("ndcg", k), sorted(gains, reverse=True)) == pytest.approx(1)
    better = [1.0, *gains[1:]]
    for family in ("precision", "hit_rate", "mrr"):
        assert value(at(family, k), better) >= value(at(family, k), gains)


def test_by_hand():
    """Five chunks, the second and fourth relevant: the figures as worked on paper."""
    gains = [0.0, 1.0, 0.0, 0.5, 0.0]
    assert value("precision@5-judged", gains) == 0.4
    assert value("precision@2-judged", gains) == 0.5
    assert value("context_precision-judged", gains) == (1 / 2 + 2 / 4) / 2
    assert value("mrr-judged", gains) == 0.5
    assert value("hit_rate@1-judged", gains) == 0
    discounts = {2: 1.584963, 4: 2.321928}  # log2 of the rank + 1
    ideal = 1 + 0.5 / discounts[2]
    assert value("ndcg@5-judged", gains) == pytest.approx((1 / discounts[2] + 0.5 / discounts[4]) / ideal, abs=1e-6)


def test_reasons_say_who_judged():
    """A reason names the relevant items and the metric that judged them; that of ndcg says what the ideal is."""
    gains = [0.0, 1.0, 0.0, 0.5]
    (judgement,) = outcome("precision@3-judged", gains)
    assert judgement.reason == "1 of 3 chunks in the first 3 judged relevant by chunk_evaluation: c2"
    (judgement,) = outcome("ndcg@10-judged", gains)
    assert judgement.reason == (
        "2 of 4 chunks in the first 10 judged relevant by chunk_evaluation: c2, c4; "
        "the ideal is the best order of the 4 chunks that were judged"
    )


def test_nothing_relevant():
    """If nothing is relevant, every order is as good as any: ndcg is undefined, the shares are 0."""
    assert outcome("ndcg@10-judged", [0.0, 0.0]) == Skipped(
        reason="no retrieved chunk was judged relevant, so that no order is the best"
    )
    for family in ("precision", "context_precision", "hit_rate", "mrr"):
        assert value(f"{family}@10-judged", [0.0, 0.0]) == 0


def test_nothing_retrieved():
    """A method that retrieved nothing has no relevant item: it does not leave the mean, except that of ndcg."""
    assert value("precision@5-judged", []) == value("context_precision-judged", []) == value("mrr-judged", []) == 0
    assert outcome("precision@5-judged", [])[0].reason == "no chunk was retrieved"
    assert isinstance(outcome("ndcg-judged", []), Skipped)
    missing = load_metric("mrr-judged").call_function(Case(question="?"), {"chunk_evaluation": Skipped(reason="x")})
    assert missing == Skipped(reason="chunks is not recorded")


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (None, "chunk_evaluation gave no number to c1"),
        (-1.0, "chunk_evaluation gave a number below 0 to c1, which is no gain"),
    ],
)
def test_what_is_no_gain(number, reason):
    """A category without a score, and a negative one, are no relevance: the figure is undefined."""
    assert outcome("precision-judged", [number, 1.0]) == Skipped(reason=reason)


def test_chunks_are_ranked_not_their_documents():
    """Two chunks of one document have ranks of their own; an id that comes twice counts at its first rank."""
    chunks = [
        {"id": "a", "doc_id": "d", "text": "x"},
        {"id": "b", "doc_id": "d", "text": "y"},
        {"id": "a", "text": "x"},
    ]
    judgements = [Judgement(value="x", number=number, item=item, reason="r") for item, number in (("a", 0), ("b", 1))]
    verdicts = {"chunk_evaluation": Scored(judgements=judgements)}
    (judgement,) = load_metric("precision-judged").call_function(Case(question="?", chunks=chunks), verdicts)
    assert judgement.number == 0.5


def test_triples():
    """With the option the triples are ranked by what `triple_evaluation` said of them."""
    metric = load_metric("ndcg@3-judged-triples")
    assert metric.built_on == ("triple_evaluation",)
    assert value(metric.name, [0.0, 1.0], source="triple_evaluation", field="triples") == pytest.approx(
        0.6309, abs=1e-4
    )


@st.composite
def names(draw):
    """Draw the name of a metric, its options in any order."""
    family = draw(st.sampled_from([*JUDGED_FAMILIES.values()]))
    further = [option for option in family.options if option != JUDGED]
    options = draw(st.permutations([JUDGED, *further[: draw(st.integers(0, len(further)))]]))
    cut = f"@{draw(st.integers(1, 999_999))}" if draw(st.booleans()) else ""
    return "-".join([f"{family.name}{cut}", *options])


@given(names())
def test_a_metric_is_found_by_its_own_name(name):
    """The name of what a name gives leads to the same metric, and always says that it is judged."""
    metric = find_computed_metric(name)
    assert isinstance(metric, DerivedMetric)
    assert find_computed_metric(metric.name) is metric
    assert load_metric(name) is metric
    assert "-judged" in metric.name
    assert "judged by" in metric.description
    assert metric.description.endswith(".")
    assert explain_bad_name(name) is None


def test_names_that_are_wrong():
    """A family without verdicts, a misspelt option and a bare name are corrected."""
    assert explain_bad_name("recall@5-judged") == "'judged' is no option, recall has none; write recall@5"
    assert explain_bad_name("ndcg@5-jugded") == (
        "'jugded' is no option, ndcg has exponential, judged; write ndcg@5-judged"
    )
    assert "context_precision@5-judged" in list_name_variants("context_precision@5")
