"""`greval evaluate`: judge cases with a progress display, and print the report."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from greval._util.wording import format_count
from greval.analysis.gate.api import check_gate
from greval.analysis.gate.conditions import check_conditions
from greval.analysis.summary import build_report
from greval.cli import FAILED, MISSED, STOPPED
from greval.cli.asking import AskedMethods, ask_methods, describe_missing, forecast_asking
from greval.cli.config_file import NO_CASES, ConfigurableCommand, describe_command, describe_config
from greval.cli.failures import list_failure_kinds, print_failure_hints
from greval.cli.gate import FailIf, get_gate_code, print_missed
from greval.cli.help_layout import input_option, limit_option, output_option, resuming_option
from greval.cli.input import CaseInput, JoinedFile, Rows, open_input
from greval.cli.metric_specs import load_named_metrics
from greval.cli.options import (
    AskedSpecs,
    By,
    CapOptions,
    Columns,
    Concurrency,
    Folders,
    JudgeNames,
    JudgeOptions,
    Limit,
    MethodName,
    OptionalMetricNames,
    Quiet,
    Repeats,
    Show,
    StoreCalls,
    create_console,
    create_judges,
    expand_groups,
    list_given_options,
    parse_columns,
)
from greval.cli.progress_bar import ProgressBar, describe_stop, stop_on_signals
from greval.cli.run_folder import choose_folder, print_continuing
from greval.datasets.chunk_sources import read_pattern
from greval.datasets.row_faults import describe_row_faults
from greval.judging.model.judge import Judge
from greval.records.metric import Metric, needs_judge
from greval.records.result import Result
from greval.report.console import render
from greval.report.gate import print_gate
from greval.report.tables import print_lines
from greval.runs.id_joins import store_input_remarks
from greval.runs.run_reader import read_metrics
from greval.runs.shard import Shard
from greval.runs.store import Store

if TYPE_CHECKING:
    from greval.methods.collecting.api import CollectOptions
    from greval.runs.evaluation import Run
    from greval.runs.options import EvaluateOptions
    from greval.runs.progress import Progress

COMMAND_CLASS = ConfigurableCommand
"""The class of the command, which reads its options from `greval.yaml`."""
NO_METRIC = "no metric is named; name one with -m METRIC (`greval data {data}` lists those that fit), or in greval.yaml"
JUDGING_OPTIONS = (*JudgeOptions._fields, *CapOptions._fields, "cache")
"""Options that matter only if a model judges."""
OTEL_DISABLED = "OTEL_SDK_DISABLED"


@expand_groups
def evaluate(  # noqa: PLR0913 - the options of a command
    context: typer.Context,
    cases: Annotated[
        str | None,
        typer.Argument(
            help="cases as .jsonl, .json, .csv, .tsv or .parquet, or - for stdin; without it greval.yaml describes the "
            "run"
        ),
    ] = None,
    *,
    metric: OptionalMetricNames = None,
    judge: JudgeNames = None,
    out: Annotated[
        Path | None, output_option("--out", "-o", metavar="RUN", help="the run folder; runs/NAME by default")
    ] = None,
    config: Annotated[
        Path | None,
        input_option("--config", "-c", metavar="FILE", help="a file with these options as keys (docs/config.md)"),
    ] = None,
    concurrency: Concurrency = None,
    limit: Limit = None,
    repeats: Repeats = 1,
    method: MethodName = None,
    ask: AskedSpecs = None,
    ask_timeout: Annotated[
        float | None, limit_option(min=0, metavar="SECONDS", help="the timeout of a method for one question")
    ] = None,
    column: Columns = None,
    gold: Annotated[
        list[Path] | None, input_option(metavar="FILE", help="gold, joined to the cases by id; repeatable")
    ] = None,
    traversal: Annotated[
        list[Path] | None, input_option(metavar="FILE", help="logs of traversals, joined by id; repeatable")
    ] = None,
    doc_id_pattern: Annotated[
        str | None,
        input_option(
            metavar="REGEX",
            help="take repo and version of chunks and nodes from their document ids, by groups (?P<repo>...) and "
            "(?P<version>...)",
        ),
    ] = None,
    library: Folders = None,
    settings: JudgeOptions,
    retry_failed: Annotated[bool, resuming_option(help="retry what failed")] = True,
    resume: Annotated[bool, resuming_option(help="resume the run in the folder; --no-resume begins a new one")] = True,
    cache: Annotated[
        bool,
        resuming_option(
            "--cache/--no-cache", show_default=False, help="cache replies, and use those cached by other runs"
        ),
    ] = False,
    store_calls: StoreCalls = True,
    caps: CapOptions,
    deadline: Annotated[float | None, limit_option(min=0, metavar="SECONDS", help="stop after this time")] = None,
    shard: Annotated[str | None, input_option(metavar="K/N", help="judge the K-th of N shards of the cases")] = None,
    dry_run: Annotated[
        bool,
        limit_option(
            "--dry-run/--no-dry-run", show_default=False, help="forecast the calls and their cost without any call"
        ),
    ] = False,
    by: By = None,
    show: Show = 0,
    fail_if: FailIf = None,
    quiet: Quiet = False,
    otel: Annotated[
        bool,
        output_option(
            "--otel/--no-otel",
            show_default=False,
            help="send OpenTelemetry events by OTLP to OTEL_EXPORTER_OTLP_ENDPOINT",
        ),
    ] = False,
    json: Annotated[
        bool, output_option("--json/--no-json", show_default=False, help="events as JSON lines instead of the report")
    ] = False,
) -> None:
    """Judge cases by metrics. The same command again judges only what is missing or failed."""
    if cases is None:
        raise typer.BadParameter(NO_CASES)
    if not metric:
        raise typer.BadParameter(NO_METRIC.format(data=quote(cases)))
    metrics, asked_names = load_named_metrics(metric, library)
    check_conditions(fail_if or (), [one.name for one in metrics])  # before any call is paid for
    model, judges = create_judges(settings, judge, metrics) if needs_judge(metrics) else (None, {})
    _print_unused_options(context, model or next(iter(judges.values()), None), quiet=quiet)
    if doc_id_pattern is not None:
        read_pattern(doc_id_pattern)  # report an invalid pattern before anything else
    asked = _load_methods(ask, out=out, method=method, traversal=traversal, shard=shard) if ask else None
    given = open_input(
        cases,
        method=method,
        columns=parse_columns(column),
        gold=gold or (),
        traversals=traversal or (),
        pattern=None if asked else doc_id_pattern,
        by=by or (),
        limit=limit,
    )
    named = (
        " ".join(column) if column and (gold or traversal) else None
    )  # the reader knows only the columns of the cases
    origin = given.reading.identify_source(
        *(gold or ()), *(traversal or ()), limit=limit, pattern=doc_id_pattern, joined_columns=named
    )
    folder = out or choose_folder(cases, origin, config.parent if config else Path())
    options: EvaluateOptions = {
        "judges": judges,
        "concurrency": concurrency,
        "repeats": repeats,
        "reason_depth": settings.reason_depth,
        "retry_failed": retry_failed,
        "resume": resume,
        "deadline": deadline,
        "cache": cache,
        "store_calls": store_calls,
        "shard": Shard.parse(shard) if shard else None,
        "debug": bool(context.obj),
        "command": describe_command(context, config),
        "origin": origin,
        "asked": asked_names,
        "max_calls": caps.max_calls,
        "max_cost": caps.max_cost,
        "prices": caps.read_prices(),
    }
    if config and not quiet and not json:
        typer.echo(describe_config(context, config), err=True)
    if dry_run:
        if asked:
            found = forecast_asking(given, asked, folder, retry_failed=retry_failed)
            typer.echo(describe_missing(found.missing))
            given = given._replace(rows=found.open_rows(doc_id_pattern))
        print_forecast(given.rows, metrics, model, folder, options)
        if notice := given.reading.notice():
            typer.echo(notice, err=True)
        return
    if resume and not quiet and not json:
        print_continuing(folder)
    if asked:
        from greval.runs.evaluation import find_free_folder
        from greval.runs.options import DEFAULT_CONCURRENCY

        folder = folder if resume else find_free_folder(folder)
        options["resume"] = True
        collecting: CollectOptions = {
            "concurrency": concurrency or DEFAULT_CONCURRENCY,
            "timeout": ask_timeout or None,
            "retry_failed": retry_failed,
            "total": given.reading.count(limit),
            "debug": bool(context.obj),
        }
        found = ask_methods(given, asked, model, folder, collecting, quiet=quiet or json)
        options["total"] = len(found.unread) + len(found.cases)
        options["origin"] = found.identify_source(folder, origin)
        given = given._replace(rows=found.open_rows(doc_id_pattern))
    else:
        options["total"] = given.reading.count(limit)
    bar = ProgressBar(quiet=quiet, json=json, also=_create_emitter() if otel else None)
    run = asyncio.run(judge_cases(given, metrics, model, folder, bar, options))
    report_and_exit(run, by=by or (), show=show, quiet=quiet or json, fail_if=fail_if or ())


def _print_unused_options(context: typer.Context, judge: Judge | None, *, quiet: bool) -> None:
    """Print which given options have no effect if there is no judge."""
    if judge is None and not quiet and (unused := list_given_options(context, JUDGING_OPTIONS)):
        typer.echo(f"{', '.join(unused)}: without effect, because no metric is judged by a model", err=True)


def _load_methods(ask: Sequence[str], *, out: Path | None, **others: object) -> AskedMethods:
    """Load the methods that are asked for responses.

    Raises:
        typer.BadParameter: If no run folder is named, or an option is about responses that are recorded.
    """
    for name, value in others.items():
        if value:
            raise typer.BadParameter(f"--{name} is for recorded responses; leave it out, or --ask (methods in a file)")
    if out is None:
        raise typer.BadParameter("--ask needs -o RUN (out in a file), because the responses are kept in the run folder")
    return AskedMethods.load(ask)


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
        typer.echo(f"--otel: {OTEL_DISABLED} is true, so no event is emitted", err=True)
        return events
    events = OpenTelemetryEvents(create_otlp_provider())
    typer.echo(f"--otel: events are sent to {get_otlp_endpoint()}", err=True)
    return events


async def judge_cases(
    cases: CaseInput,
    metrics: Sequence[Metric],
    judge: Judge | None,
    folder: Path,
    bar: ProgressBar,
    options: EvaluateOptions,
) -> Run:
    """Run with a progress bar. The first Ctrl-C finishes calls in flight, the second stops immediately."""
    from greval.runs.evaluation import evaluate_async

    stop = stop_on_signals()
    unread: list[str] = []
    given: EvaluateOptions = {"on_progress": bar.show, "on_result": bar.add_result, "on_unread": unread.append}
    given |= options
    with bar:
        run = await evaluate_async(cases.rows, metrics, judge, out=folder, stop=stop, **given)
        if notice := cases.reading.notice():
            bar.print_line(notice)
        for line in describe_row_faults(unread, run.progress.unread):
            bar.print_line(f"not a case: {line}")
        for file in cases.joined:
            if text := file.describe():
                bar.print_line(text)
        bar.emit_finished(run)
    store_joins(run.folder, cases.joined)
    return run


def store_joins(folder: Path, files: Sequence[JoinedFile]) -> None:
    """Store the remarks about files of which less than half of the cases have a row, so that all reports have them."""
    if any(file.counter.total for file in files):
        from greval.runs.store.writer import StoreWriter

        with StoreWriter.create(folder) as writer:
            store_input_remarks(writer, filter(None, (file.find_remark() for file in files)))


def print_forecast(
    rows: Rows, metrics: Sequence[Metric], judge: Judge | None, folder: Path, options: EvaluateOptions
) -> None:
    """Print the forecast of the calls and the cost of a run."""
    from greval.report.forecast import render as render_forecast
    from greval.runs.forecast import forecast

    render_forecast(forecast(rows, metrics, judge, out=folder, **options), create_console())


def report_and_exit(run: Run, *, by: Sequence[str], show: int, quiet: bool, fail_if: Sequence[str] = ()) -> None:
    """Print the report, the failures, the stop reason and the gate, and exit with the code that they need.

    The gate is not checked if the run was stopped by Ctrl-C.
    """
    from greval.runs.evaluation import STOP_REQUESTED as ASKED

    lacks = _describe_unjudged(run.progress)
    folder = quote(str(run.folder))
    if not quiet:
        with Store.open(run.folder) as store:
            found = build_report(store, by=by, show=show)
            preferences = [metric.is_preference for metric in read_metrics(store).values()]
        stopped = tuple(why for why in found.stopped if why != run.why)
        printed = {"unread": (), "unread_count": 0, "command": None, "stopped": stopped}  # on stderr
        render(found.model_copy(update=printed), create_console())
        several = "method" in found.by and not all(preferences)
        _print_next_commands(folder, several=several, duels=any(preferences))
        print_failure_hints(run.folder, list_failure_kinds(found), found.judge or "", run.why or "")
    elif lacks:
        typer.echo(f"{lacks}; greval report {folder} shows why", err=True)
    if run.why:
        typer.echo(describe_stop(run.why), err=True)
    if run.why == ASKED:
        raise typer.Exit(STOPPED)
    gate = check_gate(run, fail_if)
    if quiet:
        print_missed(gate)
    else:
        print_gate(gate, create_console())
    code = get_gate_code(gate)
    if code != MISSED and (run.why or lacks):
        code = FAILED
    if code:
        raise typer.Exit(code)


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
