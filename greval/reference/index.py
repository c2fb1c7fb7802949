"""An index that is read: its chunks, vectors, words and graph. Its parts are opened when they are first used."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, ParamSpec, Self, TypeVar
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError

from greval._util.concurrency import run_in_turn
from greval._util.files import CloseOnExit, write_atomically
from greval.errors import DataError
from greval.methods.index_records import (
    Entity,
    IndexedChunk,
    Relation,
    describe_dangling,
    find_document,
    list_documents,
)
from greval.methods.reference_index import INDEX_FILE
from greval.records.inventory import IndexInventory
from greval.records.record import Record
from greval.records.result import Usage
from greval.reference.graph_arrays import EdgeTable, MentionTable, restore_arrays
from greval.reference.ledger import IndexLedger
from greval.reference.names import normalise_spelling
from greval.reference.schema import GraphSchema
from greval.reference.settings import IndexSettings, SearchSettings

if TYPE_CHECKING:
    from greval.reference.embeddings import Embedder
    from greval.reference.search_tables import SearchTables
    from greval.reference.storage.graph_store import GraphStore
    from greval.reference.storage.vectors import VectorIndex
    from greval.reference.storage.words import WordIndex

COLUMNS = ("doc_id", "repo", "version")
"""The fields of chunks that a search can filter by, in addition to tags."""
TAG_PREFIX = "tags."
DAMAGE = (OSError, ValueError, KeyError, BadZipFile)
"""The errors of reading a damaged file."""
BUILD_DIGEST_LENGTH = 12
P = ParamSpec("P")
T = TypeVar("T")
_READING = RLock()
"""The lock of all indexes. Their files are opened when first used, and searches in parallel threads would share one
interpreter, so that each would take as long as all of them."""


class IndexFile(Record):
    """What `index.json` holds: the settings of an index, and the name of its current build."""

    build: Annotated[str, Field(pattern=r"^build-\w+$")]
    settings: IndexSettings
    search_settings: SearchSettings = Field(default_factory=SearchSettings)


class Manifest(Record):
    """What `manifest.json` of a build holds."""

    embedder: str
    extractor: str
    graph: str = "embedded"
    graph_schema: GraphSchema | None = None
    chunks: int = 0
    entities: int = 0
    relations: int = 0
    names: int = 0
    merged: dict[str, int] = Field(default_factory=dict)


def read_index_file(folder: Path) -> IndexFile | None:
    """Read `index.json` of a folder; None if it has no such file."""
    path = folder / INDEX_FILE
    try:
        return IndexFile.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValidationError) as error:
        raise DataError(f"{path}: cannot be read as the settings of an index; delete it and index again") from error


def compute_build_digest(folder: Path) -> str | None:
    """Return a digest of the build of an index and of its search settings; None if the folder has no index."""
    file = read_index_file(folder)
    if file is None:
        return None
    text = f"{file.build} {file.search_settings.model_dump_json()}"
    return hashlib.sha256(text.encode()).hexdigest()[:BUILD_DIGEST_LENGTH]


async def read_in_turn(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that reads an index in a thread, one at a time; the time until its turn counts as waiting."""
    return await run_in_turn(_READING, function, *args, **kwargs)


def save_search_settings(folder: str | Path, settings: SearchSettings) -> None:
    """Store the settings that searches of an index use by default."""
    file = read_index_file(Path(folder))
    if file is None:
        raise _describe_missing(Path(folder))
    changed = file.model_copy(update={"search_settings": settings})
    write_atomically(Path(folder) / INDEX_FILE, changed.model_dump_json(indent=2) + "\n")


class ChunkColumn(NamedTuple):
    """A field of all chunks: the different values, and for each chunk the position of its own, -1 if it has none."""

    values: Sequence[str]
    codes: npt.NDArray[np.int32]


class EntityNames(NamedTuple):
    """What `entities.json` of a build holds: of each entity its name, type and other names, and `positions` by name."""

    names: Sequence[str]
    positions: Mapping[str, int]
    types: Sequence[str]
    aliases: Sequence[Sequence[str]]


