"""The metric library: the predefined metrics of greval, and the user's folders of metric files."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from greval._util.wording import did_you_mean
from greval.errors import DefinitionError
from greval.metrics.dependencies import list_dependency_names, list_missing_dependencies, order_metrics
from greval.metrics.files import read_metric
from greval.records.formula_metric import FileMetric
from greval.records.metric import Metric

FILE_SUFFIX = ".yaml"
WRONG_SUFFIX = ".yml"
"""An ending of YAML files that metric files do not have, so that each has one name only."""
OWN_METRIC_HINT = (
    "A metric of your own is named by its file (FILE.yaml, FILE.py:NAME) or its folder, "
    "or found by its name with --library FOLDER"
)


def predefined() -> dict[str, Metric]:
    """Return the metrics that ship with greval, judged, computed and computed from verdicts, sorted by name.

    `load_metric` also finds computed metrics with other cut-offs and options, such as `ndcg@5`.

    Example:
        >>> [name for name in predefined() if "evaluation" in name]
        ['chunk_evaluation', 'triple_evaluation']
    """
    return dict(_load_predefined())


def find_predefined_folder() -> Path:
    """Return the folder of the metric files that ship with greval; raise `DefinitionError` if it is missing."""
    here = Path(__file__).parents[1]
    in_wheel, in_checkout = here / "metric_library", here.parent / "metric_library"
    for folder in (in_wheel, in_checkout):
        if folder.is_dir():
            return folder
    raise DefinitionError(f"{in_wheel}: the predefined metrics are missing; install greval again")


def load_metric(name_or_path: str | Path, *folders: str | Path) -> Metric:
    """Load a metric by name, from a file, or from Python code.

    Args:
        name_or_path: A metric's name, a computed one with any setting (`ndcg@5`), a path that ends in `.yaml`, or
            `file.py:name` or `module:name` for a metric or a function in Python. The Python code is run.
        folders: Folders in which a name is looked up first, in this order, before the predefined metrics.

    Returns:
        The definition. `load_metrics` also returns the metrics that it builds on.

    Raises:
        DefinitionError: If there is no such metric (the message suggests the nearest name), or its file is invalid.

    Example:
        >>> load_metric("latency").scale.better, load_metric("ndcg@5").name
        ('lower', 'ndcg@5')
    """
    # Some systems pass decomposed letters, while metrics are found by names in NFC.
    text = unicodedata.normalize("NFC", str(name_or_path))
    if isinstance(name_or_path, Path) or text.endswith(FILE_SUFFIX):
        return read_metric(name_or_path)
    if names_python_code(text):
        from greval.metrics.python_metrics import load_python_metric

        return load_python_metric(text)
    return find_metric(text, *folders)


def find_metric(name: str, *folders: str | Path) -> Metric:
    """Find a metric by its name in the folders, in this order, and then among the predefined metrics.

    Unlike `load_metric`, it runs no Python code and opens no file outside the folders, so that the name may come from
    anywhere, such as a request.
    """
    text = unicodedata.normalize("NFC", name)
    files = [_map_files_by_name(folder) for folder in folders]
    for files_by_name in (*files, _map_files_by_name(find_predefined_folder())):
        if text in files_by_name:
            return _read_named(files_by_name[text])
    # judged metrics need none of the families of computed ones
    from greval.metrics.computed import COMPUTED_METRICS, explain_bad_name, find_computed_metric, list_name_variants

    if computed := find_computed_metric(text):
        return computed
    if fault := explain_bad_name(text):
        raise DefinitionError(f"{text}: {fault}")
    names = {*COMPUTED_METRICS, *list_name_variants(text), *_map_files_by_name(find_predefined_folder())}
    candidates = sorted(names.union(*files))
    looked = " and ".join((*map(str, folders), "the predefined metrics"))
    suggestion = did_you_mean(text, candidates)
    end = "" if suggestion.endswith(("?", "...")) else "."
    raise DefinitionError(f"{text or repr(text)}: no such metric in {looked}{suggestion}{end} {OWN_METRIC_HINT}")


def find_file(name: str, folder: str | Path) -> Path | None:
    """Return the metric file of a name in a folder, or None if it is missing."""
    return _map_files_by_name(folder).get(unicodedata.normalize("NFC", name))


def find_predefined_metric(name: str) -> Metric | None:
    """Return the predefined metric of a name, a computed one with any setting, or None if it is missing."""
    file = find_file(name, find_predefined_folder())
    if file:
        return _read_named(file)
    from greval.metrics.computed import find_computed_metric

    return find_computed_metric(name)


def names_python_code(text: str) -> bool:
    """Return whether a text names Python code: `file.py`, `file.py:name` or `module:name`."""
    # most are names of metrics, for which nothing is imported
    if ":" not in text and not text.endswith(".py"):
        return False
    from greval.metrics.python_metrics import is_python_spec

    return is_python_spec(text)


def load_folder(path: str | Path) -> dict[str, Metric]:
    """Load all metric files of a folder.

    Args:
        path: A folder with `NAME.yaml` files; subfolders are not searched.

    Returns:
        The definitions sorted by name; empty if the folder has no metric file.
    """
    metrics: dict[str, Metric] = {}
    faults: list[str] = []
    for file in list_metric_files(path):
        try:
            metric = _read_named(file)
        except DefinitionError as error:
            faults.extend(error.faults)
            continue
        if metric.name in metrics:
            faults.append(f"{file}: another file of the folder has the name {metric.name!r} too; rename one")
        metrics[metric.name] = metric
    if faults:
        raise DefinitionError(*faults)
    return dict(sorted(metrics.items()))


def require_metric(metric: object) -> Metric:
    """Return a metric, also by its name or file as `load_metric` does; raise `DefinitionError` if it is no metric."""
    if isinstance(metric, str | Path):
        return load_metric(metric)
    if not isinstance(metric, Metric):
        raise DefinitionError(f"{metric!r}: is no metric; name one, such as 'correctness', or pass its definition")
    return metric


def add_dependencies(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """Return each metric once, together with the predefined metrics that they build on, dependencies first."""
    collected = [require_metric(metric) for metric in metrics]
    while names := list_missing_dependencies(collected):
        collected.extend(_load_dependencies(names, collected))
    return order_metrics(collected)


def find_dependencies(metric: Metric, candidates: Iterable[Metric] = ()) -> tuple[Metric, ...]:
    """Return the metrics that a metric builds on, dependencies first, and the metric itself last.

    Dependencies are looked up among the given metrics before the predefined ones.
    """
    needed = [require_metric(metric)]
    by_name = {
        candidate.name: candidate for candidate in map(require_metric, candidates) if candidate.name != metric.name
    }
    # The list grows during iteration.
    for above in needed:
        needed += [by_name.pop(name) for name in list_dependency_names(above) if name in by_name]
    return add_dependencies(needed)


def _load_dependencies(names: Iterable[str], above: Iterable[Metric]) -> Iterator[Metric]:
    """Load predefined metrics that others build on; raise one `DefinitionError` with the faults of all of them."""
    faults: list[str] = []
    for name in names:
        try:
            yield find_metric(name)
        except DefinitionError as error:
            users = " and ".join(metric.name for metric in above if name in list_dependency_names(metric))
            advice = " Add it to the metrics, or load both with load_metrics(FILE), which finds it beside the file"
            dependency_faults = (fault.replace(f" {OWN_METRIC_HINT}", advice) for fault in error.faults)
            faults.extend(
                f"{users}: builds on {name}, whose definition is not given: {fault}" for fault in dependency_faults
            )
    if faults:
        raise DefinitionError(*faults)


@cache
def _load_predefined() -> dict[str, Metric]:
    from greval.metrics.computed import COMPUTED_METRICS, DERIVED_METRICS

    return dict(sorted({**load_folder(find_predefined_folder()), **COMPUTED_METRICS, **DERIVED_METRICS}.items()))


def list_metric_files(folder: str | Path) -> list[Path]:
    """List a folder's metric files, and `.yml` files, which are mistaken for them; hidden files are left out."""
    if not Path(folder).is_dir():
        raise DefinitionError(f"{folder}: is no folder; give the folder that holds your metric files")
    files = sorted(file for file in Path(folder).iterdir() if not file.name.startswith("."))
    return [file for file in files if file.suffix in {FILE_SUFFIX, WRONG_SUFFIX}]


