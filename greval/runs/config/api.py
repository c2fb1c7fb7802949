"""Runs that a configuration describes: ask methods for responses, judge them, and write the result files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from greval._util.arguments import check_options
from greval._util.concurrency import run_sync
from greval.datasets.case_records import read_records
from greval.judging.model.judge import Judge, check_judge, read_judge
from greval.records.case import Case
from greval.records.result import Result
from greval.runs.config.file import build_config, locate_config, read_config_file
from greval.runs.config.model import RunConfig
from greval.runs.config.plan import DETAILED, RESPONSES_FILE, SUMMARY, RunPlan, ignore_note, prepare_run
from greval.runs.config.run_input import store_joins
from greval.runs.evaluation import Run, evaluate_async
from greval.runs.judges import JudgeLike
from greval.runs.options import DEFAULT_CONCURRENCY, EvaluateOptions, OnProgress
from greval.runs.progress import Progress

if TYPE_CHECKING:
    from greval.methods.collecting.api import Collected, CollectProgress
    from greval.runs.forecast import Forecast

SAVE_SECONDS = 5.0
"""The pause between writes of the result files during the run."""
ConfigLike = RunConfig | Mapping[str, object] | str | Path
"""A configuration, its keys as a file has them, or the path of a file."""


class RunHooks(TypedDict, total=False):
    """What a run calls and shares, beside its configuration; see `evaluate_config_async`."""

    on_collected: Callable[[CollectProgress], None] | None
    on_note: Callable[[str], None] | None
    on_progress: OnProgress | None
    on_result: Callable[[Result], None] | None
    on_unread: Callable[[str], None] | None
    debug: bool


@dataclass(frozen=True)
class Evaluation:
    """A finished or stopped run of a configuration: the run, and the responses that methods gave, if some were asked.

    If it was stopped while methods were asked, nothing is judged, and the same call goes on.
    """

    run: Run
    collected: Collected | None = None

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.run.folder

    @property
    def detailed(self) -> Path:
        """The path of the result file with every question, if the configuration has `result_files`."""
        return self.folder / DETAILED

    @property
    def summary(self) -> Path:
        """The path of the result file with the means."""
        return self.folder / SUMMARY


@dataclass(frozen=True)
class ConfigForecast:
    """The work that a run of a configuration would do.

    `missing` counts, for each method, the questions that it would be asked. Their judgements are part of `forecast`,
    with the expected answer and no context in place of the missing response: the number of calls is exact, but the
    input tokens are underestimated. With a second judge, `second` is what it would do at most, if it got all cases.
    """

    missing: dict[str, int]
    forecast: Forecast
    second: Forecast | None = None


def evaluate_config(
    config: ConfigLike,
    changes: RunConfig | Mapping[str, object] | None = None,
    *,
    root: str | Path | None = None,
    judge: JudgeLike | None = None,
    **hooks: Unpack[RunHooks],
) -> Evaluation:
    """Run what a configuration describes; the synchronous form of `evaluate_config_async`.

    Example:
        >>> import tempfile
        >>> import greval
        >>> cases = Path(greval.__file__).parent / "demo" / "cases.jsonl"
        >>> done = evaluate_config({"data": str(cases), "metrics": "latency", "limit": 2, "out": tempfile.mkdtemp()})
        >>> done.run.progress.scored
        2
    """
    return run_sync(evaluate_config_async(config, changes, root=root, judge=judge, **hooks))


async def evaluate_config_async(
    config: ConfigLike,
    changes: RunConfig | Mapping[str, object] | None = None,
    *,
    root: str | Path | None = None,
    judge: JudgeLike | None = None,
    stop: asyncio.Event | None = None,
    **hooks: Unpack[RunHooks],
) -> Evaluation:
    """Run what a configuration describes; calling it again resumes the run.

    Args:
        config: A file, `greval.yaml` or the published `eval_config.yaml`, or its keys.
        changes: Keys in place of those of the file, such as `{"limit": 10}`. Methods that are named without a spec are
            those of the file.
        root: The folder that relative paths start from, by default that of the file, or the current one.
        judge: The judge, in place of the one in the configuration.
        stop: When set, no further call is started. Calls in flight are finished and written.
        **hooks: `on_collected` is called after each response of a method, `on_note` with a sentence on each index that
            is made first and on what else the user should know. The others are as in `evaluate_async`.

    Returns:
        The finished or stopped run. If methods are asked, its folder also holds `responses.jsonl`, and the two result
        files if the configuration asks for them.

    Raises:
        DataError: If the configuration or the data are wrong. Every fault of a file is reported.
        DefinitionError: If a metric is wrong.
        MethodError: If a method cannot be loaded.
        JudgeError: If no judge is named or it cannot be used.
        StoreError: If the folder cannot be written, or holds responses that were made with other settings.
    """
    check_options(hooks, RunHooks, "evaluate_config")
    with _prepare(config, changes, root, judge, hooks.get("on_note")) as plan:
        return await run_plan_async(plan, stop=stop, **hooks)


def forecast_config(
    config: ConfigLike,
    changes: RunConfig | Mapping[str, object] | None = None,
    *,
    root: str | Path | None = None,
    judge: JudgeLike | None = None,
) -> ConfigForecast:
    """Count the calls that `evaluate_config` with the same arguments would make, without making any or writing files.

    Raises:
        GrevalError: As `evaluate_config_async`.
    """
    with _prepare(config, changes, root, judge, None) as plan:
        return forecast_plan(plan)


async def run_plan_async(plan: RunPlan, *, stop: asyncio.Event | None = None, **hooks: Unpack[RunHooks]) -> Evaluation:
    """Run a plan; see `evaluate_config_async`."""
    if not plan.methods:
        return Evaluation(await _judge_cases(plan, None, stop, hooks))
    # Runs of recorded responses need none of it.
    from greval.methods.collecting.api import collect_async
    from greval.runs.config.result_files import create_file_writer, save_periodically
    from greval.runs.config.setup_file import check_setup, write_setup

    config = plan.config
    # A judge that cannot be used is reported before the methods are paid for their responses.
    if isinstance(plan.judge, Judge):
        check_judge(plan.judge)
    methods = plan.load_methods(hooks.get("on_note") or ignore_note)
    check_setup(plan)
    write_setup(plan)
    write: Callable[[], None] = create_file_writer(plan) if config.result_files else lambda: None
    pause = SAVE_SECONDS if config.result_files == "during" else None
    async with save_periodically(write, pause):
        collected = await collect_async(
            plan.rows,
            methods,
            out=plan.folder / RESPONSES_FILE,
            concurrency=config.concurrency or DEFAULT_CONCURRENCY,
            timeout=config.ask_timeout or None,
            retry_failed=config.retry_failed,
            stop=stop,
            on_progress=hooks.get("on_collected"),
            debug=hooks.get("debug", False),
        )
        if collected.why:
            run = Run(plan.folder, Progress(), why=collected.why)
        else:
            run = await _judge_cases(plan, [*plan.read_responses().values()], stop, hooks)
    # In a thread, because the files of a large run would hold up the event loop.
    await asyncio.to_thread(write)
    return Evaluation(run, collected)


async def _judge_cases(plan: RunPlan, cases: Sequence[Case] | None, stop: asyncio.Event | None, hooks: RunHooks) -> Run:
    """Judge the data, or cases in place of its samples."""
    rows = plan.open_cases(cases)
    options: EvaluateOptions = {
        **plan.list_options(cases),
        "on_progress": hooks.get("on_progress"),
        "on_result": hooks.get("on_result"),
        "on_unread": hooks.get("on_unread"),
    }
    reading = rows if cases is None else read_records(rows, required=False)
    run = await evaluate_async(reading, plan.metrics, plan.judge, out=plan.folder, stop=stop, **options)
    store_joins(run.folder, plan.data.joined)
    return run


def forecast_plan(plan: RunPlan) -> ConfigForecast:
    """Count the calls of a plan; see `forecast_config`."""
    from greval.runs.forecast import fill_missing_responses, forecast

    cases, missing = None, dict[str, int]()
    if plan.methods:
        from greval.runs.config.setup_file import check_setup

        check_setup(plan)
        plan.load_methods()
        retried = plan.config.retry_failed
        responses = [case for case in plan.read_responses().values() if case.error is None or not retried]
        cases, missing = fill_missing_responses(plan.samples, plan.methods, responses)
    rows, options = plan.open_cases(cases), plan.list_options(cases)
    if (second := options.get("escalate")) is None:
        return ConfigForecast(missing, forecast(rows, plan.metrics, plan.judge, out=plan.folder, **options))
    from greval.runs.escalation import FIRST_FOLDER

    rows = [*rows]
    second_options: EvaluateOptions = {
        **options,
        "judges": {metric.name: second for metric in plan.metrics if metric.kind == "judged"},
        "repeats": 1,
    }
    return ConfigForecast(
        missing,
        forecast(rows, plan.metrics, plan.judge, out=plan.folder / FIRST_FOLDER, **options),
        forecast(rows, plan.metrics, second, out=plan.folder, **second_options),
    )


@contextmanager
def _prepare(
    config: ConfigLike,
    changes: RunConfig | Mapping[str, object] | None,
    root: str | Path | None,
    judge: JudgeLike | None,
    report: Callable[[str], None] | None,
) -> Iterator[RunPlan]:
    """Prepare a run. An error that values of a file explain is reported with their lines, here and in the block."""
    base = Path(root) if root is not None else Path()
    file = None
    if isinstance(config, str | Path):
        file = read_config_file(locate_config(base, Path(config)), None if root is None else base)
        used = file.config
    else:
        used = config if isinstance(config, RunConfig) else build_config(config, base)
    changed = changes if isinstance(changes, RunConfig | None) else build_config(changes, base)
    if changed is not None:
        used = used.replace_by(changed)
    with file.explain_errors(used, changed) if file else nullcontext():
        chosen = None if judge is None else read_judge(judge)
        yield prepare_run(used, file.path if file else None, chosen, report)
