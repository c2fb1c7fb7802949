"""What a user names as metrics, names, files, folders and Python code, with the metrics that they build on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from greval._util.arguments import require_iterable
from greval._util.wording import format_names
from greval.errors import DefinitionError
from greval.metrics.dependencies import MetricSource, list_dependency_names, order_metrics
from greval.metrics.files import read_metric
from greval.metrics.library import (
    FILE_SUFFIX,
    add_dependencies,
    find_file,
    find_metric,
    find_predefined_metric,
    load_folder,
    names_python_code,
    predefined,
)
from greval.records.metric import Metric

_COMMA = re.compile(r",(?![^()]*\))")
"""A comma outside the brackets of a call."""
PREDEFINED = "the predefined metrics"
MetricLike = Metric | str | Path
"""A metric, or what names one or several, as in `load_metrics`."""


def load_metrics(specs: Iterable[str | Path] | None = None, *folders: str | Path) -> tuple[Metric, ...]:
    """Load metrics and the metrics that they build on, dependencies first.

    Args:
        specs: Each of these: a metric's name, a file `tone.yaml`, a folder with the meaning of all metric files in it,
            `file.py:name` or `module:name` for a metric or a function in Python, `file.py` for all metrics that it
            defines, or several of these with commas between them. Python code is run. None names every metric that
            ships with greval.
        folders: Folders in which a name is looked up first, in this order, before the predefined metrics.

    Returns:
        Each metric once. A metric that another builds on is looked up among `specs`, then beside the metric that builds
        on it (in its folder or Python file), then in `folders`, then among the predefined metrics.

    Raises:
        DefinitionError: If there is no such metric, a definition is invalid, or two different metrics have one name.

    Example:
        >>> [metric.name for metric in load_metrics(["answer_completeness,latency"])]
        ['chunk_evaluation', 'triple_evaluation', 'latency', 'answer_completeness']
        >>> [metric.name for metric in load_metrics() if metric.over == "triples"]
        ['triple_evaluation', 'triple_words']
    """
    return load_asked_metrics([*predefined()] if specs is None else specs, *folders).metrics


class AskedMetrics(NamedTuple):
    """The metrics that specs name together with those that they build on, and the names of the former."""

    metrics: tuple[Metric, ...]
    asked: frozenset[str]


def load_asked_metrics(specs: Iterable[str | Path], *folders: str | Path) -> AskedMetrics:
    """Load metrics and the metrics that they build on, and return which of them the specs name; see `load_metrics`."""
    require_iterable(specs, "metrics", "['correctness']")
    sources: dict[str, MetricSource] = {}
    for spec in specs:
        for source in _find_sources(spec, folders):
            _add_source(source, sources)
    waiting = [*sources.values()]
    requested = frozenset(sources)
    while waiting:
        above = waiting.pop(0)
        for name in list_dependency_names(above.metric):
            dependency = _find_dependency(name, above, sources, requested, folders)
            if dependency.metric.name not in sources:
                waiting.append(dependency)
            _add_source(dependency, sources)
    return AskedMetrics(order_metrics(source.metric for source in sources.values()), requested)


def resolve_metrics(metrics: Iterable[MetricLike]) -> AskedMetrics:
    """Return metrics with those that they build on; names and files among them are loaded, see `load_metrics`."""
    require_iterable(metrics, "metrics", "['correctness']")
    listed = [*metrics]
    definitions = [metric for metric in listed if not isinstance(metric, str | Path)]
    loaded = load_asked_metrics(metric for metric in listed if isinstance(metric, str | Path))
    complete = add_dependencies([*definitions, *loaded.metrics])
    return AskedMetrics(complete, loaded.asked.union(metric.name for metric in definitions))


def load_one_metric(spec: str | Path, *folders: str | Path) -> tuple[Metric, tuple[Metric, ...]]:
    """Load a metric, and all metrics that it needs: those that it builds on, and itself as the last."""
    metrics = load_metrics([spec], *folders)
    below = {name for metric in metrics for name in list_dependency_names(metric)}
    top = [metric for metric in metrics if metric.name not in below]
    if len(top) > 1:
        raise DefinitionError(
            f"{spec}: are {len(top)} metrics, {format_names(candidate.name for candidate in top)}; name one"
        )
    return top[0], metrics


def list_replaced_names(metrics: Iterable[Metric]) -> tuple[str, ...]:
    """List the names of metrics that differ from the predefined metrics of the same names."""
    return tuple(
        metric.name
        for metric in metrics
        if (shipped := find_predefined_metric(metric.name)) is not None and shipped != metric
    )


def _find_sources(spec: str | Path, folders: Sequence[str | Path]) -> Iterator[MetricSource]:
    text, is_path = str(spec).strip(), isinstance(spec, Path)
    # The name of a file may hold a comma itself.
    if "," in text and not is_path and not Path(text).exists():
        for part in filter(None, map(str.strip, _COMMA.split(text))):
            yield from _find_sources(part, folders)
    elif names_python_code(text):
        from greval.metrics.python_metrics import load_python_metrics

        yield from load_python_metrics(text)
    elif is_path or text.endswith(FILE_SUFFIX) or _is_folder(text, folders):
        yield from _find_in_path(Path(text))
    elif text and Path(f"{text}{FILE_SUFFIX}").is_file() and not _is_known(text, folders):
        raise DefinitionError(f"{text}: no such metric; did you mean the file {text}{FILE_SUFFIX}?")
    else:
        yield _find_named(text, folders)


def _find_in_path(path: Path) -> Iterator[MetricSource]:
    """Read a metric file, or all metric files of a folder."""
    if not path.is_dir():
        yield MetricSource(read_metric(path), str(path), path.parent)
        return
    metrics = load_folder(path)
    if not metrics:
        raise DefinitionError(f"{path}: holds no metric file (*{FILE_SUFFIX}); name a folder that holds your metrics")
    yield from (MetricSource(metric, str(path), path) for metric in metrics.values())


def _is_folder(text: str, folders: Sequence[str | Path]) -> bool:
    """Return whether a text names a folder. The name of a metric goes before a folder of this name."""
    if not text or not Path(text).is_dir():
        return False
    return "/" in text or not _is_known(text, folders)


def _is_known(name: str, folders: Sequence[str | Path]) -> bool:
    return find_predefined_metric(name) is not None or any(find_file(name, folder) for folder in folders)


def _find_named(name: str, folders: Sequence[str | Path]) -> MetricSource:
    """Find a metric by its name in the folders or among the predefined ones."""
    for folder in folders:
        if file := find_file(name, folder):
            return MetricSource(find_metric(name, folder), str(file), Path(folder))
    return MetricSource(find_metric(name, *folders), PREDEFINED)


def _find_dependency(
    name: str,
    above: MetricSource,
    sources: Mapping[str, MetricSource],
    requested: frozenset[str],
    folders: Sequence[str | Path],
) -> MetricSource:
    """Find a metric that another builds on: beside it, among the given ones, in the folders, or predefined."""
    if name in above.beside:
        return MetricSource(above.beside[name], above.place, above.folder, above.beside)
    if above.folder and find_file(name, above.folder):
        return _find_named(name, [above.folder])
    if name in requested:
        return sources[name]
    try:
        return _find_named(name, [above.folder, *folders] if above.folder else folders)
    except DefinitionError as error:
        faults = (f"{above.metric.name} ({above.place}): builds on {fault}" for fault in error.faults)
        raise DefinitionError(*faults) from error


def _add_source(source: MetricSource, sources: dict[str, MetricSource]) -> None:
    """Add a metric unless it is there already."""
    existing = sources.setdefault(source.metric.name, source)
    if existing.metric != source.metric:
        raise DefinitionError(
            f"{source.metric.name}: {existing.place} and {source.place} have different metrics of this name; rename one"
        )
