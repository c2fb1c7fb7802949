"""What questions are drawn from: the texts and the graph of an index, made by greval or by another system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

from greval._util.wording import format_count
from greval.errors import DataError
from greval.methods.graphrag.index import read_graphrag_graph
from greval.methods.index_records import Entity, IndexedChunk, IndexGraph, Relation
from greval.methods.inventories import find_system, read_index_spec
from greval.methods.lightrag.index import read_lightrag_graph
from greval.reference.index import ReferenceIndex
from greval.reference.questions.facts import IndexText, compile_phrase
from greval.reference.searches import search_chunks
from greval.reference.settings import SearchSettings
from greval.reference.storage.words import WordIndex

NEAREST_CHUNKS = 5
"""The number of chunks that a judge is shown of a question that the documents do not answer, besides its evidence."""


FindChunks = Callable[[str], Sequence[str]]
"""Finds the ids of the chunks that are nearest to a question."""
Grounded = TypeVar("Grounded", Entity, Relation)


@dataclass(frozen=True)
class QuestionSource:
    """The text of an index, the search for the chunks nearest to a question, and what was left out of the index.

    `index` is the index itself if it is one of greval, which counts.
    """

    text: IndexText
    find_chunks: FindChunks
    notes: tuple[str, ...] = ()
    index: ReferenceIndex | None = None


@contextmanager
def open_question_source(index: str | Path | ReferenceIndex) -> Iterator[QuestionSource]:
    """Open an index to draw questions from it: one of greval, of Microsoft GraphRAG or of LightRAG.

    `?document=title` after a folder of GraphRAG, or `?document=path` after one of LightRAG, names documents by it.
    """
    if isinstance(index, ReferenceIndex):
        yield _read_reference(index)
        return
    folder, document = read_index_spec(index)
    system = find_system(folder, document)
    if system == "graphrag":
        yield build_described_source(
            read_graphrag_graph(folder, document="title" if document == "title" else "id"), str(index)
        )
    elif system == "lightrag":
        yield build_described_source(
            read_lightrag_graph(folder, document="path" if document == "path" else "id"), str(index)
        )
    else:
        with ReferenceIndex.open(index) as opened:
            yield _read_reference(opened)


def _read_reference(index: ReferenceIndex) -> QuestionSource:
    text = IndexText.build(index.read_chunks(index.chunk_ids), index.read_entities(), index.read_relations())
    return QuestionSource(text, partial(_find_nearest, index), index=index)


def _find_nearest(index: ReferenceIndex, question: str) -> list[str]:
    """Return the ids of the chunks that share most words with a question."""
    findings = search_chunks(index, question, "bm25", SearchSettings(k=NEAREST_CHUNKS))
    return [index.chunk_ids[position] for position, _ in findings.chunks]


def build_described_source(graph: IndexGraph, label: str) -> QuestionSource:
    """Build what questions are drawn from of an index whose relations have descriptions.

    A chunk needs a text and a document, an entity or relation a chunk, and a relation two entities; what lacks them is
    left out and counted. A name is written as the texts write it most often, because such indexes have names in
    capitals; names that differ in case only are one entity.
    """
    chunks = {chunk.id: chunk for chunk in graph.chunks if chunk.text.strip() and chunk.doc_id}
    if not chunks:
        raise DataError(
            f"{label}: expected chunks with a text and a document, found none in {len(graph.chunks):,} chunks; give "
            "the folder of the documents"
        )
    grounded = [entity for item in graph.entities if (entity := _keep_known_chunks(item, chunks)).chunks]
    names, entities = _merge_entities(grounded, chunks)
    complete = [item for item in graph.relations if item.source in names and item.target in names]
    stated = [relation for item in complete if (relation := _keep_known_chunks(item, chunks)).chunks]
    relations = [
        item.model_copy(update={"source": names[item.source], "target": names[item.target]}) for item in stated
    ]
    omitted = (
        ("chunk", "without a text or a document", len(graph.chunks) - len(chunks)),
        ("entity", "without a chunk", len(graph.entities) - len(grounded)),
        ("relation", "with an end that is no entity with a chunk", len(graph.relations) - len(complete)),
        ("relation", "without a chunk", len(complete) - len(stated)),
    )
    notes = [f"left out {format_count(count, what)} {why}" for what, why, count in omitted if count]
    text = IndexText.build([*chunks.values()], entities, relations, described=True)
    return QuestionSource(text, _build_search(text), (*graph.notes, *notes))


def _keep_known_chunks(item: Grounded, chunks: Mapping[str, IndexedChunk]) -> Grounded:
    chunk_ids = tuple(dict.fromkeys(chunk for chunk in item.chunks if chunk in chunks))
    return item.model_copy(update={"chunks": chunk_ids})


def _merge_entities(
    entities: Sequence[Entity], chunks: Mapping[str, IndexedChunk]
) -> tuple[Mapping[str, str], list[Entity]]:
    """Return the name that texts use for each name of the index, and the entities by these names."""
    merged: dict[str, Entity] = {}
    keys: dict[str, str] = {}
    for entity in entities:
        name = _find_spelling(entity, chunks)
        key = keys[entity.name] = name.casefold()
        earlier = merged.get(key, Entity(name=name))
        merged[key] = earlier.model_copy(
            update={
                "type": earlier.type or entity.type,
                "chunks": tuple(dict.fromkeys((*earlier.chunks, *entity.chunks))),
            }
        )
    return {name: merged[key].name for name, key in keys.items()}, [*merged.values()]


def _find_spelling(entity: Entity, chunks: Mapping[str, IndexedChunk]) -> str:
    """Return the name of an entity as its chunks write it most often; as the index does if they do not have it."""
    phrase = compile_phrase(entity.name)
    spellings = Counter(
        " ".join(match[0].split()) for chunk in entity.chunks for match in phrase.finditer(chunks[chunk].text)
    )
    return spellings.most_common(1)[0][0] if spellings else entity.name


def _build_search(text: IndexText) -> FindChunks:
    """Return the search for the chunks of a text that share most words with a question."""
    ids = [*text.chunks]

    # Only unanswerable questions need the index of words.
    @cache
    def build_words() -> WordIndex:
        return WordIndex.build([chunk.content for chunk in text.chunks.values()])

    def find_chunks(question: str) -> list[str]:
        positions, _ = build_words().search(question, NEAREST_CHUNKS)
        return [ids[position] for position in positions]

    return find_chunks
