"""Options of commands that are keys of a run: what the command line sets in place of a file, and the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from greval.cli.help_layout import (
    KEYS,
    GroupedCommand,
    input_option,
    judge_option,
    limit_option,
    output_option,
    resuming_option,
)
from greval.cli.judge_options import JudgeNames, JudgeOptions, build_judge_config
from greval.cli.options import (
    AskedSpecs,
    By,
    Cache,
    Columns,
    Concurrency,
    Deadline,
    FailIf,
    Folders,
    JoinedFiles,
    Limit,
    MethodName,
    OptionalMetricNames,
    Quiet,
    Repeats,
    RetryFailed,
    Show,
    StoreCalls,
    parse_columns,
    parse_tag_filters,
)
from greval.errors import DataError, DefinitionError
from greval.runs.config.file import ConfigFile, build_config, read_config_file
from greval.runs.config.judge_config import MODEL
from greval.runs.config.model import RUN_FILE, RunConfig, list_keys

NO_CASES = (
    f"CASES is missing, and there is no {RUN_FILE} here; name the file of your cases, or write a {RUN_FILE} for it "
    "with `greval init FILE`"
)
COMMAND = "command"
"""The name of the configuration of a command in typer's context."""


def _name_methods(specs: Iterable[str]) -> dict[str, str]:
    from greval.methods.loading import name_specs

    return name_specs(specs)


PARSERS: Mapping[str, Callable[[Any], object]] = {
    "column": parse_columns,
    "ask": _name_methods,
    "where": lambda filters: {tag: sorted(values) for tag, values in parse_tag_filters(filters).items()},
    "methods": lambda names: [*dict.fromkeys(name.strip() for name in names.split(",") if name.strip())],
}
"""How the values of options that a file has in another form are parsed."""


class RunOptions(NamedTuple):
    """The keys of a run that are options of `greval evaluate`; those without a help text have that of the key."""

    cases: Annotated[
        str | None,
        typer.Argument(
            help="cases as .jsonl, .json, .csv, .tsv or .parquet, or - for stdin; without it greval.yaml describes the "
            "run"
        ),
    ] = None
    metric: OptionalMetricNames = None
    judge: JudgeNames = None
    escalate: Annotated[str | None, judge_option("--escalate", metavar="MODEL")] = None
    agree: Annotated[float, judge_option("--agree", metavar="SHARE")] = 0.9
    labels: Annotated[list[Path] | None, judge_option("--labels", metavar="FILE")] = None
    out: Annotated[Path | None, output_option("--out", "-o", metavar="RUN")] = None
    config: Annotated[
        Path | None,
        input_option("--config", "-c", metavar="FILE", help="a file with these options as keys (docs/config.md)"),
    ] = None
    concurrency: Concurrency = None
    limit: Limit = None
    where: Annotated[list[str] | None, input_option("--where", metavar="TAG=VALUE")] = None
    repeats: Repeats = 1
    method: MethodName = None
    ask: AskedSpecs = None
    ask_timeout: Annotated[float | None, limit_option(min=0, metavar="SECONDS")] = None
    column: Columns = None
    gold: JoinedFiles = None
    traversal: JoinedFiles = None
    doc_id_pattern: Annotated[str | None, input_option(metavar="REGEX")] = None
    library: Folders = None
    retry_failed: RetryFailed = True
    resume: Annotated[bool, resuming_option()] = True
    cache: Cache = False
    store_calls: StoreCalls = True
    deadline: Deadline = None
    shard: Annotated[str | None, input_option(metavar="K/N")] = None
    dry_run: Annotated[bool, limit_option("--dry-run/--no-dry-run", show_default=False)] = False
    by: By = None
    show: Show = 0
    fail_if: FailIf = None
    quiet: Quiet = False
    otel: Annotated[bool, output_option("--otel/--no-otel", show_default=False)] = False
    json: Annotated[bool, output_option("--json/--no-json", show_default=False)] = False


class CommandConfig(NamedTuple):
    """The configuration of a command: that of the file with the changes of the command line."""

    config: RunConfig
    changes: RunConfig
    file: ConfigFile | None = None

    def describe_file(self) -> str | None:
        """Return a line on the keys of the file that the command uses; None without a file."""
        if self.file is None:
            return None
        judge = self.file.config.judge
        # The settings of a judge are merged one by one, so those of the file still count.
        replaced = {*self.changes.keys} - ({"judge"} if judge and judge.keys else set())
        return f"{self.file.path} sets {', '.join(key for key in self.file.config.keys if key not in replaced)}"


class ConfigurableCommand(GroupedCommand):
    """A command that reads its options from a file if one is named, or if no cases are.

    An option on the command line replaces the key of the file, and the key replaces a variable of the environment.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own context
        """Parse the command line, and read the file for what it leaves out."""
        unparsed = super().parse_args(ctx, args)
        # While a shell completes a command, its parameters may be missing.
        if not ctx.resilient_parsing:
            ctx.meta[COMMAND] = self.read_config(ctx)
        return unparsed

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as above
        """Run the command. An error that a value of the file explains is reported with the line of the value."""
        command: CommandConfig = ctx.meta[COMMAND]
        if command.file is None:
            return super().invoke(ctx)
        with command.file.explain_errors(command.config, command.changes, {"fail_if": _check_condition}):
            return super().invoke(ctx)

    def read_config(self, ctx: Any) -> CommandConfig:  # noqa: ANN401 - as above
        """Read the configuration of the command."""
        path, cases = ctx.params["config"], ctx.params["cases"]
        if path is None and cases is None and not Path(RUN_FILE).is_file():
            raise typer.BadParameter(NO_CASES, ctx=ctx)
        file = read_config_file(path or Path(RUN_FILE)) if path or cases is None else None
        command = merge_config(ctx, file)
        if command.config.data is None and file:
            raise DataError(f"{file.path}: data is missing; add it, or name the file of the cases on the command line")
        return command


def merge_config(ctx: Any, file: ConfigFile | None) -> CommandConfig:  # noqa: ANN401 - typer's own context
    """Merge the variables of the environment, a file and the command line; each replaces those before it."""
    changes = _read_options(ctx, "COMMANDLINE")
    config = _read_options(ctx, "ENVIRONMENT")
    if file:
        config = config.replace_by(file.config)
    return CommandConfig(config.replace_by(changes), changes, file)


def _read_options(ctx: Any, source: str) -> RunConfig:  # noqa: ANN401 - as above
    """Return the options whose values are from a source, as keys of a run."""
    # Without defaults, which would replace the keys of the file.
    values = {name: value for name, value in ctx.params.items() if ctx.get_parameter_source(name).name == source}
    keys = {*list_keys(RunConfig)}
    content = {
        key: PARSERS[name](value) if name in PARSERS else value
        for name, value in values.items()
        if (key := KEYS.get(name, name)) in keys
    }
    settings = {name: value for name, value in values.items() if name in JudgeOptions._fields and name not in keys}
    if names := content.pop("judge", None):
        settings[MODEL] = names
    if settings:
        content["judge"] = build_judge_config(settings)
    return build_config(content)


def _check_condition(config: RunConfig, condition: str) -> str:
    """Return why a condition cannot be checked, or an empty text."""
    from greval.analysis.gate.conditions import check_conditions, split_condition
    from greval.metrics.sources import load_metrics

    try:
        split_condition(condition)
        metrics = load_metrics(config.metrics or (), *(config.library or ()))
        check_conditions([condition], [metric.name for metric in metrics])
    except DefinitionError:
        # A faulty definition is reported for the metric, and not for the condition.
        return ""
    except DataError as error:
        return str(error)
    return ""
