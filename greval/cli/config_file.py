"""`greval.yaml`, the file that describes a run: its reader, and the command whose options it sets."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from greval._util.wording import did_you_mean, find_typo
from greval.cli.config_keys import (
    CONFIG,
    JUDGE,
    MAPPINGS,
    NAMES,
    RUN_CONFIG,
    ConfigKey,
    build_config_model,
    list_config_keys,
)
from greval.cli.config_references import OPTIONS, Lines, find_reference_faults
from greval.cli.help_layout import GroupedCommand
from greval.cli.options import parse_columns, parse_judge_options
from greval.datasets.row_sources import STDIN
from greval.errors import DataError, GrevalError
from greval.judging.model.judge import KEY_VARIABLE
from greval.methods.loading import resolve_spec, split_name
from greval.metrics.files.validation import convert_errors, format_value
from greval.metrics.files.yaml_text import MetricFileFault, YamlSource, find_line, read_source_file
from greval.records.judge_choice import SECRET_NAME
from greval.runs.manifest import RunCommand

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

NO_CASES = (
    f"CASES is missing, and there is no {RUN_CONFIG} here; name the file of your cases, or write a {RUN_CONFIG} for it "
    "with `greval init FILE`"
)
DATA = NAMES["cases"]
OTHER_NAMES: Mapping[str, str] = {"gates": "fail_if", "gate": "fail_if", "output": "out", "dataset": DATA}
"""Words that people write for keys, with the keys that they mean."""

PAIRS: Mapping[str, Callable[[list[str]], Mapping[str, Any]]] = {
    "columns": parse_columns,
    "judge_options": parse_judge_options,
    "methods": lambda pairs: dict(map(split_name, pairs)),
}
"""How the values of options that are mappings in the file are parsed."""


class RunConfig(NamedTuple):
    """The content of a file: key and value of each parameter of the command that it sets, and the lines of the file."""

    path: Path
    keys: Mapping[str, str]
    values: Mapping[str, Any]
    lines: Lines


class ConfigurableCommand(GroupedCommand):
    """A command that takes its options from a file if one is named, or if no cases are.

    An option on the command line replaces the key of the file, and the key replaces a variable of the environment.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own context
        """Parse the command line, with the file for what it leaves out."""
        given, _, _ = self.make_parser(ctx).parse_args(args=[*args])
        if ctx.resilient_parsing or given.get("help"):
            return super().parse_args(ctx, args)
        found = self._find_config(ctx, given)
        if found is None:
            return super().parse_args(ctx, args)
        ctx.meta[CONFIG] = found
        ctx.default_map = {CONFIG: str(found.path), **found.values}
        rest = super().parse_args(ctx, args)
        for parameter in self.params:
            if parameter.name in found.values and ctx.get_parameter_source(parameter.name).name == "ENVIRONMENT":
                ctx.params[parameter.name] = parameter.process_value(ctx, found.values[parameter.name])
        return rest

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as above
        """Run the command. An error that a value of the file explains is reported with the line of the value."""
        try:
            return super().invoke(ctx)
        except GrevalError as error:
            found = ctx.meta.get(CONFIG)
            if found is None:
                raise
            used = [name for name in found.values if ctx.get_parameter_source(name).name != "COMMANDLINE"]
            if faults := [*find_reference_faults(ctx.params, used, found.keys, found.lines)]:
                raise build_config_error(found.path, faults) from error
            raise

    def _find_config(self, ctx: Any, given: Mapping[str, Any]) -> RunConfig | None:  # noqa: ANN401 - as above
        named, cases = given.get(CONFIG), given.get("cases")
        file = Path(named or RUN_CONFIG)
        if not named and (isinstance(cases, str) or not file.is_file()):
            if not isinstance(cases, str):
                raise typer.BadParameter(NO_CASES, ctx=ctx)
            return None
        assert self.callback is not None  # noqa: S101 - only groups of commands have none
        found = read_run_config(file, list_config_keys(self.callback))
        if "cases" not in found.values and not isinstance(cases, str):
            raise DataError(f"{file}: {DATA} is missing; add it, or name the file of the cases on the command line")
        return found


def describe_config(context: Any, config: Path) -> str:  # noqa: ANN401 - typer's own context
    """Return a line on the keys of a file that a command uses, without those that the command line replaces."""
    keys = {key.parameter: key.path[0] for key in list_config_keys(context.command.callback)}
    used = dict.fromkeys(
        keys[name]
        for name in context.default_map
        if name in keys and context.get_parameter_source(name).name != "COMMANDLINE"
    )
    return f"{config} sets {', '.join(used)}"


def describe_command(context: Any, config: Path | None) -> RunCommand:  # noqa: ANN401 - typer's own context
    """Return the options that a command was given, in the form of the file, with paths as the command received them."""
    keys = {key.parameter: key for key in list_config_keys(context.command.callback)}
    options: dict[str, Any] = {}
    for name, value in context.params.items():
        if name in keys and context.get_parameter_source(name).name != "DEFAULT":
            *sections, last = keys[name].path
            place = options.setdefault(sections[0], {}) if sections else options
            given = value[0] if keys[name].path[0] == JUDGE and isinstance(value, list) and len(value) == 1 else value
            place[last] = PAIRS[last](given) if last in PAIRS else to_jsonable_python(given)
    return RunCommand(config=None if config is None else str(config), options=options)


