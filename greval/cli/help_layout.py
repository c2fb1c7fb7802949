"""Layout of the help, and `greval help`: the options that most runs need, the others in groups, with texts of keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

MAX_UNGROUPED = 14
"""A command with no more options than this, besides --help, lists them without groups."""
FIRST_OPTIONS = frozenset(
    (
        *("metric", "cases", "run", "annotations", "methods", "types", "count", "limit", "config"),
        *("judge", "model", "concurrency", "max_cost", "dry_run", "out", "by", "show", "fail_if", "fail_under", "form"),
        *("quiet", "host", "port", "keys"),
    )
)
"""The parameters of the options that are listed before all groups: those that most runs of a command need."""
KEYS: Mapping[str, str] = {
    "cases": "data",
    "column": "columns",
    "metric": "metrics",
    "ask": "methods",
    "traversal": "traversals",
}
"""The keys of a run that are not called like their parameter: they hold several values, and an option holds one."""
MAX_NAME_WIDTH = 24
"""The width of the column of names; a longer name has a line of its own."""

SERVER = "Server"
INPUT, JUDGE, LIMITS, RESUMING, OUTPUT = "Cases and metrics", "Judge", "Limits", "Resuming", "Output"
GROUPS = (SERVER, INPUT, JUDGE, LIMITS, RESUMING, OUTPUT)
"""The groups of options in the order of the help, after the arguments and the options that are in no group."""

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
        """Write the arguments and the options; if there are many, the most used first and the others in groups."""
        self._describe_options()
        params = self.get_params(ctx)
        options = _list_params(params, "option")
        is_short = len(_list_params(self.params, "option")) <= MAX_UNGROUPED
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", "Options", *GROUPS)}
        for argument in _list_params(params, "argument"):
            sections["Arguments"].append((_format_argument(argument).strip("[]"), argument.get_help_record(ctx)[1]))
        for option in options:
            is_first = is_short or option.name in FIRST_OPTIONS
            if record := option.get_help_record(ctx):
                sections["Options" if is_first else option.rich_help_panel or "Options"].append(record)
        write_sections(formatter, sections)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:  # noqa: ANN401 - as in typer
        """Complete options, with their help."""
        self._describe_options()
        return super().shell_complete(ctx, incomplete)

    def _describe_options(self) -> None:
        """Set the help of options that have none to that of their key of a run."""
        for option in _list_params(self.params, "option"):
            option.help = option.help or describe_key(option.name, repeatable=option.multiple)


def describe_key(name: str, *, repeatable: bool = False) -> str:
    """Return the help of an option that has none of its own: the description of its key of a run.

    Example:
        >>> describe_key("seed"), describe_key("gold", repeatable=True)
        ("the judge's random seed", 'gold, joined to the cases by id; repeatable')
    """
    # Imported for the help only: other commands start without it.
    from greval.runs.config.judge_config import JUDGE_KEYS, MODEL
    from greval.runs.config.model import RunConfig

    descriptions = {field.alias or key: str(field.description) for key, field in RunConfig.model_fields.items()}
    descriptions |= {**JUDGE_KEYS, "judge": JUDGE_KEYS[MODEL], "judge_options": JUDGE_KEYS["options"]}
    text = " ".join(descriptions[KEYS.get(name, name)].split()).rstrip(".")
    return f"{text[:1].lower()}{text[1:]}{'; repeatable' if repeatable else ''}"


def show_help(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND...", help="such as evaluate, or metrics draft")
    ] = None,
) -> None:
    """Show the help of a command. Without a command, it lists all of them."""
    root = context.find_root()
    root.command.main([*(names or ()), "--help"], prog_name=root.info_name, standalone_mode=False)


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
