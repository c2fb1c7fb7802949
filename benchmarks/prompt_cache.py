"""The share of the input tokens that is charged in full when several metrics judge a case, by what prompts begin with.

    python benchmarks/prompt_cache.py
    python benchmarks/prompt_cache.py -n 50 --metrics faithfulness relevance --chunk-tokens 900

Cases with eight chunks of a novel are judged by five metrics through real HTTP; three of them are shown the chunks. The
server stands for a provider with a prompt cache: it remembers the prompts that it has answered, and reports how many
tokens of a prompt begin like one of them, in whole blocks and from a minimum on. Two rules are measured: blocks of 16
tokens, as vLLM has them, and blocks of 128 tokens from 1,024 on, as OpenAI has them. The cache of OpenAI also needs
equal answer schemas, which metrics do not share, so that its figures hold for answers without a native schema
(`--structured text`). A token is taken as four characters. Shares are of the tokens sent with the metric first.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from aiohttp import web
from fault_server import Behaviour, Body, FaultServer, ok

from greval import Case, Judge, evaluate, load_metric
from greval.judging.prompt import PromptStart

NOVELS = Path(__file__).parents[2] / "shared" / "data" / "graphragbench_novels_3"
METRICS = ("chunk_evaluation", "faithfulness", "relevance", "answer_quality", "correctness")
ORDERS: Sequence[PromptStart] = get_args(PromptStart)
CHUNKS = 8
TOKEN = 4
"""The characters that are taken as a token."""
RULES: Mapping[str, tuple[int, int]] = {"blocks of 16": (16, 16), "blocks of 128 from 1,024": (128, 1024)}
LATENCY = 0.02
TARGET = 0.45


def main() -> int:
    """Judge the cases in both orders under each rule, and print the tokens that are charged in full."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=20, help="cases")
    parser.add_argument("--metrics", nargs="+", default=METRICS)
    parser.add_argument("--chunk-tokens", nargs="+", type=int, default=(100, 300, 600), help="the length of a chunk")
    args = parser.parse_args()
    least = 1.0
    for size in args.chunk_tokens:
        cases = [*islice(read_cases(size), args.n)]
        for rule, (block, minimum) in RULES.items():
            figures = {order: measure(cases, args.metrics, order, PromptCache(block, minimum)) for order in ORDERS}
            shares = {order: charged / figures["metric"][0] for order, (_, charged) in figures.items()}
            least = min(least, shares["case"])
            told = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
            sent = figures["metric"][0] / len(cases)
            print(f"{len(cases)} cases, chunks of {size} tokens, {rule}: {sent:,.0f} tokens a case; in full {told}")
    return int(least > TARGET)


def read_cases(size: int) -> Iterator[Case]:
    """Yield cases of eight consecutive chunks of a novel with a question on it; no two have the same chunks."""
    rows = [json.loads(line) for line in (NOVELS / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    for path in sorted((NOVELS / "corpus").iterdir()):
        text = path.read_text(encoding="utf-8")
        width, step = size * TOKEN, size * TOKEN * CHUNKS
        questions = (row for row in rows if row["source"] == path.stem)
        for row, first in zip(questions, range(0, len(text) - step, step), strict=False):
            starts = range(first, first + step, width)
            yield Case(
                id=row["id"],
                question=row["question"],
                expected_answer=row["expected_answer"],
                answer=row["expected_answer"],
                chunks=[{"id": f"{start}", "text": text[start : start + width]} for start in starts],
            )


class PromptCache:
    """A plan of the server: it answers well, and reports how much of a prompt begins like one that was answered."""

    def __init__(self, block: int, minimum: int) -> None:
        """Set the tokens of a block, and the tokens from which on a start counts."""
        self._block, self._minimum = block * TOKEN, minimum * TOKEN
        self._known: set[int] = set()

    def __call__(self, body: Body) -> Behaviour:
        """Return the answer with its usage; its prompt is known when it is sent."""
        prompt = "\n".join(message["content"] for message in body["messages"])
        starts = [hash(prompt[:end]) for end in range(self._block, len(prompt) + 1, self._block)]
        cached = self._block * next(
            (place for place in range(len(starts), 0, -1) if starts[place - 1] in self._known), 0
        )
        usage = {
            "prompt_tokens": len(prompt) // TOKEN,
            "completion_tokens": 20,
            "total_tokens": len(prompt) // TOKEN + 20,
            "prompt_tokens_details": {"cached_tokens": cached // TOKEN if cached >= self._minimum else 0},
        }

        async def answer(request: web.Request, body: Body) -> web.StreamResponse:
            reply = await ok()(request, body)
            assert isinstance(reply, web.Response)
            self._known.update(starts)
            return web.json_response({**json.loads(reply.text or ""), "usage": usage})

        return answer


def measure(cases: Sequence[Case], metrics: Sequence[str], order: PromptStart, cache: PromptCache) -> tuple[int, int]:
    """Judge the cases, and return the input tokens, and those of them that did not come from the cache."""
    with tempfile.TemporaryDirectory() as folder, FaultServer(cache, latency=LATENCY) as server:
        judge = Judge("openai:m", base_url=server.url, prompt_start=order)
        run = evaluate(cases, [*map(load_metric, metrics)], judge, out=folder)
        assert run.progress.scored == len(cases) * len(metrics), run.progress
    usage = run.progress.usage
    return usage.input_tokens or 0, (usage.input_tokens or 0) - (usage.cached_tokens or 0)


if __name__ == "__main__":
    sys.exit(main())
