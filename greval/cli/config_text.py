"""The commented `greval.yaml` that `greval init` writes for a file of cases."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import NamedTuple

from greval._util.wording import format_count, format_names
from greval.analysis.data_summary import DataSummary, FieldCount, MetricFit
from greval.datasets.field_names import format_printable
from greval.metrics.files.yaml_text import YAML_BOOLEANS
from greval.metrics.library import load_metric
from greval.records.case import TAG
from greval.records.metric import JudgedMetric
from greval.records.scale import find_direction
from greval.runs.config.model import RUN_FILE

SCHEMA_FILE = "greval.schema.json"
"""The JSON schema of the file, beside it."""
SUGGESTED = (
    *("correctness", "faithfulness", "relevance", "completeness"),
    *("recall@10", "ndcg@10", "edge_recall", "node_recall", "latency", "llm_calls"),
)
"""The metrics that are chosen if they fit; the others that fit are comments."""
TITLES: Mapping[str, str] = {"judged": "judged by a model", "computed": "computed, without a model"}
"""The headings of the metrics by their kind."""
MAX_WIDTH = 116
MAX_TAGS = 3
MAX_TAG = 40
LIMIT_SHARE = 0.8
"""The share of the range of a scale at which the gate of the example fails."""
LIMIT_WITHOUT_END = 10
"""The limit of the gate of the example if the scale has no upper end, such as seconds."""
_PLAIN = re.compile(r"[A-Za-z][\w./@-]*(:[\w./@-]+)*")
_CONSTANTS = {*YAML_BOOLEANS, "true", "false", "null"}


class RunDraft(NamedTuple):
    """What the written file says: its name, the data and its columns, the judge, the run folder, and methods to ask.

    `fitting` are the metrics that fit the cases, or the responses of the methods.
    """

    file: str
    data: str
    summary: DataSummary
    columns: Mapping[str, str]
    judge: str
    out: str
    fitting: tuple[MetricFit, ...]
    methods: Mapping[str, str]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The chosen metrics: those suggested that fit, or else the first that fits; empty if none does."""
        return choose_metrics(self.fitting)

    @property
    def needs_judge(self) -> bool:
        """Return whether a chosen metric asks a model."""
        return any(fit.kind == "judged" for fit in self.fitting if fit.metric in self.metrics)

    @property
    def command(self) -> str:
        """The command that runs the file."""
        return "greval evaluate" if self.file == RUN_FILE else f"greval evaluate -c {quote(self.file)}"


def choose_metrics(fitting: Sequence[MetricFit]) -> tuple[str, ...]:
    """Choose the metrics to begin with: those suggested that fit, or else the first that fits; empty if none does."""
    names = [fit.metric for fit in fitting]
    return tuple(name for name in SUGGESTED if name in names) or tuple(names[:1])


def write_config(draft: RunDraft) -> str:
    """Write the file as text. It can be run as it is; what could be added is a comment."""
    blocks = (
        _write_head(draft),
        _write_data(draft),
        _write_metrics(draft),
        _write_judge(draft),
        _write_output(draft),
        _write_limits(),
        _write_methods(draft),
    )
    return "\n".join("".join(f"{line}\n" for line in block) for block in blocks)


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


def _write_head(draft: RunDraft) -> Iterator[str]:
    yield f"# yaml-language-server: $schema={SCHEMA_FILE}"
    yield f"# A run of greval: `{format_printable(draft.command)}` judges it. Each option of the command is a key,"
    yield "# and an option on the command line wins over its key. Paths are relative to this file. Secrets never stand"
    yield "# here: the keys of models are read from the environment."


def _write_data(draft: RunDraft) -> Iterator[str]:
    summary = draft.summary
    faulty = f", {format_count(summary.fault_count, 'row')} not a case" if summary.fault_count else ""
    yield f"# {format_printable(summary.source)}: {format_count(summary.cases, 'case')}{faulty}"
    yield from _comment_table(_describe_field(field, summary.cases) for field in summary.fields if _is_listed(field))
    if tags := _list_tags(summary):
        yield f"#   tags: {format_names(map(format_printable, tags))}"
    yield f"data: {quote_scalar(draft.data)}"
    if draft.columns:
        yield "columns:"
        yield from (f"  {quote_scalar(name)}: {quote_scalar(column)}" for name, column in draft.columns.items())
    else:
        yield "# columns: {answer: generated_text}   # the column of a field that is called otherwise"


