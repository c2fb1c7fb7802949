"""The methods of a run, and the index of each group of its questions.

If a run has groups, a name refers to one method per group, because each has its own index. The folder of a group holds
an index of the reference pipeline, an index of Microsoft GraphRAG, or documents in `input/`, of which an index of the
reference pipeline is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from langchain_core.language_models import BaseChatModel

from greval.apps import import_by_name
from greval.errors import DataError, GrevalError, MethodError
from greval.judging.model.judge import Judge
from greval.methods.fair_context.answer_generation import with_generator
from greval.methods.graphrag.index import find_tables
from greval.methods.loading import load_method
from greval.methods.protocol import Method
from greval.methods.reference_index import INDEX_FILE, REFERENCE_SEARCHES, has_reference_index
from greval.records.case import Response, Sample
from greval.runs.config.model import GRAPHRAG_SEARCHES, INDEX_PLACEHOLDER, RunConfig

INDEX_TAG = "index"
"""The tag that holds the folder of the group's index; user-defined methods read it."""
THINK_ON_GRAPH = "tog"
"""The search that asks a model also when another one answers."""
IndexKind = Literal["reference", "documents", "graphrag", "unknown"]
DOCUMENTS_FOLDER = "input"
"""The folder of a group's documents, as in a project of Microsoft GraphRAG."""
BUILT_FOLDER = "greval_index"
"""The folder of the index that is made of a group's documents."""
GRAPHRAG_SETTINGS = ("settings.yaml", "settings.yml", "settings.json")


@dataclass(frozen=True)
class GroupIndex:
    """The index of a group: the full path of its folder, and what the folder holds."""

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
    return {group: GroupIndex(folder, identify_kind(folder)) for group, folder in folders.items()}


def identify_kind(folder: Path) -> IndexKind:
    """Return what a folder holds."""
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
    """Return the spec that a method without one means for an index, with a placeholder for the index."""
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

    An index keeps the settings that it was made with. One whose entities a model extracted is left as it is. `report`
    is called with a sentence before an index is made, and for each that was made or changed.
    """

    def update(group: str, index: GroupIndex) -> None:
        build = import_by_name("greval.reference.updating").update_index
        build(index.documents, index.folder, lambda text: report(f"{group}: {text}"))

    for group, index in indexes:
        if index.kind == "documents":
            update(group, index)


def build_group_method(by_group: Mapping[str, Method], group_by: str, folders: Mapping[str, Path]) -> Method:
    """Build a method that calls the method of the sample's group, with the folder of the group's index as a tag."""

    async def answer(sample: Sample, /) -> Response:
        group = sample.tags.get(group_by, "")
        if group not in by_group:
            raise MethodError(f"no method is loaded for {group_by} {group!r}")
        if folder := folders.get(group):
            # A tag of this name in the data goes before it.
            sample = sample.model_copy(update={"tags": {INDEX_TAG: str(folder), **sample.tags}})
        return await by_group[group](sample)

    return answer


def load_run_methods(
    config: RunConfig,
    groups: Mapping[str, int],
    indexes: Mapping[str, GroupIndex],
    answering: Judge | BaseChatModel | None = None,
) -> dict[str, Method]:
    """Load the methods of a configuration, for groups of samples if it has groups, with the number of each.

    They are wrapped by the model of `generation` if there is one. `answering` is the model that answers for searches
    without a spec. All faults are reported at once.
    """
    faults: list[str] = []
    methods: dict[str, Method] = {}
    for name, spec in (config.methods or {}).items():
        try:
            if config.group_by is None:
                methods[name] = load_method(_require_spec(name, spec))
                continue
            if spec is None:
                # If a model answers for all methods, a search needs none of its own, except one that asks it while it
                # walks.
                needs_model = name == THINK_ON_GRAPH or config.answering or not config.generation
                model = answering if needs_model else None
                by_group = {group: _load_index_search(name, indexes[group], model) for group in groups}
            else:
                by_group = _load_by_group(spec, groups, indexes)
        except GrevalError as error:
            faults.append(f"methods: {name}: {error}")
        else:
            folders = {group: index.root for group, index in indexes.items()}
            methods[name] = build_group_method(by_group, config.group_by, folders)
    if faults:
        raise MethodError("\n".join(faults))
    generation = config.generation
    if generation is None:
        return methods
    facts = Path(generation.facts) if generation.facts else None
    return with_generator(methods, generation.judge, context=generation.context, facts=facts, by=generation.by)


def check_searches(config: RunConfig, groups: Mapping[str, int], indexes: Mapping[str, GroupIndex]) -> None:
    """Check that the index of each group has the searches that methods without a spec are."""
    faults: list[str] = []
    for name in (name for name, spec in (config.methods or {}).items() if spec is None):
        try:
            _require_indexes(groups, indexes)
            for group in groups:
                build_search_spec(name, indexes[group])
        except DataError as error:
            faults.append(f"methods: {name}: {error}")
    if faults:
        raise MethodError("\n".join(faults))


def _require_spec(name: str, spec: str | None) -> str:
    """Return the spec of a method that is not a search of a group's index."""
    if spec is None or INDEX_PLACEHOLDER in spec:
        needy = spec or f"{name}, which has no spec,"
        raise MethodError(f"{needy} needs the index of a group; add group_by, and indexes with a folder for each group")
    return spec


def _load_by_group(spec: str, groups: Mapping[str, int], indexes: Mapping[str, GroupIndex]) -> dict[str, Method]:
    """Load the method of a spec: once for all groups, or once per group if the spec contains the index placeholder."""
    if INDEX_PLACEHOLDER not in spec:
        return dict.fromkeys(groups, load_method(spec))
    _require_indexes(groups, indexes)
    return {group: load_method(spec.replace(INDEX_PLACEHOLDER, str(indexes[group].root))) for group in groups}


def _load_index_search(name: str, index: GroupIndex, answering: Judge | BaseChatModel | None) -> Method:
    spec = build_search_spec(name, index).replace(INDEX_PLACEHOLDER, str(index.folder))
    if not index.is_reference:
        return load_method(spec)
    if not has_reference_index(index.folder):

        async def refuse(_: Sample, /) -> Response:
            # In a forecast, which calls no method, indexes of documents are not made yet.
            raise MethodError(f"{index.folder}: the index is not made yet")

        return refuse
    method: Method = import_by_name("greval.reference.method").load(spec.partition(":")[2], answering)
    return method


def _require_indexes(groups: Mapping[str, int], indexes: Mapping[str, GroupIndex]) -> None:
    if lacking := [f"{group} ({count} questions)" for group, count in groups.items() if group not in indexes]:
        raise DataError(f"no index for {', '.join(lacking)}; add a folder for each under indexes")
