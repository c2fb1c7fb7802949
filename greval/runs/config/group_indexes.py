"""The index of each group: what its folder holds, which search a method without a spec means, and what to index first.

A folder holds an index of the reference pipeline, an index of Microsoft GraphRAG, or documents in `input/`, of which
an index of the reference pipeline is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from greval.apps import import_by_name
from greval.errors import DataError
from greval.methods.graphrag.index import find_tables
from greval.methods.reference_index import INDEX_FILE, REFERENCE_SEARCHES, has_reference_index
from greval.runs.config.model import GRAPHRAG_SEARCHES, INDEX_PLACEHOLDER, RunConfig

IndexKind = Literal["reference", "documents", "graphrag", "unknown"]
DOCUMENTS_FOLDER = "input"
"""The folder of a group's documents, as in a project of Microsoft GraphRAG."""
BUILT_FOLDER = "greval_index"
"""The folder of the index that is made of a group's documents."""
GRAPHRAG_SETTINGS = ("settings.yaml", "settings.yml", "settings.json")


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
        """Return the digest of an index of the reference pipeline with its search settings; None before it is made."""
        if not (self.is_reference and (self.folder / INDEX_FILE).is_file()):
            return None
        digest: str | None = import_by_name("greval.reference.index").compute_build_digest(self.folder)
        return digest


def find_indexes(config: RunConfig) -> dict[str, GroupIndex]:
    """Return the index of each group of a configuration."""
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
    # Documents go before the index that was made of them, which is updated if they have changed.
    documents = folder / DOCUMENTS_FOLDER
    if documents.is_dir() and any(path.is_file() for path in documents.rglob("*")):
        return "documents"
    return "reference" if has_reference_index(folder / BUILT_FOLDER) else "unknown"


def build_search_spec(name: str, index: GroupIndex) -> str:
    """Return the spec that a method without one means for an index, with a placeholder for the index.

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
            f"{index.documents}, or run `greval index build DOCUMENTS -o {root / BUILT_FOLDER}`"
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
            f"that of greval, run `greval index build {index.documents} -o {root / BUILT_FOLDER}` and write "
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
    """
    for group, index in indexes:
        if index.kind == "documents":
            _update_index(group, index, report)


def _update_index(group: str, index: GroupIndex, report: Callable[[str], None]) -> None:
    update = import_by_name("greval.reference.updating").update_index
    update(index.documents, index.folder, lambda text: report(f"{group}: {text}"))
