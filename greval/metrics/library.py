"""Where metrics are found: those that ship with greval, and the folders of metric files of its users."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from greval._util.arguments import several
from greval.errors import DefinitionError
from greval.metrics.computed import COMPUTED, misnamed, parse, variants
from greval.metrics.dependencies import built_on, missing, ordered
from greval.metrics.files import did_you_mean, read_metric
from greval.records.metric import ComputedMetric, JudgedMetric, Metric

ENDING = ".yaml"


def predefined() -> dict[str, Metric]:
    """Give the metrics that ship with greval, judged and computed, by name and sorted.

    Computed metrics with other cut-offs and options, such as `ndcg@5`, are found by `load`.

    Example:
        >>> [name for name in predefined() if "evaluation" in name]
        ['chunk_evaluation', 'triple_evaluation']
    """
    return dict(_predefined())


def predefined_folder() -> Path:
    """Give the folder of the metric files that ship with greval.

    Raises:
        DefinitionError: Where the installation lacks it.
    """
    here = Path(__file__).parents[1]
    in_wheel, in_checkout = here / "metric_library", here.parent / "metric_library"
    for folder in (in_wheel, in_checkout):
        if folder.is_dir():
            return folder
    raise DefinitionError(f"{in_wheel}: the predefined metrics are missing; install greval again")


def load(name_or_path: str | Path, *folders: str | Path) -> Metric:
    """Give the metric of a name or of a file.

    Args:
        name_or_path: A metric's name, a computed one with any setting (`ndcg@5`), or a path that ends in `.yaml`.
        folders: Where a name is looked for first, in this order; then come the predefined metrics.

    Returns:
        The definition.

    Raises:
        DefinitionError: Where there is no such metric, with the nearest name, or where its file is faulty.

    Example:
        >>> load("latency").scale.better, load("ndcg@5").name
        ('lower', 'ndcg@5')
    """
    text = unicodedata.normalize("NFC", str(name_or_path))
    if isinstance(name_or_path, Path) or text.endswith(ENDING):
        return read_metric(name_or_path)
    files = [_files(folder) for folder in folders]
    for found in (*files, _files(predefined_folder())):
        if text in found:
            return _read_named(found[text])
    if computed := parse(text):
        return computed
    if fault := misnamed(text):
        raise DefinitionError(f"{text}: {fault}")
    names = {*COMPUTED, *variants(text), *_files(predefined_folder())}
    known = sorted(names.union(*files))
    looked = " and ".join((*map(str, folders), "the predefined metrics"))
    pathlike = f"; a metric file ends in {ENDING}" if {"/", "."} & {*text} else ""
    hint = f"{did_you_mean(text, known)}{pathlike}"
    raise DefinitionError(f"{text or repr(text)}: no such metric in {looked}{hint}")


def load_folder(path: str | Path) -> dict[str, Metric]:
    """Give the metrics of all metric files of a folder, by name and sorted.

    Args:
        path: A folder with `NAME.yaml` files; folders in it are not searched.

    Returns:
        The definitions; none where the folder holds no metric file.

    Raises:
        DefinitionError: With every fault of every file.

    Example:
        >>> load_folder(predefined_folder())["correctness"].scale.range
        (0, 1)
    """
    metrics: dict[str, Metric] = {}
    faults: list[str] = []
    for file in _listed(path):
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


def definition(metric: object) -> Metric:
    """Give back what is a metric.

    Raises:
        DefinitionError: Where it is none, such as a name.

    Example:
        >>> definition("correctness")
        Traceback (most recent call last):
        greval.errors.DefinitionError: 'correctness': is no metric; load('correctness') gives one by its name
    """
    if not isinstance(metric, JudgedMetric | ComputedMetric):
        told = metric if isinstance(metric, str | Path) else "correctness"
        raise DefinitionError(f"{metric!r}: is no metric; load({str(told)!r}) gives one by its name")
    return metric


def with_dependencies(metrics: Iterable[Metric], *folders: str | Path) -> tuple[Metric, ...]:
    """Give the metrics and those they build on, each after what it builds on.

    Args:
        metrics: Definitions.
        folders: Where those they build on are looked for first; then come the predefined metrics.

    Returns:
        Each metric once.

    Raises:
        DefinitionError: Where one that is built on cannot be found or does not fit its use, and where
            metrics build on each other in a circle.

    Example:
        >>> [metric.name for metric in with_dependencies([load("answer_completeness")])]
        ['chunk_evaluation', 'triple_evaluation', 'answer_completeness']
    """
    several(metrics, "metrics", "[load('correctness')]")
    found = [definition(metric) for metric in metrics]
    while names := missing(found):
        found.extend(_found(names, found, folders))
    return ordered(found)


def find_dependencies(metric: Metric, given: Iterable[Metric] = ()) -> tuple[Metric, ...]:
    """Return the metrics that a metric builds on, each after what it builds on, and last the metric itself.

    Args:
        metric: A definition.
        given: Where those that it builds on are looked for first; then come the predefined metrics.

    Raises:
        DefinitionError: If one that is built on cannot be found or does not fit its use, or if metrics build on
            each other in a circle.

    Example:
        >>> [metric.name for metric in find_dependencies(load("answer_completeness"), [load("correctness")])]
        ['chunk_evaluation', 'triple_evaluation', 'answer_completeness']
    """
    needed = [definition(metric)]
    known = {one.name: one for one in map(definition, given) if one.name != metric.name}
    for above in needed:  # grows while it is walked
        needed += [known.pop(name) for name in built_on(above) if name in known]
    return with_dependencies(needed)


def _found(names: Iterable[str], above: Iterable[Metric], folders: Iterable[str | Path]) -> Iterator[Metric]:
    """Load metrics that others build on.

    Raises:
        DefinitionError: With the faults of all of them.
    """
    faults: list[str] = []
    for name in names:
        try:
            yield load(name, *folders)
        except DefinitionError as error:
            users = " and ".join(metric.name for metric in above if name in built_on(metric))
            faults.extend(
                f"{users}: builds on {name}, whose definition is not given: {fault}" for fault in error.faults
            )
    if faults:
        raise DefinitionError(*faults)


@cache
def _predefined() -> dict[str, Metric]:
    return dict(sorted({**load_folder(predefined_folder()), **COMPUTED}.items()))


def _listed(folder: str | Path) -> list[Path]:
    """List the metric files of a folder.

    Raises:
        DefinitionError: Where it is no folder, or holds files that end in `.yml`, which nobody would read.
    """
    if not Path(folder).is_dir():
        raise DefinitionError(f"{folder}: is no folder; give the folder that holds your metric files")
    files = sorted(file for file in Path(folder).iterdir() if not file.name.startswith("."))
    if other := [file for file in files if file.suffix == ".yml"]:
        raise DefinitionError(*(f"{file}: metric files end in {ENDING}; rename it" for file in other))
    return [file for file in files if file.suffix == ENDING]


def _files(folder: str | Path) -> dict[str, Path]:
    """Give the metric files of a folder by the name that they should hold; some systems decompose letters."""
    return {unicodedata.normalize("NFC", file.name.removesuffix(ENDING)): file for file in _listed(folder)}


def _read_named(file: Path) -> JudgedMetric:
    """Read a file whose metric has the file's name.

    Raises:
        DefinitionError: Where it has another, so that it could not be found by it.
    """
    metric = read_metric(file)
    name = unicodedata.normalize("NFC", file.name.removesuffix(ENDING))
    if metric.name != name:
        raise DefinitionError(f"{file}: name: is {metric.name!r}, but the file's is {name!r}; make them equal")
    return metric
