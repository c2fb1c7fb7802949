"""Records of an index: its chunks with their texts, and its graph, as the readers of several systems return them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import Field

from greval._util.wording import format_names
from greval.records.case import Edge, InputTags
from greval.records.record import Record

MAX_LISTED = 3
Key = TypeVar("Key")


def find_document(chunk: str) -> str:
    """Return the id of a chunk's document, given the id of the chunk."""
    return chunk.rpartition("#")[0]


def list_documents(chunks: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of the documents of chunks, each once, in the order of the chunks."""
    return tuple(dict.fromkeys(map(find_document, chunks)))


class IndexedChunk(Record):
    """A passage of a document, with the document's title, repository, version and tags.

    The id is the document's id, `#` and the position in the document from 1, so that it does not change when other
    documents do. If `triples` is true, the text is a triple.
    """

    id: str
    doc_id: str
    text: str
    title: str = ""
    repo: str | None = None
    version: str | None = None
    tags: InputTags = Field(default_factory=dict)
    triples: bool = False

    @property
    def content(self) -> str:
        """The text with the title in front of it, as it is embedded, searched for words and extracted from."""
        return f"{self.title}. {self.text}" if self.title and not self.text.startswith(self.title) else self.text


class Entity(Record):
    """A node of the graph: its name, its other names, and the ids of the chunks that mention it.

    Names that are resolved to one entity have the most frequent of them as its name.
    """

    name: str
    type: str = ""
    aliases: tuple[str, ...] = ()
    chunks: tuple[str, ...] = ()


class Relation(Record):
    """An edge of the graph, from one entity to another, with the ids of the chunks that state it."""

    source: str
    label: str
    target: str
    chunks: tuple[str, ...] = ()

    @property
    def documents(self) -> tuple[str, ...]:
        """The ids of the documents that state the relation, in the order of the chunks."""
        return list_documents(self.chunks)


@dataclass(frozen=True)
class IndexGraph:
    """The chunks, entities and relations of an index, with the names that the index has."""

    chunks: Sequence[IndexedChunk]
    entities: Sequence[Entity]
    relations: Sequence[Relation]
    notes: tuple[str, ...] = ()


def map_documents(items: Iterable[tuple[Key, Iterable[str]]], chunks: Mapping[str, str]) -> dict[Key, tuple[str, ...]]:
    """Return the documents of each node or edge, each once, given the ids of its chunks, which may come in parts."""
    documents: dict[Key, dict[str, None]] = {}
    for key, ids in items:
        documents.setdefault(key, {}).update(dict.fromkeys(chunks[chunk] for chunk in ids if chunks.get(chunk)))
    return {key: tuple(names) for key, names in documents.items()}


def describe_dangling(edges: Iterable[Edge], nodes: Collection[str]) -> list[str]:
    """Describe the edges with an end that is not a node, in one sentence; the list is empty if every end is a node."""
    loose = [edge for edge in edges if edge[0] not in nodes or edge[2] not in nodes]
    if not loose:
        return []
    ends = sorted({end for edge in loose for end in (edge[0], edge[2]) if end not in nodes})
    count = "1 edge has" if len(loose) == 1 else f"{len(loose)} edges have"
    return [f"{count} an end that is not a node of the graph: {format_names(map(repr, ends), MAX_LISTED)}"]
