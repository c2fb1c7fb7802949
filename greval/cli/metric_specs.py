"""The metrics that a command names with -m or as an argument, loaded for it, with a note on what they replace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from greval._util.wording import format_names
from greval.cli import print_note
from greval.metrics.sources import AskedMetrics, list_replaced_names, load_asked_metrics, load_one_metric
from greval.records.metric import Metric


def load_named_metrics(specs: Iterable[str], folders: Sequence[Path] | None) -> AskedMetrics:
    """Load the metrics that a command names, and those that they build on, dependencies first.

    A note on stderr names own metrics that have the name of a predefined one.

    Raises:
        DefinitionError: If there is no such metric, a definition is invalid, or two different metrics have one name.
    """
    loaded = load_asked_metrics(specs, *(folders or ()))
    _print_replaced_names(loaded.metrics)
    return loaded


def load_named_metric(spec: str, folders: Sequence[Path] | None) -> tuple[Metric, tuple[Metric, ...]]:
    """Load the one metric that a command is about, and all metrics that it needs: itself and those that it builds on.

    Raises:
        DefinitionError: As `load_named_metrics`, or if several metrics are named.
    """
    metric, metrics = load_one_metric(spec, *(folders or ()))
    _print_replaced_names(metrics)
    return metric, metrics


def _print_replaced_names(metrics: Iterable[Metric]) -> None:
    if names := list_replaced_names(metrics):
        print_note(f"{format_names(names)}: your own definition is used, not the predefined one")
