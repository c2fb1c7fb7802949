"""CPU time of the embedded model for a token of a prompt and of an answer, alone and for several sequences at once.

    python benchmarks/embedded_speed.py
    python benchmarks/embedded_speed.py --sequences 1 4 16 --repacked

Each measurement starts the model in a process of its own, as a judge does, except for the number of sequences that it
evaluates in one batch, and for repacked weights, which need about 0.6 GB more.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import subprocess
import sys
import time
from typing import Any

import aiohttp

from greval.judging.local.cache import cached_path
from greval.judging.local.models import DEFAULT_MODEL
from greval.judging.local.serve import build_params

REQUESTS = 16
ANSWER_TOKENS = 48
LONG_PROMPT_WORDS = 600
CONTEXT = 8192


def main() -> None:
    """Print a row for each number of sequences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, nargs="+", default=[1, 4, 16], help="evaluated in one batch")
    parser.add_argument("--repacked", action="store_true", help="repack the weights when they are loaded")
    parser.add_argument("--here", action="store_true", help="measure in this process, for the first number")
    args = parser.parse_args()
    if args.here:
        asyncio.run(measure(args.sequences[0], repacked=args.repacked))
        sys.stdout.flush()
        os._exit(0)  # the server of the model does not end by itself
    for number in args.sequences:
        words = [sys.executable, __file__, "--here", "--sequences", str(number)]
        subprocess.run([*words, *(["--repacked"] if args.repacked else [])], check=True)


async def measure(sequences: int, *, repacked: bool) -> None:
    """Start the model, and measure a long prompt and several answers."""
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # as greval sets it
    library = importlib.import_module("xllamacpp")
    path = cached_path(DEFAULT_MODEL)
    if path is None:
        sys.exit(f"{DEFAULT_MODEL}: expected the model on this machine; run greval local fetch")
    params = build_params(library, path, CONTEXT)
    params.n_parallel, params.kv_unified, params.no_extra_bufts = sequences, True, not repacked
    server = library.Server(params)
    async with aiohttp.ClientSession(server.listening_address) as session:
        await complete(session, "Hello.", 1)
        prompt = " ".join(f"word {number}" for number in range(LONG_PROMPT_WORDS))
        start = time.process_time()
        evaluated = count_evaluated(await complete(session, prompt, 1))
        prompt_cost = (time.process_time() - start) / evaluated
        start = time.process_time()
        asked = (complete(session, f"Write a long story about {number}.", ANSWER_TOKENS) for number in range(REQUESTS))
        usages = await asyncio.gather(*asked)
        spent = time.process_time() - start - prompt_cost * sum(map(count_evaluated, usages))
    written = sum(usage["completion_tokens"] for usage in usages)
    print(
        f"{sequences} sequences in a batch{', repacked weights' if repacked else ''}: CPU of a token of a prompt "
        f"{prompt_cost:.4f} s, of an answer {spent / written:.4f} s"
    )


def count_evaluated(usage: dict[str, Any]) -> int:
    """Count the tokens of a prompt that were not in the model's cache."""
    return usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"]


async def complete(session: aiohttp.ClientSession, text: str, tokens: int) -> dict[str, Any]:
    """Ask for an answer of so many tokens, and return what was used."""
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": tokens, "temperature": 0}
    async with session.post("/v1/chat/completions", json=body) as response:
        found: dict[str, Any] = await response.json()
    return found["usage"]


if __name__ == "__main__":
    main()
