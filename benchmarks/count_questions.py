"""Questions that counts answer, drawn from a review graph and counted again by SQL.

    python benchmarks/count_questions.py

The 600 reviews of `aggregation.py` are indexed by rules and a schema, 200 questions of seven patterns are drawn, with
praises and complaints of brands and products, and each answer is computed again by SQL over a table of the relations
of the graph. Printed are the questions by pattern, the share whose answer and documents SQL confirms, near-duplicates
(the same names, pattern and words of count), those that the index that drew them does not count, and the CPU time.
It ends with 1 if fewer than 95 % are confirmed, more than 2 % are duplicates, or one is not counted.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sqlite3
import sys
import time
from collections import Counter
from pathlib import Path

from aggregation import BRANDS, FEATURES, PRODUCTS, build_review_index, describe_machine, write_reviews

from greval.reference import generate_questions
from greval.reference.aggregates import compute_aggregates
from greval.reference.index import ReferenceIndex
from greval.reference.questions.counts import COUNT_PATTERNS

LABELS = {"praises": "HAS_POSITIVE", "complaints": "HAS_NEGATIVE"}
MIN_CONFIRMED, MAX_DUPLICATES = 0.95, 0.02


def build_table(index: ReferenceIndex) -> sqlite3.Connection:
    """Return a table of what each review states: of its brand and of its product, each feature with a sign once."""
    table = sqlite3.connect(":memory:")
    table.execute("CREATE TABLE stated (review, kind, owner, label, feature, UNIQUE (review, owner, label, feature))")
    for relation in index.read_relations():
        if relation.label in LABELS.values():
            kind = "brand" if relation.source in BRANDS else "product"
            rows = ((review, kind, relation.source, relation.label, relation.target) for review in relation.documents)
            table.executemany("INSERT OR IGNORE INTO stated VALUES (?, ?, ?, ?, ?)", rows)
    return table


def count_again(table: sqlite3.Connection, question: str) -> tuple[dict[str, int], set[str]]:
    """Return the counts and the reviews that a question asks for, by SQL."""
    label = next(label for noun, label in LABELS.items() if noun in question)
    owners = [name for name in PRODUCTS if name in question]
    owners = owners or [name for name in BRANDS if name in question]
    features = [name for name in FEATURES if re.search(rf"about (?:the )?{name}\b", question)]
    kind = "product" if (owners and owners[0] in PRODUCTS) or re.search(r"\bproducts?\b", question) else "brand"
    group = "feature" if question.startswith("What") else "owner"
    where, values = ["label = ?", "kind = ?"], [label, kind]
    for column, names in (("owner", owners), ("feature", features)):
        if names:
            where.append(f"{column} IN ({', '.join('?' * len(names))})")
            values += names
    condition = " AND ".join(where)
    # The parts of the text are fixed, names are parameters.
    counts = table.execute(f"SELECT {group}, count(DISTINCT review) FROM stated WHERE {condition} GROUP BY 1", values)  # noqa: S608
    reviews = table.execute(f"SELECT DISTINCT review FROM stated WHERE {condition}", values)  # noqa: S608
    return dict(counts), {review for (review,) in reviews}


def is_confirmed(sample: dict, counts: dict[str, int], reviews: set[str]) -> bool:
    """Return whether the answer and the documents of a question are those of SQL."""
    answer, pattern = sample["expected_answer"], sample["tags"]["pattern"]
    if {*sample["gold"]["essential_docs"]} != reviews:
        return False
    if pattern == "number":
        return answer == str(sum(counts.values()))
    if pattern == "look_up":
        return {answer} == reviews
    listed = {name: int(number) for name, number in (part.split(": ") for part in answer.split(", "))}
    if pattern == "two_subjects":
        return listed == {name: counts.get(name, 0) for name in listed} and len(set(listed.values())) > 1
    left_out = [number for name, number in counts.items() if name not in listed]
    return all(counts[name] == number for name, number in listed.items()) and max(left_out, default=0) < min(
        listed.values()
    )


def main() -> None:
    """Index the reviews, draw the questions, count again, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=43)
    parser.add_argument("--out", type=Path, default=Path("runs/count_questions"), help="a folder, which is replaced")
    args = parser.parse_args()
    shutil.rmtree(args.out, ignore_errors=True)
    args.out.mkdir(parents=True)
    print(describe_machine())
    index = build_review_index(args.out, write_reviews(random.Random(args.seed), 600), "tfidf")
    began = time.process_time()
    file = args.out / "questions.jsonl"
    report = generate_questions(index, file, args.n, types=[*COUNT_PATTERNS], seed=args.seed)
    print(f"{sum(report.accepted.values())} of {args.n} questions in {time.process_time() - began:.1f} s of CPU")
    samples = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    table = build_table(index)
    confirmed = [is_confirmed(sample, *count_again(table, sample["question"])) for sample in samples]
    kinds = Counter(
        (sample["tags"]["pattern"], next(noun for noun in LABELS if noun in sample["question"])) for sample in samples
    )
    for (pattern, noun), number in sorted(kinds.items()):
        print(f"  {pattern:<13} {noun:<11}{number:>4}")
    words = Counter(" ".join(sorted(re.findall(r"\w+", sample["question"].casefold()))) for sample in samples)
    duplicates = sum(number - 1 for number in words.values())
    uncounted = [sample["question"] for sample in samples if not compute_aggregates(index, sample["question"])]
    print(f"{len(kinds)} kinds; confirmed by SQL {sum(confirmed)} of {len(samples)}; duplicates {duplicates}; ", end="")
    print(f"not counted by the index {len(uncounted)}")
    size = len(samples)
    is_met = size == args.n and sum(confirmed) >= MIN_CONFIRMED * size and duplicates <= MAX_DUPLICATES * size
    sys.exit(0 if is_met and not uncounted else 1)


if __name__ == "__main__":
    main()
