"""Layout of the help: the groups of options, and commands whose help lists many options in these groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import typer
from typer.core import TyperCommand

MAX_UNGROUPED = 14
"""A command with no more options than this lists them without groups."""
MAX_NAME_WIDTH = 24
"""The width of the column of names; a longer name has a line of its own."""

SERVER = "Server"
INPUT, JUDGE, LIMITS, RESUMING, OUTPUT = "Cases and metrics", "Judge", "Limits", "Resuming", "Output"
GROUPS = (SERVER, INPUT, JUDGE, LIMITS, RESUMING, OUTPUT)
"""The groups of options in the order of the help. Options that are in no group follow as "Options"."""

server_option = partial(typer.Option, rich_help_panel=SERVER)
"""Declares an option of the server itself."""
input_option = partial(typer.Option, rich_help_panel=INPUT)
"""Declares an option that chooses what is judged, and by what."""
judge_option = partial(typer.Option, rich_help_panel=JUDGE)
"""Declares an option that sets up the judge."""
limit_option = partial(typer.Option, rich_help_panel=LIMITS)
"""Declares an option that limits calls, costs or time."""
resuming_option = partial(typer.Option, rich_help_panel=RESUMING)
"""Declares an option for what is kept from earlier commands and runs."""
output_option = partial(typer.Option, rich_help_panel=OUTPUT)
"""Declares an option for what is printed and written, and for the exit code."""


class GroupedCommand(TyperCommand):
    """A command that lists its options in groups if it has many, and names its arguments in capitals."""

    def __init__(self, *args: Any, **how: Any) -> None:  # noqa: ANN401 - as in typer
        """Accept the arguments of `typer.core.TyperCommand`."""
        super().__init__(*args, **how)
        for argument in _list_params(self.params, "argument"):
            argument.metavar = argument.metavar or argument.name.upper()

    def collect_usage_pieces(self, _: Any) -> list[str]:  # noqa: ANN401 - as in typer
        """Return what follows the command in the usage: brackets mark what can be left out."""
        return ["[OPTIONS]", *map(_format_argument, _list_params(self.params, "argument"))]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as in typer
        """Write the arguments and the options with their help."""
        params = self.get_params(ctx)
        options = _list_params(params, "option")
        sections: dict[str, list[tuple[str, str]]] = {group: [] for group in ("Arguments", *GROUPS)}
        for argument in _list_params(params, "argument"):
            sections["Arguments"].append((_format_argument(argument).strip("[]"), argument.get_help_record(ctx)[1]))
        for option in options:
            group = option.rich_help_panel if len(options) > MAX_UNGROUPED else None
            if record := option.get_help_record(ctx):
                sections.setdefault(group or "Options", []).append(record)
        write_sections(formatter, sections)


def write_sections(formatter: Any, sections: Mapping[str, Iterable[tuple[str, str]]]) -> None:  # noqa: ANN401 - as above
    """Write names with their texts below the titles of their sections, in columns that are equally wide in all."""
    rows = {title: [*records] for title, records in sections.items()}
    width = min(MAX_NAME_WIDTH, max(len(name) for records in rows.values() for name, _ in records))
    for title, records in rows.items():
        if records:
            with formatter.section(title):
                # Each section has columns of its own in click: padded names make them equal.
                formatter.write_dl([(name.ljust(width), text) for name, text in records], col_max=MAX_NAME_WIDTH)


def _list_params(params: Iterable[Any], kind: str) -> list[Any]:
    return [param for param in params if param.param_type_name == kind]


def _format_argument(argument: Any) -> str:  # noqa: ANN401 - as above
    """Format an argument as the usage shows it: in brackets if it can be left out, with dots if it is repeatable."""
    name = argument.metavar if argument.nargs == 1 else f"{argument.metavar.removesuffix('...')}..."
    return name if argument.required else f"[{name}]"
