"""What it costs to store the calls of a run, and to replay it with edited numbers.

    python benchmarks/replay.py -n 10000

The judge is scripted and answers at once. A case has a question, an answer and eight chunks of about 500 characters.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage

from greval import CategoricalMetric, evaluate, replay
from greval.judging.model.call_context import ROLES
from greval.runs.evaluation import Run
from greval.testing import ScriptedJudge

WORDS = [
    f"{start}{end}" for start in ("har", "fer", "boo", "tea", "ser", "off", "tic") for end in ("bour", "ry", "king")
]
CHUNKS, WORDS_OF_CHUNK = 8, 75
METRIC = {
    "name": "support",
    "description": "Whether the context supports the answer.",
    "needs": ["question", "answer", "context"],
    "steps": ["List the claims of the answer.", "Look for each claim in the context.", "Choose the category."],
}
MEANINGS = {"Full": "Each claim is supported.", "Part": "Some are.", "None": "No claim is supported."}
SCORES = (1.0, 0.5, 0.0)
MAX_SECONDS = 10.0
"""The most CPU seconds that a replay of 10,000 results may take."""


def make_metric(scores: Sequence[float] = SCORES) -> CategoricalMetric:
    """Make the metric with the scores of its categories."""
    named = zip(MEANINGS.items(), scores, strict=True)
    return CategoricalMetric(
        **METRIC, categories={name: {"means": means, "score": score} for (name, means), score in named}
    )


def make_cases(count: int) -> Iterator[dict[str, object]]:
    """Make cases whose texts differ."""
    draw = random.Random(1)
    for number in range(count):
        chunks = [
            " ".join(f"{draw.choice(WORDS)}{draw.randrange(300)}" for _ in range(WORDS_OF_CHUNK)) for _ in range(CHUNKS)
        ]
        yield {"id": f"q{number}", "question": f"Who owns {number}?", "answer": chunks[0][:200], "chunks": chunks}


def answer_at_once(messages: Sequence[BaseMessage]) -> AIMessage:
    """Answer by the length of the case."""
    value = [*MEANINGS][len(messages[-1].text) % 3]
    reason = f"The first claim, {messages[-1].text[60:140]}, is what decides here, because the context states it."
    return AIMessage(json.dumps({"reason": reason, "value": value}), usage_metadata=dict.fromkeys(TOKENS, 100))


TOKENS = ("input_tokens", "output_tokens", "total_tokens")


def judge(folder: Path, count: int, *, store_calls: bool) -> tuple[Run, float]:
    """Judge the cases, and return the run and the CPU seconds."""
    start = _read_cpu()
    run = evaluate(
        make_cases(count), [make_metric()], ScriptedJudge(answer_at_once), out=folder, store_calls=store_calls
    )
    return run, _read_cpu() - start


def measure_size(folder: Path) -> int:
    """Return the bytes of a run folder."""
    return sum(file.stat().st_size for file in folder.iterdir() if file.is_file())


def _read_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Measure, print, and return 1 if a promise is missed."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("-n", type=int, default=10_000)
    count = given.parse_args().n
    with tempfile.TemporaryDirectory() as place:
        judge(Path(place) / "warm", 200, store_calls=True)
        costs = {}
        for name, stored in (("off", False), ("on", True)):
            folder = Path(place) / name
            run, seconds = judge(folder, count, store_calls=stored)
            costs[name] = seconds, measure_size(folder)
            size = costs[name][1]
            print(f"calls {name:3}  {1000 * seconds / count:.3f} ms CPU and {size / count:,.0f} bytes a verdict")
        missed = replay_edited(run.folder, count)
        prompt = sum(len(message.text) for call in run.calls(sample_id="q1") for message in call.messages)
        print(f"a prompt has {prompt:,} characters; roles: {', '.join(sorted({*ROLES.values(), 'system'}))}")
    return 1 if missed else 0


def replay_edited(folder: Path, count: int) -> bool:
    """Replay the run with other scores, print what it took, and return whether a promise is missed."""
    wall, cpu = time.monotonic(), _read_cpu()
    done = replay(folder, [make_metric((1.0, 0.4, 0.1))])
    wall, cpu = time.monotonic() - wall, _read_cpu() - cpu
    (one,) = done.replayed
    calls = sum(result.usage.calls for result in done.run.results())
    print(f"replay     {one.changed:,} results with other scores: {wall:.1f} s, {cpu:.1f} s CPU, {calls} calls")
    refused = replay(folder, [make_metric().model_copy(update={"steps": ("Count the claims.",)})]).refused
    print(f"refused    {'; '.join(f'{metric.metric}: {metric.reason}' for metric in refused)}")
    return one.changed != count or calls > 0 or len(refused) != 1 or cpu > MAX_SECONDS * count / 10_000


if __name__ == "__main__":
    sys.exit(main())
