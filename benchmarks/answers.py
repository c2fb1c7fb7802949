"""How far a judge agrees with people on answers: NQ301, 1,490 answers judged by two or three people each.

    python benchmarks/answers.py
    python benchmarks/answers.py --judge local -m correctness -m answer_alignment --reason-depth brief
    python benchmarks/answers.py --judge local -m correctness --each-answer --reason before --reason-depth brief
    python benchmarks/answers.py --part dev -n 100 --reason-depth brief --prompt-start case

The answers are split by question: what prompts were chosen on (`--part dev`) is never what is
reported (`--part heldout`, the default). People among themselves reach kappa 0.73 on the whole set,
GPT-4 with the plain prompt of its authors 0.70 (Kamalloo et al., ACL 2023).

Where people accept several answers, the judge is shown all of them, one a line; with `--each-answer` it
judges against each alone, and one good verdict makes the answer right.

Each metric is judged once for each `--reason-depth`, on the same answers; all three depths if none is named. The same
command again goes on where it was stopped, and a larger `-n` adds answers to those that were judged.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import numpy as np
from sklearn.metrics import cohen_kappa_score

from greval import Case, Judge, Result, evaluate, load_metric
from greval.judging.prompt import PromptStart
from greval.records.metric import ReasonDepth

DATA = Path(__file__).parents[2] / "shared" / "data" / "nq301_answer_judgments" / "judgments.jsonl"
GOOD = {"1", "Correct", "Acceptable"}
DEV_QUESTIONS = 120
RESAMPLES = 2000
DEPTHS: tuple[ReasonDepth, ...] = get_args(ReasonDepth)
PLACE = "/answer-"
"""Stands between the id of an answer and the place of the accepted one that it is judged against."""


def main() -> None:
    """Judge a balanced sample and print how far the judge agrees with people."""
    args = arguments()
    rows = sample(args.part, args.n, args.data)
    cases = [one for row in rows for one in (each_case(row) if args.each_answer else [case(row)])]
    human = {row["id"]: row["human"] == "correct" for row in rows}
    print(f"{len(rows)} answers of {len({row['question_id'] for row in rows})} questions, part {args.part}")
    print(f"on these answers: {baselines(rows)}")
    judge = Judge(args.judge, base_url=args.base_url, timeout=300, reason=args.reason, prompt_start=args.prompt_start)
    ways = {
        "-each": args.each_answer,
        "-value-first": judge.reason_position == "after",
        "-case-first": args.prompt_start == "case",
    }
    way = "".join(name for name, chosen in ways.items() if chosen)
    for name in args.metric or ["correctness"]:
        for depth in args.reason_depth or DEPTHS:
            start = time.perf_counter()
            run = evaluate(
                cases,
                [load_metric(name)],
                judge,
                out=args.out / f"{name}{way}{'' if depth == 'brief' else f'-{depth}'}",
                reason_depth=depth,
                total=len(cases),
                on_progress=told,
            )
            seconds = time.perf_counter() - start
            asked = run.progress.done - run.progress.kept
            results = [row for row in run.results() if row.sample_id.partition(PLACE)[0] in human]
            pace = f"seconds per judgement {seconds / max(1, asked):.2f}"
            print(f"\n{name}, {depth}: {figures(results, human)}, {tokens(results)}, {pace}")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", default="local")
    parser.add_argument("--base-url")
    parser.add_argument("-m", "--metric", action="append", help="correctness if none is named")
    parser.add_argument("--reason-depth", action="append", choices=DEPTHS, help="all if none is named")
    parser.add_argument("--part", choices=("dev", "heldout"), default="heldout")
    parser.add_argument("-n", type=int, default=200, help="answers, half of them correct by people")
    parser.add_argument(
        "--reason", choices=("before", "after"), help="where the judge's reason stands, by default as the judge does"
    )
    parser.add_argument(
        "--prompt-start", choices=get_args(PromptStart), default="metric", help="what a prompt begins with"
    )
    parser.add_argument("--each-answer", action="store_true", help="judge against each accepted answer alone")
    parser.add_argument("--data", type=Path, default=DATA, help="the file of judged answers")
    parser.add_argument("--out", type=Path, default=Path("runs/answers"))
    return parser.parse_args()


def sample(part: str, n: int, data: Path = DATA) -> list[dict]:
    """Give n answers of one part, spread evenly over correct and incorrect, at most three of a question."""
    rows = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    questions = sorted({row["question_id"] for row in rows})
    random.Random(20261).shuffle(questions)
    chosen = set(questions[:DEV_QUESTIONS] if part == "dev" else questions[DEV_QUESTIONS:])
    draw = random.Random(7)
    taken: list[dict] = []
    for label in ("correct", "incorrect"):
        pool = [row for row in rows if row["question_id"] in chosen and row["human"] == label]
        draw.shuffle(pool)
        taken.extend(few_each(pool, n // 2))
    draw.shuffle(taken)
    return taken


def baselines(rows: list[dict]) -> str:
    """Give the kappa of others on the same answers: two people, two published judges, text containment."""
    people = [row["human"] == "correct" for row in rows]
    both = [row for row in rows if row["annotator1"] and row["annotator2"]]
    found = {
        "two people": cohen_kappa_score([row["annotator1"] for row in both], [row["annotator2"] for row in both]),
        "GPT-4": cohen_kappa_score(people, [row["judge_gpt4"] == "correct" for row in rows]),
        "BEM": cohen_kappa_score(people, [row["judge_bem"] == "correct" for row in rows]),
        "text containment": cohen_kappa_score(people, [*map(contains, rows)]),
    }
    return ", ".join(f"{name} kappa {kappa:.3f}" for name, kappa in found.items())


def contains(row: dict) -> bool:
    """Say whether the answer stands in an expected one, or an expected one in it, letter by letter."""
    answer = row["answer"].lower()
    return any(gold.lower() in answer or answer in gold.lower() for gold in row["gold_answers"])


def few_each(pool: Iterable[dict], n: int) -> list[dict]:
    """Take n rows in order, at most three of one question."""
    seen: Counter[int] = Counter()
    taken: list[dict] = []
    for row in pool:
        if len(taken) < n and seen[row["question_id"]] < 3:
            seen[row["question_id"]] += 1
            taken.append(row)
    return taken


def case(row: dict) -> Case:
    """Give the case of an answer; several accepted answers stand one a line."""
    expected = "\n".join(row["gold_answers"])
    return Case(id=row["id"], question=row["question"], expected_answer=expected, answer=row["answer"])


def each_case(row: dict) -> list[Case]:
    """Give a case for each accepted answer of an answer."""
    alone = (case({**row, "gold_answers": [gold]}) for gold in row["gold_answers"])
    return [one.model_copy(update={"id": f"{row['id']}{PLACE}{place}"}) for place, one in enumerate(alone)]


def told(progress) -> None:  # noqa: ANN001 - a snapshot
    """Show how far it is."""
    print(f"\r{progress.done}/{progress.total}, {progress.failed} failed, {progress.seconds:.0f} s", end="", flush=True)


def figures(results: Iterable[Result], human: dict[str, bool]) -> str:
    """Give accuracy, Cohen's kappa with its bootstrap interval, and how many answers have no verdict."""
    told: dict[str, list[bool | None]] = {}
    for row in results:
        good = str(row.judgements[0].value) in GOOD if row.judgements else None
        told.setdefault(row.sample_id.partition(PLACE)[0], []).append(good)
    rows = {name: verdict(told[name]) for name in human if name in told}
    pairs = [(human[name], good) for name, good in rows.items() if good is not None]
    people, judge = (np.array(side) for side in zip(*pairs, strict=True))
    draw = np.random.default_rng(1)
    picks = draw.integers(0, len(pairs), size=(RESAMPLES, len(pairs)))
    low, high = np.nanpercentile([cohen_kappa_score(people[pick], judge[pick]) for pick in picks], [2.5, 97.5])
    kappa = cohen_kappa_score(people, judge)
    return (
        f"accuracy {np.mean(people == judge):.3f}, kappa {kappa:.3f} [{low:.3f}, {high:.3f}], "
        f"recall of correct {judge[people].mean():.3f}, of incorrect {(~judge[~people]).mean():.3f}, "
        f"n {len(pairs)}, failed {len(rows) - len(pairs)}"
    )


def tokens(results: Iterable[Result]) -> str:
    """Return the mean tokens of a call, what went in and what came out."""
    spent = [row.usage for row in results]
    calls = max(1, sum(usage.calls for usage in spent))
    read, written = (sum(getattr(usage, name) or 0 for usage in spent) for name in ("input_tokens", "output_tokens"))
    return f"tokens of a call {read / calls:.0f} in, {written / calls:.0f} out"


def verdict(found: list[bool | None]) -> bool | None:
    """Give the verdict on an answer: right if it is against any accepted one; a failure leaves the rest open."""
    return True if True in found else None if None in found else False


if __name__ == "__main__":
    main()
