"""Runs of the four kinds of metric, judged by a scripted judge."""

from __future__ import annotations

import re

from greval import Case, CategoricalMetric, ManyCategoricalMetric, ManyValueMetric, ValueMetric, evaluate
from greval.testing import ScriptedJudge
from greval.trust.annotations.files import read_annotations

TONE = CategoricalMetric(
    name="tone",
    description="Whether the answer keeps a <professional> tone.",
    needs=("question", "answer"),
    categories={"Polite": "Courteous & calm.", "Plain": "Neither.", "Rude": "Insults."},
    steps=["Read the answer.", "Weigh its tone."],
)
DEPTH = ValueMetric(
    name="depth",
    description="How deep the answer goes.",
    needs=("question", "expected_answer", "answer"),
    range=(1, 5),
    levels={1: "Shallow.", 5: "Deep."},
    steps=["Compare."],
)
CHUNK = ManyCategoricalMetric(
    name="chunk_use",
    description="Whether the chunk helps.",
    over="chunks",
    needs=("question", "chunks"),
    categories={"Helps": "It does.", "Does not": "It does not."},
    steps=["Read."],
)
TRIPLE = ManyValueMetric(
    name="triple_use",
    description="How far the triple helps.",
    over="triples",
    needs=("question", "triples", "tags.topic"),
    range=(-2, 2),
    levels={-2: "It misleads.", 2: "It decides."},
    steps=["Read."],
)
KINDS = {metric.name: metric for metric in (TONE, DEPTH, CHUNK, TRIPLE)}
VALUES = {
    "tone": ["Polite", "Plain", "Rude"],
    "depth": [1, 2, 3, 4, 5],
    "chunk_use": ["Helps", "Does not"],
    "triple_use": [-2, -1, 0, 1, 2],
}


def cases(count, *, word="is"):
    """Give cases with three chunks and triples each; their texts hold what a page would take for markup."""
    return [
        Case(
            id=f"q{n}",
            method="walk" if n % 2 else "local",
            question=f"What {word} <number> {n}?",
            expected_answer=f"{n}",
            answer=f"It {word} {n}.\n  <script>alert({n})</script> & done",
            chunks=[{"id": f"c{n}-{k}", "text": f"chunk {k} of {n}"} for k in range(3)],
            triples=[{"id": f"t{n}-{k}", "subject": f"s{n}", "predicate": "is", "object": f"{k}"} for k in range(3)],
            tags={"topic": f"topic {n % 4}"},
        )
        for n in range(count)
    ]


def judge(metric):
    """Give a judge whose verdicts depend on nothing but the length of the text; a third of its items are doubtful."""

    def answer(messages):
        text = messages[-1].text
        found = len(re.findall("<item n=", text))
        value = VALUES[metric.name][sum(map(ord, text)) % len(VALUES[metric.name])]
        one = {"reason": "So it reads.", "value": value}
        return {"judgements": [{"item": n + 1, **one} for n in range(found)]} if found else one

    return ScriptedJudge(answer)


def judged(folder, metric, count, **options):
    """Judge cases by one metric into a run folder."""
    evaluate(cases(count, **options), [metric], judge(metric), out=folder)
    return folder


def rows(path):
    """Read annotations from a file, with all their fields."""
    found = read_annotations(path)
    assert found.faults == ()
    return [one.model_dump() for one in found.annotations]
