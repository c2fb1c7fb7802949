"""People's preferences on a real server: both answers are seen, and what people prefer comes back."""

from __future__ import annotations

from greval import evaluate
from greval.metrics.library import load
from greval.testing import ScriptedJudge
from greval.trust.agreement.api import agreement
from greval.trust.argilla.pull import pull_from_argilla
from greval.trust.argilla.push import push_to_argilla


def test_a_preference_makes_the_round_trip(owner, tmp_path):
    """A person sees both answers of a pair and chooses one of three labels, which is an annotation of the pair."""
    pairs = [
        {
            "id": f"q{n}",
            "question": "Who?",
            "method": "local vs walk",
            "answer": f"<b>Ada</b> {n}.",
            "other_response": {"method": "walk", "answer": f"Bob {n}."},
        }
        for n in range(3)
    ]
    run = tmp_path / "run"
    judge = ScriptedJudge([{"reason": "r", "value": "A"}])
    evaluate(pairs, [load("comprehensiveness")], judge, out=run)
    push_to_argilla(run, "comprehensiveness", dataset="d", workspace=owner.workspace, min_submitted=1)
    person = owner.person()
    for record, value in zip(owner.records("d"), ("A", "Tie", "B"), strict=True):
        assert {*record["fields"]} == {"question", "answer_a", "answer_b"}
        assert record["fields"]["answer_a"].startswith("&lt;b&gt;Ada")
        assert record["fields"]["answer_b"].startswith("Bob")
        owner.answer(person, record, "submitted", value)
    assert pull_from_argilla(run, dataset="d", workspace=owner.workspace).unanswered == 0
    rows = (run / "annotations.jsonl").read_text(encoding="utf-8")
    assert [rows.count(f'"value":"{value}"') for value in ("A", "Tie", "B")] == [1, 1, 1]
    found = agreement(run, "comprehensiveness")
    assert round(found.groups[0].judge.figures["accuracy"].value, 3) == round(1 / 3, 3)