def _is_listed(field: FieldCount) -> bool:
    """Return whether a field is listed; parts of chunks and tags are not."""
    parent, _, part = field.field.partition(".")
    return bool(field.columns) and not (part and parent in {"chunks", "tags"})


def _describe_field(field: FieldCount, cases: int) -> tuple[str, ...]:
    """Return a field with the number of cases that have it, and the columns that it was read from under other names."""
    count = format_count(field.cases, "case") if field.cases == cases else f"{field.cases:,} of {cases:,}"
    column_names = [
        format_printable(name) for name in field.columns if name not in {field.field, field.field.partition(".")[0]}
    ]
    return field.field, count, f"read from {format_names(column_names)}" if column_names else ""


def _list_tags(summary: DataSummary) -> list[str]:
    return [field.field.removeprefix(TAG) for field in summary.fields if field.field.startswith(TAG)]


def _write_metrics(draft: RunDraft) -> Iterator[str]:
    yield "# Metrics that fit these cases; remove the # in front of one to add it. `greval metrics show NAME` prints a"
    yield "# definition. One of your own is named by its file, such as my_metrics/tone.yaml."
    yield "metrics:"
    chosen = {name: position for position, name in enumerate(draft.metrics)}
    fitting = sorted(draft.fitting, key=lambda fit: chosen.get(fit.metric, len(chosen)))
    longest = max(len(fit.metric) for fit in fitting)
    for kind, title in TITLES.items():
        fits = [fit for fit in fitting if fit.kind == kind]
        yield from [f"  # {title}"] if fits else []
        for fit in fits:
            start = f"  {'-' if fit.metric in chosen else '# -'} {fit.metric}"
            coverage = (
                ""
                if fit.cases == draft.summary.cases
                else f"{fit.cases:,} of {format_count(draft.summary.cases, 'case')}: "
            )
            text = f"{coverage}{load_metric(fit.metric).description.partition('. ')[0].rstrip('.')}"
            yield _shorten_line(f"{start.ljust(longest + 6)}  # {text}")


def _shorten_line(line: str) -> str:
    """Shorten a line with a comment to the width of the file, between two words."""
    return line if len(line) <= MAX_WIDTH else f"{line[: MAX_WIDTH - 3].rpartition(' ')[0].rstrip(' ,;:')}..."


def _write_judge(draft: RunDraft) -> Iterator[str]:
    mark = "" if draft.needs_judge else "# "
    yield "# The model that judges: openai:MODEL (its key is read from OPENAI_API_KEY), PROVIDER:MODEL, or local, the"
    yield "# small embedded model for trying things out. With settings: {model: openai:MODEL, base_url: URL, seed: 1}"
    yield f"{mark}judge: {quote_scalar(draft.judge)}"


def _write_output(draft: RunDraft) -> Iterator[str]:
    yield "# The run folder, the groups of the report, and the conditions that end the command with exit code 1."
    yield f"out: {quote_scalar(draft.out)}"
    tags = [quote_scalar(tag) for tag in _list_tags(draft.summary) if len(tag) <= MAX_TAG and tag.isprintable()]
    yield f"# by: [{', '.join(tags[:MAX_TAGS]) or 'topic'}]"
    yield "# fail_if:"
    yield from (f"#   - {condition}" for condition in _suggest_conditions(draft.metrics))


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


def _write_limits() -> Iterator[str]:
    yield "# Limits of the run: cases, calls, US dollars, seconds, and calls at a time."
    yield from ("# limit: 20", "# max_calls: 500", "# max_cost: 1.0", "# deadline: 3600", "# concurrency: 8")


def _write_methods(draft: RunDraft) -> Iterator[str]:
    yield "# Systems that answer the questions of the data before they are judged, in place of the answers in it."
    if draft.methods:
        yield "methods:"
        yield from (f"  {quote_scalar(name)}: {quote_scalar(spec)}" for name, spec in draft.methods.items())
    else:
        yield from ("# methods:", "#   old: my_rag:ask", "#   new: http://127.0.0.1:8000/ask")


def _comment_table(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a table as comments."""
    table = [*rows]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    for row in table:
        yield f"#   {'  '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()}"
