"""Three small metrics, one of each kind, their cases, and a judge that answers for all of them."""

from __future__ import annotations

from greval import Case, CategoricalMetric, ManyCategoricalMetric, ValueMetric

TONE = CategoricalMetric(
    name="tone",
    description="The tone.",
    needs=["question", "answer"],
    categories={"Polite": {"means": "Courteous.", "score": 1}, "Rude": {"means": "Insults.", "score": 0}},
    steps=["Read."],
)

PASSAGES = ManyCategoricalMetric(
    name="passages",
    description="Each chunk.",
    over="chunks",
    needs=["question", "chunks"],
    categories={"Good": {"means": "It helps.", "score": 1}, "Bad": {"means": "It does not.", "score": 0}},
    steps=["Read."],
)

BUILT = ValueMetric(
    name="built",
    description="The answer by good chunks.",
    needs=["answer", "chunks"],
    range=(0, 1),
    levels={0: "No.", 1: "Yes."},
    steps=["Compare."],
    uses={"chunks": {"judged_by": "passages", "as": ["Good"]}},
)


def cases(n):
    return [Case(id=f"q{i}", question=f"Question {i}?", answer=f"Answer {i}.", chunks=["a", "b"]) for i in range(n)]


def by_metric(messages):
    """Answer whatever metric asks: chunks 'a' are good, others bad."""
    text = messages[-1].text
    if "<item" in text:
        found = [part.split("\n")[1] for part in text.split("<item ")[1:]]
        return {
            "judgements": [
                {"item": n, "reason": "r", "value": "Good" if chunk == "a" else "Bad"}
                for n, chunk in enumerate(found, 1)
            ]
        }
    return {"reason": "r", "value": "Polite" if "tone" in messages[0].text else 1}
