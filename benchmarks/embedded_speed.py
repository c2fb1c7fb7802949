"""CPU time of the embedded model for tokens of a prompt and of an answer, by the number that is evaluated at once.

    python benchmarks/embedded_speed.py
    python benchmarks/embedded_speed.py --sequences 4 16
    python benchmarks/embedded_speed.py --with no_extra_bufts=False          # repacked weights, 0.6 GB more
    python benchmarks/embedded_speed.py --with cache_type_k=q8_0 --with cache_type_v=q8_0
    python benchmarks/embedded_speed.py --with flash_attn_type=disabled

The first row evaluates further tokens of a prompt whose first 300 tokens are in the cache, as for a case of a metric.
A token of an answer is measured alone, with the log-probabilities of 20 alternatives, and in a batch of several
sequences. `--with` sets a parameter of the server.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import aiohttp

from greval.judging.local.cache import cached_path
from greval.judging.local.models import DEFAULT_MODEL
from greval.judging.local.serve import build_params

PREFIX_TOKENS = 300
SIZES = (1, 4, 7, 8, 16, 32, 64, 512)
REPETITIONS = 3
REQUESTS = 16
ANSWER_TOKENS = 48
CONTEXT = 8192
FIRST_TOKEN, TOKENS = 1000, 100_000
"""Numbers of tokens of the vocabulary that are words or parts of words."""


def main() -> None:
    """Print the times of one sequence, then those of several sequences in a batch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sequences", type=int, nargs="*", default=[], help="also measure batches of several sequences"
    )
    parser.add_argument(
        "--with", dest="settings", action="append", default=[], metavar="NAME=VALUE", help="a parameter"
    )
    parser.add_argument("--here", type=int, help="measure in this process, with this number of sequences")
    args = parser.parse_args()
    if args.here:
        asyncio.run(measure(args.here, args.settings))
        sys.stdout.flush()
        os._exit(0)  # the server of the model does not end by itself
    for number in (1, *args.sequences):
        words = [sys.executable, __file__, "--here", str(number)]
        subprocess.run([*words, *(f"--with={setting}" for setting in args.settings)], check=True)


async def measure(sequences: int, settings: Sequence[str]) -> None:
    """Start the model, and measure further tokens of a prompt and tokens of answers."""
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # as greval sets it
    library = importlib.import_module("xllamacpp")
    path = cached_path(DEFAULT_MODEL)
    if path is None:
        sys.exit(f"{DEFAULT_MODEL}: expected the model on this machine; run greval local fetch")
    params = build_params(library, path, CONTEXT)
    params.n_parallel, params.kv_unified = sequences, sequences > 1
    for setting in settings:
        name, _, value = setting.partition("=")
        setattr(params, name, parse_setting(library, name, value))
    server = library.Server(params)
    print(f"{sequences} in a batch{''.join(f', {setting}' for setting in settings)}")
    async with aiohttp.ClientSession(server.listening_address) as session:
        if sequences == 1:
            await measure_prompts(session)
            print(f"  a token of an answer: {await measure_answers(session, 1):.4f} s")
            print(f"  with 20 log-probabilities: {await measure_answers(session, 1, n_probs=20):.4f} s")
        else:
            print(f"  a token of an answer: {await measure_answers(session, REQUESTS):.4f} s")


def parse_setting(library: Any, name: str, value: str) -> object:  # noqa: ANN401 - it has no types
    """Parse the value of a parameter: a boolean, a number, or the name of a type of the library."""
    if value in {"True", "False"}:
        return value == "True"
    if name.startswith("cache_type"):
        return getattr(library.ggml_type, f"GGML_TYPE_{value.upper()}")
    if name == "flash_attn_type":
        return getattr(library.llama_flash_attn_type, f"LLAMA_FLASH_ATTN_TYPE_{value.upper()}")
    return int(value)


async def measure_prompts(session: aiohttp.ClientSession) -> None:
    """Print the CPU time of evaluating a number of further tokens."""
    await complete(session, list_tokens(PREFIX_TOKENS, 0), 1)
    times = []
    for size in SIZES:
        start = time.process_time()
        for turn in range(1, REPETITIONS + 1):
            await complete(session, [*list_tokens(PREFIX_TOKENS, 0), *list_tokens(size, turn * size)], 1)
        times.append((time.process_time() - start) / REPETITIONS)
    print(
        "  further tokens of a prompt:", *(f"{size}: {spent:.3f} s" for size, spent in zip(SIZES, times, strict=True))
    )


async def measure_answers(session: aiohttp.ClientSession, requests: int, **settings: int) -> float:
    """Return the CPU seconds of a token of the answers to so many requests, which are sent at once."""
    prompts = [list_tokens(2, 7 * number) for number in range(requests)]
    for prompt in prompts:
        await complete(session, prompt, 1)
    start = time.process_time()
    await asyncio.gather(*(complete(session, prompt, ANSWER_TOKENS, **settings) for prompt in prompts))
    return (time.process_time() - start) / (requests * ANSWER_TOKENS)


def list_tokens(number: int, seed: int) -> list[int]:
    """List tokens that differ by the seed from the first one on."""
    return [FIRST_TOKEN + (7919 * (place + 1) * (seed + 1)) % TOKENS for place in range(number)]


async def complete(session: aiohttp.ClientSession, prompt: Sequence[int], tokens: int, **settings: int) -> None:
    """Generate so many tokens after a prompt of tokens."""
    body = {"prompt": [*prompt], "n_predict": tokens, "temperature": 0, "ignore_eos": True, **settings}
    async with session.post("/completion", json=body) as response:
        response.raise_for_status()
        await response.read()


if __name__ == "__main__":
    main()
