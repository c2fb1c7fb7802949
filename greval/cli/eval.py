"""`greval eval`: run an evaluation of the published format, from the questions to the two result files."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greval._util.wording import format_count
from greval.cli import FAILED
from greval.cli.collect import convert_progress, print_method_errors
from greval.cli.evaluate import report_and_exit
from greval.cli.help_layout import GroupedCommand, input_option, limit_option, resuming_option
from greval.cli.options import (
    CapOptions,
    Concurrency,
    Depth,
    JudgeName,
    Quiet,
    StoreCalls,
    create_console,
    expand_groups,
    parse_tag_filters,
)
from greval.cli.progress_bar import ProgressBar, stop_on_signals
from greval.datasets.row_faults import describe_row_faults
from greval.errors import DataError
from greval.judging.model.judge import Judge
from greval.judging.model.judge_names import complete_judge_name
from greval.runs.from_config.config import CONFIG_FILE, DEFAULT_GROUP_BY, locate_config, read_config

if TYPE_CHECKING:
    from greval.methods.collecting.api import CollectProgress
    from greval.runs.from_config.api import Evaluation
    from greval.runs.from_config.plan import ConfigSelection
    from greval.runs.options import EvaluateOptions
    from greval.runs.progress import Progress

HINT = "(greval evaluate judges a file of cases; greval eval runs an eval_config.yaml)"


class PublishedFormatCommand(GroupedCommand):
    """A command that names `greval evaluate` in its errors of usage, because the two are easily mistaken."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own context
        """Parse the command line."""
        given = [*args]  # the parser empties the list
        wrong_use: Any = typer.BadParameter.__base__  # UsageError of click, or of the copy of click in newer typers
        try:
            return super().parse_args(ctx, args)
        except wrong_use as error:
            if {"-m", "--metric"} & {*given} or not given[0].startswith("-"):
                error.message = f"{error.message} {HINT}"
            raise


COMMAND_CLASS = PublishedFormatCommand
"""The class of the command."""


