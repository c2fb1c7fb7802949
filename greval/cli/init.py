"""`greval init`: write a `greval.yaml` for a file of cases."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from greval._util.files import write_atomically
from greval._util.wording import format_count
from greval.analysis.data_summary import DataSummary, MetricFit, summarise_data
from greval.cli.config_text import SCHEMA_FILE, RunDraft, write_config
from greval.cli.console import escape_control_characters
from greval.cli.options import AskedSpecs, Columns, JudgeName, parse_columns, suggest_judge
from greval.datasets.case_reader import read_cases
from greval.datasets.row_faults import build_unreadable_error
from greval.datasets.row_sources import STDIN
from greval.errors import DataError
from greval.methods.loading import name_specs, resolve_spec
from greval.metrics.fitting import find_fitting_metrics
from greval.runs.config.model import RUN_FILE, build_config_schema
from greval.runs.run_folder import RUNS

RESPONSE_FIELDS = frozenset({"answer", "chunks", "triples", "aggregates", "traversal", "usage", "method", "error"})
"""The fields of recorded responses, which are not used if methods are asked."""
ASKED_FIELDS = ("answer", "usage.latency")
"""The fields that the response of every method has."""


def init(
    data: Annotated[str, typer.Argument(help="cases as .jsonl, .json, .csv, .tsv or .parquet")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="the file to write")] = Path(RUN_FILE),
    column: Columns = None,
    judge: JudgeName = None,
    ask: AskedSpecs = None,
) -> None:
    """Write greval.yaml, which describes a run, for a file of cases.

    It can be run as it is. Its comments name the columns that were recognised, further metrics that fit, gates and
    limits.
    """
    if data == STDIN:
        raise typer.BadParameter("DATA: name a file; the cases of stdin are not there when the run begins")
    columns = parse_columns(column)
    summary = summarise_data(read_cases(data, columns=columns))
    methods = name_specs(ask or ())
    fitting = _find_metrics_of_responses(summary) if methods else summary.fitting
    _check_cases(summary, fitting)
    folder = out.parent
    name = judge or suggest_judge()
    draft = RunDraft(
        str(out),
        _get_relative(data, folder),
        summary,
        columns,
        name,
        (RUNS / Path(data).stem).as_posix(),
        fitting,
        {method: _get_relative_spec(spec, folder) for method, spec in methods.items()},
    )
    folder.mkdir(parents=True, exist_ok=True)
    _write_new(out, write_config(draft))
    schema = folder / SCHEMA_FILE
    write_atomically(schema, f"{json.dumps(build_config_schema(), indent=2)}\n")
    _print_next_commands(out, draft)


def _find_metrics_of_responses(summary: DataSummary) -> tuple[MetricFit, ...]:
    """Find the metrics that fit cases with an answer and a latency, which every method gives."""
    fields = {field.field for field in summary.fields if field.field.partition(".")[0] not in RESPONSE_FIELDS}
    fitting = find_fitting_metrics({*fields, *ASKED_FIELDS})
    return (
        *(MetricFit(metric=name, kind="judged", cases=summary.cases) for name in fitting.judged),
        *(MetricFit(metric=name, kind="computed", cases=summary.cases) for name in fitting.computed),
    )


def _check_cases(summary: DataSummary, fitting: Sequence[MetricFit]) -> None:
    """Raise `DataError` if nothing could be judged."""
    if not summary.cases:
        raise build_unreadable_error(
            [f"{fault.place}: {fault.message}" for fault in summary.faults], summary.fault_count
        )
    if not fitting:
        fields = ", ".join(field.field for field in summary.fields if field.field != "id")
        raise DataError(
            f"{summary.source}: no metric fits, because the cases have only {fields}; name the column of the answer "
            "with --column answer=NAME, or let your systems answer with --ask NAME=METHOD"
        )


def _get_relative(data: str, folder: Path) -> str:
    """Return the path of the data relative to the folder of the file; an absolute path stays absolute."""
    path = Path(data)
    return data if path.is_absolute() else Path(os.path.relpath(path, folder)).as_posix()


def _get_relative_spec(spec: str, folder: Path) -> str:
    """Return the spec of a method with its file or index relative to the folder of the file."""
    if folder == Path():
        return spec
    here = Path.cwd()
    # Paths in the spec become absolute, and then begin with the working folder.
    return resolve_spec(spec, here).replace(str(here), os.path.relpath(here, folder))


def _write_new(path: Path, text: str) -> None:
    """Write a file that does not exist yet.

    Raises:
        DataError: If it exists.
    """
    try:
        # Exclusive creation never replaces a file that somebody has edited.
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise DataError(
            f"{path}: exists already and is not replaced; name another file with -o, or remove it"
        ) from error


def _print_next_commands(path: Path, draft: RunDraft) -> None:
    """Print what was written, and the commands that use it."""
    judge = f", judge {draft.judge}" if draft.needs_judge else ""
    lines = [
        f"{path}: {format_count(draft.summary.cases, 'case')}, {', '.join(draft.metrics)}{judge}",
        f"{path.parent / SCHEMA_FILE}: its schema, for editors",
        f"next: {draft.command} --dry-run   (calls and cost, without any call)",
        f"      {draft.command}",
    ]
    typer.echo(escape_control_characters("\n".join(lines)))
