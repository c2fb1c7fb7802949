"""Tests of the trivial baselines."""

from agreed_runs import MOSTLY, TEXTS, YES, said, write
from claim_judge import make_judge

from greval import evaluate, load_metric
from greval.metrics.library import add_dependencies
from greval.records.case import Case
from greval.runs.store import Store
from greval.testing import ScriptedJudge
from greval.trust.agreement.api import agreement
from greval.trust.agreement.baselines import measure_lengths
from greval.trust.annotations.matching import AnnotatedItem


def test_the_floor_is_learned_on_other_questions(run, tmp_path):
    """Length that tells people's labels is found by its threshold; labels that it does not tell gain nothing."""
    constant, length = agreement(run, "right", said("right", "ana", MOSTLY)).groups[0].baselines
    assert length.figures["accuracy"].value == 1
    assert (constant.figures["accuracy"].value, constant.figures["kappa"].value) == (0.5, 0)
    texts = ["x" * (1 + 37 * n % 101) for n in range(100)]
    labels = [("Yes", "No")[n * n // 7 % 2] for n in range(100)]
    noise = write(tmp_path / "noise", "right", labels, texts=texts)
    flattered = agreement(noise, "right", said("right", "ana", labels)).groups[0].baselines[1].figures["kappa"]
    assert flattered.interval.low < 0


def test_without_texts_the_floor_says_so(tmp_path):
    """A run that holds no answers, or one question only, has no floor by length or none at all."""
    bare = agreement(write(tmp_path / "bare", "right", YES), "right", said("right", "ana", YES)).groups[0]
    assert bare.baselines[1].why == "the run holds no texts of the annotated items"
    one = write(tmp_path / "one", "right", YES, questions=["q"] * 20, texts=TEXTS)
    floors = agreement(one, "right", said("right", "ana", MOSTLY, questions=["q"] * 20)).groups[0].baselines
    assert floors[1].why.startswith("needs items of two questions")


def measure(folder, case, metric, judge):
    """Judge a case, and return the lengths of what a metric judged by its item."""
    metrics = add_dependencies([load_metric(metric)])
    run = evaluate([case], metrics, judge, out=folder)
    with Store.open(run.folder) as store:
        result = next(row for row in store.results() if row.metric == metric)
        things = [
            AnnotatedItem(
                sample_id=case.id,
                method=case.method,
                item=judgement.item,
                tags={},
                judge=judgement.value,
                values={"ana": judgement.value},
            )
            for judgement in result.judgements
        ]
        return {item: length for (_, _, item), length in measure_lengths(store, metric, things).items()}


def test_the_length_of_a_triple_counts(tmp_path):
    """Of a metric over triples the floor by length is that of the triple's text."""
    case = Case(id="q", question="?", triples=(("crew", "uses", "identity"),))
    verdicts = {"judgements": [{"item": 1, "reason": "It is.", "value": "Relevant"}]}
    judge = ScriptedJudge(lambda _: verdicts)
    assert measure(tmp_path / "run", case, "triple_evaluation", judge) == {"t1": len("crew uses identity")}


def test_the_length_of_a_listed_claim_counts(tmp_path):
    """A claim that the run listed has a length, though no case records it."""
    case = Case(id="q", question="Who?", answer="Ada wrote it. It is from 1850.", chunks=["Ada wrote it."])
    lengths = measure(tmp_path / "run", case, "claim_support", make_judge())
    assert lengths == {"a1": len("Ada wrote it."), "a2": len("It is from 1850.")}


def test_the_length_of_a_pair_is_a_difference(tmp_path):
    """A rule by length of preferences says which answer is longer; without both answers it says nothing."""
    pair = Case(
        id="q", question="Who?", answer="Ada.", method="a vs b", other_response={"answer": "Grace.", "method": "b"}
    )
    judge = ScriptedJudge(lambda _: {"reason": "Equal.", "value": "Tie"})
    assert measure(tmp_path / "run", pair, "comprehensiveness", judge) == {None: len("Ada.") - len("Grace.")}
