"""Judging of a few cases while one watches: each verdict with its question and answer, its reason as it is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from rich.console import Console

from greval._util.wording import format_count
from greval.cli.judge_options import JudgeOptions
from greval.cli.local import fetch_with_progress
from greval.judging.local.cache import cached_path
from greval.judging.local.models import MODELS
from greval.judging.model.judge import check_judge
from greval.judging.model.value_first import REASON_START
from greval.metrics.library import load_metric
from greval.records.case import Case
from greval.records.result import Result
from greval.report.tables import build_fields, print_line
from greval.runs.runnable import compile_metric


def judge_live(
    cases: Sequence[Case], metrics: Sequence[str], judge_name: str | None, console: Console, *, fetch: bool
) -> None:
    """Judge cases by metrics, and print each verdict with its reason while the judge writes it.

    `fetch` fetches the embedded model if it is the judge and is missing.

    Raises:
        GrevalError: If the judge cannot be used.
    """
    judge = JudgeOptions().create_judge(judge_name)
    if judge.local:
        # Only the embedded model writes its reasons as plain text.
        judge = judge.model_copy(update={"options": {**judge.options, "streaming": True}})
        name = judge.label.partition(":")[2]
        if fetch and name in MODELS and cached_path(name) is None:
            fetch_with_progress(name)
    check_judge(judge)
    console.print()
    what = f"{judge.label} judges {format_count(len(cases), 'case')}"
    print_line(console, f"Now live: {what} (Ctrl-C ends it)", "bold")
    runnables = {metric: compile_metric(load_metric(metric), judge) for metric in metrics}
    for case in cases:
        texts = {"question": case.question, "answer": case.answer or "", "expected": case.expected_answer or ""}
        console.print()
        console.print(build_fields(texts.items()))
        for metric, runnable in runnables.items():
            printer = ReasonPrinter(console, metric)
            result = runnable.invoke(case, {"callbacks": [printer]})
            _print_verdict(result, console, has_reason=printer.has_printed)


def _print_verdict(result: Result, console: Console, *, has_reason: bool) -> None:
    """Print the value of a verdict, after its reason; of a failure, why."""
    if not result.judgements:
        why = "; ".join(f"{failure.kind}: {failure.message}" for failure in result.failures)
        print_line(console, f"{result.metric}: {why or result.outcome.status}", "yellow")
        return
    judgement = result.judgements[0]
    number = judgement.number
    weighted = "" if number is None or number == judgement.value else f" (weighted {number:g})"
    begin = "" if has_reason else f"{result.metric}: {judgement.reason}"
    print_line(console, f"{begin} -> {judgement.value}{weighted}")


class ReasonPrinter(BaseCallbackHandler):
    """Prints the reason of a verdict after the name of its metric, token by token, as the embedded model writes it."""

    # In the thread of the judge, so that no token waits.
    run_inline = True

    def __init__(self, console: Console, metric: str) -> None:
        """Store the console and the name of the metric."""
        self.has_printed = False
        self._console, self._metric = console, metric
        self._reasons: set[UUID] = set()

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 - LangChain passes it
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        **_: object,
    ) -> None:
        """Note whether a request is that for a reason: its last message is the answer up to it."""
        if str(messages[0][-1].content).endswith(REASON_START):
            self._reasons.add(run_id)

    def on_llm_new_token(self, token: str | list[str | dict[str, Any]], *, run_id: UUID, **_: object) -> None:
        """Print a token of a reason."""
        # The server repeats the start of the answer in its first token.
        text = token.rpartition(REASON_START)[2] if isinstance(token, str) else ""
        if text and run_id in self._reasons:
            # Not before the first token: what is logged when a model starts has lines of its own.
            begin = "" if self.has_printed else f"{self._metric}: "
            self._console.print(f"{begin}{text}", end="", markup=False, highlight=False, soft_wrap=True)
            self.has_printed = True
