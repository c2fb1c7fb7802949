"""Writing the two result files: periodically during an evaluation, and at its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from greval.errors import StoreError
from greval.judging.model.client import JudgeClient, read_clock
from greval.judging.model.judge import Judge
from greval.methods.collecting.response_file import hash_sample, read_responses
from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.metric_input import compute_keys
from greval.records.result import Result
from greval.runs.from_config.result_files import (
    DETAILED,
    SUMMARY,
    EvaluationScope,
    FindResult,
    build_detailed,
    build_summary,
    write_json,
)
from greval.runs.runnable import compile_metric
from greval.runs.store import FILE, Store

RESPONSES_FILE = "responses.jsonl"
RUN_FOLDER = "run"
MIN_PAUSE_RATIO = 20
"""The minimum ratio of the pause between two writes to the duration of a write."""


class ResultFileWriter:
    """Writes the two result files from the current responses and results.

    Results of another judge, and results for an older response, are left out. `out` is the folder of the evaluation,
    and `repeats` the number of times each case is judged.
    """

    def __init__(
        self,
        scope: EvaluationScope,
        out: Path,
        metrics: Iterable[Metric],
        judge: Judge | BaseChatModel,
        *,
        repeats: int = 1,
    ) -> None:
        self._scope = scope
        self._out = out
        client = JudgeClient(judge)
        self._runnables = {metric.name: compile_metric(metric, client, repeats=repeats) for metric in metrics}

    def __call__(self) -> None:
        """Write both files. Only one call may run at a time.

        Raises:
            StoreError: If a file cannot be read or written.
        """
        file = self._out / RESPONSES_FILE
        cases = select_current(self._scope, read_responses(file) if file.is_file() else ())
        with ExitStack() as opened:
            there = (self._out / RUN_FOLDER / FILE).is_file()
            find = self._build_finder(opened.enter_context(Store.open(self._out / RUN_FOLDER)) if there else None)
            told = build_detailed(self._scope, cases, find), build_summary(self._scope, cases, find)
        for name, content in zip((DETAILED, SUMMARY), told, strict=True):
            write_json(self._out / name, content)

    def _build_finder(self, store: Store | None) -> FindResult:
        """Build the function that finds the current result of a case; each result is read from the log once."""
        found: dict[tuple[str, str, str], Result | None] = {}

        def find_result(case: Case, metric: str) -> Result | None:
            who = case.id, case.method, metric
            if store and who not in found:
                runnable = self._runnables[metric]
                _, key = compute_keys(case, runnable.metric, runnable.fingerprint)
                found[who] = store.get(key, who)
            return found.get(who)

        return find_result


def select_current(scope: EvaluationScope, cases: Iterable[Case]) -> dict[tuple[str, str], Case]:
    """Select the responses in scope, by sample id and method, in the order of the samples.

    A response to an older version of a sample is left out.
    """
    contents = {sample.id: hash_sample(sample) for sample in scope.samples}
    found = {
        (case.id, case.method): case
        for case in cases
        if case.method in scope.methods and case.id in contents and hash_sample(case) == contents[case.id]
    }
    keys = ((sample.id, method) for sample in scope.samples for method in scope.methods)
    return {key: found[key] for key in keys if key in found}


@asynccontextmanager
async def save_periodically(write: Callable[[], None], seconds: float | None) -> AsyncIterator[None]:
    """Call `write` periodically from a thread, one call at a time; never if `seconds` is None.

    A failed write is ignored, for example if the log is being created: the next one replaces it, and the caller
    writes once more at the end.
    """
    over = asyncio.Event()

    async def write_repeatedly(pause: float) -> None:
        while True:
            try:
                await asyncio.wait_for(over.wait(), pause)
            except TimeoutError:
                start = read_clock()
                with suppress(StoreError):
                    await asyncio.to_thread(write)
                pause = max(pause, MIN_PAUSE_RATIO * (read_clock() - start))
            else:
                return

    task = None if seconds is None else asyncio.create_task(write_repeatedly(seconds))
    try:
        yield
    finally:
        over.set()
        if task:
            await task