def get_expected_name(file: Path) -> str:
    """Return the metric name that a file of a folder must define, in NFC as some file systems decompose letters."""
    return unicodedata.normalize("NFC", file.name.removesuffix(FILE_SUFFIX).removesuffix(WRONG_SUFFIX))


def describe_wrong_suffix(file: Path) -> str:
    """Return the fault of a file that is mistaken for a metric file."""
    return f"{file}: metric files end in {FILE_SUFFIX}; rename it"


def describe_other_name(file: Path, metric: Metric) -> str | None:
    """Return the fault that a metric has another name than its file, by which it is found; None if it has the same."""
    name = get_expected_name(file)
    return (
        None
        if metric.name == name
        else (f"{file}: name: is {metric.name!r}, but the file's is {name!r}; make them equal")
    )


def _map_files_by_name(folder: str | Path) -> dict[str, Path]:
    """Return the metric files of a folder by name in NFC form, as some file systems store decomposed letters."""
    files = list_metric_files(folder)
    # `.yaml` files come last, so that they replace a `.yml` file of the same name.
    return {get_expected_name(file): file for file in sorted(files, key=lambda file: file.suffix == FILE_SUFFIX)}


def _read_named(file: Path) -> FileMetric:
    """Read a metric file; raise an error if its metric, which is found by the file's name, has another name."""
    if file.suffix == WRONG_SUFFIX:
        raise DefinitionError(describe_wrong_suffix(file))
    metric = read_metric(file)
    if fault := describe_other_name(file, metric):
        raise DefinitionError(fault)
    return metric
