"""`greval keys`: manage the API keys of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greval.cli.options import print_table
from greval.errors import GrevalError
from greval.serve.start import check_packages

app = typer.Typer(help="Create, list and remove API keys of a server.", no_args_is_help=True)

File = Annotated[Path, typer.Option("--file", envvar="GREVAL_KEYS", metavar="FILE", help="the file of keys")]
DEFAULT = Path("keys.json")


@app.callback()
def _group() -> None:
    """Create, list and remove API keys of a server."""
    check_packages()


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="the owner of the key, and the name of the folder of its runs")],
    *,
    file: File = DEFAULT,
) -> None:
    """Create a key and print it. It is shown only once; the file stores its hash."""
    from greval.serve.middleware.api_keys import add_key

    typer.echo(add_key(file, name))


@app.command("list")
def list_keys(*, file: File = DEFAULT) -> None:
    """List the names and creation times of the keys."""
    from greval.serve.middleware.api_keys import read_keys

    try:
        found = read_keys(file)
    except OSError as error:
        message = f"{file}: cannot be read: {error.strerror}; make a key with: greval keys add NAME --file {file}"
        raise GrevalError(message) from error
    print_table(("key", "made"), ((key.name, key.created) for key in found.keys))


@app.command("remove")
def remove(name: Annotated[str, typer.Argument(help="the name of the key")], *, file: File = DEFAULT) -> None:
    """Remove a key. A running server rejects it from then on."""
    from greval.serve.middleware.api_keys import remove_key

    remove_key(file, name)
    typer.echo(f"{name}: removed")
