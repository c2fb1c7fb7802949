"""What a configuration names and cannot be used: files, folders, metrics, judges and methods, each with its key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from greval._util.wording import did_you_mean
from greval.datasets.row_sources import STDIN
from greval.errors import DefinitionError, JudgeError
from greval.methods.fair_context import ContextMode
from greval.methods.reference_index import REFERENCE_SEARCHES
from greval.metrics.sources import load_metrics
from greval.runs.config.judge_config import MODEL, JudgeConfig, parse_judge_names
from greval.runs.config.model import (
    GRAPHRAG_SEARCHES,
    INDEX_PLACEHOLDER,
    SEARCHES,
    GenerationConfig,
    RunConfig,
)

KeyPath = tuple[str | int, ...]
KeyFault = tuple[KeyPath, str]
"""The path of a key in a configuration, and what is wrong with its value."""
FileCheck = Callable[[RunConfig, str], str]
"""Returns what is wrong with one text of a key, or an empty text."""


def find_reference_faults(
    config: RunConfig, keys: Collection[str], further: Mapping[str, FileCheck] | None = None
) -> Iterator[KeyFault]:
    """Find the values of some keys that refer to what is not there or cannot be read.

    `further` are checks of keys that other parts know about.
    """
    checks: Mapping[str, FileCheck] = {
        **dict.fromkeys(("data", "gold", "traversals", "prices", "labels"), _check_file),
        **dict.fromkeys(("library", "indexes"), _check_folder),
        **(further or {}),
    }
    for key, check in checks.items():
        if key in keys:
            for key_path, text in _list_texts(key, getattr(config, key)):
                if fault := check(config, text):
                    yield key_path, fault
    if "metrics" in keys:
        yield from _find_metric_faults(config.metrics or (), config.library or ())
    for key, judge in (("judge", config.judge), ("escalate", config.escalate)):
        if key in keys and judge:
            yield from _find_judge_faults(key, judge)
    if "methods" in keys:
        yield from _find_method_faults(config)
    if "generation" in keys and config.generation:
        yield from _find_generation_faults(config.generation)


def _list_texts(key: str, value: object) -> Iterator[tuple[KeyPath, str]]:
    """Yield the texts of a key with their places."""
    if isinstance(value, tuple | Mapping):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        yield from (((key, name), str(text)) for name, text in items)
    elif value is not None:
        yield (key,), str(value)


def _check_file(_: RunConfig, path: str) -> str:
    return "" if path == STDIN or Path(path).is_file() else f"there is no file {path}"


def _check_folder(_: RunConfig, path: str) -> str:
    return "" if Path(path).is_dir() else f"there is no folder {path}"


def _find_metric_faults(specs: Sequence[str], folders: Sequence[str]) -> Iterator[KeyFault]:
    """Find the metrics that cannot be loaded, or that do not fit each other."""
    if not specs or (combined_error := _find_metric_error(specs, folders)) is None:
        return
    faults: dict[KeyPath, str | None] = {
        ("metrics", position): _find_metric_error([spec], folders) for position, spec in enumerate(specs)
    }
    # If each can be loaded by itself, they do not fit each other.
    yield from [(key_path, fault) for key_path, fault in faults.items() if fault] or [(("metrics",), combined_error)]


def _find_metric_error(specs: Sequence[str], folders: Sequence[str]) -> str | None:
    """Return why metrics cannot be loaded, None if they can."""
    try:
        load_metrics(specs, *folders)
    except DefinitionError as error:
        return str(error)
    return None


def _find_judge_faults(key: str, judge: JudgeConfig) -> Iterator[KeyFault]:
    """Find a name that is not one of a judge."""
    try:
        for name in parse_judge_names(judge.model).values():
            judge.create_judge(name)
    except JudgeError as error:
        yield (key, MODEL), str(error)


def _find_method_faults(config: RunConfig) -> Iterator[KeyFault]:
    """Find methods without a spec that are no search, and those without the index that they need."""
    for name, spec in (config.methods or {}).items():
        if spec is None and name not in SEARCHES:
            yield ("methods", name), _describe_unknown_method(name)
        elif (spec is None or INDEX_PLACEHOLDER in spec) and not config.indexes:
            method = spec or f"{name}, which has no spec,"
            yield ("methods", name), f"{method} needs the folder of an index; add indexes, a folder for each group"


def _describe_unknown_method(name: str) -> str:
    """Explain how to write the spec of a method."""
    return (
        f"{name} has no spec{did_you_mean(name, SEARCHES)}; only searches of the group's index need none: "
        f"{', '.join(REFERENCE_SEARCHES)} of greval, {', '.join(GRAPHRAG_SEARCHES)} of Microsoft GraphRAG. Write "
        f"methods as a mapping with a spec for it, such as {name}: my_module:function, or {name}: "
        f"my_module:make({INDEX_PLACEHOLDER}); {INDEX_PLACEHOLDER} is replaced by the folder of the group's index"
    )


def _find_generation_faults(generation: GenerationConfig) -> Iterator[KeyFault]:
    """Find a missing file of facts."""
    if generation.context == "fair" and generation.facts is None:
        modes = " or ".join(mode for mode in get_args(ContextMode) if mode != "fair")
        yield ("generation",), f"fair context needs facts: a file to count in; else write context: {modes}"
    if generation.facts and not Path(generation.facts).is_file():
        yield ("generation", "facts"), f"there is no file {generation.facts}"
