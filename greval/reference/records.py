"""Records of the reference pipeline: documents, and what is extracted from their chunks."""

from __future__ import annotations

from pydantic import Field

from greval.records.case import InputTags
from greval.records.record import Record


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
