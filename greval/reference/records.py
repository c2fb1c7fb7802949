"""Records of the reference pipeline: documents, their chunks, what is extracted from them, and the graph."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from greval.records.case import InputTags
from greval.records.record import Record


def find_document(chunk: str) -> str:
    """Return the id of a chunk's document, given the id of the chunk.

    Example:
        >>> find_document("core/ledger#2")
        'core/ledger'
    """
    return chunk.rpartition("#")[0]


def list_documents(chunks: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of the documents of chunks, each once, in the order of the chunks."""
    return tuple(dict.fromkeys(map(find_document, chunks)))


class Document(Record):
    """A document to index. The text of a document never includes its title.

    If `triples` is true, each line of the text is a triple, as `triple_tables` writes it.
    """

    id: str
    text: str
    title: str = ""
    repo: str | None = None
    version: str | None = None
    tags: InputTags = Field(default_factory=dict)
    triples: bool = False


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


class Mention(Record):
    """The name of an entity as a chunk writes it. The type is empty if it is not known."""

    name: str
    type: str = ""


class Statement(Record):
    """A relation as a chunk states it, from the name of one entity to the name of another."""

    subject: str
    predicate: str
    object: str


class Extraction(Record):
    """The entities and relations of one chunk, with the names as the chunk writes them.

    `dropped` is the number of entities and relations that a model gave, but the text or the schema does not hold.
    """

    mentions: tuple[Mention, ...] = ()
    statements: tuple[Statement, ...] = ()
    dropped: int = 0


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
