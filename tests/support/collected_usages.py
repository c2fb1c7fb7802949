"""What methods spend on the same questions when they are collected."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path

from greval.methods.collecting.api import collect_async
from greval.records.case import Sample

QUESTIONS = [Sample(id=f"q{number}", question="Who owns the ferry MV Tern?") for number in range(3)]


async def collect_usages(methods, concurrency, samples=QUESTIONS):
    """Return what each method spent on each question."""
    usages = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        done = await collect_async(samples, methods, out=Path(folder) / "responses.jsonl", concurrency=concurrency)
        for case in done.cases():
            assert case.error is None, case.error
            usages[case.method].append(case.usage)
    return dict(usages)