class ReferenceIndex(CloseOnExit):
    """An index, opened to be read. Any number of processes may do so, also while another one changes it.

    Attributes:
        folder: The folder of the index.
        settings: How its documents were indexed.
        search_settings: How it is searched by default.
        chunk_ids: The id of each chunk. A position in this list is the number of the chunk everywhere else.
        entities: The name of each entity. A position in this list is the number of the entity everywhere else.
        named_entities: The names that a model gave for the entities of a question, with the usage, by the label of the
            model and the question: what has asked about a question once need not ask again.
    """

    def __init__(self, folder: Path, file: IndexFile) -> None:
        self.folder = folder
        self.settings = file.settings
        self.search_settings = file.search_settings
        self.named_entities: dict[tuple[str, str], tuple[Sequence[str], Usage]] = {}
        self._build = folder / file.build
        self._ledger = IndexLedger(folder)
        try:
            self.manifest = Manifest.model_validate_json((self._build / "manifest.json").read_bytes())
            self._chunks: dict[str, Any] = json.loads((self._build / "chunks.json").read_bytes())
            arrays = _load_arrays(self._build / "chunks.npz")
            self._rows, self._codes = arrays["rows"], arrays["codes"]
        except DAMAGE as error:
            self._ledger.close()
            raise _describe_damage(self._build, error) from error
        self.chunk_ids: Sequence[str] = self._chunks["ids"]

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open the index of a folder.

        Raises:
            DataError: If the folder holds no index.
        """
        path = Path(folder)
        file = read_index_file(path)
        while file is not None:
            try:
                return cls(path, file)
            except DataError:
                newer = read_index_file(path)
                if newer == file:
                    raise
                # A new build took the place of this one meanwhile.
                file = newer
        raise _describe_missing(path)

    def close(self) -> None:
        """Close all files."""
        self._ledger.close()
        # Closing must not open the graph, which is opened when it is first used.
        if "graph" in vars(self):
            self.graph.close()

    @cached_property
    def chunk_positions(self) -> Mapping[str, int]:
        """The position of each chunk by its id."""
        return {chunk: position for position, chunk in enumerate(self.chunk_ids)}

    def read_chunks(self, ids: Sequence[str]) -> list[IndexedChunk]:
        """Return chunks by their ids, in the order asked.

        Raises:
            DataError: If there is no such chunk, or if the index was made anew since it was opened.
        """
        positions = self.chunk_positions
        unknown = next((chunk_id for chunk_id in ids if chunk_id not in positions), None)
        if unknown is not None:
            raise DataError(f"{self.folder}: holds no chunk {unknown!r}; an id is DOCUMENT#NUMBER")
        return self._ledger.read_chunks([int(self._rows[positions[chunk_id]]) for chunk_id in ids])

    @cached_property
    def _names(self) -> EntityNames:
        try:
            content = json.loads((self._build / "entities.json").read_bytes())
            return EntityNames(*(content[name] for name in EntityNames._fields))
        except DAMAGE as error:
            raise _describe_damage(self._build, error) from error

    @property
    def entities(self) -> Sequence[str]:
        """The name of each entity, sorted."""
        return self._names.names

    @property
    def entity_positions(self) -> Mapping[str, int]:
        """The position of each entity by each of its names, normalised."""
        return self._names.positions

    def find_entity(self, name: str) -> int | None:
        """Return the position of an entity by its name or another of its names, however it is spelled; None if none.

        If several entities differ in their spelling only, it is the one that is spelled exactly so.
        """
        names = self.entities
        # The names are sorted, and an exact spelling goes before all others.
        position = bisect_left(names, name)
        if names[position : position + 1] == [name]:
            return position
        return self.entity_positions.get(normalise_spelling(name))

    def read_entity(self, position: int) -> Entity:
        """Return the entity at a position of `entities`."""
        ids, chunks = self.chunk_ids, self.mentions.chunks.get_items(position)
        return Entity(
            name=self._names.names[position],
            type=self._names.types[position],
            aliases=tuple(self._names.aliases[position]),
            chunks=tuple(ids[chunk] for chunk in chunks.tolist()),
        )

    def read_entities(self) -> list[Entity]:
        """Return all entities, in the order of `entities`."""
        return [self.read_entity(position) for position in range(len(self.entities))]

    def read_relations(self) -> list[Relation]:
        """Return all relations, in the order of `edges`."""
        ids, names, edges = self.chunk_ids, self.entities, self.edges
        return [
            Relation(
                source=names[source],
                label=edges.label(edge),
                target=names[target],
                chunks=tuple(ids[chunk] for chunk in edges.evidence.get_items(edge).tolist()),
            )
            for edge, (source, target) in enumerate(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
        ]

    def select_chunks(self, where: Mapping[str, str | Collection[str]]) -> npt.NDArray[np.bool_] | None:
        """Return which chunks have one of the values accepted for each field; None if no field is given.

        A field is `doc_id`, `repo`, `version`, or a tag by its name.

        Raises:
            DataError: If no chunk has such a field.
        """
        if not where:
            return None
        selected = np.ones(len(self.chunk_ids), dtype=bool)
        values: dict[str, list[str]] = self._chunks["values"]
        for name, choice in where.items():
            column = _name_column(name)
            if column not in values:
                listed = ", ".join(key.removeprefix(TAG_PREFIX) for key in values)
                raise DataError(f"{self.folder}: no chunk has {name!r}; known are {listed}")
            accepted = {choice} if isinstance(choice, str) else {*choice}
            known_values, codes = self.get_column(column)
            selected &= np.isin(codes, [code for code, value in enumerate(known_values) if value in accepted])
        return selected

    def list_values(self, name: str) -> Sequence[str]:
        """Return the values of `doc_id`, `repo`, `version` or a tag, sorted; empty if no chunk has any."""
        values: dict[str, list[str]] = self._chunks["values"]
        return sorted(values.get(_name_column(name), ()))

    def get_column(self, name: str) -> ChunkColumn:
        """Return a field of all chunks: `doc_id`, `repo`, `version`, or `tags.` and the name of a tag that one has."""
        values: dict[str, list[str]] = self._chunks["values"]
        return ChunkColumn(values[name], self._codes[[*values].index(name)])

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder that the chunks were embedded with, which embeds questions."""
        from greval.reference.embeddings import load_stored_embedder

        return load_stored_embedder(self.manifest.embedder).with_state(self._read_arrays("embedder.npz"))

    @cached_property
    def vectors(self) -> VectorIndex:
        """The vectors of the chunks."""
        from greval.reference.storage.vectors import VectorIndex

        return VectorIndex.load(self._build / "vectors")

    @cached_property
    def words(self) -> WordIndex:
        """The words of the chunks."""
        from greval.reference.storage.words import WordIndex

        return WordIndex.load(self._build / "words")

    @cached_property
    def graph(self) -> GraphStore:
        """The graph, which can be asked in Cypher."""
        from greval.reference.storage.graph_store import check_stored_address, open_graph

        check_stored_address(self.manifest.graph)
        return open_graph(self.manifest.graph, self._build)

    @cached_property
    def _tables(self) -> tuple[EdgeTable, MentionTable]:
        return restore_arrays(self._read_arrays("graph.npz"))

    def _read_arrays(self, name: str) -> dict[str, np.ndarray]:
        try:
            return _load_arrays(self._build / name)
        except DAMAGE as error:
            raise _describe_damage(self._build, error) from error

    @property
    def edges(self) -> EdgeTable:
        """The edges of the graph as arrays."""
        return self._tables[0]

    @property
    def mentions(self) -> MentionTable:
        """The chunks of each entity and the entities of each chunk, as arrays."""
        return self._tables[1]

    @cached_property
    def tables(self) -> SearchTables:
        """The tables that searches compute once."""
        from greval.reference.search_tables import SearchTables

        return SearchTables(self)


