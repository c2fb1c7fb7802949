"""`greval batch submit | status | collect`: runs through a provider's batch endpoint, at its lower price."""

from __future__ import annotations

import asyncio
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from greval._util.wording import format_count
from greval.cli import FAILED, print_note
from greval.cli.evaluate import report_and_exit
from greval.cli.help_layout import output_option
from greval.cli.judge_options import JudgeNames, JudgeOptions
from greval.cli.metric_specs import load_named_metrics
from greval.cli.options import (
    By,
    Cases,
    Columns,
    Folders,
    Limit,
    MethodName,
    MetricNames,
    Only,
    Repeats,
    Show,
    expand_groups,
    parse_columns,
    print_row_faults,
)
from greval.cli.progress_bar import ProgressBar
from greval.datasets.case_reader import read_cases
from greval.runs.store import Store
from greval.runs.store.plans import count_planned

if TYPE_CHECKING:
    from greval.runs.batch import SubmittedBatch

app = typer.Typer(help="Judge through the provider's batch endpoint.", no_args_is_help=True)
UNBATCHED = {
    "timeout",
    "prompt_start",
    "calibration",
    "confidence",
    "max_retries",
    "requests_per_minute",
    "tokens_per_minute",
}
"""The settings of a judge that a batch cannot keep."""
SETTINGS = Only(field for field in JudgeOptions._fields if field not in UNBATCHED)
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="the run folder")]


@app.command("submit")
@expand_groups
def submit(  # noqa: PLR0913 - the options of a command
    cases: Cases,
    *,
    metric: MetricNames,
    out: Annotated[Path, output_option("--out", "-o", metavar="RUN", help="the run folder")],
    judge: JudgeNames = None,
    limit: Limit = None,
    repeats: Repeats = 1,
    method: MethodName = None,
    column: Columns = None,
    library: Folders = None,
    settings: Annotated[JudgeOptions, SETTINGS],
) -> None:
    """Submit the requests of a run as a batch. After `collect`, the same command submits those that are still open."""
    from greval.runs.batch import submit as send

    metrics, metric_names = load_named_metrics(metric, library)
    model, judges = settings.build_config(judge).create_judges(metrics)
    reading = read_cases(cases, method=method, columns=parse_columns(column))
    rows = islice(reading, limit)
    sent = asyncio.run(
        send(
            rows,
            metrics,
            model,
            out=out,
            judges=judges,
            repeats=repeats,
            reason_depth=settings.reason_depth,
            asked=metric_names,
        )
    )
    print_note(reading.notice())
    print_row_faults("not a case", sent.unread)
    print_submitted(sent, out)
    if sent.unread:
        raise typer.Exit(FAILED)


def print_submitted(sent: SubmittedBatch, out: Path) -> None:
    """Print what was submitted, and the command that comes next."""
    skipped = f", {format_count(sent.skipped, 'result')} skipped" if sent.skipped else ""
    if sent.batch is None:
        typer.echo(f"no request is left to send{skipped}; greval report {quote(str(out))}")
    else:
        sending = f"{format_count(sent.requests, 'request')} submitted{skipped}"
        typer.echo(f"{sent.batch}: {sending}; greval batch status {quote(str(out))}")


@app.command("status")
def status(run: RunFolder) -> None:
    """Show the state of the batches of a run."""
    from greval.runs.batch import read_status as ask

    batches = asyncio.run(ask(run))
    for name, state in batches.items():
        note = f"; {state.message}" if state.message else ""
        typer.echo(f"{name}: {state.status}, {state.completed} of {state.total} answered, {state.failed} failed{note}")
    if not batches:
        typer.echo("no batch is pending")
    elif all(state.is_done for state in batches.values()):
        typer.echo(f"greval batch collect {run} fetches the answers")


@app.command("collect")
def collect(run: RunFolder, *, by: By = None, show: Show = 0) -> None:
    """Fetch the replies of a finished batch, judge with them, and print the report."""
    from greval.runs.batch import collect as fetch

    with ProgressBar() as bar:
        done = asyncio.run(fetch(run, on_progress=bar.show))
    with Store.open(run) as store:
        unjudged = sum(count_planned(store.plans()).values()) - store.count()
    if unjudged > 0:
        open_results = format_count(unjudged, "result")
        print_note(
            f"{open_results} not judged yet: repeat the command that submitted the batch, which sends the next one"
        )
    report_and_exit(done, by=by or (), show=show, quiet=False)
