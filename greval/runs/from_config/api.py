"""Evaluations driven by a config file: collect responses, judge them, and write the two result files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

from langchain_core.language_models import BaseChatModel

from greval._util.arguments import check_options
from greval._util.concurrency import run_sync
from greval.datasets.case_records import read_records
from greval.errors import JudgeError, StoreError
from greval.judging.model.judge import Judge
from greval.methods import Method
from greval.methods.collecting.api import Collected, CollectProgress, collect_async
from greval.methods.collecting.response_file import ResponseFile
from greval.metrics.library import load_metric
from greval.records.metric import set_reason_depth
from greval.runs.evaluation import Run, evaluate_async, find_free_folder
from greval.runs.from_config import CONFIG_FILE
from greval.runs.from_config.config import EvaluationConfig, dump_response_settings, locate_config, read_config
from greval.runs.from_config.dataset import Questions, count_groups, read_questions
from greval.runs.from_config.methods import load_group_methods, select_methods
from greval.runs.from_config.result_files import (
    DETAILED,
    JUDGED_METRICS,
    SUMMARY,
    USAGE_METRICS,
    EvaluationScope,
    write_json,
)
from greval.runs.from_config.result_writer import (
    RESPONSES_FILE,
    RUN_FOLDER,
    ResultFileWriter,
    save_periodically,
    select_current,
)
from greval.runs.options import DEFAULT_CONCURRENCY, EvaluateOptions
from greval.runs.store.disk import lock_folder

SETUP_FILE = "setup.json"
SAVE_SECONDS = 5.0
NO_JUDGE = "no judge is named; add `judge: {model: openai:MODEL}` (or `local`) to the config, or give --judge MODEL"


@dataclass(frozen=True)
class ConfigSelection:
    """A part of an evaluation: names of methods, values of tags, and the maximum number of questions."""

    methods: str | Sequence[str] | None = None
    where: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    limit: int | None = None


@dataclass(frozen=True)
class EvaluationPlan:
    """An evaluation that has been checked and is ready to run."""

    config: EvaluationConfig
    scope: EvaluationScope
    methods: Mapping[str, Method]
    judge: Judge | BaseChatModel
    out: Path
    ignored: Sequence[str]


@dataclass(frozen=True)
class Evaluation:
    """A finished or stopped evaluation: its folder, the collected responses, and the run that judged them.

    `ignored` lists the columns of the dataset that are neither a field nor a tag, `unread` the rows that are not
    questions.
    """

    folder: Path
    collected: Collected
    run: Run
    ignored: Sequence[str] = ()
    unread: Sequence[str] = ()

    @property
    def detailed(self) -> Path:
        """The path of the file with every question."""
        return self.folder / DETAILED

    @property
    def summary(self) -> Path:
        """The path of the file with the means."""
        return self.folder / SUMMARY


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
    plan = prepare_evaluation(Path(root), Path(file), selection or ConfigSelection(), judge)
    _prepare_folder(plan, restart=not options.get("resume", True))
    metrics = set_reason_depth(
        [load_metric(name) for name in (*JUDGED_METRICS, *USAGE_METRICS)], options.get("reason_depth")
    )
    write = ResultFileWriter(plan.scope, plan.out, metrics, plan.judge, repeats=options.get("repeats", 1))
    async with save_periodically(write, save_seconds if plan.config.output.save_intermediate else None):
        collected = await collect_async(
            plan.scope.samples,
            plan.methods,
            out=plan.out / RESPONSES_FILE,
            concurrency=options.get("concurrency") or DEFAULT_CONCURRENCY,
            timeout=timeout,
            retry_failed=options.get("retry_failed", True),
            stop=stop,
            on_progress=on_collected,
            debug=options.get("debug", False),
        )
        cases = [*select_current(plan.scope, collected.cases()).values()]
        options["resume"], options["total"] = True, len(cases)
        given = read_records(cases, required=False)
        run = await evaluate_async(given, metrics, plan.judge, out=plan.out / RUN_FOLDER, stop=stop, **options)
    await asyncio.to_thread(write)
    return Evaluation(plan.out, collected, run, plan.ignored, plan.scope.unread)


def prepare_evaluation(
    root: Path, file: Path, selection: ConfigSelection, judge: Judge | BaseChatModel | None = None
) -> EvaluationPlan:
    """Read and check everything that an evaluation needs, without calling a method or the judge.

    Raises:
        DataError: If the config or the dataset is wrong.
        MethodError: If a method cannot be loaded.
        JudgeError: If no judge is named.
    """
    config = read_config(locate_config(root, file), root)
    judge = judge or config.judge
    if judge is None:
        raise JudgeError(NO_JUDGE)
    questions = read_questions(root / config.dataset.path, config.dataset.group_by)
    wanted: Questions = questions.select(selection.where, selection.limit)
    names = select_methods(config, selection.methods)
    found = count_groups(wanted.samples, config.dataset.group_by)
    methods = load_group_methods(config, names, found, root)
    asked = EvaluationScope(wanted.samples, names, config.dataset.group_by, wanted.faults)
    return EvaluationPlan(config, asked, methods, judge, root / config.output.dir, wanted.ignored)


def _prepare_folder(plan: EvaluationPlan, *, restart: bool) -> None:
    """Prepare the output folder; move the old one aside if the evaluation starts from scratch.

    Raises:
        StoreError: If another run is writing to the folder, or it holds responses made with other settings.
    """
    out = plan.out
    if restart and out.is_dir() and any(out.iterdir()):
        _move_aside(out)
    file = out / SETUP_FILE
    now = dump_response_settings(plan.config)
    before = _read_setup(file)
    if told := "; ".join(_describe_changes(before, now, plan.scope)):
        message = f"{file}: the responses there are not of this config: {told}"
        raise StoreError(f"{message}. --no-resume moves them aside; or set another output.dir")
    kept = {part: {**before.get(part, {}), **now[part]} for part in ("methods", "indexes")}
    write_json(file, {**kept, "generation": now["generation"]})


def _move_aside(out: Path) -> None:
    """Rename the output folder, unless another run is writing to it."""
    with ExitStack() as opened:
        if (out / RESPONSES_FILE).exists():
            opened.enter_context(ResponseFile.open(out / RESPONSES_FILE))
        opened.enter_context(lock_folder(out / RUN_FOLDER))
        out.rename(find_free_folder(out))


def _read_setup(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _describe_changes(before: Mapping[str, Any], now: Mapping[str, Any], scope: EvaluationScope) -> Iterable[str]:
    """Describe the settings, within the scope of this evaluation, that changed since the responses were collected."""
    if not before:
        return
    if before.get("generation") != now["generation"]:
        yield "generation has changed"
    for part, names in (("methods", scope.methods), ("indexes", count_groups(scope.samples, scope.group_by))):
        for name in names:
            old, new = before.get(part, {}).get(name), now[part].get(name)
            if old is not None and old != new:
                yield f"{part}: {name} was {old} and is {new}"
