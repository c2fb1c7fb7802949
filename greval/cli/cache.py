"""`greval cache show | clear`: the reply cache that runs share."""

from __future__ import annotations

import typer

from greval._util.wording import format_count
from greval.judging.model.reply_cache import ReplyCache, find_cache_file

app = typer.Typer(help="Show or clear the replies that --cache stores.", no_args_is_help=True)


@app.command("show")
def show() -> None:
    """Show the path and the size of the cache."""
    path = find_cache_file()
    if not path.exists():
        typer.echo(f"{path}: the cache is empty; greval evaluate --cache fills it")
        return
    with ReplyCache(path) as replies:
        size = replies.size()
    typer.echo(f"{size.path}: {format_count(size.replies, 'reply')}, {size.bytes / 1e6:.1f} MB")


@app.command("clear")
def clear() -> None:
    """Delete all cached replies."""
    path = find_cache_file()
    if path.exists():
        with ReplyCache(path) as replies:
            count = replies.size().replies
            replies.clear()
        typer.echo(f"{path}: {format_count(count, 'reply')} deleted")
    else:
        typer.echo(f"{path}: the cache is empty")
