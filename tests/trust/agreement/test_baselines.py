"""Tests of the baselines, and of the rules of one line that they predict by."""

import agreed_runs
import pytest
from agreed_runs import MOSTLY, TEXTS, YES, said, write
from claim_judge import make_judge

from greval import Annotation, ComputedMetric, build_scale_metric, evaluate, load_metric
from greval.errors import DataError
from greval.metrics.library import add_dependencies
from greval.records.case import Case, Chunk
from greval.records.formula_metric import StoredMetric
from greval.records.result import Judgement, Result, Scored
from greval.records.scale import MeasureScale
from greval.runs.store import Store
from greval.runs.store.writer import StoreWriter
from greval.testing import ScriptedJudge
from greval.trust.agreement.api import agreement
from greval.trust.agreement.rules import list_word_rules, read_rules

GRADED = build_scale_metric("graded", agreed_runs.GRADED.scale, over="chunks")
TITLED = build_scale_metric("titled", MeasureScale(high=1.0), over="chunks")


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
        keys = [(case.id, case.method, judgement.item) for judgement in result.judgements]
        length, *_ = read_rules(store, metric, keys)
        return {item: number for (_, _, item), number in length.numbers.items()}


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


def write_passages(folder, *, questions=12, apart=True):
    """Write a run over chunks, of which every second is relevant, shares words if `apart`, and is judged irrelevant."""
    chunks = [
        Chunk(id=f"c{n}", text="Silver Boat sails." if n % 2 or not apart else "Turin is a town.") for n in range(4)
    ]
    labels = []
    with StoreWriter.create(folder) as writer:
        writer.put_fact("metrics", [GRADED.model_dump(mode="json"), TITLED.model_dump(mode="json")])
        for n in range(questions):
            case = Case(id=f"q{n}", question="Who built the Silver Boat?", chunks=chunks)
            for metric, value in (("graded", lambda at: "Irrelevant"), ("titled", lambda at: float(at % 2))):
                judgements = tuple(
                    Judgement(
                        value=value(at), number=None if metric == "graded" else value(at), reason="r", item=f"c{at}"
                    )
                    for at in range(4)
                )
                result = Result(
                    sample_id=case.id,
                    metric=metric,
                    fingerprint="f",
                    judge="j",
                    tier="computed",
                    outcome=Scored(judgements=judgements),
                )
                writer.append(f"{metric}{n}", result, case=case.model_dump_json(exclude_defaults=True))
            labels += [
                Annotation(
                    sample_id=case.id,
                    item=f"c{at}",
                    metric="graded",
                    annotator="ana",
                    value="Relevant" if at % 2 else "Irrelevant",
                )
                for at in range(4)
            ]
    return labels


def test_shared_words_are_a_rule_where_both_texts_are(tmp_path):
    """Words of the question in the chunk decide; the rule has its threshold and the metric that decides by it."""
    labels = write_passages(tmp_path / "run")
    group = agreement(tmp_path / "run", "graded", labels).groups[0]
    by_name = {baseline.name: baseline for baseline in group.baselines}
    words = by_name["words of the question in the chunk"]
    assert words.figures["kappa"].value == 1
    assert (words.rule, words.metric, words.formula) == (
        "Relevant above 0.3333, else Irrelevant",
        "chunk_words@0.3333",
        "",
    )
    assert words.lead.value == group.judge.figures["kappa"].value - 1


def test_items_have_the_floor_of_no_judge_at_all(tmp_path):
    """Everything in the first category is a floor of metrics over items, with the F1 of this category."""
    labels = write_passages(tmp_path / "run")
    group = agreement(tmp_path / "run", "graded", labels).groups[0]
    floor = next(baseline for baseline in group.baselines if baseline.name == "everything Relevant")
    assert floor.figures["f1 of Relevant"].value == pytest.approx(2 / 3)
    assert (floor.figures["accuracy"].value, group.judge.figures["f1 of Relevant"].value) == (0.5, 0)


def test_a_metric_of_the_user_is_a_floor(tmp_path):
    """It may be stored in the run, predefined, or given as an object; over the case, it counts for each item."""
    labels = write_passages(tmp_path / "run", apart=False)
    own = ComputedMetric(
        name="own",
        description="The place.",
        over="chunks",
        needs=["chunks"],
        scale=MeasureScale(high=9.0),
        compute=lambda case: [
            Judgement(value=int(chunk.id[1:]) % 2, reason="r", item=chunk.id) for chunk in case.chunks
        ],
    )
    group = agreement(tmp_path / "run", "graded", labels, floors=["titled", own, "context_words"]).groups[0]
    titled, by_object, of_case = group.baselines[-3:]
    assert [titled.name, by_object.name, of_case.name] == ["titled", "own", "context_words"]
    assert titled.figures["kappa"].value == by_object.figures["kappa"].value == 1
    assert of_case.figures["kappa"].value == 0


def test_a_judged_metric_is_no_floor(tmp_path):
    """A rule needs no judge: the message says so, and names one that needs none."""
    labels = write_passages(tmp_path / "run")
    with pytest.raises(DataError, match="expected a computed metric such as"):
        agreement(tmp_path / "run", "graded", labels, floors=["correctness"])
    with pytest.raises(DataError, match="did you mean"):
        agreement(tmp_path / "run", "graded", labels, floors=["token_f"])


@pytest.mark.parametrize(
    ("metric", "rules"),
    [
        ("correctness", ["answer_words"]),
        ("faithfulness", ["answer_words-context"]),
        ("relevance", ["context_words"]),
        ("answer_quality", ["answer_words", "answer_words-context"]),
        ("chunk_evaluation", ["chunk_words"]),
        ("triple_evaluation", ["triple_words"]),
        ("claim_support", ["claim_words"]),
        ("claim_correctness", ["claim_words-expected"]),
        ("expected_claim_coverage", ["expected_claim_words-answer"]),
        ("expected_claim_support", ["expected_claim_words"]),
    ],
)
def test_the_words_compared_are_those_that_the_metric_reads(metric, rules):
    """An answer is compared with the expected one or with the context, as its judge does."""
    stored = StoredMetric(load_metric(metric).model_dump(mode="json"))
    assert [rule.name for rule in list_word_rules(stored)] == rules
