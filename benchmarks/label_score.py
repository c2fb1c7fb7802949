"""The embedded judge without a reason: the probability of the label alone, on the answers of `answers.py`.

    python benchmarks/label_score.py --part dev -n 160
    python benchmarks/label_score.py

The prompt is that of `correctness`, the answer is begun as `{"value": `, and the probabilities of the
next token say how likely 1 is. It is what reasons cost or give; greval itself always asks for a reason.
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
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from greval import load
from greval.local import serve
from greval.prompt import case_text, system_text

METRIC = load("correctness")
START = '{"value": '
RESAMPLES = 2000


def main() -> None:
    """Score a balanced sample and print how far the label agrees with people."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--part", choices=("dev", "heldout"), default="heldout")
    options.add_argument("-n", type=int, default=200)
    given = options.parse_args()
    rows = sample(given.part, given.n)
    human = np.array([row["human"] == "correct" for row in rows])
    print(f"{len(rows)} answers, part {given.part}: {baselines(rows)}")
    server = serve(None)
    headers = {"Authorization": f"Bearer {server.api_key}"}
    start = time.perf_counter()
    with httpx.Client(base_url=server.base_url, headers=headers, timeout=600) as client:
        score = np.array([label(client, server.model, row) for row in rows])
    seconds = (time.perf_counter() - start) / len(rows)
    print(f"label score: {figures(human, score)}, seconds per judgement {seconds:.2f}")


def label(client: httpx.Client, model: str, row: dict) -> float:
    """Give the probability that the value is 1 and not 0, judged from the next token alone."""
    system = system_text(METRIC, many=False).split("Answer with JSON only")[0]
    messages = [
        {"role": "system", "content": f'{system}Answer with JSON only: {{"value": 0}} or {{"value": 1}}.'},
        {"role": "user", "content": case_text(METRIC, case(row))},
        {"role": "assistant", "content": START},
    ]
    body = {"model": model, "messages": messages, "max_tokens": 1, "temperature": 0}
    told = client.post("/chat/completions", json={**body, "logprobs": True, "top_logprobs": 20}).json()
    likely = {"0": 0.0, "1": 0.0}
    for token in told["choices"][0]["logprobs"]["content"][0]["top_logprobs"]:
        if token["token"].strip() in likely:
            likely[token["token"].strip()] += math.exp(token["logprob"])
    return likely["1"] / sum(likely.values()) if any(likely.values()) else 0.5


def figures(human: np.ndarray, score: np.ndarray) -> str:
    """Give accuracy, Cohen's kappa with its bootstrap interval, and the area under the curve."""
    judge = score > 0.5
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