@expand_groups
def evaluation(  # noqa: PLR0913 - the options of a command
    context: typer.Context,
    *,
    root: Annotated[
        Path, input_option(metavar="DIR", help="the folder that the config's paths are relative to")
    ] = Path(),
    config: Annotated[Path, input_option(metavar="FILE", help="the config, in that folder")] = Path(CONFIG_FILE),
    methods: Annotated[str | None, input_option(metavar="NAME,...", help="only these methods of the config")] = None,
    imdb_key: Annotated[
        list[str] | None, input_option(metavar="KEY", help="short for --where imdb_key=KEY; repeatable", hidden=True)
    ] = None,
    where: Annotated[
        list[str] | None,
        input_option("--where", metavar="TAG=VALUE", help="only questions with this tag; repeatable"),
    ] = None,
    limit: Annotated[int | None, input_option(min=1, metavar="N", help="only the first N questions")] = None,
    judge: JudgeName = None,
    resume: Annotated[
        bool, resuming_option(help="resume the run; --no-resume begins a new one and moves the existing files aside")
    ] = True,
    retry_failed: Annotated[bool, resuming_option(help="retry what failed")] = True,
    store_calls: StoreCalls = True,
    concurrency: Concurrency = None,
    reason_depth: Depth = None,
    timeout: Annotated[
        float | None, limit_option(min=0, metavar="SECONDS", help="the timeout of a method for one question")
    ] = None,
    caps: CapOptions,
    dry_run: Annotated[
        bool, limit_option("--dry-run", help="forecast the calls and their cost without any call")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Run an evaluation of the published config format. Methods answer, the judge judges.

    docs/framework.md describes the format. The same command again resumes the evaluation. Other runs are those of
    `greval evaluate`, which greval.yaml describes.
    """
    from greval.runs.from_config.api import evaluate_config_async
    from greval.runs.from_config.plan import ConfigSelection

    keys = [f"{DEFAULT_GROUP_BY}={key}" for key in imdb_key or ()]
    wanted = {tag: sorted(values) for tag, values in parse_tag_filters([*(where or ()), *keys]).items()}
    selection = ConfigSelection(methods, wanted, limit)
    options: EvaluateOptions = {
        "resume": resume,
        "retry_failed": retry_failed,
        "store_calls": store_calls,
        "concurrency": concurrency,
        "reason_depth": reason_depth,
        "debug": bool(context.obj),
        "max_calls": caps.max_calls,
        "max_cost": caps.max_cost,
        "prices": caps.read_prices(),
    }
    found = _choose_judge(context, judge, root, config)
    if dry_run:
        _print_forecast(root, config, selection, found, options)
        return
    evaluate = partial(evaluate_config_async, root, config, selection, judge=found, timeout=timeout or None, **options)
    evaluate = partial(evaluate, on_note=None if quiet else _print_note)
    done = asyncio.run(_run(evaluate, quiet=quiet))
    _report_and_exit(done, quiet=quiet)


def _choose_judge(context: typer.Context, name: str | None, root: Path, config: Path) -> Judge | None:
    """Return the judge named on the command line with the config's other settings; None to use the config's judge.

    A judge from the environment is used only if the config does not name one.
    """
    own = read_config(locate_config(root, config), root).judge
    source = context.get_parameter_source("judge")
    if not name or (own and source and source.name == "ENVIRONMENT"):
        return None
    return own.model_copy(update={"model": complete_judge_name(name, own.base_url)}) if own else Judge(name)


def _print_forecast(
    root: Path, config: Path, selection: ConfigSelection, judge: Judge | None, options: EvaluateOptions
) -> None:
    """Print the forecast of the calls of methods and judge."""
    from greval.report.forecast import render
    from greval.runs.from_config.api import forecast_config

    found = forecast_config(root, config, selection, judge=judge, **options)
    _print_unread(found.unread)
    counts = ", ".join(f"{name} {count:,}" for name, count in found.open.items())
    typer.echo(f"requests to the methods, for {format_count(found.questions, 'question')}: {counts}")
    render(found.forecast, create_console())
    if missing := sum(found.open.values()):
        typer.echo(f"responses not collected yet: {missing:,}; their context is not in the input tokens")


async def _run(evaluate: Callable[..., Awaitable[Evaluation]], *, quiet: bool) -> Evaluation:
    """Run with two progress bars. The first Ctrl-C finishes calls in flight, the second stops immediately."""
    stop = stop_on_signals()
    with _ProgressBars(quiet=quiet) as bars:
        return await evaluate(stop=stop, on_collected=bars.show_responses, on_progress=bars.show_judgements)


class _ProgressBars(ExitStack):
    """Two progress bars, first for responses and then for judgements, each with its own time."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._quiet = quiet
        self._responses: ProgressBar | None = None
        self._judgements: ProgressBar | None = None

    def show_responses(self, progress: CollectProgress) -> None:
        """Show the progress of the responses."""
        if self._responses is None:
            self._responses = self.enter_context(ProgressBar(quiet=self._quiet))
            self._responses.print_line("responses:")
        self._responses.show(convert_progress(progress))

    def show_judgements(self, progress: Progress) -> None:
        """Show the progress of the judgements."""
        if self._judgements is None:
            self.close()
            self._judgements = self.enter_context(ProgressBar(quiet=self._quiet))
            self._judgements.print_line("judgements:")
        self._judgements.show(progress)


def _print_note(note: str) -> None:
    """Print what the user should know before the calls begin."""
    typer.echo(note, err=True)


def _report_and_exit(done: Evaluation, *, quiet: bool) -> None:
    """Print unreadable rows, the result paths, the report and the comparison, and exit with the exit code."""
    _print_unread(done.unread)
    if not quiet:
        if done.ignored:
            typer.echo(f"columns that are neither a field nor a tag: {', '.join(done.ignored)}", err=True)
        print_method_errors(done.collected)
        typer.echo(f"results: {done.detailed} and {done.summary.name}")
    try:
        report_and_exit(done.run, by=("method",), show=0, quiet=quiet)
    finally:
        if not quiet and done.run.why is None and len(done.methods) > 1:
            _print_comparison(done)
    if done.unread:
        raise typer.Exit(FAILED)


def _print_comparison(done: Evaluation) -> None:
    """Print the comparison of the methods that were evaluated, or why they cannot be compared."""
    from greval.analysis.comparison.api import compare
    from greval.report.comparison import render

    typer.echo()
    try:
        render(compare(done.run, methods=done.methods), create_console())
    except DataError as error:
        typer.echo(f"the methods cannot be compared: {error}", err=True)


def _print_unread(rows: Sequence[str]) -> None:
    """Print the rows of the dataset that are not questions."""
    for line in describe_row_faults(rows):
        typer.echo(f"not a question: {line}", err=True)
