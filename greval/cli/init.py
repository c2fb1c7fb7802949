"""`greval init`: write a commented `greval.yaml` for a file of cases."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from greval._util.files import write_atomically
from greval._util.wording import escape_control_characters, format_count, format_names
from greval.analysis.data_summary import FIT_KINDS, DataSummary, FitKind, MetricFit, summarise_data
from greval.cli.data import choose_metrics
from greval.cli.judge_options import JudgeName, suggest_judge
from greval.cli.options import AskedSpecs, Columns, parse_columns
from greval.datasets.case_reader import read_cases
from greval.datasets.field_names import format_printable
from greval.datasets.row_faults import build_unreadable_error
from greval.datasets.row_sources import STDIN
from greval.errors import DataError
from greval.methods.loading import name_specs, resolve_spec
from greval.metrics.files.yaml_text import YAML_BOOLEANS
from greval.metrics.fitting import find_fitting_metrics
from greval.metrics.library import load_metric
from greval.records.case import TAG
from greval.records.metric import JudgedMetric
from greval.records.scale import find_direction
from greval.runs.config.model import RUN_FILE, build_config_schema
from greval.runs.run_folder import RUNS

RESPONSE_FIELDS = frozenset({"answer", "chunks", "triples", "aggregates", "traversal", "usage", "method", "error"})
"""The fields of recorded responses, which are not used if methods are asked."""
ASKED_FIELDS = ("answer", "usage.latency")
"""The fields that the response of every method has."""
TEMPLATE = files("greval.cli") / "greval.yaml.jinja"
SCHEMA_FILE = "greval.schema.json"
"""The JSON schema of the file, beside it."""
TITLES: Mapping[FitKind, str] = {
    "judged": "judged by a model",
    "derived": "computed from the verdicts of a model",
    "computed": "computed, without a model",
}
"""The headings of the metrics by their kind."""
MAX_WIDTH = 114
MAX_TAGS = 3
MAX_TAG = 40
LIMIT_SHARE = 0.8
"""The share of the range of a scale at which the gate of the example fails."""
LIMIT_WITHOUT_END = 10
"""The limit of the gate of the example if the scale has no upper end, such as seconds."""
_PLAIN = re.compile(r"[A-Za-z][\w./@-]*(:[\w./@-]+)*")
_CONSTANTS = {*YAML_BOOLEANS, "true", "false", "null"}


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
    chosen = choose_metrics(fitting)
    needs_judge = any(fit.kind == "judged" for fit in fitting if fit.metric in chosen)
    command = "greval evaluate" if str(out) == RUN_FILE else f"greval evaluate -c {quote(str(out))}"
    folder, model = out.parent, judge or suggest_judge()
    text = _render_config(
        summary,
        fitting,
        chosen,
        command=command,
        data=_get_relative(data, folder),
        columns=columns,
        judge=model,
        needs_judge=needs_judge,
        out=(RUNS / Path(data).stem).as_posix(),
        methods={method: _get_relative_spec(spec, folder) for method, spec in methods.items()},
    )
    folder.mkdir(parents=True, exist_ok=True)
    _write_new(out, text)
    schema = folder / SCHEMA_FILE
    write_atomically(schema, f"{json.dumps(build_config_schema(), indent=2)}\n")
    lines = [
        f"{out}: {format_count(summary.cases, 'case')}, {', '.join(chosen)}{f', judge {model}' if needs_judge else ''}",
        f"{schema}: its schema, for editors",
        f"next: {command} --dry-run   (calls and cost, without any call)",
        f"      {command}",
    ]
    typer.echo(escape_control_characters("\n".join(lines)))


def _find_metrics_of_responses(summary: DataSummary) -> tuple[MetricFit, ...]:
    """Find the metrics that fit cases with an answer and a latency, which every method gives."""
    fields = {field.field for field in summary.fields if field.field.partition(".")[0] not in RESPONSE_FIELDS}
    fitting = find_fitting_metrics({*fields, *ASKED_FIELDS})
    return tuple(
        MetricFit(metric=name, kind=kind, cases=summary.cases) for kind in FIT_KINDS for name in getattr(fitting, kind)
    )


def _check_cases(summary: DataSummary, fitting: Sequence[MetricFit]) -> None:
    """Raise `DataError` if nothing could be judged."""
    if not summary.cases:
        raise build_unreadable_error([str(fault) for fault in summary.faults], summary.fault_count)
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
    """Write a file that does not exist yet; raise `DataError` if it does."""
    try:
        # Exclusive creation never replaces a file that somebody has edited.
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise DataError(
            f"{path}: exists already and is not replaced; name another file with -o, or remove it"
        ) from error


def _render_config(summary: DataSummary, fitting: Sequence[MetricFit], chosen: Sequence[str], **content: object) -> str:
    """Render the file. It can be run as it is; what could be added is a comment."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(  # noqa: S701 - YAML, not HTML
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"printable": format_printable, "scalar": quote_scalar, "names": format_names}
    tags = [field.field.removeprefix(TAG) for field in summary.fields if field.field.startswith(TAG)]
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        content,
        summary=summary,
        schema=SCHEMA_FILE,
        case_count=format_count(summary.cases, "case"),
        fault_count=f", {format_count(summary.fault_count, 'row')} not a case" if summary.fault_count else "",
        fields=_format_fields(summary),
        tags=tags,
        groups=[tag for tag in tags if len(tag) <= MAX_TAG and tag.isprintable()][:MAX_TAGS],
        metrics=_format_metrics(summary, fitting, chosen),
        conditions=_suggest_conditions(chosen),
    )


