"""`greval collect`: run methods under test on samples, and write their responses to a file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greval._util.wording import format_count
from greval.cli import FAILED, STOPPED, print_note
from greval.cli.options import Columns, parse_columns, parse_tag_filters, print_row_faults
from greval.cli.progress_bar import ProgressBar, stop_on_signals
from greval.datasets.case_reader import read_cases
from greval.datasets.case_records import filter_by_tags
from greval.datasets.row_faults import RowFault
from greval.judging.model.judge import Judge
from greval.methods.fair_context import ContextMode
from greval.records.case import Case
from greval.runs.progress import Progress

if TYPE_CHECKING:
    from greval.methods.collecting.api import Collected, CollectOptions, CollectProgress
    from greval.methods.protocol import Method

MAX_LISTED_ERRORS = 5
MISUSE_ERRORS = ("TypeError", "AttributeError")
MISUSE_HINT = "; a method gets a greval.Sample, and its question is sample.question"
Rows = Iterable[Case | RowFault]


def collect(  # noqa: PLR0913 - the options of a command
    context: typer.Context,
    samples: Annotated[
        str, typer.Argument(help="questions with gold as .jsonl, .json, .csv, .tsv or .parquet, or - for stdin")
    ],
    *,
    method: Annotated[
        list[str],
        typer.Option(
            "--method",
            metavar="[NAME=]METHOD",
            help="MODULE:FUNCTION, FILE.py:FUNCTION, http://..., endpoint.yaml, graphrag:..., lightrag:... or "
            "reference:INDEX?search=hybrid; repeatable",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="the file of responses, .jsonl")],
    concurrency: Annotated[
        int, typer.Option(min=1, metavar="N", help="the maximum number of concurrent calls of methods")
    ] = 8,
    timeout: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="the timeout of a method for one sample")
    ] = None,
    generator: Annotated[
        str | None, typer.Option(metavar="MODEL", help="this model answers for all methods (docs/fair_context.md)")
    ] = None,
    context_mode: Annotated[
        ContextMode | None, typer.Option("--context", help="what the generator is given; fair by default")
    ] = None,
    facts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="facts by document, counted for fair context")
    ] = None,
    column: Columns = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="take only the first N samples")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="TAG=VALUE", help="take only samples with this tag; repeatable"),
    ] = None,
    retry_failed: Annotated[bool, typer.Option(help="retry what failed")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="no progress, no summary")] = False,
) -> None:
    """Run methods on samples. The same command again runs only what is missing, failed or changed."""
    from greval.methods.loading import load_methods

    # The responses would replace the samples.
    if out.exists() and Path(samples).exists() and out.samefile(samples):
        raise typer.BadParameter(f"-o {out}: holds the samples; name another file for the responses")
    tag_filters = parse_tag_filters(where or ())
    methods = _add_generator(load_methods(method), generator, context_mode, facts)
    reading = read_cases(samples, columns=parse_columns(column))
    rows = islice(filter_by_tags(reading, tag_filters), limit)
    options: CollectOptions = {
        "concurrency": concurrency,
        # 0 is no timeout.
        "timeout": timeout or None,
        "retry_failed": retry_failed,
        # How many samples have a tag is only known when all are read.
        "total": None if tag_filters else reading.count(limit),
        "debug": bool(context.obj),
    }
    done = asyncio.run(collect_responses(rows, methods, out, ProgressBar(quiet=quiet), options))
    if not quiet:
        print_note(reading.notice())
    _report_and_exit(done, quiet=quiet)


def _add_generator(
    methods: dict[str, Method], generator: str | None, context: ContextMode | None, facts: Path | None
) -> dict[str, Method]:
    """Let one model answer for all methods, if one is named. The context mode becomes part of their names."""
    if generator is None:
        if context or facts:
            raise typer.BadParameter("--context and --facts need --generator, the model that answers for all methods")
        return methods
    from greval.methods.fair_context.answer_generation import with_generator

    mode = context or "fair"
    answering = with_generator(methods, Judge(generator), context=mode, facts=facts)
    return {f"{name}-{mode}": method for name, method in answering.items()}


async def collect_responses(
    rows: Rows, methods: Mapping[str, Method], out: Path, bar: ProgressBar, options: CollectOptions
) -> Collected:
    """Collect with a progress bar. The first Ctrl-C finishes calls in flight, the second stops immediately."""
    from greval.methods.collecting.api import collect_async

    stop = stop_on_signals()
    options["on_progress"] = lambda progress: bar.show(convert_progress(progress))
    with bar:
        done = await collect_async(rows, methods, out=out, stop=stop, **options)
        bar.show(convert_progress(done.progress))
    return done


def convert_progress(progress: CollectProgress) -> Progress:
    """Convert the progress of collecting to the progress type that the bar displays."""
    return Progress(
        total=progress.planned,
        done=progress.done,
        scored=progress.answered,
        **progress.model_dump(include={"failed", "kept", "unread", "in_flight", "cost", "seconds"}),
        usage=progress.usage,
    )


def print_method_errors(done: Collected) -> None:
    """Print the errors of each method with the number of samples, the first few kinds of them."""
    for method, errors in done.failures.items():
        for error, times in [*errors.items()][:MAX_LISTED_ERRORS]:
            hint = MISUSE_HINT if "Sample" in error and error.startswith(MISUSE_ERRORS) else ""
            print_note(f"{method}: {times} failed: {error}{hint}")


def _report_and_exit(done: Collected, *, quiet: bool) -> None:
    """Print a summary and the errors of the methods, and exit with an error code if something failed."""
    print_row_faults("not a sample", done.unread, done.progress.unread)
    progress = done.progress
    if not quiet:
        print_method_errors(done)
        unread = f", {format_count(progress.unread, 'row')} unreadable" if progress.unread else ""
        typer.echo(f"{done.path}: {progress.answered} answered, {progress.failed} failed{unread}")
        typer.echo(f"greval evaluate {done.path} -m METRIC judges them")
    if done.why:
        print_note(f"stopped: {done.why}; run the same command again to go on")
        raise typer.Exit(STOPPED)
    if progress.failed or progress.unread:
        raise typer.Exit(FAILED)
