"""The index of each group: what its folder holds, which search a method without a spec means, and what to index first.

A folder holds an index of the reference pipeline, an index of Microsoft GraphRAG, or documents in `input/`, of which
an index of the reference pipeline is made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from greval._util.wording import format_count
from greval.errors import DataError
from greval.methods.graphrag.index import find_tables
from greval.methods.reference.index import IndexFile, read_index_file
from greval.methods.reference.inventory import has_reference_index
from greval.methods.reference.settings import IndexSettings
from greval.runs.config.model import GRAPHRAG_SEARCHES, INDEX_PLACEHOLDER, REFERENCE_SEARCHES, RunConfig

if TYPE_CHECKING:
    from greval.methods.reference.building import BuildProgress, BuildReport

IndexKind = Literal["reference", "documents", "graphrag", "unknown"]
DOCUMENTS_FOLDER = "input"
"""The folder of a group's documents, as in a project of Microsoft GraphRAG."""
BUILT_FOLDER = "greval_index"
"""The folder of the index that is made of a group's documents."""
RULES = "rules"
GRAPHRAG_SETTINGS = ("settings.yaml", "settings.yml", "settings.json")
DIGEST_LENGTH = 12
REPORT_SECONDS = 10.0


@dataclass(frozen=True)
class GroupIndex:
    """The index of a group.

    Args:
        root: The folder as the configuration names it, with its full path.
        kind: What the folder holds: an index of the reference pipeline or of Microsoft GraphRAG, documents to make an
            index of, or none of these.
    """

    root: Path
    kind: IndexKind

    @property
    def folder(self) -> Path:
        """The folder that searches are given."""
        inner = self.kind == "documents" or (self.kind == "reference" and not has_reference_index(self.root))
        return self.root / BUILT_FOLDER if inner else self.root

    @property
    def documents(self) -> Path:
        """The folder of the documents, if there are any."""
        return self.root / DOCUMENTS_FOLDER

    @property
    def is_reference(self) -> bool:
        """True if the reference pipeline searches it, or will once it is made."""
        return self.kind in ("reference", "documents")

    def compute_digest(self) -> str | None:
        """Return the digest of an index of the reference pipeline with its search settings; None before it is made.

        Raises:
            DataError: If the index cannot be read.
        """
        index_file = read_index_file(self.folder) if self.is_reference else None
        if index_file is None:
            return None
        text = f"{index_file.build} {index_file.search_settings.model_dump_json()}"
        return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def find_indexes(config: RunConfig) -> dict[str, GroupIndex]:
    """Return the index of each group of a configuration.

    Raises:
        DataError: If a folder does not exist.
    """
    folders = {group: Path(folder).resolve() for group, folder in (config.indexes or {}).items()}
    if missing := [str(folder) for folder in folders.values() if not folder.is_dir()]:
        raise DataError(f"indexes: there is no folder {', '.join(missing)}")
    return {group: find_index(folder) for group, folder in folders.items()}


def find_index(folder: Path) -> GroupIndex:
    """Return what a folder holds."""
    return GroupIndex(folder, _identify_kind(folder))


def _identify_kind(folder: Path) -> IndexKind:
    if has_reference_index(folder):
        return "reference"
    if any((folder / name).is_file() for name in GRAPHRAG_SETTINGS) or find_tables(folder):
        return "graphrag"
    documents = folder / DOCUMENTS_FOLDER
    if documents.is_dir() and any(path.is_file() for path in documents.rglob("*")):
        return "documents"
    return "reference" if has_reference_index(folder / BUILT_FOLDER) else "unknown"


