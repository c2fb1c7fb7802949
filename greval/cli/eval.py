"""`greval eval`: run the published `eval_config.yaml`, with its own option names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from greval.cli.evaluate import run_command
from greval.cli.help_layout import input_option, limit_option, resuming_option
from greval.cli.judge_options import CapOptions, Depth, JudgeName
from greval.cli.options import Concurrency, DryRun, Limit, Quiet, RetryFailed, StoreCalls, expand_groups
from greval.cli.run_keys import CommandConfig, ConfigurableCommand, merge_config
from greval.runs.config.file import PUBLISHED_FILE, locate_config, read_config_file
from greval.runs.config.model import DEFAULT_GROUP_BY

HINT = "(greval evaluate judges a file of cases; greval eval runs an eval_config.yaml)"


class PublishedFormatCommand(ConfigurableCommand):
    """A command that reads its options from an `eval_config.yaml` below a root folder."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own context
        """Parse the command line. Errors of usage name `greval evaluate`, because the two are easily mistaken."""
        # The parser empties the list.
        words = [*args]
        # The UsageError of click, or that of the copy of click in newer versions of typer.
        wrong_use: Any = typer.BadParameter.__base__
        try:
            return super().parse_args(ctx, args)
        except wrong_use as error:
            if {"-m", "--metric"} & {*words} or (words and not words[0].startswith("-")):
                error.message = f"{error.message} {HINT}"
            raise

    def read_config(self, ctx: Any) -> CommandConfig:  # noqa: ANN401 - as above
        """Read the configuration of the command."""
        root = ctx.params["root"]
        command = merge_config(ctx, read_config_file(locate_config(root, ctx.params["config"]), root))
        if not (keys := ctx.params["imdb_key"]):
            return command
        where = command.changes.where
        update = {"where": {**where, DEFAULT_GROUP_BY: (*where.get(DEFAULT_GROUP_BY, ()), *keys)}}
        return command._replace(
            config=command.config.model_copy(update=update), changes=command.changes.model_copy(update=update)
        )


COMMAND_CLASS = PublishedFormatCommand
"""The class of the command."""


class PublishedOptions(NamedTuple):
    """The options of the published command line, and those of a run that it shares."""

    root: Annotated[Path, input_option(metavar="DIR", help="the folder that the config's paths are relative to")] = (
        Path()
    )
    config: Annotated[Path, input_option(metavar="FILE", help="the config, in that folder")] = Path(PUBLISHED_FILE)
    methods: Annotated[str | None, input_option(metavar="NAME,...", help="only these methods of the config")] = None
    imdb_key: Annotated[
        list[str] | None, input_option(metavar="KEY", help="short for --where imdb_key=KEY; repeatable", hidden=True)
    ] = None
    where: Annotated[list[str] | None, input_option("--where", metavar="TAG=VALUE")] = None
    limit: Limit = None
    judge: JudgeName = None
    resume: Annotated[bool, resuming_option()] = True
    retry_failed: RetryFailed = True
    store_calls: StoreCalls = True
    concurrency: Concurrency = None
    reason_depth: Depth = None
    ask_timeout: Annotated[float | None, limit_option("--timeout", min=0, metavar="SECONDS")] = None
    dry_run: DryRun = False
    quiet: Quiet = False


@expand_groups
def evaluation(context: typer.Context, *, options: PublishedOptions, caps: CapOptions) -> None:  # noqa: ARG001 - they are read with where they are from
    """Run an evaluation of the published config format. Methods answer, the judge judges.

    docs/framework.md describes the format. The same command again resumes the evaluation. Other runs are those of
    `greval evaluate`, which greval.yaml describes.
    """
    run_command(context)
