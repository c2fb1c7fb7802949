"""`greval cache show | clear`: the reply cache that runs share."""

from __future__ import annotations

import typer

from greval.judging.model.reply_cache import ReplyCache, find_cache_file

app = typer.Typer(help="The answers kept with --cache.", no_args_is_help=True)


@app.command("show")
def show() -> None:
    """Show the path and the size of the cache."""
    path = find_cache_file()
    if not path.exists():
        typer.echo(f"{path}: nothing is kept; greval evaluate --cache keeps answers")
        return
    with ReplyCache(path) as replies:
        size = replies.size()
    typer.echo(f"{size.path}: {size.replies:,} answers, {size.bytes / 1e6:.1f} MB")


@app.command("clear")
def clear() -> None:
    """Delete all cached replies."""
    path = find_cache_file()
    if path.exists():
        with ReplyCache(path) as replies:
            count = replies.size().replies
            replies.clear()
        typer.echo(f"{path}: {count:,} answers forgotten")
    else:
        typer.echo(f"{path}: nothing is kept")
