"""Evaluations driven by a config file: collect responses, judge them, and write the two result files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from langchain_core.language_models import BaseChatModel

from greval._util.arguments import check_options
from greval._util.concurrency import run_sync
from greval.datasets.case_records import read_records
from greval.judging.model.judge import Judge
from greval.methods.collecting.api import Collected, CollectProgress, collect_async
from greval.methods.collecting.response_file import ResponseFile
from greval.metrics.library import load_metric
from greval.records.metric import needs_judge, set_reason_depth
from greval.records.record import Record
from greval.runs.evaluation import Run, evaluate_async, find_free_folder
from greval.runs.forecast import Forecast, fill_missing_responses, forecast
from greval.runs.from_config.config import CONFIG_FILE
from greval.runs.from_config.further_metrics import USAGE_METRICS
from greval.runs.from_config.plan import (
    RESPONSES_FILE,
    RUN_FOLDER,
    ConfigSelection,
    EvaluationPlan,
    prepare_evaluation,
)
from greval.runs.from_config.results import (
    DETAILED,
    SUMMARY,
    ResultFileWriter,
    save_periodically,
)
from greval.runs.from_config.setup_file import check_setup, write_setup
from greval.runs.options import DEFAULT_CONCURRENCY, EvaluateOptions
from greval.runs.store.disk import lock_folder

SAVE_SECONDS = 5.0


@dataclass(frozen=True)
class Evaluation:
    """A finished or stopped evaluation: its folder, the collected responses, and the run that judged them.

    `ignored` lists the columns of the dataset that are neither a field nor a tag, `unread` the rows that are not
    questions, `methods` the names of the methods.
    """

    folder: Path
    collected: Collected
    run: Run
    ignored: Sequence[str] = ()
    unread: Sequence[str] = ()
    methods: Sequence[str] = ()

    @property
    def detailed(self) -> Path:
        """The path of the file with every question."""
        return self.folder / DETAILED

    @property
    def summary(self) -> Path:
        """The path of the file with the means."""
        return self.folder / SUMMARY


class ConfigForecast(Record):
    """The work that an evaluation would do.

    `open` counts, for each method, how many of the `questions` it would be called for. Their judgements are part of
    `forecast`, with the expected answer and no context in place of the missing response: the number of calls is
    exact, but the input tokens are underestimated. `unread` lists the rows of the dataset that are not questions.
    """

    questions: int
    open: dict[str, int]
    forecast: Forecast
    unread: tuple[str, ...] = ()


def evaluate_config(
    root: str | Path,
    file: str | Path = CONFIG_FILE,
    selection: ConfigSelection | None = None,
    *,
    judge: Judge | BaseChatModel | None = None,
    **options: Unpack[EvaluateOptions],
) -> Evaluation:
    """Run the evaluation that a config file describes; the synchronous form of `evaluate_config_async`."""
    return run_sync(evaluate_config_async(root, file, selection, judge=judge, **options))


async def evaluate_config_async(  # noqa: PLR0913 - the inputs and options of an evaluation
    root: str | Path,
    file: str | Path = CONFIG_FILE,
    selection: ConfigSelection | None = None,
    *,
    judge: Judge | BaseChatModel | None = None,
    stop: asyncio.Event | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - the timeout of one response, not of this coroutine
    save_seconds: float = SAVE_SECONDS,
    on_collected: Callable[[CollectProgress], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    **options: Unpack[EvaluateOptions],
) -> Evaluation:
    """Run the evaluation that a config file describes; calling it again resumes the evaluation.

    Args:
        root: The folder that the paths in the config are relative to.
        file: The config file, relative to the root or to the current folder.
        selection: The part to evaluate, everything by default. The two result files contain this part only.
        judge: The judge, in place of the one in the config.
        stop: When set, no further call is started. Calls in flight are finished and written.
        timeout: The timeout of one method call, in seconds.
        save_seconds: The pause between writes of the result files during the run, if the config enables them.
        on_collected: Called after each response.
        on_note: Called with a sentence on each index that is made first, and if the judge also answers.
        **options: The options of `evaluate_async`. With `resume=False` the evaluation starts from scratch, and
            the old folder is renamed with the suffix -2, -3 ...

    Returns:
        The finished or stopped evaluation. Its folder holds `responses.jsonl`, `run` and the two result files.

    Raises:
        DataError: If the config or the dataset is wrong. Every fault of the config is reported.
        MethodError: If a method cannot be loaded.
        JudgeError: If no judge is named or it cannot be used.
        StoreError: If the folder cannot be written.
    """
    check_options(options, EvaluateOptions, "evaluate_config")
    wanted = selection or ConfigSelection()
    plan = prepare_evaluation(Path(root), Path(file), wanted, judge, on_note or _ignore_note)
    _prepare_folder(plan, restart=not options.get("resume", True))
    usage = [load_metric(name) for name in USAGE_METRICS]
    metrics = set_reason_depth([*plan.metrics.list_all(), *usage], options.get("reason_depth"))
    write = ResultFileWriter(plan, metrics, repeats=options.get("repeats", 1))
    async with save_periodically(write, save_seconds if plan.config.output.save_intermediate else None):
        collected = await collect_async(
            plan.samples,
            plan.methods,
            out=plan.out / RESPONSES_FILE,
            concurrency=options.get("concurrency") or DEFAULT_CONCURRENCY,
            timeout=timeout,
            retry_failed=options.get("retry_failed", True),
            stop=stop,
            on_progress=on_collected,
            debug=options.get("debug", False),
        )
        cases = [*plan.read_responses().values()]
        options["resume"], options["total"] = True, len(cases)
        given = read_records(cases, required=False)
        run = await evaluate_async(given, metrics, plan.judge, out=plan.out / RUN_FOLDER, stop=stop, **options)
    await asyncio.to_thread(write)
    return Evaluation(plan.out, collected, run, plan.ignored, plan.unread, tuple(plan.methods))


def forecast_config(
    root: str | Path,
    file: str | Path = CONFIG_FILE,
    selection: ConfigSelection | None = None,
    *,
    judge: Judge | BaseChatModel | None = None,
    **options: Unpack[EvaluateOptions],
) -> ConfigForecast:
    """Count the calls that `evaluate_config` with the same arguments would make, without making any or writing files.

    Raises:
        DataError: If the config or the dataset is wrong. Every fault of the config is reported.
        MethodError: If a method cannot be loaded.
        JudgeError: If no judge is named or it cannot be used.
    """
    plan = prepare_evaluation(Path(root), Path(file), selection or ConfigSelection(), judge)
    retried = options.get("retry_failed", True)
    kept = plan.read_responses() if options.get("resume", True) else {}
    cases = [case for case in kept.values() if case.error is None or not retried]
    cases, missing = fill_missing_responses(plan.samples, plan.methods, cases)
    metrics = [metric for metric in plan.metrics.list_all() if needs_judge([metric])]
    return ConfigForecast(
        questions=len(plan.samples),
        open=missing,
        forecast=forecast(cases, metrics, plan.judge, out=plan.out / RUN_FOLDER, **options),
        unread=tuple(plan.unread),
    )


def _prepare_folder(plan: EvaluationPlan, *, restart: bool) -> None:
    """Prepare the output folder; move the old one aside if the evaluation starts from scratch.

    Raises:
        StoreError: If another run is writing to the folder, or it holds responses made with other settings.
    """
    out = plan.out
    if restart and out.is_dir() and any(out.iterdir()):
        _move_aside(out)
    check_setup(plan)
    write_setup(plan)


def _ignore_note(_: str) -> None:
    """Ignore what the user should know."""


def _move_aside(out: Path) -> None:
    """Rename the output folder, unless another run is writing to it."""
    with ExitStack() as opened:
        if (out / RESPONSES_FILE).exists():
            opened.enter_context(ResponseFile.open(out / RESPONSES_FILE))
        opened.enter_context(lock_folder(out / RUN_FOLDER))
        out.rename(find_free_folder(out))
