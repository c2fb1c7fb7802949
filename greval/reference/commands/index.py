"""`greval index`: build an index of documents, ask it, and tune its searches."""

from __future__ import annotations

import typer

from greval.reference.commands.ask import ask
from greval.reference.commands.build import build
from greval.reference.commands.tune import tune

app = typer.Typer(help="Build an index of documents, ask it, and tune its searches.", no_args_is_help=True)
for command in (build, ask, tune):
    app.command()(command)
