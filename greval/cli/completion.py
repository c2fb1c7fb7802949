"""`greval completion`: print the script that lets a shell complete commands, options and values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from greval.cli import COMPLETION_VARIABLE

METRIC_SUFFIXES = (".yaml", ".yml", ".py")
_SAFE_NAME = re.compile(r"\w[\w.+-]*")
"""File names that a shell reads as they are. Others are left out, because the script of zsh evaluates completions."""


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="bash, zsh or fish")],
) -> None:
    """Print the completion script of a shell. With it, TAB completes commands, options and metrics.

    \b
    bash: source <(greval completion bash)    in ~/.bashrc
    zsh:  source <(greval completion zsh)     in ~/.zshrc, after compinit
    fish: greval completion fish | source     in ~/.config/fish/config.fish
    """  # noqa: D301 - the mark of typer for lines that stay as they are
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # typer takes it from there, too

    typer.echo(get_completion_script(prog_name="greval", complete_var=COMPLETION_VARIABLE, shell=shell))


def print_completions() -> None:
    """Print the completions that the script of a shell requested by `COMPLETION_VARIABLE`, and exit."""
    from typer.completion import completion_init  # type: ignore[attr-defined]  # as above

    from greval.cli.app import app

    completion_init()
    app(prog_name="greval", complete_var=COMPLETION_VARIABLE)


def complete_metric(incomplete: str) -> Iterator[str]:
    """Yield the predefined metrics, files of metrics and folders whose name begins like this."""
    from greval.metrics.library import predefined

    yield from (name for name in predefined() if name.startswith(incomplete))
    folder = incomplete[: incomplete.rfind("/") + 1]
    directory = Path(folder or ".")
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        name = f"{folder}{path.name}{'/' if path.is_dir() else ''}"
        is_metric = path.suffix in METRIC_SUFFIXES or path.is_dir()
        if name.startswith(incomplete) and is_metric and _SAFE_NAME.fullmatch(path.name):
            yield name
