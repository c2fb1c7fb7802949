"""`greval questions`: draw questions with gold from an index or from documents."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from greval.cli import FAILED, STOPPED
from greval.cli.help_layout import input_option, judge_option, limit_option, output_option
from greval.cli.judge_options import CapOptions, JudgeOptions
from greval.cli.options import Concurrency, Only, ReportFormat, expand_groups, print_report
from greval.cli.progress_bar import describe_stop, stop_on_signals
from greval.reference.questions.records import QUESTION_TYPES, CountPattern, QuestionReport

if TYPE_CHECKING:
    from greval.reference.questions.generation import QuestionOptions

SETTINGS = Only(
    field
    for field in JudgeOptions._fields
    if field not in {"seed", "reason", "reason_depth", "confidence", "max_items"}
)


@expand_groups
def questions(  # noqa: PLR0913 - the options of a command
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INDEX|DOCUMENTS",
            help="the folder of an index of greval, Microsoft GraphRAG or LightRAG, or documents as greval index build "
            "reads them",
        ),
    ],
    *,
    out: Annotated[Path, output_option("--out", "-o", metavar="FILE", help="the file of questions, .jsonl")],
    count: Annotated[int, input_option("--count", "-n", min=1, metavar="N", help="the number of questions")] = 50,
    types: Annotated[
        str,
        input_option(
            metavar="TYPE[=SHARE],...",
            help=f"the types of questions: {', '.join(QUESTION_TYPES)}; all by default. Of an index with a schema also "
            f"patterns of counts: {', '.join(get_args(CountPattern))}",
        ),
    ] = ",".join(QUESTION_TYPES),
    seed: Annotated[int, input_option(metavar="N", help="the random seed; the same seed draws the same questions")] = 0,
    model: Annotated[
        str | None,
        judge_option(
            metavar="MODEL",
            help="a model that words the questions, named as a judge is; by default templates word them",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        judge_option(metavar="MODEL", help="a model that checks them; by default that of --model"),
    ] = None,
    settings: Annotated[JudgeOptions, SETTINGS],
    concurrency: Concurrency = None,
    deadline: Annotated[float | None, limit_option(min=0, metavar="SECONDS", help="stop after this time")] = None,
    caps: CapOptions,
    dry_run: Annotated[
        bool, limit_option("--dry-run", help="draw and check without any call, forecast the calls, and write nothing")
    ] = False,
    form: ReportFormat = "table",
) -> None:
    """Draw questions with gold from an index. Documents are indexed first, by rules and without a model.

    With a model, the same command again makes only the calls that are missing or failed.
    """
    from greval.reference.questions.report import render
    from greval.runs.evaluation import STOP_REQUESTED as ASKED

    options: QuestionOptions = {
        "types": _parse_shares(types),
        "seed": seed,
        "write": not dry_run,
        "model": settings.create_judge(model) if model else None,
        "judge": settings.create_judge(judge) if judge else None,
        "concurrency": concurrency,
        "max_calls": caps.max_calls,
        "max_cost": caps.max_cost,
        "deadline": deadline,
        "prices": caps.read_prices(),
    }
    with _open_index_folder(source) as (folder, faults):
        report = asyncio.run(_generate(folder, out, count, options))
    print_report(report, form, render)
    if report.stopped is not None:
        typer.echo(describe_stop(report.stopped), err=True)
        raise typer.Exit(STOPPED if report.stopped == ASKED else FAILED)
    if faults or report.failed or not sum(report.accepted.values()):
        raise typer.Exit(FAILED)


def _parse_shares(types: str) -> dict[str, float]:
    """Return the share of each type of a list such as `single_fact,aggregation=2`."""
    shares: dict[str, float] = {}
    for kind in filter(None, map(str.strip, types.split(","))):
        name, _, share = map(str.strip, kind.partition("="))
        try:
            shares[name] = float(share or 1)
        except ValueError:
            raise typer.BadParameter(f"--types {kind}: write it as TYPE or TYPE=SHARE, such as aggregation=2") from None
    return shares


async def _generate(folder: Path, out: Path, count: int, options: QuestionOptions) -> QuestionReport:
    """Generate the questions. The first Ctrl-C finishes calls in flight."""
    from greval.reference.questions.generation import generate_questions_async

    stop = stop_on_signals() if options["model"] or options["judge"] else None
    return await generate_questions_async(folder, out, count, stop=stop, **options)


@contextmanager
def _open_index_folder(source: Path) -> Iterator[tuple[Path, int]]:
    """Yield the folder of an index, the given one or one that is made of documents, and how many are no documents."""
    from greval.methods.inventories import find_system, read_index_spec
    from greval.reference.building import build_index
    from greval.reference.commands.build import print_document_faults, print_files
    from greval.reference.settings import IndexSettings

    if find_system(*read_index_spec(source)) is not None:
        yield source, 0
        return
    with tempfile.TemporaryDirectory() as folder:
        # Questions need no vectors, so that the embedding that takes least time will do.
        built = build_index(source, folder, IndexSettings(embedding="tfidf"))
        print_files([source])
        print_document_faults(built)
        yield Path(folder), built.failed
