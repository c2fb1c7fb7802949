"""What a file that describes a run names and cannot be used: files, metrics, judge and conditions, with their lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from greval.analysis.gate.conditions import check_conditions, split_condition
from greval.cli.config_keys import JUDGE, MODEL
from greval.cli.options import JudgeOptions, parse_judge_names, parse_judge_options
from greval.datasets.row_sources import STDIN
from greval.errors import DataError, DefinitionError, JudgeError
from greval.judging.model.judge import Judge
from greval.judging.model.judge_names import parse_judge_name
from greval.metrics.files.yaml_text import MetricFileFault, find_line
from greval.metrics.sources import load_metrics

JUDGE_SETTINGS = {JUDGE, *JudgeOptions._fields} - {"reason_depth"}
"""The parameters that set up the judge."""
OPTIONS = "judge_options"
"""The parameter and the key of the options of the judge's model."""
PLACEHOLDER = "openai:any"
"""A valid name, to check the settings of a judge that is named elsewhere."""
Lines = Mapping[tuple[str | int, ...], int]
"""The line of each place in the file."""


def find_reference_faults(
    values: Mapping[str, Any], used: Collection[str], keys: Mapping[str, str], lines: Lines
) -> Iterator[MetricFileFault]:
    """Find the values of a file that refer to what is not there or cannot be read.

    Args:
        values: The values of all parameters of the command, of the file and of the command line.
        used: The parameters that have their value from the file.
        keys: The key of each parameter.
        lines: The lines of the file.
    """
    checks: Mapping[str, Callable[[str], str]] = {
        "cases": _check_file,
        **dict.fromkeys(("gold", "traversal", "prices"), _check_file),
        "library": _check_folder,
        "metric": lambda spec: _check_metric(spec, values.get("library") or ()),
        "fail_if": lambda condition: _check_condition(condition, values),
    }
    for name, check in checks.items():
        if name in used:
            for place, text in _list_values(keys[name], values[name], lines):
                if fault := check(text):
                    yield MetricFileFault(find_line(place, lines), fault, place)
    yield from _find_judge_faults({name: values[name] for name in used if name in JUDGE_SETTINGS}, lines)


def _find_judge_faults(settings: Mapping[str, Any], lines: Lines) -> Iterator[MetricFileFault]:
    """Find settings of the judge that are invalid, and a name that is not one of a judge."""
    given = settings.get(JUDGE) or PLACEHOLDER
    faults: dict[str, str] = {}
    try:
        fields = {field: value for field, value in settings.items() if field not in {JUDGE, OPTIONS}}
        Judge(PLACEHOLDER, options=parse_judge_options(settings.get(OPTIONS) or ()), **fields)
        for name in parse_judge_names([given] if isinstance(given, str) else given).values():
            parse_judge_name(name)
    except ValidationError as error:
        faults = {str(one["loc"][0]): one["msg"].removeprefix("Value error, ") for one in error.errors() if one["loc"]}
    except JudgeError as error:
        faults = {MODEL: str(error)}
    for field, fault in faults.items():
        place = (OPTIONS,) if field == "options" else (JUDGE, field) if (JUDGE, field) in lines else (JUDGE,)
        yield MetricFileFault(find_line(place, lines), fault, place)


def _list_values(key: str, value: object, lines: Lines) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the texts of a key with their places in the file."""
    items = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    for position, item in enumerate(items):
        yield (key, position) if (key, position) in lines else (key,), str(item)


def _check_file(path: str) -> str:
    return "" if path == STDIN or Path(path).is_file() else f"there is no file {path}"


def _check_folder(path: str) -> str:
    return "" if Path(path).is_dir() else f"there is no folder {path}"


def _check_metric(spec: str, folders: Sequence[Path]) -> str:
    """Return why a metric cannot be loaded, or an empty text."""
    try:
        load_metrics([spec], *folders)
    except DefinitionError as error:
        return str(error)
    return ""


def _check_condition(condition: str, values: Mapping[str, Any]) -> str:
    """Return why a condition cannot be checked, or an empty text."""
    try:
        split_condition(condition)
        metrics = load_metrics(values["metric"], *(values.get("library") or ()))
        check_conditions([condition], [one.name for one in metrics])
    except DefinitionError:
        return ""  # reported for the metric
    except DataError as error:
        return str(error)
    return ""
