"""The embedded judge without a reason: the probability of the label alone, on the answers of `answers.py`.

    python benchmarks/label_score.py --part dev -n 160
    python benchmarks/label_score.py
    python benchmarks/label_score.py --ways low-first words
    python benchmarks/label_score.py --ways high-first each-answer --calibrate 160

The answer is begun as `{"value": `, and the probabilities of the next token say how likely 1 is. It is
what reasons cost or give; greval itself always asks for a reason. The ways differ in the prompt:
`low-first` is that of `correctness`, `high-first` the same with 1 named before 0 (the model leans to the
label that it read last), `words` a short one with the labels Correct and Incorrect, `each-answer` that of
`low-first` once for each of the expected answers, of which the best counts. Of several ways the mean of the
log-odds decides; with `--calibrate`, a logistic regression that is fitted on answers of the other part.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time

import httpx
import numpy as np
from answers import baselines, case, sample
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from greval import load_metric
from greval.judging.local.serve import serve
from greval.judging.prompt import format_case_text, format_system_text

METRIC = load_metric("correctness")
LABELS = {
    "low-first": ("0", "1"),
    "high-first": ("0", "1"),
    "words": ("Incorrect", "Correct"),
    "each-answer": ("0", "1"),
}
"""The ways to ask, each with its label for a wrong and for a right answer."""

WORDS_SYSTEM = (
    "You judge whether an answer to a question is correct, given the expected answer. "
    "Other wording, spelling, more or fewer details are fine if the meaning agrees."
)
WORDS_ASKED = 'Is the answer correct? Reply with JSON: {"category": "Correct"} or {"category": "Incorrect"}.'
RESAMPLES = 2000
LEAST = 1e-9
"""Keeps the log-odds finite where a label is not among the likely tokens."""


def main() -> None:
    """Score a balanced sample and print how far the label agrees with people."""
    given = arguments()
    rows = sample(given.part, given.n)
    human = np.array([row["human"] == "correct" for row in rows])
    print(f"{len(rows)} answers, part {given.part}: {baselines(rows)}")
    server = serve(None)
    headers = {"Authorization": f"Bearer {server.api_key}"}
    with httpx.Client(base_url=server.base_url, headers=headers, timeout=600) as client:
        scores = [scored(client, server.model, rows, way, human) for way in given.ways]
        if len(scores) > 1:
            print(f"mean of {', '.join(given.ways)}: {figures(human, np.mean(scores, axis=0))}", flush=True)
        if given.calibrate:
            other = sample("dev" if given.part == "heldout" else "heldout", given.calibrate)
            truth = np.array([row["human"] == "correct" for row in other])
            known = np.stack([scored(client, server.model, other, way, truth) for way in given.ways], axis=1)
            fitted = LogisticRegression().fit(known, truth)
            calibrated = fitted.decision_function(np.stack(scores, axis=1))
            print(f"calibrated on {len(other)} answers of the other part: {figures(human, calibrated)}")


def scored(client: httpx.Client, model: str, rows: list[dict], way: str, human: np.ndarray) -> np.ndarray:
    """Give the log-odds of answers asked in one way, and print how far they agree with people."""
    start = time.perf_counter()
    found = np.array([odds(client, model, row, way) for row in rows])
    seconds = (time.perf_counter() - start) / len(rows)
    print(f"{way}, {len(rows)} answers: {figures(human, found)}, seconds per judgement {seconds:.2f}", flush=True)
    return found


def arguments() -> argparse.Namespace:
    """Read the command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--part", choices=("dev", "heldout"), default="heldout")
    options.add_argument("-n", type=int, default=200)
    options.add_argument("--calibrate", type=int, default=0, metavar="N", help="answers of the other part to fit on")
    options.add_argument("--ways", choices=LABELS, nargs="+", default=["low-first"])
    return options.parse_args()


def odds(client: httpx.Client, model: str, row: dict, way: str) -> float:
    """Give the log-odds that the answer is right, judged from the next token alone."""
    if way == "each-answer":
        apart = ({**row, "gold_answers": [answer]} for answer in row["gold_answers"])
        return max(odds(client, model, one, "low-first") for one in apart)
    messages = words(row) if way == "words" else numbers(row, way)
    body = {"model": model, "messages": messages, "max_tokens": 1, "temperature": 0}
    told = client.post("/chat/completions", json={**body, "logprobs": True, "top_logprobs": 20}).json()
    likely = dict.fromkeys(LABELS[way], LEAST)
    for token in told["choices"][0]["logprobs"]["content"][0]["top_logprobs"]:
        start = token["token"].strip()
        for label in LABELS[way]:
            likely[label] += math.exp(token["logprob"]) if start and label.startswith(start) else 0.0
    wrong, right = likely.values()
    return math.log(right / wrong)


def numbers(row: dict, way: str) -> list[dict[str, str]]:
    """Give the messages of the metric, its two levels in the order of the way, without a reason."""
    system = format_system_text(METRIC, many=False).split("Answer with JSON only")[0]
    low, high, _ = METRIC.scale.explain().split("\n")
    forms = ['{"value": 0}', '{"value": 1}']
    if way == "high-first":
        system = system.replace(f"{low}\n{high}", f"{high}\n{low}")
        forms.reverse()
    return [
        {"role": "system", "content": f"{system}Answer with JSON only: {' or '.join(forms)}."},
        {"role": "user", "content": format_case_text(METRIC, case(row))},
        {"role": "assistant", "content": '{"value": '},
    ]


def words(row: dict) -> list[dict[str, str]]:
    """Give the messages of a short prompt whose labels are words."""
    expected = " or ".join(row["gold_answers"])
    asked = f"Question: {row['question']}\nExpected answer: {expected}\nAnswer: {row['answer']}\n{WORDS_ASKED}"
    return [
        {"role": "system", "content": WORDS_SYSTEM},
        {"role": "user", "content": asked},
        {"role": "assistant", "content": '{"category": "'},
    ]


def figures(human: np.ndarray, score: np.ndarray) -> str:
    """Give accuracy, Cohen's kappa with its bootstrap interval, and the area under the curve."""
    judge = score > 0
    picks = np.random.default_rng(1).integers(0, len(human), size=(RESAMPLES, len(human)))
    low, high = np.nanpercentile([cohen_kappa_score(human[pick], judge[pick]) for pick in picks], [2.5, 97.5])
    return (
        f"accuracy {np.mean(human == judge):.3f}, kappa {cohen_kappa_score(human, judge):.3f} [{low:.3f}, {high:.3f}], "
        f"AUC {roc_auc_score(human, score):.3f}"
    )


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # the model's threads do not end by themselves
