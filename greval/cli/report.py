"""`greval report`, `merge` and `repair`: print the report of a run, merge runs, and repair one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import ValidationError

from greval._util.wording import format_count
from greval.analysis.summary import build_report
from greval.cli.options import AllRows, By, FailIf, MetricFilter, RunFolder, Show
from greval.cli.report_output import (
    CheckedFormat,
    HtmlFile,
    MarkdownFile,
    format_command,
    get_gate_code,
    print_checked_report,
    print_failure_hints,
    write_shared_file,
)
from greval.errors import DataError
from greval.report.console import render
from greval.runs.store import Store

if TYPE_CHECKING:
    from greval.analysis.summary import Report
    from greval.report.check_list import CheckList
    from greval.trust.probing.records import Probe


def report(  # noqa: PLR0913 - the options of a command
    run: RunFolder,
    *,
    by: By = None,
    show: Show = 0,
    worst: Annotated[
        int, typer.Option(min=0, metavar="N", help="show the N worst cases of each metric with their texts and reasons")
    ] = 0,
    metric: MetricFilter = None,
    all_rows: AllRows = False,
    form: CheckedFormat = "table",
    fail_if: FailIf = None,
    html: HtmlFile = None,
    md: MarkdownFile = None,
    probe: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="with --html: a result of `greval probe --format json` to show; repeatable"),
    ] = None,
    cost: Annotated[bool, typer.Option("--cost", help="show what each metric and group cost as well")] = False,
    chance: Annotated[
        bool,
        typer.Option(
            "--chance", help="show what metrics of documents, repositories and walks would be by chance as well"
        ),
    ] = False,
) -> None:
    """Print the report of a run, grouped by any tag. With --fail-if it is a gate for CI."""
    if probe and not html:
        raise typer.BadParameter("--probe is shown in the page only: add --html FILE")
    with Store.open(run, all_rows=all_rows) as store:
        run_report = build_report(store, by=by or (), show=show, worst=worst, metrics=metric or (), with_chance=chance)
        if fail_if:
            from greval.analysis.gate.api import check_gate

            run_report = run_report.model_copy(update={"gate": check_gate(store, fail_if)})
        if html:
            from greval.report.html.page import DEFAULT_WORST, PageContent, build_report_page

            content = PageContent(
                made=datetime.now(UTC),
                command=format_command(),
                worst=worst or DEFAULT_WORST,
                metrics=tuple(metric or ()),
                probes=tuple(_read_probes(probe or ())),
            )
            write_shared_file(html, build_report_page(store, run_report, content))
    print_checked_report(run_report, form, partial(render, with_costs=cost), _list_checks, markdown=md)
    if form == "table":
        print_failure_hints(run, run_report.failure_kinds, run_report.judge or "")
    if code := get_gate_code(run_report.gate):
        raise typer.Exit(code)


def _list_checks(run_report: Report) -> CheckList:
    from greval.report.check_list import list_report_checks

    return list_report_checks(run_report)


def _read_probes(paths: Iterable[Path]) -> Iterator[Probe]:
    """Read the outputs of `greval probe --format json`; raise `DataError` if one is none."""
    from greval.trust.probing.records import Probe

    for path in paths:
        try:
            yield Probe.model_validate_json(path.read_bytes())
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
        except ValidationError as error:
            raise DataError(f"{path}: is no probe; greval probe -m METRIC --format json > {path} writes one") from error


def merge(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="the folder of the merged run")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="run folders, such as the shards of one run")],
) -> None:
    """Merge the logs of several runs into one. Merging again changes nothing."""
    from greval.runs.merging import merge_runs

    done = merge_runs(out, runs)
    typer.echo(
        f"{done.folder}: {format_count(done.rows, 'row')} copied, {done.known:,} existed; greval report {done.folder}"
    )


def repair(run: RunFolder) -> None:
    """Keep what is whole of a damaged run, and say what was lost. The damaged files stay in the folder."""
    from greval.runs.store.repair import repair_log

    done = repair_log(run)
    typer.echo(f"{run}: {done.describe() if done else 'is not damaged'}")
    if done and done.is_short:
        typer.echo(f"the command that made the run judges again what was lost; greval report {run}")
