"""Choose the corrections of the embedded model (`greval/judging/model/local_answers.py`) on development data.

    python benchmarks/calibrate_local.py chunk_evaluation
    python benchmarks/calibrate_local.py triple_evaluation

The embedded model calls nearly all chunks and triples relevant. For each of them, the probability of every category is
read from the token that begins it. The correction is added to the log-probability of the worst category. It is the one
with the highest F1 of finding what is relevant: the middle of the range that reaches it. F1 is also printed for each
question with the correction that is chosen on the other questions.

Chunks: the development questions of `chunks.py` (HotpotQA), and 14 questions of MuSiQue, each with its supporting
passages and five others. Triples: the development part of `evidence.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chunks
import evidence
import httpx
import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

from greval import Case, Judge, load_metric
from greval.judging.local.serve import LocalServer, serve
from greval.judging.metric_judge import MetricJudge
from greval.judging.model.client import JudgeClient
from greval.records.metric import JudgedMetric
from greval.records.metric_input import compute_fingerprint

MUSIQUE = Path(__file__).parents[2] / "shared" / "data" / "multihop_musique_100" / "questions.jsonl"
WORST = "Irrelevant"
MUSIQUE_QUESTIONS = 14
SHIFTS = np.arange(-2.0, 6.0, 0.05)
LEAST = 1e-6


Row = tuple[str, Case, bool]
"""A question, a case with one chunk or triple, and whether this is relevant."""


def main() -> None:
    """Print the correction of a metric, as it is written down in greval, and what it does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("metric", choices=READERS)
    metric = load_metric(parser.parse_args().metric)
    rows = [*READERS[metric.name]()]
    server = serve(None)
    odds = asyncio.run(read_odds(metric, rows, server))
    questions, relevant = (np.array([row[place] for row in rows]) for place in (0, 2))
    shift = choose_shift(odds, relevant)
    apart = np.zeros(len(rows), dtype=bool)
    for question in dict.fromkeys(questions):
        own = questions == question
        apart[own] = odds[own] < -choose_shift(odds[~own], relevant[~own])
    print(
        f"{len(rows)} items of {len({*questions})} questions, {relevant.sum()} relevant: area under the curve "
        f"{roc_auc_score(relevant, -odds):.3f}, F1 {f1_score(relevant, odds < 0):.3f} without a correction, "
        f"{f1_score(relevant, odds < -shift):.3f} with it, {f1_score(relevant, apart):.3f} chosen on other questions, "
        f"{f1_score(relevant, np.ones_like(relevant)):.3f} if all are called relevant"
    )
    print(f"definition={compute_fingerprint(metric, {})!r}, shifts={{{WORST!r}: {shift:.2f}}}")
    print(f"tokens={{{WORST!r}: {list_first_tokens(metric, server)}}}")


async def read_odds(metric: JudgedMetric, rows: list[Row], server: LocalServer) -> np.ndarray:
    """Read the log-odds of the worst category against all others, for each item."""
    judging = MetricJudge(metric, JudgeClient(Judge("local")))
    headers = {"Authorization": f"Bearer {server.api_key}"}
    found = []
    async with httpx.AsyncClient(base_url=server.base_url, headers=headers, timeout=600) as client:
        for number, (_, case, _) in enumerate(rows, 1):
            (batch,) = judging.split_batches(case)
            roles = {"system": "system", "human": "user"}
            turns = [{"role": roles[m.type], "content": m.text} for m in judging.build_messages(case, batch)]
            body = {
                "messages": [*turns, {"role": "assistant", "content": '{"value": "'}],
                "max_tokens": 1,
                "temperature": 0,
                "logprobs": True,
                "top_logprobs": 20,
            }
            answer = (await client.post("/chat/completions", json=body)).raise_for_status().json()
            found.append(compute_odds(metric, answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]))
            print(f"\r{number}/{len(rows)}", end="", file=sys.stderr, flush=True)
    return np.array(found)


def compute_odds(metric: JudgedMetric, tokens: list[dict[str, Any]]) -> float:
    """Compute the log-odds of the worst category from the first tokens that the model could write."""
    names = metric.scale.names
    likely = dict.fromkeys(names, LEAST)
    for token in tokens:
        begun = [name for name in names if token["token"] and name.startswith(token["token"])]
        if len(begun) == 1:
            likely[begun[0]] += math.exp(token["logprob"])
    return math.log(likely[WORST] / sum(likely[name] for name in names if name != WORST))


def choose_shift(odds: np.ndarray, relevant: np.ndarray) -> float:
    """Choose the correction with the highest F1: the middle of those that reach it."""
    scores = np.array([f1_score(relevant, odds < -shift) for shift in SHIFTS])
    return float(np.median(SHIFTS[scores == scores.max()]))


def list_first_tokens(metric: JudgedMetric, server: LocalServer) -> tuple[int, ...]:
    """List the tokens that begin the worst category and no other one."""
    others = [name for name in metric.scale.names if name != WORST]
    starts = [WORST[:length] for length in range(1, len(WORST) + 1)]
    root = server.base_url.removesuffix("/v1")
    headers = {"Authorization": f"Bearer {server.api_key}"}
    found = []
    for start in starts:
        if not any(name.startswith(start) for name in others):
            answer = httpx.post(f"{root}/tokenize", headers=headers, json={"content": start}).raise_for_status().json()
            found.extend(answer["tokens"] if len(answer["tokens"]) == 1 else [])
    return tuple(found)


def read_chunks() -> Iterator[Row]:
    """Read the passages of both sets of questions."""
    for row in chunks.label_passages(chunks.sample("dev", chunks.DEV_QUESTIONS)):
        yield row.question, row.case, row.label
    rows = [json.loads(line) for line in MUSIQUE.read_text(encoding="utf-8").splitlines()]
    random.Random(20261).shuffle(rows)
    draw = random.Random(3)
    for row in [row for row in rows if row["hops"] == "2hop"][:MUSIQUE_QUESTIONS]:
        good, bad = ([one for one in row["passages"] if one["is_supporting"] is kind] for kind in (True, False))
        for passage in (*good, *draw.sample(bad, 5)):
            chunk = {"id": passage["title"], "text": f"{passage['title']}. {passage['text']}"}
            yield row["id"], Case(question=row["question"], chunks=[chunk]), passage["is_supporting"]


def read_triples() -> Iterator[Row]:
    """Read the triples of the development part of `evidence.py`."""
    for row in evidence.read_triples("dev"):
        yield row.question, row.case, row.label


READERS: dict[str, Callable[[], Iterator[Row]]] = {
    "chunk_evaluation": read_chunks,
    "triple_evaluation": read_triples,
}


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # the model's threads do not end by themselves
