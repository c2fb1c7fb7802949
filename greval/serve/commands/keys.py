"""`greval keys`: manage the API keys of a server."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from greval.cli.options import print_table
from greval.serve.settings import DEFAULT_SCOPES
from greval.serve.start import check_packages

app = typer.Typer(help="Create, list and remove API keys of a server.", no_args_is_help=True)

File = Annotated[Path, typer.Option("--file", envvar="GREVAL_KEYS", metavar="FILE", help="the file of keys")]
DEFAULT = Path("keys.json")
COLUMNS = ("key", "id", "label", "scopes", "made", "expires", "last used")


@app.callback()
def _group() -> None:
    """Create, list and remove API keys of a server."""
    check_packages()


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="the owner of the key, and the name of the folder of its runs")],
    *,
    label: Annotated[str | None, typer.Option(metavar="TEXT", help="what the key is for, shown in the list")] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCOPE",
            help="read, judge (what costs or changes something) or scrape (counters of all tenants); repeatable; "
            "read and judge by default",
        ),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="WHEN", help="a duration such as 90d, or the last day (UTC), as 2027-01-31")
    ] = None,
    file: File = DEFAULT,
) -> None:
    """Create a key and print it. It is shown only once; the file stores its hash. An owner may have several keys."""
    from greval.serve.middleware.api_keys import add_key, parse_expiry

    end = parse_expiry(expires, datetime.now(UTC)) if expires else None
    typer.echo(add_key(file, name, label=label, scopes=scope or DEFAULT_SCOPES, expires=end))


@app.command("list")
def list_keys(*, file: File = DEFAULT) -> None:
    """List the keys with their ids, scopes and times (UTC). The last use is recorded once a minute at most."""
    from greval.serve.middleware.api_keys import LastUseFolder, read_keys

    api_keys, uses, now = read_keys(file), LastUseFolder(file), datetime.now(UTC)
    rows = (
        (
            key.name,
            key.id,
            key.label or "",
            " ".join(key.scopes),
            key.created[:16].replace("T", " "),
            _format_time(key.expires) + (" (expired)" if key.has_expired(now) else "") if key.expires else "never",
            _format_time(used) if (used := uses.read_last_use(key)) else "never",
        )
        for key in api_keys.keys
    )
    print_table(COLUMNS, rows)


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="the owner of the key")],
    *,
    key_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="the id of the key, if the owner has several")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="remove each key of the owner")] = False,
    file: File = DEFAULT,
) -> None:
    """Remove a key. A running server rejects it from then on."""
    from greval.serve.middleware.api_keys import remove_keys

    for key in remove_keys(file, name, key_id=key_id, every=every):
        typer.echo(f"{name} {key.id}: removed")


def _format_time(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}"