def read_run_config(path: Path, keys: tuple[ConfigKey, ...]) -> RunConfig:
    """Read a file that describes a run. Its folder can be imported from afterwards.

    Args:
        path: A YAML or JSON file.
        keys: The known keys.

    Raises:
        DataError: If the file has faults. All are reported at once, each with its line.
    """
    source = read_source_file(path, "name a file with -c, or write one with `greval init`")
    faults = [*source.faults, *_find_form_faults(source)]
    content: dict[str, Any] = {}
    if isinstance(source.data, Mapping):
        try:
            content = build_config_model(keys).model_validate(source.data).model_dump(by_alias=True, exclude_unset=True)
        except ValidationError as error:
            faults += _convert_errors(error.errors(include_url=False), source, keys)
    if faults:
        raise build_config_error(path, faults)
    if str(folder := path.parent.resolve()) not in sys.path:
        sys.path.append(str(folder))  # for methods such as my_rag:ask
    values = {key: value for key in keys if (value := _find_value(content, key.path)) is not None}
    return RunConfig(
        path,
        {key.parameter: key.name for key in values},
        {key.parameter: _convert_value(key, value, path.parent) for key, value in values.items()},
        source.lines,
    )


def build_config_error(path: Path, faults: Iterable[MetricFileFault]) -> DataError:
    """Build the error for the faults of a file, in the order of their lines."""
    return DataError("\n".join(f"{path}:{fault}" for fault in sorted(faults, key=lambda fault: fault.line)))


def _find_form_faults(source: YamlSource) -> Iterator[MetricFileFault]:
    if source.data is None and not source.faults:
        yield MetricFileFault(1, f"is empty; write at least {DATA} and metrics")
    elif source.data is not None and not isinstance(source.data, Mapping):
        yield MetricFileFault(1, f"must be a mapping with {DATA} and metrics, got {format_value(source.data)}")


def _convert_errors(
    errors: list[ErrorDetails], source: YamlSource, keys: tuple[ConfigKey, ...]
) -> Iterator[MetricFileFault]:
    """Convert pydantic's errors to faults of the file."""
    for error in errors:
        place = error["loc"]
        if error["type"] == "extra_forbidden":
            parent, name = place[:-1], str(place[-1])
            text = _explain_unknown_key((*map(str, parent), name), keys)
            yield MetricFileFault(find_line(place, source.lines), text, place)
        else:
            yield from convert_errors([error], source.data, source.lines)


def _explain_unknown_key(path: tuple[str, ...], keys: tuple[ConfigKey, ...]) -> str:
    """Explain what to write instead of an unknown key."""
    name, in_judge = path[-1], path[:-1] == (JUDGE,)
    here = [key.path[-1] for key in keys if len(key.path) == len(path)] + ([] if in_judge else [JUDGE])
    elsewhere = {key.path[-1]: key.path for key in keys if len(key.path) != len(path)}
    typo = find_typo(name, here)
    if SECRET_NAME.search(name) and not typo:
        return (
            f"a secret must not stand in this file, which is shared and stored; set it in the environment, such as "
            f"{KEY_VARIABLE}, and remove the line"
        )
    if name in elsewhere:
        return (
            f"belongs under {JUDGE}; move it there" if not in_judge else f"does not belong under {JUDGE}; move it out"
        )
    plain = name.replace("-", "_")
    named = OTHER_NAMES.get(plain) or next((key.name for key in keys if key.parameter == plain), None)
    return f"unknown; did you mean {named}?" if named else f"unknown{did_you_mean(name, here)}"


def _find_value(content: Mapping[str, Any], path: tuple[str, ...]) -> Any:  # noqa: ANN401 - a value of the file
    """Return the value at a path, or None without one."""
    value: Any = content
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _convert_value(key: ConfigKey, value: Any, folder: Path) -> Any:  # noqa: ANN401 - a value of the file
    """Convert a value to what the option takes, with paths relative to the current folder."""
    if key.name == "methods":
        return [f"{name}={resolve_spec(spec, folder)}" for name, spec in value.items()]
    if key.name == OPTIONS:
        return [f"{name}={json.dumps(option, ensure_ascii=False)}" for name, option in value.items()]
    if key.name in MAPPINGS:
        return [f"{name}={column}" for name, column in value.items()]
    if key.name == "metrics":
        return [_resolve_metric(name, folder) for name in value]
    if key.holds_paths or (key.name == DATA and value != STDIN):
        return [str(folder / one) for one in value] if isinstance(value, list) else str(folder / value)
    return value


def _resolve_metric(name: str, folder: Path) -> str:
    """Return the path of a metric that is a file or a folder, or in a Python file; other names are unchanged.

    Example:
        >>> _resolve_metric("correctness,latency", Path("ci"))
        'correctness,latency'
    """
    if "," in name and "(" not in name:
        return ",".join(_resolve_metric(part.strip(), folder) for part in name.split(","))
    file, mark, rest = name.partition(".py:")
    path = folder / f"{file}{'.py' if mark else ''}"
    return f"{path}{mark and ':'}{rest}" if path.exists() else name
