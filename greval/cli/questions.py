"""`greval questions`: draw questions with gold from an index or from documents."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, cast

import typer

from greval.cli import FAILED
from greval.cli.options import ReportFormat, print_report
from greval.methods.questions.records import QUESTION_TYPES, QuestionType


def questions(  # noqa: PLR0913 - the options of a command
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INDEX|DOCUMENTS", help="the folder of an index, or documents as greval index reads them"
        ),
    ],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="the file of questions, .jsonl")],
    count: Annotated[int, typer.Option("--count", "-n", min=1, metavar="N", help="the number of questions")] = 50,
    types: Annotated[
        str,
        typer.Option(metavar="TYPE,TYPE", help=f"the types of questions: {', '.join(QUESTION_TYPES)}; all by default"),
    ] = ",".join(QUESTION_TYPES),
    seed: Annotated[int, typer.Option(metavar="N", help="the random seed; the same seed draws the same questions")] = 0,
    index: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="keep the index of the documents here; by default it is not kept"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="draw and check, and write nothing")] = False,
    form: ReportFormat = "table",
) -> None:
    """Draw questions with gold from an index. Documents are indexed first, by rules and without a model."""
    from greval.methods.questions.api import generate_questions
    from greval.report.questions import render

    wanted = cast("Sequence[QuestionType]", [kind.strip() for kind in types.split(",") if kind.strip()])
    with _open_index_folder(source, index) as folder:
        report = generate_questions(folder, out, count, types=wanted, seed=seed, write=not dry_run)
    print_report(report, form, render)
    if not sum(report.accepted.values()):
        raise typer.Exit(FAILED)


@contextmanager
def _open_index_folder(source: Path, kept: Path | None) -> Iterator[Path]:
    """Yield the folder of an index: the given one, or one that is made of documents.

    Raises:
        typer.BadParameter: If an index is to be kept of something that is an index already.
    """
    from greval.methods.reference.building import build_index
    from greval.methods.reference.inventory import has_reference_index
    from greval.methods.reference.settings import IndexSettings

    if has_reference_index(source):
        if kept is not None:
            raise typer.BadParameter(f"--index {kept}: {source} is an index already; leave --index out")
        yield source
        return
    with tempfile.TemporaryDirectory() as made:
        folder = kept or Path(made)
        build_index(source, folder, IndexSettings(embedding="tfidf"))
        yield folder
