"""`greval evaluate`, `report`, `results` and `demo`."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from enum import StrEnum
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greval.cli.bar import Bar
from greval.cli.options import (
    AnswerForm,
    BaseUrl,
    Confidence,
    Folders,
    JudgeName,
    MaxItems,
    MaxTokens,
    Seed,
    Temperature,
    Timeout,
    needed_judge,
    page,
)
from greval.datasets import read_cases
from greval.judge import Judge
from greval.library import load, with_dependencies
from greval.metric import ComputedMetric, Metric
from greval.report.build import build
from greval.report.console import render
from greval.store import Store

if TYPE_CHECKING:
    from greval.evaluation import Run

FAILED = 3
STOPPED = 130
STDIN = "-"

By = Annotated[
    list[str] | None, typer.Option("--by", metavar="TAG", help="group by a tag or by method; may be given often")
]
Show = Annotated[int, typer.Option(metavar="N", help="show N verdicts with their reasons")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="no progress, no report")]


class Format(StrEnum):
    """How results are written."""

    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"


class ReportFormat(StrEnum):
    """How a report is written."""

    table = "table"
    json = "json"


def evaluate(  # noqa: PLR0913 - the options of a command
    cases: Annotated[str, typer.Argument(help="cases as .jsonl, .json, .csv, .tsv or .parquet, or - for stdin")],
    *,
    metric: Annotated[
        list[str], typer.Option("--metric", "-m", metavar="METRIC", help="a name or a file; may be given often")
    ],
    judge: JudgeName = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="RUN", help="the run folder; runs/NAME by default")
    ] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="how many calls are in flight at most")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="judge the first N cases only")] = None,
    method: Annotated[str | None, typer.Option(help="the method's name, where the cases do not tell it")] = None,
    library: Folders = None,
    base_url: BaseUrl = None,
    temperature: Temperature = 0.0,
    seed: Seed = None,
    timeout: Timeout = 60.0,
    max_tokens: MaxTokens = None,
    max_items: MaxItems = None,
    structured: AnswerForm = "auto",
    confidence: Confidence = False,
    by: By = None,
    show: Show = 0,
    quiet: Quiet = False,
) -> None:
    """Judge cases by metrics. The same command again asks only for what is missing or failed."""
    folders = library or []
    metrics = with_dependencies([load(name, *folders) for name in metric], *folders)
    settings = {"base_url": base_url, "temperature": temperature, "seed": seed, "timeout": timeout}
    more = {"max_tokens": max_tokens, "max_items": max_items, "structured": structured, "confidence": confidence}
    computed = all(isinstance(one, ComputedMetric) for one in metrics)
    model = None if computed else needed_judge(judge, **settings, **more)
    folder = out or Path("runs") / ("stdin" if cases == STDIN else Path(cases).stem)
    work = _run(cases, metrics, model, folder, method=method, limit=limit, concurrency=concurrency, quiet=quiet)
    run = asyncio.run(work)
    _end(run, by=by or (), show=show, quiet=quiet)


def report(
    run: Annotated[Path, typer.Argument(help="a run folder")],
    *,
    by: By = None,
    show: Show = 0,
    format: Annotated[ReportFormat, typer.Option(help="for people or for programs")] = ReportFormat.table,  # noqa: A002
) -> None:
    """Print what a run found, by any tag."""
    with Store.open(run) as store:
        found = build(store, by=by or (), show=show)
    if format is ReportFormat.json:
        typer.echo(found.model_dump_json(indent=2))
    else:
        render(found, page())


def results(
    run: Annotated[Path, typer.Argument(help="a run folder")],
    *,
    format: Annotated[  # noqa: A002 - the option's name
        Format, typer.Option(help="jsonl: one result a line; the others: one judgement a row")
    ] = Format.jsonl,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="write here instead of printing")
    ] = None,
) -> None:
    """Print the rows of a run, the newest of each sample, method and metric."""
    if format is Format.parquet and out is None:
        raise typer.BadParameter("parquet is no text: give a file with -o FILE")
    with Store.open(run) as store:
        if format is Format.parquet:
            store.frame().to_parquet(out)
        elif format is Format.csv:
            store.frame().to_csv(out or sys.stdout, index=False)
        elif out:
            with out.open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in store.lines())
        else:
            for line in store.lines():
                typer.echo(line)


def demo(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="the run folder")] = Path("runs/demo"),
    judge: JudgeName = "local",
    limit: Annotated[int, typer.Option(min=1, help="judge the first N cases only")] = 8,
) -> None:
    """Judge the cases that ship with greval, with the embedded model."""
    cases = str(files("greval") / "demo" / "cases.jsonl")
    metrics = [load(name) for name in DEMO_METRICS]
    model = needed_judge(judge)
    run = asyncio.run(_run(cases, metrics, model, out, limit=limit))
    _end(run, by=(), show=12, quiet=False)


DEMO_METRICS = ("correctness", "chunk_evaluation", "triple_evaluation")


async def _run(  # noqa: PLR0913 - what a run is made of
    cases: str,
    metrics: Sequence[Metric],
    judge: Judge | None,
    folder: Path,
    *,
    method: str | None = None,
    limit: int | None = None,
    concurrency: int | None = None,
    quiet: bool = False,
) -> Run:
    """Run with a progress bar; the first Ctrl-C finishes what is in flight, the second stops at once."""
    from greval.evaluation import evaluate_async  # noqa: PLC0415 - LangChain takes most of a second

    stop = asyncio.Event()
    _stop_on_signals(stop)
    reading = read_cases(cases, method=method)
    total = None if cases == STDIN else sum(1 for _ in islice(read_cases(cases, method=method), limit))
    with Bar(quiet=quiet) as bar:
        run = await evaluate_async(
            islice(reading, limit),
            metrics,
            judge,
            out=folder,
            concurrency=concurrency,
            total=total,
            on_progress=bar.show,
            stop=stop,
        )
        if notice := reading.notice():
            bar.say(notice)
    return run


def _stop_on_signals(stop: asyncio.Event) -> None:
    """Let the first Ctrl-C (or SIGTERM) stop the run in order; after it, the next one kills as usual."""
    loop = asyncio.get_running_loop()

    def first() -> None:
        stop.set()
        sys.stderr.write("stopping: what is in flight is finished and kept; once more stops at once\n")
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, first)


def _end(run: Run, *, by: Sequence[str], show: int, quiet: bool) -> None:
    """Print the report and leave with the code that tells whether anything failed."""
    if not quiet:
        with Store.open(run.folder) as store:
            render(build(store, by=by, show=show), page())
        typer.echo(f"run: {run.folder}   (greval report {run.folder}; greval results {run.folder})")
    if run.stopped:
        typer.echo("stopped; run the same command again to go on", err=True)
        raise typer.Exit(STOPPED)
    if run.progress.failed or run.progress.items_failed or run.progress.unread:
        raise typer.Exit(FAILED)
