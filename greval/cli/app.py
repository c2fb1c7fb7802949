"""The command line app. A command's module is imported when the command runs, so that the others start fast."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

import greval
from greval.cli import exit_on_interrupt
from greval.cli.help_layout import GroupedCommand, write_sections

COMMAND_GROUPS = {
    "Start": {
        "demo": "Show what greval finds in a run, then judge three cases.",
        "data": "Show what a file of cases holds, and which metrics fit.",
        "init": "Write greval.yaml, which describes a run, for a file of cases.",
    },
    "Judge cases": {
        "evaluate": "Judge cases by metrics.",
        "report": "Print the report of a run, grouped by any tag.",
        "results": "Print the rows of a run, the newest of each judgement.",
        "calls": "Print what the judge was sent and what it replied.",
        "replay": "Apply edited scores to the stored replies, without a call.",
        "open": "Show a run in the web page.",
        "compare": "Compare methods: which is better, and with what certainty.",
        "history": "Show each metric over many runs, and its changes.",
        "duel": "Judge the answers of methods head to head, and rank the methods.",
        "rank": "Measure files of ranked runs, and compare them with a baseline.",
        "import": "Import verdicts that were given elsewhere as a run.",
        "merge": "Merge the logs of several runs into one.",
        "repair": "Keep what is whole of a damaged run, and say what was lost.",
        "batch": "Judge through the provider's batch endpoint.",
    },
    "Write metrics": {
        "metrics": "List, show, check and draft metrics.",
        "align": "Improve a metric from its disagreements with people.",
    },
    "Trust the judge": {
        "probe": "Measure which planted faults a judge detects.",
        "agreement": "Measure how far the judge of a run agrees with people.",
        "estimate": "Estimate what people would say about all judged items.",
        "panel": "Compare several judges on the same cases.",
        "argilla": "Exchange judged items and annotations with Argilla.",
    },
    "Test systems, build indexes": {
        "collect": "Run methods on samples.",
        "index": "Build an index of documents, ask it, and tune its searches.",
        "questions": "Draw questions with gold from an index.",
        "diagnose": "Find the cause of each wrong answer.",
        "audit": "Compare what the methods were given.",
        "gold": "Check gold data.",
        "eval": "Run an evaluation of the published config format.",
    },
    "Choose judges, save calls": {
        "judge": "Check the capabilities of a judge, and show prices.",
        "local": "Fetch and list the embedded judge models.",
        "cache": "Show or clear the replies that --cache stores.",
    },
    "Serve": {
        "serve": "Serve metrics over HTTP: REST and a web page.",
        "keys": "Create, list and remove API keys of a server.",
    },
    "More": {
        "help": "Show the help of a command.",
        "completion": "Print the completion script of a shell.",
    },
}
"""The commands by what they are for, in the order of the help, each with its summary."""
COMMANDS = {name: summary for group in COMMAND_GROUPS.values() for name, summary in group.items()}
"""The summaries of all commands."""
PLACES = {
    "calls": "greval.cli.results",
    "help": "greval.cli.help_layout",
    "import": "greval.cli.import_verdicts",
    "merge": "greval.cli.report",
    "repair": "greval.cli.report",
    **{name: f"greval.reference.commands.{name}" for name in ("index", "questions")},
    **{name: f"greval.serve.commands.{name}" for name in ("open", "serve", "keys")},
}
"""The modules of the commands that are not in a module of `greval.cli` of their name: those of apps are in the app."""
FUNCTIONS = {"eval": "evaluation", "import": "import_verdicts", "help": "show_help", "open": "open_run"}
"""The functions of the commands that do not have the command's name."""

MAX_HELP_WIDTH = 160
"""The width up to which the help uses the terminal; longer lines are hard to read."""


def _import_command(place: str) -> ModuleType:
    """Import the module of a command, which may be one of an app."""
    if place.startswith("greval.cli."):
        return import_module(place)
    from greval.apps import import_by_name

    return import_by_name(place)


class _ImportedCommands(Mapping[str, Any]):
    """The commands by name, each imported when it is looked up."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a command of typer, which names no type for it
        if name in COMMANDS and name not in self._known:
            with exit_on_interrupt():
                module = _import_command(PLACES.get(name, f"greval.cli.{name}"))
            parent = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
            if group := getattr(module, "app", None):
                for command in group.registered_commands:
                    command.cls = GroupedCommand
                parent.add_typer(group, name=name)
            else:
                cls = getattr(module, "COMMAND_CLASS", GroupedCommand)
                parent.command(name, cls=cls)(getattr(module, FUNCTIONS.get(name, name)))
            self._known[name] = get_group(parent).commands[name]
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _LazyGroup(TyperGroup):
    """The group of all commands. Its help is made of their summaries, so that it imports none of them."""

    def __init__(self, **how: Any) -> None:  # noqa: ANN401 - as in typer
        super().__init__(**how)
        self.commands = _ImportedCommands()  # type: ignore[assignment]  # read only

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:  # noqa: ANN401 - as in typer
        """Complete the name of a command by the table, without importing any command."""
        imported = self.commands
        self.commands = {name: TyperCommand(name, help=summary) for name, summary in COMMANDS.items()}
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self.commands = imported

    def format_commands(self, _: Any, formatter: Any) -> None:  # noqa: ANN401 - as in typer
        """Write the commands with their summaries, below the titles of their groups."""
        write_sections(formatter, {title: group.items() for title, group in COMMAND_GROUPS.items()})


app = typer.Typer(
    name="greval",
    cls=_LazyGroup,
    help="Write down what good means for RAG and GraphRAG, have it judged, and know how sure each figure is.",
    epilog="greval help COMMAND describes a command.",
    no_args_is_help=True,
    context_settings={"max_content_width": MAX_HELP_WIDTH, "help_option_names": ["--help", "-h"]},
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(is_requested: bool) -> None:  # noqa: FBT001 - typer's callback
    if is_requested:
        typer.echo(f"greval {greval.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Write down what good means for RAG and GraphRAG, have it judged, and know how sure each figure is."""
