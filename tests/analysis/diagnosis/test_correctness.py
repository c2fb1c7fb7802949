"""Correctness of answers: by a verdict, by a computed metric, or by what the answer says."""

from __future__ import annotations

import pytest

from greval import Case, DataError, DefinitionError, Store, ValueMetric, evaluate, load_metric
from greval.analysis.diagnosis.api import diagnose, diagnose_run
from greval.analysis.diagnosis.correctness import find_threshold
from greval.records.inventory import Inventory
from greval.records.scale import CategoricalScale, ValueScale
from greval.testing import ScriptedJudge

CHAIN = (("Silver Boat", "directed by", "Ada Moreau"), ("Ada Moreau", "born in", "Turin"))


INDEX = Inventory(
    documents=frozenset({"boat", "ada", "port"}),
    chunks={"boat#1": "boat", "ada#1": "ada", "port#1": "port"},
    nodes={"silver_boat": ("boat",), "Ada Moreau": ("boat", "ada"), "Turin": ("ada", "port"), "Porto": ("port",)},
    edges={CHAIN[0]: ("boat",), CHAIN[1]: ("ada",), ("Porto", "twin of", "Turin"): ("port",)},
    aliases={"Ada Moreau": ("A. Moreau",)},
)


GOLD = {
    "essential_docs": ["boat", "ada"],
    "expected_edges": CHAIN,
    "expected_nodes": ["Silver Boat", "Ada Moreau", "Turin"],
    "start_nodes": ["Silver Boat"],
}


TEXTS = {
    "boat": "Silver Boat was directed by Ada Moreau.",
    "ada": "Ada Moreau was born in Turin.",
    "port": "Porto is a twin of Turin.",
}


def chunks(*names):
    return [{"id": f"{name}#1", "text": TEXTS[name], "doc_id": name} for name in names]


def walk(*edges, starts=("Silver Boat",)):
    return {"start_nodes": starts, "traversed_edges": edges, "final_nodes": [edge[2] for edge in edges[-1:]]}


def case(**fields):
    whole = {
        "id": "q1",
        "method": "walk",
        "question": "Where was the director of Silver Boat born?",
        "expected_answer": "Turin",
        "answer": "In Porto.",
        "gold": GOLD,
        "chunks": chunks("boat", "ada"),
        "triples": [*CHAIN],
        "traversal": walk(*CHAIN),
        "tags": {"query_type": "chain"},
    }
    return Case(**{**whole, **fields})


def cause(inventory=INDEX, **fields):
    return diagnose(case(**fields), verdict=False, inventory=inventory).cause


@pytest.mark.parametrize(
    ("expected", "answer", "right"),
    [
        ("Turin", "Turin", True),
        ("Turin", "It is Turin, as the records say.", True),
        ("no", "There is no such place.", False),
        ("no", "No, it is not.", True),
        ("Silver Boat", "The director of Silver Boat is not known.", False),
        ("Silver Boat", "Silver Boat", True),
        ("7", "It is 17.", False),
    ],
)
def test_an_answer_is_right_for_what_it_says(expected, answer, right):
    """A repeated word of the question, a short word by the way, or a part of a number makes no right answer."""
    assert (cause(expected_answer=expected, answer=answer) == "judged wrong") == right


def test_other_right_answers_count():
    """Each of the gold's answers and each line of the expected answer is right."""
    assert cause(gold={**GOLD, "answers": ["Augusta Taurinorum"]}, answer="Augusta Taurinorum") == "judged wrong"
    assert cause(expected_answer="Torino\nLa Turin", answer="It was Torino.") == "judged wrong"


def told_right(messages):
    return {"reason": "Compared.", "value": int("ANSWER RIGHT" in messages[-1].text)}


CASES = (
    case(id="q1", answer="ANSWER RIGHT"),
    case(id="q2", chunks=chunks("boat"), triples=CHAIN[:1], traversal=walk(CHAIN[0])),
    case(id="q3"),
    case(id="q2", method="vector", triples=None, traversal=None, chunks=chunks("port"), tags={"query_type": "hop"}),
    case(id="q4", answer=None, error="down"),
)


@pytest.fixture
def run(tmp_path):
    """Give the folder of a run with a right answer, two wrong ones of a walk, one of a vector search, one failed."""
    evaluate(CASES, [load_metric("correctness")], ScriptedJudge(told_right), out=tmp_path / "run")
    return tmp_path / "run"


def test_a_metric_that_the_run_lacks_is_computed(run):
    """A computed metric can tell right from wrong although the run does not hold it; a judged one cannot."""
    with Store.open(run) as store:
        found = {row.sample_id: row.cause for row in diagnose_run(store, metric="exact_match", inventory=INDEX)}
        assert found["q1"] == "not used"  # the words of the answer are not the expected ones
        with pytest.raises(DataError, match="relevance is not in the run, which holds correctness"):
            diagnose_run(store, metric="relevance")
        with pytest.raises(DataError, match="corectness: no such metric"):
            diagnose_run(store, metric="corectness")


def test_a_metric_without_a_middle_cannot_tell(run):
    """A scale without an end, and categories without scores, cannot tell right from wrong."""
    with Store.open(run) as store, pytest.raises(DefinitionError, match="latency: its scale has no middle"):
        diagnose_run(store, metric="latency")
    scored = CategoricalScale.model_validate({"categories": {"x": {"score": 1}, "y": {"score": 0.2}}})
    assert find_threshold("a", scored).middle == pytest.approx(0.6)
    falling = ValueScale(range=(1, 5), levels={1: "None.", 5: "Many."}, better="lower")
    assert find_threshold("b", falling).lower_is_better


def test_skipped_and_failed_verdicts_are_not_judged(tmp_path):
    """A verdict that was skipped or failed is no verdict; the reason says why."""
    depth = ValueMetric(
        name="depth", description="d", needs=["answer"], range=(1, 5), levels={1: "a", 5: "b"}, steps=["Read."]
    )
    judge = ScriptedJudge(
        lambda messages: ValueError("late") if "BAD" in messages[-1].text else {"reason": "r", "value": 3}
    )
    cases = [case(id="skipped", answer=None), case(id="failed", answer="BAD"), case(id="middle")]
    evaluate(cases, [depth], judge, out=tmp_path / "run")
    with Store.open(tmp_path / "run") as store:
        found = {row.sample_id: row for row in diagnose_run(store, metric="depth")}
    assert {name: row.cause for name, row in found.items()} == {
        "skipped": "not judged",
        "failed": "not judged",
        "middle": "answered rightly",
    }
    assert "answer is not recorded" in found["skipped"].reason
    assert "late" in found["failed"].reason