def _name_column(field: str) -> str:
    """Return the name of the column of a field that a search can filter by."""
    return field if field in COLUMNS or field.startswith(TAG_PREFIX) else f"{TAG_PREFIX}{field}"


def _load_arrays(path: Path) -> dict[str, np.ndarray]:
    # The file is opened here, because numpy leaves a damaged one open.
    with path.open("rb") as file, np.load(file) as stored:
        return {name: stored[name] for name in stored.files}


def _describe_damage(build: Path, error: Exception) -> DataError:
    return DataError(f"{build}: cannot be read ({error}); delete this folder and index the documents again")


def _describe_missing(folder: Path) -> DataError:
    return DataError(f"{folder}: holds no index; make one with greval index build DOCUMENTS -o {folder}")


def read_reference(folder: str | Path) -> IndexInventory:
    """Read the inventory of an index of the reference pipeline.

    Documents and chunks are identified by their ids, a node by the name of its entity, which has the other names of
    the entity as aliases. A document without a chunk, such as an empty one, is left out.
    """
    with ReferenceIndex.open(folder) as index:
        chunks = {chunk: find_document(chunk) for chunk in index.chunk_ids}
        entities, relations = index.read_entities(), index.read_relations()
    nodes = {entity.name: list_documents(entity.chunks) for entity in entities}
    edges = {(relation.source, relation.label, relation.target): relation.documents for relation in relations}
    return IndexInventory(
        documents=frozenset(chunks.values()),
        chunks=chunks,
        nodes=nodes,
        edges=edges,
        aliases={entity.name: entity.aliases for entity in entities if entity.aliases},
        notes=tuple(describe_dangling(edges, nodes)) if nodes else (),
    )
