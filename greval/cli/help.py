"""`greval help`: show the help of a command."""

from __future__ import annotations

from typing import Annotated

import typer


def show_help(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND...", help="such as evaluate, or metrics draft")
    ] = None,
) -> None:
    """Show the help of a command. Without a command, it lists all of them."""
    root = context.find_root()
    root.command.main([*(names or ()), "--help"], prog_name=root.info_name, standalone_mode=False)
