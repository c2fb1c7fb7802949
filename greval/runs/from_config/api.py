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

from greval._util.arguments import known_options
from greval.datasets.case_records import read_given
from greval.errors import JudgeError, StoreError
from greval.judging.metric_runnable import run_sync
from greval.judging.model.judge import Judge
from greval.methods import Method
from greval.methods.collecting import Collected, CollectProgress, collect_async
from greval.methods.collecting.response_file import ResponseFile
from greval.metrics.library import load
from greval.records.metric import set_reason_depth
from greval.runs.evaluation import Run, evaluate_async, unused
from greval.runs.from_config import CONFIG
from greval.runs.from_config.config import Config, located, plain, read_config
from greval.runs.from_config.dataset import Questions, groups, read_questions
from greval.runs.from_config.methods import chosen, load_group_methods
from greval.runs.from_config.result_files import DETAILED, EFFORT, JUDGED, SUMMARY, Asked, write_json
from greval.runs.from_config.result_writer import RESPONSES, RUN, Writer, current, saving
from greval.runs.options import DEFAULT_CONCURRENCY, Options
from greval.runs.store.disk import lock

SETUP = "setup.json"
SAVE_SECONDS = 5.0
NO_JUDGE = "no judge is named; add `judge: {model: openai:MODEL}` (or `local`) to the config, or give --judge MODEL"


@dataclass(frozen=True)
class Selection:
    """A part of an evaluation: names of methods, values of tags, and the maximum number of questions."""

    methods: str | Sequence[str] | None = None
    where: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    limit: int | None = None


@dataclass(frozen=True)
class Plan:
    """An evaluation that has been checked and is ready to run."""

    config: Config
    asked: Asked
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
    file: str | Path = CONFIG,
    selection: Selection | None = None,
    *,
    judge: Judge | BaseChatModel | None = None,
    **options: Unpack[Options],
) -> Evaluation:
    """Run the evaluation that a config file describes; the synchronous form of `evaluate_config_async`."""
    return run_sync(evaluate_config_async(root, file, selection, judge=judge, **options))


async def evaluate_config_async(  # noqa: PLR0913 - the inputs and options of an evaluation
    root: str | Path,
    file: str | Path = CONFIG,
    selection: Selection | None = None,
    *,
    judge: Judge | BaseChatModel | None = None,
    stop: asyncio.Event | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - the timeout of one response, not of this coroutine
    save_seconds: float = SAVE_SECONDS,
    on_collected: Callable[[CollectProgress], None] | None = None,
    **options: Unpack[Options],
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
    known_options(options, Options, "evaluate_config")
    plan = planned(Path(root), Path(file), selection or Selection(), judge)
    _begin(plan, anew=not options.get("resume", True))
    metrics = set_reason_depth([load(name) for name in (*JUDGED, *EFFORT)], options.get("reason_depth"))
    write = Writer(plan.asked, plan.out, metrics, plan.judge, repeats=options.get("repeats", 1))
    async with saving(write, save_seconds if plan.config.output.save_intermediate else None):
        collected = await collect_async(
            plan.asked.samples,
            plan.methods,
            out=plan.out / RESPONSES,
            concurrency=options.get("concurrency") or DEFAULT_CONCURRENCY,
            timeout=timeout,
            retry_failed=options.get("retry_failed", True),
            stop=stop,
            on_progress=on_collected,
            debug=options.get("debug", False),
        )
        cases = [*current(plan.asked, collected.cases()).values()]
        options["resume"], options["total"] = True, len(cases)
        given = read_given(cases, needed=False)
        run = await evaluate_async(given, metrics, plan.judge, out=plan.out / RUN, stop=stop, **options)
    await asyncio.to_thread(write)
    return Evaluation(plan.out, collected, run, plan.ignored, plan.asked.unread)


def planned(root: Path, file: Path, selection: Selection, judge: Judge | BaseChatModel | None = None) -> Plan:
    """Read and check everything that an evaluation needs, without calling a method or the judge.

    Raises:
        DataError: If the config or the dataset is wrong.
        MethodError: If a method cannot be loaded.
        JudgeError: If no judge is named.
    """
    config = read_config(located(root, file), root)
    judge = judge or config.judge
    if judge is None:
        raise JudgeError(NO_JUDGE)
    questions = read_questions(root / config.dataset.path, config.dataset.group_by)
    wanted: Questions = questions.where(selection.where, selection.limit)
    names = chosen(config, selection.methods)
    found = groups(wanted.samples, config.dataset.group_by)
    methods = load_group_methods(config, names, found, root)
    asked = Asked(wanted.samples, names, config.dataset.group_by, wanted.faults)
    return Plan(config, asked, methods, judge, root / config.output.dir, wanted.ignored)


def _begin(plan: Plan, *, anew: bool) -> None:
    """Prepare the output folder; move the old one aside if the evaluation starts from scratch.

    Raises:
        StoreError: If another run is writing to the folder, or it holds responses made with other settings.
    """
    out = plan.out
    if anew and out.is_dir() and any(out.iterdir()):
        _move_aside(out)
    file = out / SETUP
    now = plain(plan.config)
    before = _setup(file)
    if told := "; ".join(_changed(before, now, plan.asked)):
        message = f"{file}: the responses there are not of this config: {told}"
        raise StoreError(f"{message}. --no-resume moves them aside; or set another output.dir")
    kept = {part: {**before.get(part, {}), **now[part]} for part in ("methods", "indexes")}
    write_json(file, {**kept, "generation": now["generation"]})


def _move_aside(out: Path) -> None:
    """Rename the output folder, unless another run is writing to it."""
    with ExitStack() as opened:
        if (out / RESPONSES).exists():
            opened.enter_context(ResponseFile.open(out / RESPONSES))
        opened.enter_context(lock(out / RUN))
        out.rename(unused(out))


def _setup(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def _changed(before: Mapping[str, Any], now: Mapping[str, Any], asked: Asked) -> Iterable[str]:
    """Describe the settings, within the scope of this evaluation, that changed since the responses were collected."""
    if not before:
        return
    if before.get("generation") != now["generation"]:
        yield "generation has changed"
    for part, names in (("methods", asked.methods), ("indexes", groups(asked.samples, asked.group_by))):
        for name in names:
            old, new = before.get(part, {}).get(name), now[part].get(name)
            if old is not None and old != new:
                yield f"{part}: {name} was {old} and is {new}"