def quote_scalar(text: str) -> str:
    """Return a text as a YAML scalar, in quotation marks if it could be read as anything else.

    Example:
        >>> quote_scalar("runs/first"), quote_scalar("openai:gpt-5.1"), quote_scalar("2024"), quote_scalar("a: b.csv")
        ('runs/first', 'openai:gpt-5.1', '"2024"', '"a: b.csv"')
    """
    if _PLAIN.fullmatch(text) and text.casefold() not in _CONSTANTS and text.isascii():
        return text
    # The escapes of JSON are valid in a YAML text in double quotes.
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _format_fields(summary: DataSummary) -> Iterator[str]:
    """Format a line for each field but parts of chunks and tags, in columns: its cases, and other names of columns."""
    rows = []
    for field in summary.fields:
        parent, _, part = field.field.partition(".")
        if field.columns and not (part and parent in {"chunks", "tags"}):
            names = [format_printable(name) for name in field.columns if name not in {field.field, parent}]
            count = f"{field.cases:,} of {summary.cases:,}"
            if field.cases == summary.cases:
                count = format_count(field.cases, "case")
            rows.append((field.field, count, f"read from {format_names(names)}" if names else ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _format_metrics(summary: DataSummary, fitting: Sequence[MetricFit], chosen: Sequence[str]) -> dict[str, list[str]]:
    """Format a line for each metric that fits, by the titles of their kinds; those that are not chosen are comments."""
    lines: dict[str, list[str]] = {title: [] for title in TITLES.values()}
    longest = max(len(fit.metric) for fit in fitting)
    for fit in sorted(fitting, key=lambda fit: chosen.index(fit.metric) if fit.metric in chosen else len(chosen)):
        start = f"{'-' if fit.metric in chosen else '# -'} {fit.metric}".ljust(longest + 4)
        cases = format_count(summary.cases, "case")
        coverage = "" if fit.cases == summary.cases else f"{fit.cases:,} of {cases}: "
        text = load_metric(fit.metric).description.partition(". ")[0].rstrip(".")
        lines[TITLES[fit.kind]].append(_shorten_line(f"{start}  # {coverage}{text}"))
    return lines


def _shorten_line(line: str) -> str:
    """Shorten a line with a comment to the width of the file, between two words."""
    return line if len(line) <= MAX_WIDTH else f"{line[: MAX_WIDTH - 3].rpartition(' ')[0].rstrip(' ,;:')}..."


def _suggest_conditions(metrics: Sequence[str]) -> Iterator[str]:
    """Yield conditions for the first metric: on the mean, the end of its interval, and failures."""
    first = load_metric(metrics[0])
    scale = find_direction(first.scale)
    lower = scale.better == "lower"
    low, high = scale.ends or (0.0, LIMIT_WITHOUT_END)
    limit = high if scale.ends is None else low + (1 - LIMIT_SHARE if lower else LIMIT_SHARE) * (high - low)
    sign = ">" if lower else "<"
    yield f"{first.name} {sign} {limit:g}"
    yield f"{first.name}.{'high' if lower else 'low'} {sign} {limit:g}   # also the end of the 95 % interval"
    if isinstance(first, JudgedMetric):
        yield f"{first.name}.failed > 0"
