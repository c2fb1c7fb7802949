"""How well triples and claims are told apart by the evidence of questions on novels, beside what needs no judge.

    python benchmarks/evidence.py triples
    python benchmarks/evidence.py triples -n 156                     # all questions of the held-out novels
    python benchmarks/evidence.py claims --judge openai:MODEL

GraphRAG-Bench gives the evidence of each question as sentences and as triples. Its labels were made by a model, and the
wrong ones below are made by a program. The embedded model was calibrated on one novel (`--part dev`); the other two are
held out.

Triples: up to two of the evidence of a question are relevant; four of other questions are not, two of which share a
name with the evidence where possible. Claims: a triple of the evidence as a sentence is supported by sentences of
evidence; the same with the object of another triple, whose sentence is among them too, is not.

Beside the judge stand rules: to call everything relevant or supported, and thresholds of the share of words that a
sentence of the context (of a claim) or the question (of a triple) has too, and of the length of the text, each the best
one on the other part. Intervals resample questions.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score, f1_score

from greval import Case, Judge, evaluate, load_metric
from greval.runs.progress import Progress

DATA = Path(__file__).parents[2] / "shared" / "data" / "graphragbench_novels_3" / "questions.jsonl"
NOVELS = {"dev": {"Novel-47558"}, "heldout": {"Novel-25646", "Novel-40700"}}
OTHER_PART = {"dev": "heldout", "heldout": "dev"}
KINDS = {"Fact Retrieval", "Complex Reasoning"}
QUESTIONS = {"triples": 24, "claims": 40}
METRICS = {"triples": "triple_evaluation", "claims": "faithfulness"}
RESAMPLES = 2000


@dataclass(frozen=True)
class Labelled:
    """A case, the question that it belongs to, its label, and what rules without a judge see: two numbers."""

    question: str
    case: Case
    label: bool
    shared_words: float
    length: int


def main() -> None:
    """Judge the rows of a part, and print how well they are told apart by the judge and by each rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=READERS)
    parser.add_argument("--judge", default="local")
    parser.add_argument("--base-url")
    parser.add_argument("--part", choices=NOVELS, default="heldout")
    parser.add_argument("-n", type=int, help="questions; 24 for triples, 40 for claims if it is not named")
    parser.add_argument("--out", type=Path, default=Path("runs/evidence"))
    args = parser.parse_args()
    number_of_questions = args.n or QUESTIONS[args.kind]
    rows = [*READERS[args.kind](args.part, number_of_questions)]
    start = time.perf_counter()
    run = evaluate(
        [row.case for row in rows],
        [load_metric(METRICS[args.kind])],
        Judge(args.judge, base_url=args.base_url, timeout=600),
        out=args.out / f"{args.kind}-{args.part}",
        total=len(rows),
        on_progress=show_progress,
    )
    values = {row.sample_id: row.judgements[0].value for row in run.results() if row.judgements}
    judged = [row for row in rows if row.case.id in values]
    if not judged:
        sys.exit("no case has a verdict")
    seconds = (time.perf_counter() - start) / len(rows)
    print(
        f"\n{args.kind}, {args.part}: {len(judged)} of {len(rows)} judged, {len({row.question for row in judged})} "
        f"questions, {sum(row.label for row in judged)} are good, {seconds:.2f} s each"
    )
    found = {"judge": np.array([values[row.case.id] not in {"Irrelevant", 0} for row in judged])}
    found |= apply_rules(judged, [*READERS[args.kind](OTHER_PART[args.part], number_of_questions)])
    report([row.label for row in judged], [row.question for row in judged], found)


def apply_rules(rows: list[Labelled], others: list[Labelled]) -> dict[str, np.ndarray]:
    """Apply the rules without a judge; thresholds are the best ones for kappa on rows of the other part."""
    found = {"all": np.ones(len(rows), dtype=bool)}
    labels = np.array([row.label for row in others])
    measures: dict[str, Callable[[Labelled], float]] = {
        "shared words": lambda row: row.shared_words,
        "long text": lambda row: row.length,
        "short text": lambda row: -row.length,
    }
    for name, measure in measures.items():
        known = np.array([measure(row) for row in others])
        best = max(np.unique(known), key=lambda least, known=known: cohen_kappa_score(labels, known >= least))
        found[name] = np.array([measure(row) >= best for row in rows])
    return found


