"""`greval eval`: run the evaluation of a config file, from the questions to the two result files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greval.cli.collect import read_wanted, snapshot
from greval.cli.evaluate import FAILED, finish
from greval.cli.options import (
    Concurrency,
    Depth,
    JudgeName,
    MaxCalls,
    MaxCost,
    PriceTable,
    Quiet,
    page,
)
from greval.cli.progress_bar import Bar
from greval.cli.stopping import stop_on_signals
from greval.datasets.row_faults import describe_unread
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Prices
from greval.runs.from_config import CONFIG, PUBLISHED
from greval.runs.from_config.config import located, read_config, with_provider

if TYPE_CHECKING:
    from greval.methods.collecting import CollectProgress
    from greval.runs.from_config.api import Evaluation, Selection
    from greval.runs.options import Options
    from greval.runs.progress import Progress


def evaluation(  # noqa: PLR0913 - the options of a command
    context: typer.Context,
    *,
    root: Annotated[
        Path, typer.Option(metavar="DIR", help="the folder that the config's paths are relative to")
    ] = Path(),
    config: Annotated[Path, typer.Option(metavar="FILE", help="the config, in that folder")] = Path(CONFIG),
    methods: Annotated[str | None, typer.Option(metavar="NAME,...", help="these methods of the config only")] = None,
    imdb_key: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="short for --where imdb_key=KEY; may be given often")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="TAG=VALUE", help="questions with this tag only; may be given often"),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="the first N questions only")] = None,
    judge: JudgeName = None,
    resume: Annotated[
        bool, typer.Option(help="go on where it stopped; --no-resume begins anew and moves aside what is there")
    ] = True,
    retry_failed: Annotated[bool, typer.Option(help="ask again for what failed")] = True,
    concurrency: Concurrency = None,
    reason_depth: Depth = None,
    timeout: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="how long a method may take for one question")
    ] = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    prices: PriceTable = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what it would ask and cost, and ask nothing")] = False,
    quiet: Quiet = False,
) -> None:
    """Run the evaluation of a config file: methods answer, the judge judges. The same command again resumes it."""
    from greval.runs.from_config.api import Selection

    keys = [f"{PUBLISHED}={key}" for key in imdb_key or ()]
    wanted = {tag: sorted(values) for tag, values in read_wanted([*(where or ()), *keys]).items()}
    selection = Selection(methods, wanted, limit)
    options: Options = {
        "resume": resume,
        "retry_failed": retry_failed,
        "concurrency": concurrency,
        "reason_depth": reason_depth,
        "max_calls": max_calls,
        "max_cost": max_cost,
        "prices": Prices.load(prices),
        "debug": bool(context.obj),
    }
    found = _judge(context, judge, root, config)
    if dry_run:
        _foretell(root, config, selection, found, options)
        return
    done = asyncio.run(_run(root, config, selection, found, options, timeout=timeout or None, quiet=quiet))
    _finish(done, quiet=quiet)


def _judge(context: typer.Context, name: str | None, root: Path, config: Path) -> Judge | None:
    """Return the judge named on the command line with the config's other settings; None to use the config's judge.

    A judge from the environment is used only if the config does not name one.
    """
    own = read_config(located(root, config), root).judge
    source = context.get_parameter_source("judge")
    if not name or (own and source and source.name == "ENVIRONMENT"):
        return None
    model = with_provider(name)
    return own.model_copy(update={"model": model}) if own else Judge(model)


def _foretell(root: Path, config: Path, selection: Selection, judge: Judge | None, options: Options) -> None:
    """Print the forecast of the calls of methods and judge."""
    from greval.report.forecast import render
    from greval.runs.from_config.forecast import foretell_config

    found = foretell_config(root, config, selection, judge=judge, **options)
    _tell_unread(found.unread)
    asked = ", ".join(f"{name} {count:,}" for name, count in found.open.items())
    typer.echo(f"responses would be asked of the methods, to {found.questions:,} questions: {asked}")
    render(found.forecast, page())
    if missing := sum(found.open.values()):
        typer.echo(f"responses that are not there yet: {missing:,}; their context is not in the input tokens")


async def _run(  # noqa: PLR0913 - the parameters of an evaluation
    root: Path,
    config: Path,
    selection: Selection,
    judge: Judge | None,
    options: Options,
    *,
    timeout: float | None,  # noqa: ASYNC109 - per response, not for the whole command
    quiet: bool,
) -> Evaluation:
    """Run with two progress bars. The first Ctrl-C finishes calls in flight, the second stops immediately."""
    from greval.methods.threads import Threads
    from greval.runs.from_config.api import evaluate_config_async

    stop = asyncio.Event()
    stop_on_signals(stop)
    asyncio.get_running_loop().set_default_executor(Threads())  # runs the synchronous parts of LangChain
    with _Bars(quiet=quiet) as bars:
        options["on_progress"] = bars.judged
        return await evaluate_config_async(
            root, config, selection, judge=judge, stop=stop, timeout=timeout, on_collected=bars.collected, **options
        )


class _Bars(ExitStack):
    """Two progress bars, first for responses and then for judgements, each with its own time."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._quiet = quiet
        self._responses: Bar | None = None
        self._judgements: Bar | None = None

    def collected(self, progress: CollectProgress) -> None:
        """Show the progress of the responses."""
        if self._responses is None:
            self._responses = self.enter_context(Bar(quiet=self._quiet))
            self._responses.say("responses:")
        self._responses.show(snapshot(progress))

    def judged(self, progress: Progress) -> None:
        """Show the progress of the judgements."""
        if self._judgements is None:
            self.close()
            self._judgements = self.enter_context(Bar(quiet=self._quiet))
            self._judgements.say("judgements:")
        self._judgements.show(progress)


def _finish(done: Evaluation, *, quiet: bool) -> None:
    """Print unreadable rows, the result paths and the report, and exit with the exit code."""
    _tell_unread(done.unread)
    if not quiet:
        if done.ignored:
            typer.echo(f"columns that are neither a field nor a tag: {', '.join(done.ignored)}", err=True)
        typer.echo(f"results: {done.detailed} and {done.summary.name}")
    finish(done.run, by=("method",), show=0, quiet=quiet)
    if done.unread:
        raise typer.Exit(FAILED)


def _tell_unread(rows: Sequence[str]) -> None:
    """Print the rows of the dataset that are not questions."""
    for line in describe_unread(rows):
        typer.echo(f"not a question: {line}", err=True)
