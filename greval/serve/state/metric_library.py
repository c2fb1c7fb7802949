"""The metrics available to a client: the operator's folders, its own metrics and the predefined ones."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Literal
from uuid import uuid4

from filelock import FileLock
from pydantic import JsonValue

from greval._util.files import write_atomically
from greval._util.wording import did_you_mean
from greval.errors import DefinitionError
from greval.metrics.computed import explain_bad_name, find_computed_metric
from greval.metrics.dependencies import list_dependency_names, list_missing_dependencies, order_metrics
from greval.metrics.files import read_metric, write_metric
from greval.metrics.library import (
    FILE_SUFFIX,
    describe_other_name,
    find_metric,
    find_predefined_folder,
    find_predefined_metric,
    get_expected_name,
    list_metric_files,
    predefined,
)
from greval.metrics.sources import load_metrics
from greval.records.formula_metric import FileMetric, build_file_metric
from greval.records.metric import Metric
from greval.serve.conditional import is_unchanged
from greval.serve.logs import ERRORS
from greval.serve.problems import ServeError, parse_faults, report_full_disk
from greval.serve.settings import ServerSettings
from greval.serve.state.metric_definitions import (
    keep_definition,
    parse_definition,
    read_definition,
    remove_definition,
)
from greval.serve.state.metric_versions import (
    MetricVersion,
    keep_version,
    list_versions,
    read_version,
    remove_versions,
)

Origin = Literal["predefined", "library", "own"]
MAX_OWN_METRICS = 200
"""The most metrics of its own that a client may store."""
MAX_READ_METRICS = 500
"""The most metrics of files that are kept in memory."""
DEVICE_NAMES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
"""File names that are devices on some systems, whatever the extension."""
LOCK_FILE = ".lock"
"""Held while a metric is replaced or deleted, or its versions are read, also against other processes of the server."""

_FileStamp = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class LibraryMetric:
    """A definition, its origin, and the text of its file if it has one.

    Until the file changes, lookups return the same object, so that compiled metrics can be cached by it.
    """

    metric: Metric
    origin: Origin
    text: str | None = None


class MetricLibrary:
    """Finds metrics by name: the operator's, named ones and in folders, then the client's own, then predefined."""

    def __init__(self, *folders: Path, metrics: Iterable[str] = (), parses: bool = True) -> None:
        """Store the folders, whose files are read when they are needed, and the names of further metrics.

        `metrics` names them as after `-m`. Their Python code is run, so that they must never come from a client.
        `parses` is whether files of clients may be parsed, which may take long: in a child process.
        """
        self._folders = folders
        self._metrics = tuple(metrics)
        self._parses = parses
        if not parses:
            # The server loads them as it starts; few child processes need them.
            _ = self._named

    @cached_property
    def _named(self) -> dict[str, LibraryMetric]:
        """The further metrics of the operator."""
        return {
            metric.name: LibraryMetric(
                metric, "library", write_metric(metric) if isinstance(metric, FileMetric) else None
            )
            for metric in (load_metrics(self._metrics, *self._folders) if self._metrics else ())
            if metric != find_predefined_metric(metric.name)
        }

    def has_files(self, tenant_folder: Path) -> bool:
        """Return whether finding a metric may read files: of the operator, or in this folder of a client."""
        return bool(self._folders) or tenant_folder.is_dir()

    def find(self, tenant_folder: Path, name: str) -> LibraryMetric:
        """Return the metric with a name, among those of a client with this folder of its own metrics.

        A computed metric may have any parameter, such as `ndcg@5`. Raise `ServeError` if there is no such metric (404,
        with the nearest name) or its file is faulty (500).
        """
        if metric := self._find_or_none(tenant_folder, name):
            return metric
        if fault := explain_bad_name(name):
            raise ServeError("metric_not_found", f"metric {name!r}: {fault}")
        message = (
            f"metric {name!r}: the server has none of this name{did_you_mean(name, self._list_names(tenant_folder))}"
        )
        raise ServeError("metric_not_found", message)

    def restore(self, definition: object) -> Metric:
        """Return the metric of a stored run: from its definition, or, if it is computed, by its name."""
        if isinstance(definition, dict):
            return build_file_metric(definition)
        name = str(definition)
        return self._named[name].metric if name in self._named else find_metric(name)

    def list_metrics(self, tenant_folder: Path) -> dict[str, LibraryMetric]:
        """Return all metrics by name, sorted; a faulty file is left out and reported in the server's log.

        Call it in a child process: all files are read.
        """
        metrics = {name: _load_predefined(name) for name in predefined()}
        for name, (file, origin) in self._index_files(tenant_folder).items():
            try:
                metrics[name] = self._read_file(file, origin)
            except ServeError:
                metrics.pop(name, None)
        return dict(sorted({**metrics, **self._named}.items()))

    def resolve_dependencies(
        self, tenant_folder: Path, metrics: Iterable[Metric], unsaved: Mapping[str, LibraryMetric] | None = None
    ) -> tuple[Metric, ...]:
        """Return metrics with those that they build on, dependencies first; `unsaved` are looked up before others."""
        metrics, unsaved = [*metrics], unsaved or {}
        while names := list_missing_dependencies(metrics):
            dependencies = {name: unsaved.get(name) or self._find_or_none(tenant_folder, name) for name in names}
            if lost := [name for name, dependency in dependencies.items() if dependency is None]:
                all_names = self._list_names(tenant_folder)
                places = {name: _find_place(metrics, name) for name in lost}
                faults = (f"{places[name]}: {name!r} is not a metric{did_you_mean(name, all_names)}" for name in lost)
                raise DefinitionError(*faults)
            metrics.extend(dependency.metric for dependency in dependencies.values() if dependency)
        return order_metrics(metrics)

    def add(
        self,
        tenant_folder: Path,
        metric: FileMetric,
        text: str,
        *,
        replace: bool = False,
        if_match: str | None = None,
    ) -> LibraryMetric:
        """Store a metric of the client with the text of its file; `replace` allows to replace one of the same name.

        What it replaces is kept as a version. `if_match` is a condition on the text of the one that is replaced.
        Raise `DefinitionError` if a metric that it builds on is missing or does not fit, and `ServeError` if the name
        is taken (409) or cannot be the name of a file (422), the condition does not hold (412), or the disk is full
        (507).
        """
        self.resolve_dependencies(tenant_folder, [metric])
        if metric.name.split(".")[0].casefold() in DEVICE_NAMES:
            message = f"name: {metric.name!r} is a device on some systems; choose another name"
            raise ServeError("invalid_metric", message, faults=parse_faults([message]))
        with report_full_disk():
            is_replaced = self._check_name(tenant_folder, metric.name, replace=replace or if_match is not None)
            tenant_folder.mkdir(parents=True, exist_ok=True)
            file = _index_folder(tenant_folder).get(metric.name, tenant_folder / f"{metric.name}{FILE_SUFFIX}")
            # A new file needs no lock, because it never overwrites another.
            with FileLock(tenant_folder / LOCK_FILE) if is_replaced else nullcontext():
                _check_precondition(if_match, file, metric.name)
                keep_definition(tenant_folder, text, metric)
                _write_file(file, text, replace=is_replaced)
        return LibraryMetric(metric, "own", text)

    def list_versions(self, tenant_folder: Path, name: str) -> tuple[MetricVersion, ...]:
        """List the versions of a metric of the client, the newest, which is the current one, first."""
        file = self._find_own_file(tenant_folder, name)
        with FileLock(tenant_folder / LOCK_FILE):
            return list_versions(file, tenant_folder)

    def read_version(self, tenant_folder: Path, name: str, version: int) -> str:
        """Return the text of a version of a metric of the client; it raises as `list_versions`, 404 also for it."""
        file = self._find_own_file(tenant_folder, name)
        with FileLock(tenant_folder / LOCK_FILE):
            return read_version(file, version)

    def remove(self, tenant_folder: Path, name: str, *, if_match: str | None = None) -> None:
        """Remove a metric of the client with its versions; runs keep the definition that they began with."""
        name = unicodedata.normalize("NFC", name)
        file = self._find_own_file(tenant_folder, name)
        with FileLock(tenant_folder / LOCK_FILE):
            _check_precondition(if_match, file, name)
            if users := [
                library_metric.metric.name
                for library_metric in self.list_metrics(tenant_folder).values()
                if library_metric.origin == "own" and name in list_dependency_names(library_metric.metric)
            ]:
                message = f"metric {name!r}: {', '.join(users)} builds on it; delete or replace that first"
                raise ServeError("metric_in_use", message)
            remove_versions(file, tenant_folder)
            remove_definition(file, tenant_folder)
            file.unlink(missing_ok=True)

    def _find_own_file(self, tenant_folder: Path, name: str) -> Path:
        """Return the file of a metric of the client, or raise `ServeError`: no such metric (404), or not its own."""
        name = unicodedata.normalize("NFC", name)
        if file := _index_folder(tenant_folder).get(name):
            return file
        self.find(tenant_folder, name)
        message = f"metric {name!r}: is not one of your own; GET /v1/metrics?own=true lists those"
        raise ServeError("metric_not_own", message)

    def _check_name(self, tenant_folder: Path, name: str, *, replace: bool) -> bool:
        """Return whether there is an own metric of this name that may be replaced."""
        mine = [*_index_folder(tenant_folder)]
        if name in mine:
            if not replace:
                message = f"metric {name!r}: you have one of this name; send ?replace=true to replace it"
                raise ServeError("metric_exists", message)
            return True
        # Also a name such as ndcg@x, for which the server explains the right setting.
        if find_computed_metric(name) or explain_bad_name(name):
            message = f"metric {name!r}: is the name of a computed metric; choose another name"
            raise ServeError("metric_name_taken", message)
        if twin := next(
            (existing for existing in self._list_names(tenant_folder) if existing.casefold() == name.casefold()), None
        ):
            message = f"metric {name!r}: the name is taken by {twin!r}; choose another name"
            raise ServeError("metric_name_taken", message)
        if len(mine) >= MAX_OWN_METRICS:
            message = f"metric {name!r}: you have {MAX_OWN_METRICS:,} metrics, which is the most; delete or replace one"
            raise ServeError("too_many_metrics", message)
        return False

    def _find_or_none(self, tenant_folder: Path, name: str) -> LibraryMetric | None:
        name = unicodedata.normalize("NFC", name)
        if name in self._named:
            return self._named[name]
        if indexed := self._index_files(tenant_folder).get(name):
            return self._read_file(*indexed)
        if name in predefined():
            return _load_predefined(name)
        return _parse_computed(name)

    def _read_file(self, file: Path, origin: Origin) -> LibraryMetric:
        """Read a file, once for each content.

        If it is faulty, it raises `ServeError` without details, because clients must not see the path; the log has
        them. If it is a client's and has to be parsed first, it raises `UnreadMetricError`.
        """
        try:
            status = file.stat()
            # Part of the key of the cache, so that a changed file is read again.
            stamp = status.st_mtime_ns, status.st_size, status.st_ino
            if origin == "library":
                return _load_file(file, origin, stamp)
            if self._parses:
                parse_definition(file, file.parent)
            return _load_own_file(file, stamp)
        except (DefinitionError, OSError) as error:
            ERRORS.exception("a metric file cannot be used")
            text = (
                f"metric {get_expected_name(file)!r}: its file on the server is faulty; the server's log says what is "
                "wrong"
            )
            raise ServeError("metric_file_faulty", text) from error

    def _list_names(self, tenant_folder: Path) -> list[str]:
        """Return the names of all metrics, sorted; no file is read."""
        return sorted({*self._named, *self._index_files(tenant_folder), *predefined()})

    def _index_files(self, tenant_folder: Path) -> dict[str, tuple[Path, Origin]]:
        """Return the files by the names of their metrics; the operator's take precedence over the client's."""
        files: dict[str, tuple[Path, Origin]] = {
            name: (file, "own") for name, file in _index_folder(tenant_folder).items()
        }
        # The first folder comes last, and so takes precedence.
        for folder in reversed(self._folders):
            files.update({name: (file, "library") for name, file in _index_folder(folder).items()})
        return files


def dump_metrics(metrics: Iterable[Metric]) -> list[JsonValue]:
    """Return metrics as definitions, those with functions as names, from which another process restores them."""
    return [metric.model_dump(mode="json") if isinstance(metric, FileMetric) else metric.name for metric in metrics]


def restore_metrics(settings: ServerSettings, definitions: Iterable[object]) -> list[Metric]:
    """Return the metrics that `dump_metrics` dumped, in a child process."""
    library = MetricLibrary(*settings.library, metrics=settings.metrics)
    return [library.restore(definition) for definition in definitions]


def _find_place(metrics: Iterable[Metric], name: str) -> str:
    """Return the field of a definition that names another metric."""
    places = (metric.dependency_places.get(name) for metric in metrics if metric.kind == "computed")
    return next(filter(None, places), "uses")


def _index_folder(folder: Path) -> dict[str, Path]:
    """Return the metric files of a folder by the names that they should define; empty if there is no folder."""
    files = list_metric_files(folder) if folder.is_dir() else ()
    return {get_expected_name(file): file for file in files if file.suffix == FILE_SUFFIX}


@lru_cache(maxsize=MAX_READ_METRICS)
def _load_file(file: Path, origin: Origin, _: _FileStamp) -> LibraryMetric:
    metric = read_metric(file)
    if fault := describe_other_name(file, metric):
        raise DefinitionError(fault)
    return LibraryMetric(metric, origin, file.read_text("utf-8-sig"))


@lru_cache(maxsize=MAX_READ_METRICS)
def _load_own_file(file: Path, _: _FileStamp) -> LibraryMetric:
    text, metric = read_definition(file, file.parent)
    fault = "is faulty" if metric is None else describe_other_name(file, metric)
    if metric is None or fault:
        raise DefinitionError(f"{file}: {fault}")
    return LibraryMetric(metric, "own", text)


@cache
def _load_predefined(name: str) -> LibraryMetric:
    metric = predefined()[name]
    if metric.kind == "computed":
        return LibraryMetric(metric, "predefined")
    return LibraryMetric(
        metric, "predefined", (find_predefined_folder() / f"{name}{FILE_SUFFIX}").read_text("utf-8-sig")
    )


@lru_cache(maxsize=500)
def _parse_computed(name: str) -> LibraryMetric | None:
    metric = find_computed_metric(name)
    return LibraryMetric(metric, "predefined") if metric else None


def _check_precondition(if_match: str | None, file: Path, name: str) -> None:
    """Raise `ServeError` (412) unless the text of a metric is as the client knows it; without a condition it is."""
    if if_match is None:
        return
    text = file.read_text("utf-8-sig") if file.is_file() else None
    if not is_unchanged(if_match, text):
        what = "was deleted" if text is None else "was saved by somebody else"
        message = (
            f"metric {name!r}: {what} since you read it; read it again, and save your changes to what is there now"
        )
        raise ServeError("metric_changed", message)


def _write_file(file: Path, text: str, *, replace: bool) -> None:
    """Write a file atomically; a new one never overwrites what another process has just written (409).

    The file that it replaces is kept as a version, unless it has the same text.
    """
    if replace and file.is_file():
        if file.read_text("utf-8-sig") != text:
            keep_version(file)
            write_atomically(file, text)
        return
    beside = file.with_name(f".{uuid4().hex}")
    write_atomically(beside, text)
    try:
        # A link fails if the file exists, while a rename would replace it.
        os.link(beside, file)
    except FileExistsError:
        name = file.name.removesuffix(FILE_SUFFIX)
        raise ServeError("metric_exists", f"metric {name!r}: was made just now by another request") from None
    finally:
        beside.unlink(missing_ok=True)
