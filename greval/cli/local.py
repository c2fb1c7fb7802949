"""`greval local`: fetch and list the embedded judge models."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from greval.cli.options import create_console
from greval.judging.local.cache import cached_path
from greval.judging.local.fetch import FetchProgress
from greval.judging.local.fetch import fetch as fetch_model
from greval.judging.local.models import DEFAULT_MODEL, MODELS, find_model
from greval.report.tables import build_fields, print_line

app = typer.Typer(help="Fetch and list the embedded judge models.", no_args_is_help=True)


@app.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(help="which model")] = DEFAULT_MODEL,
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="no progress")] = False,
) -> None:
    """Fetch a model into the cache, verify its hash, and print its path. An interrupted download is resumed."""
    if not quiet:
        typer.echo(f"{name}: {find_model(name).note}", err=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    console = Console(stderr=True)
    # Without a terminal, a line for each part takes the place of the bar.
    plain = not quiet and not console.is_terminal
    with Progress(*columns, console=console, disable=quiet or plain) as bar:
        task = bar.add_task(name, total=None)

        def show(progress: FetchProgress) -> None:
            bar.update(task, total=progress.bytes_total, completed=progress.bytes_done)
            if plain:
                megabytes = f"{progress.bytes_done / 1e6:.0f} of {progress.bytes_total / 1e6:.0f} MB"
                typer.echo(f"{name}: {progress.parts_done}/{progress.parts} parts, {megabytes}", err=True)

        path = fetch_model(name, on_progress=show)
    typer.echo(path)


@app.command("list")
def list_models() -> None:
    """List the available models, with the paths of those already fetched."""
    console = create_console()
    for name, model in MODELS.items():
        print_line(console, name, "bold")
        path = cached_path(name)
        fields = {
            "download": f"{model.download / 1e6:.0f} MB",
            "licence": model.licence,
            "here": str(path) if path else f"no; greval local fetch {name}",
            "note": model.note,
        }
        console.print(build_fields(fields.items()))
