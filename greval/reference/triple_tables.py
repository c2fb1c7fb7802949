"""Tables of triples as documents: each line of such a document is a triple, and a chunk of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from greval.datasets.field_names import fold_name
from greval.datasets.field_values import as_text
from greval.methods.index_records import IndexedChunk
from greval.reference.records import Document, Extraction, Mention, Statement

SEPARATOR = " → "
HEADS = ("head", "subject", "head_entity", "source_entity", "from")
RELATIONS = ("relation", "predicate", "relationship", "edge", "label", "rel")
TAILS = ("tail", "object", "tail_entity", "target_entity", "to")
DOCUMENTS = ("doc_id", "document_id", "document", "doc", "source")


class TripleColumns(NamedTuple):
    """The columns of a table that hold the parts of a triple, and its document if there is such a column."""

    head: str
    relation: str
    tail: str
    document: str | None = None


def find_triple_columns(names: Iterable[str]) -> TripleColumns | None:
    """Find the columns of triples among the columns of a table; None if one of the three parts is not there."""
    # Of two columns whose names are equal when folded, the first counts.
    folded = {fold_name(name): name for name in reversed([*names])}
    parts = [
        next((folded[variant] for variant in variants if variant in folded), None)
        for variants in (HEADS, RELATIONS, TAILS)
    ]
    document = next((folded[variant] for variant in DOCUMENTS if variant in folded), None)
    head, relation, tail = parts
    return TripleColumns(head, relation, tail, document) if head and relation and tail else None


def format_triple(row: Mapping[str, object], columns: TripleColumns) -> str:
    """Return the line of a triple; raise `ValueError` if a part is missing or cannot be written in a line.

    Example:
        >>> format_triple({"h": "booking", "r": "owned by", "t": "harbour team"}, TripleColumns("h", "r", "t"))
        'booking → owned by → harbour team'
    """
    parts: list[str] = []
    for name in columns[:3]:
        text = " ".join(str(as_text(row.get(name)) or "").split())
        if not text:
            raise ValueError(f"{name}: is empty; a triple has a head, a relation and a tail")
        if SEPARATOR.strip() in text:
            raise ValueError(
                f"{name}: holds {SEPARATOR.strip()!r}, which separates the parts of a triple; write another"
            )
        parts.append(text)
    return SEPARATOR.join(parts)


def build_triple_document(document: str, lines: Iterable[str]) -> Document:
    """Build the document of triples; a line that is there twice counts once."""
    return Document(id=document, text="\n".join(dict.fromkeys(lines)), triples=True)


def read_triple(chunk: IndexedChunk) -> Extraction:
    """Return what a chunk of a triple states, which is nothing else than the triple.

    Example:
        >>> read_triple(IndexedChunk(id="d#1", doc_id="d", text="a → b → c", triples=True)).statements
        (Statement(subject='a', predicate='b', object='c'),)
    """
    head, relation, tail = chunk.text.split(SEPARATOR)
    mentions = tuple(Mention(name=name) for name in dict.fromkeys((head, tail)))
    return Extraction(mentions=mentions, statements=(Statement(subject=head, predicate=relation, object=tail),))
