"""`greval evaluate`: judge cases with a progress display, and print the report."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import typer

from greval._util.wording import format_count
from greval.analysis.summary import build_report
from greval.cli import FAILED, MISSED, STOPPED, print_note
from greval.cli.judge_options import CapOptions, JudgeOptions
from greval.cli.options import create_console, expand_groups, list_given_options
from greval.cli.progress_bar import ProgressBar, describe_stop, format_duration, stop_on_signals
from greval.cli.run_keys import COMMAND, CommandConfig, ConfigurableCommand, RunOptions
from greval.datasets.row_faults import describe_row_faults
from greval.errors import DataError
from greval.judging.model.judge import Judge
from greval.records.metric import JudgedMetric
from greval.records.result import Result
from greval.report.console import print_gate, render
from greval.report.tables import print_lines
from greval.runs.run_reader import read_metrics
from greval.runs.store import Store, is_begun

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from greval.methods.collecting.api import CollectProgress
    from greval.runs.config.api import Evaluation
    from greval.runs.config.plan import RunPlan
    from greval.runs.config.run_input import CaseInput
    from greval.runs.evaluation import Run
    from greval.runs.forecast import Forecast
    from greval.runs.progress import Progress

COMMAND_CLASS = ConfigurableCommand
"""The class of the command, which reads its options from `greval.yaml`."""
JUDGING_OPTIONS = (*JudgeOptions._fields, *CapOptions._fields, "cache")
"""Options that matter only if a model judges."""
OTEL_DISABLED = "OTEL_SDK_DISABLED"


@expand_groups
def evaluate(context: typer.Context, *, run: RunOptions, settings: JudgeOptions, caps: CapOptions) -> None:  # noqa: ARG001 - they are read with where they are from
    """Judge cases by metrics. The same command again judges only what is missing or failed."""
    run_command(context)


def run_command(context: typer.Context) -> None:
    """Run the configuration of a command, print what it found, and exit with the exit code."""
    from greval.runs.config.plan import prepare_run

    command: CommandConfig = context.meta[COMMAND]
    config = command.config
    silent = config.quiet or config.json_events
    plan = prepare_run(config, command.file.path if command.file else None, report=print_note)
    if config.fail_if:
        from greval.analysis.gate.conditions import check_conditions

        # Before any call is paid for.
        check_conditions(config.fail_if, [metric.name for metric in plan.metrics])
    unused = list_given_options(context, JUDGING_OPTIONS)
    if unused and not plan.judge and not plan.judges and not config.quiet:
        print_note(f"{', '.join(unused)}: without effect, because no metric is judged by a model")
    if not silent:
        print_note(command.describe_file())
        _print_equal_rules(plan)
    if config.dry_run:
        _print_plan_forecast(plan)
    else:
        judge_plan(plan, debug=bool(context.obj))


def _print_equal_rules(plan: RunPlan) -> None:
    """Print for which metrics the embedded judge is not clearly better than a rule without a model."""
    from greval.runs.judges import choose_judge

    for metric in plan.metrics:
        judge = choose_judge(metric, plan.judge, plan.judges) if isinstance(metric, JudgedMetric) else None
        if isinstance(metric, JudgedMetric) and isinstance(judge, Judge) and judge.local:
            from greval.judging.model.calibrations import find_calibration

            calibration = find_calibration(metric, judge.label)
            if calibration and calibration.equal_rule:
                what = f"for {metric.name} this judge is not clearly better than {calibration.equal_rule}"
                print_note(f"{what}: see docs/figures.md#calibration")


def judge_plan(plan: RunPlan, *, debug: bool = False) -> None:
    """Run a plan with a progress display, print the report, and exit with the exit code."""
    from greval.runs.config.api import run_plan_async

    config = plan.config
    silent = config.quiet or config.json_events
    if config.resume and not silent:
        print_continuing(plan.folder)
    bar = ProgressBar(quiet=config.quiet, json=config.json_events, also=_create_emitter() if config.otel else None)

    def show_responses(progress: CollectProgress) -> None:
        from greval.cli.collect import convert_progress

        bar.show(convert_progress(progress), stage="responses")

    judging = partial(
        run_plan_async,
        plan,
        debug=debug,
        on_note=None if silent else print_note,
        on_collected=None if silent else show_responses,
    )
    done = asyncio.run(judge_cases(judging, bar, plan.data))
    if done.collected and not silent:
        from greval.cli.collect import print_method_errors

        print_method_errors(done.collected)
    if done.collected and done.collected.why:
        print_note(f"stopped: {done.collected.why}; run the same command again to go on")
        raise typer.Exit(STOPPED)
    if config.result_files and not silent:
        typer.echo(f"results: {done.detailed} and {done.summary.name}")
    try:
        report_and_exit(done.run, by=config.by or (), show=config.show, quiet=silent, fail_if=config.fail_if or ())
    finally:
        # Last, and also if a condition was missed: the report ends the command by an exception.
        if config.result_files and not silent and done.run.why is None and len(plan.methods) > 1:
            _print_comparison(done.run, plan.methods)


def print_continuing(folder: Path) -> None:
    """Print the number of results that a run folder already holds, if any."""
    if is_begun(folder):
        with Store.open(folder, all_rows=True) as store:
            if count := store.count():
                print_note(f"continuing {folder}: {format_count(count, 'result')} from before")


def _print_plan_forecast(plan: RunPlan) -> None:
    """Print the forecast of the responses and of the calls of the judge."""
    from greval.runs.config.api import forecast_plan

    expected = forecast_plan(plan)
    if plan.methods:
        counts = ", ".join(f"{name} {count:,}" for name, count in expected.missing.items())
        typer.echo(f"responses to ask for: {counts}; their context is not in the input tokens")
    print_forecast(expected.forecast, plan.judge)
    if expected.second:
        typer.echo("\nat most, if the first judge is sure of no case:")
        print_forecast(expected.second)
    print_note(plan.data.reading.notice())


def _print_comparison(run: Run, methods: Sequence[str]) -> None:
    """Print the comparison of the methods that were asked, or why they cannot be compared."""
    from greval.analysis.comparison.api import compare
    from greval.report.comparison import render as render_comparison

    typer.echo()
    try:
        render_comparison(compare(run, methods=methods), create_console())
    except DataError as error:
        print_note(f"the methods cannot be compared: {error}")


def _create_emitter() -> Callable[[Result], None]:
    """Create the callable that emits OpenTelemetry events for each result.

    A provider that the process was set up with is used. Otherwise the events are sent by OTLP to the address that
    OpenTelemetry's variables name. If OpenTelemetry was disabled on purpose, a notice is printed.
    """
    from greval.runs.otel import OpenTelemetryEvents, create_otlp_provider, get_otlp_endpoint

    events = OpenTelemetryEvents()
    if not events.silent:
        return events
    if os.environ.get(OTEL_DISABLED, "").lower() == "true":
        print_note(f"--otel: {OTEL_DISABLED} is true, so no event is emitted")
        return events
    events = OpenTelemetryEvents(create_otlp_provider())
    print_note(f"--otel: events are sent to {get_otlp_endpoint()}")
    return events


async def judge_cases(judging: Callable[..., Awaitable[Evaluation]], bar: ProgressBar, data: CaseInput) -> Evaluation:
    """Judge with a progress bar. The first Ctrl-C finishes calls in flight, the second stops immediately."""
    unread: list[str] = []
    with bar:
        done = await judging(
            stop=stop_on_signals(),
            on_progress=partial(bar.show, stage="judgements"),
            on_result=bar.add_result,
            on_unread=unread.append,
        )
        if notice := data.reading.notice():
            bar.print_line(notice)
        for line in describe_row_faults(unread, done.run.progress.unread):
            bar.print_line(f"not a case: {line}")
        for file in data.joined:
            if text := file.describe():
                bar.print_line(text)
        bar.emit_finished(done.run)
    return done


def print_forecast(expected: Forecast, judge: Judge | BaseChatModel | None = None) -> None:
    """Print the forecast of the calls and the cost of a run, and how long the embedded judge takes."""
    from greval.report.forecast import render as render_forecast
    from greval.runs.forecast import forecast_seconds

    render_forecast(expected, create_console())
    # Others answer as fast as their servers and limits allow.
    if isinstance(judge, Judge) and judge.local and (seconds := forecast_seconds(expected, judge)):
        typer.echo(f"time: about {format_duration(seconds)} on this machine, by one call that was measured")


def report_and_exit(run: Run, *, by: Sequence[str], show: int, quiet: bool, fail_if: Sequence[str] = ()) -> None:
    """Print the report, the failures, the stop reason and the gate, and exit with the code that they need.

    The gate is not checked if the run was stopped by Ctrl-C.
    """
    from greval.runs.evaluation import STOP_REQUESTED as ASKED

    lacks = _describe_unjudged(run.progress)
    folder = quote(str(run.folder))
    if not quiet:
        with Store.open(run.folder) as store:
            report = build_report(store, by=by, show=show)
            preferences = [metric.is_preference for metric in read_metrics(store).values()]
        stopped = tuple(why for why in report.stopped if why != run.why)
        # These are printed on stderr.
        printed = {"unread": (), "unread_count": 0, "command": None, "stopped": stopped}
        render(report.model_copy(update=printed), create_console())
        several = "method" in report.by and not all(preferences)
        _print_next_commands(folder, several=several, duels=any(preferences))
        if report.failure_kinds:
            from greval.cli.report_output import print_failure_hints

            print_failure_hints(run.folder, report.failure_kinds, report.judge or "", run.why or "")
    elif lacks:
        print_note(f"{lacks}; greval report {folder} shows why")
    if run.why:
        print_note(describe_stop(run.why))
    # A gate that some of the cases pass may fail on all of them.
    if run.why == ASKED:
        raise typer.Exit(STOPPED)
    code = _check_conditions(run, fail_if, quiet=quiet) if fail_if else 0
    # A missed condition is what CI asks for, so it counts before failures.
    if code != MISSED and (run.why or lacks):
        code = FAILED
    if code:
        raise typer.Exit(code)


def _check_conditions(run: Run, fail_if: Sequence[str], *, quiet: bool) -> int:
    """Check failure conditions, print their lines, and return their exit code."""
    from greval.analysis.gate.api import check_gate
    from greval.cli.report_output import get_gate_code, print_missed

    gate = check_gate(run, fail_if)
    if quiet:
        print_missed(gate)
    else:
        print_gate(gate, create_console())
    return get_gate_code(gate)


def _print_next_commands(folder: str, *, several: bool, duels: bool) -> None:
    """Print the run folder, quoted for a shell, and the commands that show more of it."""
    commands = {
        f"report {folder} --worst 5": "the worst cases with their texts and reasons",
        f"results {folder} --format csv": "every verdict as a row",
        **({f"compare {folder}": "which method is better"} if several else {}),
        **({f"duel {folder}": "which method is preferred"} if duels else {}),
        f"report {folder} --html r.html": "the run as a page",
    }
    longest = max(map(len, commands))
    lines = (f"  greval {command.ljust(longest)}  {what}" for command, what in commands.items())
    print_lines(create_console(), [f"run: {folder}", *lines])


def _describe_unjudged(progress: Progress) -> str:
    """Describe in one line what could not be judged; empty if everything was judged."""
    failed = {"judgement": progress.failed, "item": progress.items_failed}
    parts = [f"{format_count(count, what)} failed" for what, count in failed.items() if count]
    return ", ".join([*parts, format_count(progress.unread, "unreadable row")] if progress.unread else parts)
