"""Checks of metric files before they are used: each file with its metric, or with everything that is wrong with it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from greval.errors import DefinitionError
from greval.metrics.files.editing import add_line
from greval.metrics.files.yaml_text import read_source_file
from greval.metrics.library import (
    FILE_SUFFIX,
    WRONG_SUFFIX,
    describe_other_name,
    describe_wrong_suffix,
    get_expected_name,
    list_metric_files,
    predefined,
)
from greval.metrics.lint import lint_metric
from greval.metrics.python_metrics import is_python_spec, load_python_metrics
from greval.metrics.sources import load_one_metric
from greval.records.metric import Metric


class CheckedMetric(NamedTuple):
    """The place of a metric, such as its file, with its definition, or the faults because of which it has none.

    `remarks` are those of `lint_metric`; if the metric has a file, each has the file and the line before it.
    """

    place: str
    name: str
    metric: Metric | None = None
    faults: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def check_metrics(spec: str | Path, *folders: str | Path) -> tuple[CheckedMetric, ...]:
    """Check a metric file, all metric files of a folder, or metrics in Python, each by itself.

    A metric is faulty if `load_metrics` would refuse it: its file is invalid, in a folder its name differs from that
    of the file, or a metric that it builds on is missing.

    Args:
        spec: A file, a folder, or `file.py:name`.
        folders: Folders of metrics that others build on, as in `load_metrics`.
    """
    path = Path(spec)
    if not path.is_dir():
        return _check_python(str(spec)) if is_python_spec(str(spec)) else (_check_file(path, folders),)
    files = list_metric_files(path)
    if not files:
        raise DefinitionError(f"{path}: no metric file (*{FILE_SUFFIX}) found")
    counts = Counter(map(get_expected_name, files))
    return tuple(_check_folder_file(file, folders, twin=counts[get_expected_name(file)] > 1) for file in files)


def _check_python(spec: str) -> tuple[CheckedMetric, ...]:
    metrics = [source.metric for source in load_python_metrics(spec)]
    available = [*predefined().values(), *metrics]
    return tuple(
        CheckedMetric(
            spec if len(metrics) == 1 else f"{spec}:{metric.name}",
            metric.name,
            metric,
            remarks=tuple(lint_metric(metric, available)),
        )
        for metric in metrics
    )


def _check_folder_file(file: Path, folders: tuple[str | Path, ...], *, twin: bool) -> CheckedMetric:
    """Check a file of a folder, in which a metric is found by the name of its file."""
    name = get_expected_name(file)
    if file.suffix == WRONG_SUFFIX:
        return CheckedMetric(str(file), name, faults=(describe_wrong_suffix(file),))
    if twin:
        fault = f"{file}: another file of the folder has the name {name!r} too; rename one"
        return CheckedMetric(str(file), name, faults=(fault,))
    checked = _check_file(file, folders)
    renamed = describe_other_name(file, checked.metric) if checked.metric else None
    return CheckedMetric(str(file), name, faults=(renamed,)) if renamed else checked


def _check_file(file: Path, folders: tuple[str | Path, ...]) -> CheckedMetric:
    """Check a file, and that the metrics that it builds on are found."""
    try:
        metric, needed = load_one_metric(file, *folders)
    except DefinitionError as error:
        return CheckedMetric(str(file), get_expected_name(file), faults=error.faults)
    source = read_source_file(file, "name a metric file", DefinitionError)
    remarks = (add_line(remark, source, str(file)) for remark in lint_metric(metric, needed))
    return CheckedMetric(str(file), metric.name, metric, remarks=tuple(remarks))
