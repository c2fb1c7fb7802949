"""`greval cache show | clear`: the answers that are kept for other runs."""

from __future__ import annotations

import typer

from greval.judging.model.reply_cache import Replies, cache_file

app = typer.Typer(help="The answers kept with --cache.", no_args_is_help=True)


@app.command("show")
def show() -> None:
    """Say where the cache lies and how large it is."""
    path = cache_file()
    if not path.exists():
        typer.echo(f"{path}: nothing is kept; greval evaluate --cache keeps answers")
        return
    with Replies(path) as replies:
        size = replies.size()
    typer.echo(f"{size.path}: {size.replies:,} answers, {size.bytes / 1e6:.1f} MB")


@app.command("clear")
def clear() -> None:
    """Forget all answers that are kept."""
    path = cache_file()
    if path.exists():
        with Replies(path) as replies:
            count = replies.size().replies
            replies.clear()
        typer.echo(f"{path}: {count:,} answers forgotten")
    else:
        typer.echo(f"{path}: nothing is kept")