def report(good: Sequence[bool], questions: Sequence[str], found: Mapping[str, np.ndarray]) -> None:
    """Print kappa and F1 of the judge and of each rule against labels, and the difference of the judge from each rule.

    Intervals resample questions.
    """
    labels, names = np.array(good), np.array(questions)
    places = [np.flatnonzero(names == name) for name in dict.fromkeys(names)]
    draw = np.random.default_rng(1)
    picks = [
        np.concatenate([places[k] for k in draw.integers(len(places), size=len(places))]) for _ in range(RESAMPLES)
    ]
    for title, score in (("kappa", cohen_kappa_score), ("F1", f1_score)):
        samples = {way: np.array([score(labels[pick], told[pick]) for pick in picks]) for way, told in found.items()}
        for way, told in found.items():
            text = f"{title:<6}{way:<14}{score(labels, told):.2f} [{format_interval(samples[way])}]"
            if way != "judge":
                text += f"   judge less rule [{format_interval(samples['judge'] - samples[way])}]"
            print(text)


def format_interval(samples: np.ndarray) -> str:
    """Format a 95 % interval."""
    low, high = np.nanpercentile(samples, [2.5, 97.5])
    return f"{low:.2f}, {high:.2f}"


def read_triples(part: str, number_of_questions: int = QUESTIONS["triples"]) -> Iterator[Labelled]:
    """Read triples of the evidence of each question, and of other questions on the same novel."""
    draw = random.Random(5)
    rows = read_questions(part, draw)
    for row in rows[:number_of_questions]:
        gold = row["evidence_triples"]
        names = {part.lower() for triple in gold[:2] for part in (triple[0], triple[2])}
        rest = (other for other in rows if other["source"] == row["source"])
        pool = [triple for other in rest for triple in other["evidence_triples"] if triple not in gold]
        near = [triple for triple in pool if names & {triple[0].lower(), triple[2].lower()}]
        noise = draw.sample(near, min(2, len(near)))
        noise += draw.sample(pool, 4 - len(noise))
        for number, (triple, label) in enumerate([*((t, True) for t in gold[:2]), *((t, False) for t in noise)]):
            parts = dict(zip(("subject", "predicate", "object"), triple, strict=True))
            case = Case(id=f"{row['id']}-{number}", question=row["question"], triples=[{"id": "t", **parts}])
            text = " ".join(triple)
            yield Labelled(row["id"], case, label, share_words(text, row["question"]), len(text))


def read_claims(part: str, number_of_questions: int = QUESTIONS["claims"]) -> Iterator[Labelled]:
    """Read a claim that the evidence of a question states, and the same claim with another object."""
    draw = random.Random(11)
    rows = read_questions(part, draw)
    for row in rows[:number_of_questions]:
        others = draw.sample([one for one in rows if one is not row and one["source"] == row["source"]], 3)
        sentences = [text for one in (row, *others) for text in one["evidence"]]
        draw.shuffle(sentences)
        subject, predicate, right = draw.choice(row["evidence_triples"])
        wrong = draw.choice([triple for one in others for triple in one["evidence_triples"]])[2]
        if wrong.lower() == right.lower():
            continue
        for label, thing in ((True, right), (False, wrong)):
            claim = f"{subject[0].upper()}{subject[1:]} {predicate} {thing}."
            identity = f"{row['id']}-{label}"
            case = Case(id=identity, question=row["question"], answer=claim, chunks=[*dict.fromkeys(sentences)])
            shared = max(share_words(claim, text) for text in sentences)
            yield Labelled(row["id"], case, label, shared, len(claim))


def read_questions(part: str, draw: random.Random) -> list[dict[str, Any]]:
    """Read the questions on the novels of a part that have evidence, in a drawn order."""
    rows = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    kept = [row for row in rows if row["source"] in NOVELS[part] and row["question_type"] in KINDS]
    kept = [row for row in kept if row["evidence"] and row["evidence_triples"]]
    draw.shuffle(kept)
    return kept


def share_words(text: str, other: str) -> float:
    """Compute the share of the words of a text that another text has too."""
    words, known = ({*re.findall(r"\w+", one.lower())} for one in (text, other))
    return len(words & known) / max(1, len(words))


def show_progress(progress: Progress) -> None:
    """Show how many are judged."""
    print(f"\r{progress.done}/{progress.total}, {progress.failed} failed", end="", flush=True)


READERS: dict[str, Callable[[str, int], Iterator[Labelled]]] = {"triples": read_triples, "claims": read_claims}


if __name__ == "__main__":
    main()