def build_search_spec(name: str, index: GroupIndex) -> str:
    """Return the spec that a method without one means for an index, with a placeholder for the index.

    Raises:
        DataError: If the index has no such search. The message says what to do.

    Example:
        >>> build_search_spec("hybrid", GroupIndex(Path("tt1"), "reference"))
        'reference:{index}?search=hybrid'
        >>> build_search_spec("local", GroupIndex(Path("tt1"), "graphrag"))
        'graphrag:{index}?method=local'
    """
    root = index.root
    if index.kind == "unknown":
        raise DataError(
            f"{root}: holds no index of greval or Microsoft GraphRAG, and no documents; put documents into "
            f"{index.documents}, or run `greval index DOCUMENTS -o {root / BUILT_FOLDER}`"
        )
    if index.is_reference:
        if name not in REFERENCE_SEARCHES:
            raise DataError(
                f"{root}: an index of greval has no search {name}, which is one of Microsoft GraphRAG; use one of "
                f"{', '.join(REFERENCE_SEARCHES)}, or write a spec, such as {name}: "
                f'"graphrag:FOLDER?method={name}"'
            )
        return f"reference:{INDEX_PLACEHOLDER}?search={name}"
    if name not in GRAPHRAG_SEARCHES:
        built = f"{INDEX_PLACEHOLDER}/{BUILT_FOLDER}"
        raise DataError(
            f"{root}: Microsoft GraphRAG has no search {name}; its searches are {', '.join(GRAPHRAG_SEARCHES)}. For "
            f"that of greval, run `greval index {index.documents} -o {root / BUILT_FOLDER}` and write "
            f'{name}: "reference:{built}?search={name}&answer=MODEL"'
        )
    return f"graphrag:{INDEX_PLACEHOLDER}?method={name}"


def list_searched(methods: Mapping[str, str | None], indexes: Mapping[str, GroupIndex]) -> list[tuple[str, GroupIndex]]:
    """List the groups whose index the reference pipeline searches for a method without a spec."""
    return [(group, index) for group, index in indexes.items() if index.is_reference and None in methods.values()]


def build_indexes(indexes: Iterable[tuple[str, GroupIndex]], report: Callable[[str], None]) -> None:
    """Make or update the indexes of groups that have documents, by rules and without a model.

    An index keeps the settings that it was made with. One whose entities a model extracted is left as it is.

    Args:
        indexes: The groups with their indexes; others than those of documents are left alone.
        report: Called with a sentence before an index is made, and for each that was made or changed.

    Raises:
        DataError: If no document can be read.
        MissingExtraError: If a package of the extra `reference` is not installed.
        StoreError: If the folder cannot be written, or another process writes to it.
    """
    for group, index in indexes:
        index_file = read_index_file(index.folder) if index.kind == "documents" else None
        if index.kind == "documents" and (index_file is None or index_file.settings.extract == RULES):
            _build_index(group, index, index_file, report)


class _ProgressReporter:
    """Reports how far an index is, in a sentence every few seconds, so that a long embedding is not silent."""

    def __init__(self, group: str, report: Callable[[str], None]) -> None:
        self._group = group
        self._report = report
        self._due = REPORT_SECONDS

    def __call__(self, progress: BuildProgress) -> None:
        """Report a snapshot if it is due."""
        if progress.seconds >= self._due:
            self._due = progress.seconds + REPORT_SECONDS
            total = f" of {progress.total:,}" if progress.total else ""
            self._report(f"{self._group}: {progress.step} {progress.done:,}{total}, {progress.seconds:.0f} s")


def _build_index(group: str, index: GroupIndex, index_file: IndexFile | None, report: Callable[[str], None]) -> None:
    """Make or update one index."""
    from greval.methods.reference.building import build_index

    if index_file is None:
        report(f"{group}: indexing {index.documents} by rules, without a model")
    settings = index_file.settings if index_file else IndexSettings()
    done = build_index(index.documents, index.folder, settings, _ProgressReporter(group, report))
    if done.rebuilt:
        report(f"{group}: {describe_build(done)}: {index.folder}")
    if done.failed:
        first = done.faults[0]
        report(
            f"{group}: {format_count(done.failed, 'fault')} in the documents, the first {first.place}: {first.message}"
        )


def describe_build(done: BuildReport) -> str:
    """Describe in one line what an index holds, and what of it is new.

    Example:
        >>> from greval.methods.reference.building import BuildReport
        >>> describe_build(BuildReport(folder="index", documents=2, added=1, chunks=5, entities=1))
        'indexed 2 documents (1 new): 5 chunks, 1 entity, 0 relations'
    """
    parts = {"chunk": done.chunks, "entity": done.entities, "relation": done.relations}
    listed = ", ".join(format_count(count, what) for what, count in parts.items())
    changes = {"new": done.added, "changed": done.changed, "gone": done.removed}
    changed = ", ".join(f"{count:,} {what}" for what, count in changes.items() if count)
    return f"indexed {format_count(done.documents, 'document')} ({changed or 'none changed'}): {listed}"
