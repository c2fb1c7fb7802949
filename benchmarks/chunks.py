"""How well chunks are told apart: HotpotQA, ten passages a question, those that hold the answer are known.

    python benchmarks/chunks.py --judge local --max-items 1
    python benchmarks/chunks.py --judge local --max-items 10

A passage counts as found where the judge calls it Relevant or Indirectly relevant; it should be found
where its title is among the question's gold titles. The second line counts Relevant alone, the third is
what calling every passage relevant reaches. Beside the judge stand the rules of `evidence.py`: thresholds of
the share of a passage's words that the question has too, and of its length, chosen on the other part.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from evidence import OTHER_PART, Labelled, apply_rules, report, share_words
from sklearn.metrics import precision_recall_fscore_support

from greval import Case, Judge, Result, evaluate, load_metric

DATA = Path(__file__).parents[2] / "shared" / "data" / "multihop_hotpotqa_100" / "questions.jsonl"
FOUND = {"Relevant", "Indirectly relevant"}
DEV_QUESTIONS = 8


def main() -> None:
    """Judge the passages of some questions and print precision, recall and F1 against gold."""
    args = arguments()
    rows = sample(args.part, args.n)
    gold = {row["id"]: set(row["gold_titles"]) for row in rows}
    judge = Judge(args.judge, base_url=args.base_url, timeout=600, max_items=args.max_items, reason=args.reason)
    out = args.out / f"items-{args.max_items}-{judge.reason_position}"
    start = time.perf_counter()
    run = evaluate(
        map(case, rows), [load_metric("chunk_evaluation")], judge, out=out, total=len(rows), on_progress=told
    )
    seconds = time.perf_counter() - start
    results = [row for row in run.results() if row.sample_id in gold]
    way = f"max_items {args.max_items}, reason {judge.reason_position}, part {args.part}"
    print(f"\n{way}: {figures(results, gold, FOUND)}")
    print(f"Relevant alone: {figures(results, gold, {'Relevant'})}")
    print(f"every passage: {figures(results, gold, set(load_metric('chunk_evaluation').scale.names))}")
    judged = [*verdicts(results)]
    passages = {(one.question, one.case.chunks[0].id): one for one in label_passages(rows)}
    labelled = [passages[name, title] for name, title, _ in judged]
    found = {"judge": np.array([value in FOUND for _, _, value in judged])}
    found |= apply_rules(labelled, [*label_passages(sample(OTHER_PART[args.part], args.n))])
    report([one.label for one in labelled], [one.question for one in labelled], found)
    usage = run.progress.usage
    print(f"calls {usage.calls}, input tokens {usage.input_tokens}, seconds per passage {seconds / len(passages):.2f}")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", default="local")
    parser.add_argument("--base-url")
    parser.add_argument("--max-items", type=int, default=1)
    parser.add_argument("--reason", choices=("before", "after"), help="the place of the reason, by default the judge's")
    parser.add_argument("--part", choices=("dev", "heldout"), default="heldout")
    parser.add_argument("-n", type=int, default=30, help="questions")
    parser.add_argument("--out", type=Path, default=Path("runs/chunks"))
    return parser.parse_args()


def sample(part: str, n: int) -> list[dict]:
    """Give n questions of one part; prompts were chosen on the other."""
    rows = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    random.Random(20261).shuffle(rows)
    return (rows[:DEV_QUESTIONS] if part == "dev" else rows[DEV_QUESTIONS:])[:n]


def case(row: dict) -> Case:
    """Give the case of a question; a passage's id is its title."""
    chunks = [{"id": p["title"], "text": f"{p['title']}. {''.join(p['sentences'])}"} for p in row["passages"]]
    return Case(id=row["id"], question=row["question"], chunks=chunks)


def label_passages(rows: Iterable[dict]) -> Iterator[Labelled]:
    """Yield each passage of questions alone, with its label and what rules without a judge see."""
    for row in rows:
        for passage in row["passages"]:
            one = case({**row, "passages": [passage]})
            text = one.chunks[0].text
            label = passage["title"] in row["gold_titles"]
            yield Labelled(row["id"], one, label, share_words(text, row["question"]), len(text))


def told(progress) -> None:  # noqa: ANN001 - a snapshot
    """Show how far it is."""
    print(f"\r{progress.done}/{progress.total}, {progress.items_failed} items failed", end="", flush=True)


def verdicts(results: Iterable[Result]) -> Iterator[tuple[str, str, str]]:
    """Give each judged passage: question, title, value."""
    for row in results:
        for judgement in row.judgements:
            yield row.sample_id, judgement.item or "", str(judgement.value)


def figures(results: list[Result], gold: dict[str, set[str]], found_by: set[str]) -> str:
    """Give precision, recall and F1 of finding the gold passages by some values, and how many passages failed."""
    judged = [*verdicts(results)]
    truth = [title in gold[question] for question, title, _ in judged]
    found = [value in found_by for _, _, value in judged]
    precision, recall, f1, _ = precision_recall_fscore_support(truth, found, average="binary", zero_division=0)
    failed = sum(len(row.failures) for row in results)
    return f"precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}, passages {len(judged)}, failed {failed}"


if __name__ == "__main__":
    main()
