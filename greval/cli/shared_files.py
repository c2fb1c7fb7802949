"""Files to share that a report or a comparison writes besides what it prints: an HTML page, and a short Markdown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import ValidationError

from greval.cli.console import escape_control_characters
from greval.errors import DataError
from greval.report.check_list import CheckList, format_markdown

if TYPE_CHECKING:
    from greval.trust.probing.records import Probe

HtmlFile = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="write an HTML page to share, in one file"),
]
MarkdownFile = Annotated[
    Path | None,
    typer.Option("--md", metavar="FILE", help="write the short form as Markdown, such as for a pull request"),
]


def format_command() -> str:
    """Format the command line that runs, as a shell reads it."""
    return join(["greval", *sys.argv[1:]])


def read_probe(path: Path) -> Probe:
    """Read a probe from the output of `greval probe --format json`.

    Raises:
        DataError: If the file cannot be read, or is no probe.
    """
    from greval.trust.probing.records import Probe

    try:
        return Probe.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        raise DataError(f"{path}: is no probe; greval probe -m METRIC --format json > {path} writes one") from error


def write_markdown_file(path: Path, checks: CheckList) -> None:
    """Write checks as Markdown.

    Raises:
        DataError: If the file cannot be written.
    """
    from greval._util.files import write_atomically

    with translate_write_error(path):
        write_atomically(path, f"{escape_control_characters(format_markdown(checks))}\n")


@contextmanager
def translate_write_error(path: Path) -> Iterator[None]:
    """Turn an error of writing a file into a `DataError`, and report the file if it is written."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error
    typer.echo(escape_control_characters(f"wrote {path} ({path.stat().st_size / 1000:,.0f} KB)"), err=True)
