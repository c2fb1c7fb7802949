"""Measure reading traces as cases: CPU time, and the most memory that the process took.

    python benchmarks/traces.py [--traces 10000]

The file is made first, in another process: lines of OTLP in JSON as a collector writes them, with OpenInference spans
of a chain, a retriever with five documents, two calls of a model and a tool. The spans of 50 traces are mixed, and the
root of a trace comes last, as exporters send it.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from greval.datasets.case_reader import read_cases
from greval.datasets.row_faults import RowFault

MIXED, SPANS_PER_LINE = 50, 512
START = 1_764_200_000_000_000_000
WORDS = [f"word{number}" for number in range(2_000)]


def write_text(rng: random.Random, words: int) -> str:
    """Return a text of some words."""
    return " ".join(rng.choices(WORDS, k=words))


def build_span(trace: str, number: int, parent: int | None, kind: str, **attributes: object) -> dict[str, object]:
    """Return a span in the form of OTLP."""
    typed = {str: "stringValue", float: "doubleValue", int: "intValue"}
    return {
        "traceId": trace,
        "spanId": f"{trace[-14:]}{number:02d}",
        **({} if parent is None else {"parentSpanId": f"{trace[-14:]}{parent:02d}"}),
        "name": f"{kind.lower()} {number}",
        "kind": 1,
        "startTimeUnixNano": str(START + number * 10_000_000),
        "endTimeUnixNano": str(START + (number + 1) * 10_000_000 + (0 if parent else 900_000_000)),
        "attributes": [
            {"key": name.replace("__", "."), "value": {typed[type(value)]: value}}
            for name, value in {"openinference__span__kind": kind, **attributes}.items()
        ],
        "status": {},
    }


def build_trace(rng: random.Random, number: int) -> list[dict[str, object]]:
    """Return the spans of a trace, in the order in which they end."""
    trace, question, answer = f"{number:032x}", write_text(rng, 12), write_text(rng, 40)
    documents: dict[str, object] = {}
    texts = [write_text(rng, 60) for _ in range(5)]
    for position, text in enumerate(texts):
        prefix = f"retrieval__documents__{position}__document__"
        documents |= {f"{prefix}id": f"d{position}", f"{prefix}content": text, f"{prefix}score": 1 / (position + 2)}
    message = "llm__input_messages__0__message__"
    model = {f"{message}role": "user", f"{message}content": " ".join([*texts, question])}
    reply = "llm__output_messages__0__message__"
    model |= {f"{reply}role": "assistant", f"{reply}content": answer}
    model |= {"llm__token_count__prompt": 500, "llm__token_count__completion": 40}
    texts_of_root = {"input__value": question, "output__value": answer}
    return [
        build_span(trace, 1, 0, "RETRIEVER", input__value=question, **documents),
        build_span(trace, 2, 0, "LLM", **model),
        build_span(trace, 3, 0, "TOOL", input__value='{"day": "Sunday"}', output__value="closed"),
        build_span(trace, 4, 0, "LLM", **model),
        build_span(trace, 0, None, "CHAIN", **texts_of_root),
    ]


def iterate_spans(traces: int) -> Iterator[dict[str, object]]:
    """Yield the spans of all traces, those of some traces mixed."""
    rng = random.Random(7)
    for first in range(0, traces, MIXED):
        queues = [build_trace(rng, number) for number in range(first, min(traces, first + MIXED))]
        while queues:
            queue = rng.choice(queues)
            yield queue.pop(0)
            queues = [other for other in queues if other]


def write_file(path: Path, traces: int) -> None:
    """Write the file of traces."""
    spans = [*iterate_spans(traces)]
    resource_of_all = {"attributes": [{"key": "service.name", "value": {"stringValue": "demo"}}]}
    with path.open("w") as stream:
        for first in range(0, len(spans), SPANS_PER_LINE):
            scope = {"scope": {"name": "demo"}, "spans": spans[first : first + SPANS_PER_LINE]}
            stream.write(json.dumps({"resourceSpans": [{"resource": resource_of_all, "scopeSpans": [scope]}]}) + "\n")


def main() -> None:
    """Write the file, read it, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=10_000)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write_file(options.write, options.traces)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "traces.jsonl"
        subprocess.run([sys.executable, __file__, "--write", str(path), "--traces", str(options.traces)], check=True)
        size = path.stat().st_size / 2**20
        before = time.process_time()
        cases = chunks = faults = 0
        for row in read_cases(path):
            if isinstance(row, RowFault):
                faults += 1
            else:
                cases, chunks = cases + 1, chunks + len(row.chunks or ())
        spent = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{cases:,} cases with {chunks:,} chunks and {faults} faults of {size:.0f} MB")
    print(f"{spent:.1f} s of CPU, {peak:.0f} MB at most")


if __name__ == "__main__":
    main()
