"""A small index in memory whose graph is written down: for tests of searches that need no file and no extraction."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np

from greval.errors import DataError
from greval.methods.index_records import Entity, IndexedChunk, Relation
from greval.reference.embeddings import load_embedder
from greval.reference.graph_arrays import EdgeTable, MentionTable
from greval.reference.index import ChunkColumn
from greval.reference.names import normalise_spelling
from greval.reference.search_tables import SearchTables
from greval.reference.settings import SearchSettings
from greval.reference.storage.vectors import VectorIndex
from greval.reference.storage.words import WordIndex


class SmallIndex:
    """What searches read of an index, made of chunks and relations.

    Args:
        chunks: The chunks by their ids: a text, or an `IndexedChunk`.
        relations: (source, label, target, ids of chunks). Their ends are entities, which these chunks mention.
        mentions: More chunks that mention an entity, by its name.
        aliases: Other names of an entity.
        types: The type of an entity.
    """

    def __init__(self, chunks, relations=(), mentions=(), aliases=(), types=()):
        self.folder = Path("small")
        self.search_settings = SearchSettings()
        self.named_entities = {}
        self.chunks = {
            name: chunk
            if isinstance(chunk, IndexedChunk)
            else IndexedChunk(id=name, doc_id=name.rpartition("#")[0], text=chunk)
            for name, chunk in dict(chunks).items()
        }
        self.chunk_ids = [*self.chunks]
        self.chunk_positions = {name: position for position, name in enumerate(self.chunk_ids)}
        self.relations = [
            Relation(source=source, label=label, target=target, chunks=tuple(ids))
            for source, label, target, ids in sorted(relations)
        ]
        mentioned = {name: dict.fromkeys(ids) for name, ids in dict(mentions).items()}
        for relation in self.relations:
            for end in (relation.source, relation.target):
                mentioned.setdefault(end, {}).update(dict.fromkeys(relation.chunks))
        aliases, types = dict(aliases), dict(types)
        self.all_entities = [
            Entity(
                name=name,
                type=types.get(name, ""),
                aliases=tuple(aliases.get(name, ())),
                chunks=tuple(mentioned[name]),
            )
            for name in sorted(mentioned)
        ]
        self.entities = [entity.name for entity in self.all_entities]
        positions = {name: position for position, name in enumerate(self.entities)}
        self.entity_positions = {normalise_spelling(name): position for name, position in positions.items()}
        for entity in self.all_entities:
            for alias in entity.aliases:
                self.entity_positions.setdefault(normalise_spelling(alias), positions[entity.name])
        self.edges = EdgeTable.build(self.relations, positions, self.chunk_positions)
        self.mentions = MentionTable.build(self.all_entities, self.chunk_positions)

    @cached_property
    def embedder(self):
        return load_embedder("tfidf").fit([chunk.content for chunk in self.chunks.values()])

    @cached_property
    def vectors(self):
        return VectorIndex(self.embedder.embed_passages([chunk.content for chunk in self.chunks.values()]))

    @cached_property
    def words(self):
        return WordIndex.build([chunk.content for chunk in self.chunks.values()])

    @cached_property
    def tables(self):
        return SearchTables(self)

    def find_entity(self, name):
        """Return the position of an entity; None if there is none."""
        return (
            self.entities.index(name) if name in self.entities else self.entity_positions.get(normalise_spelling(name))
        )

    def get_column(self, name):
        """Return a field of all chunks: its values, and the position of each chunk's value, -1 if it has none."""
        column = [read_value(chunk, name) for chunk in self.chunks.values()]
        values = [*dict.fromkeys(value for value in column if value is not None)]
        return ChunkColumn(values, np.array([-1 if value is None else values.index(value) for value in column]))

    def read_chunks(self, ids):
        return [self.chunks[name] for name in ids]

    def read_relations(self):
        return self.relations

    def read_entity(self, position):
        return self.all_entities[position]

    def read_entities(self):
        return self.all_entities

    def select_chunks(self, where):
        """Return which chunks have the given values; None if nothing is asked for."""
        if not where:
            return None
        mask = np.ones(len(self.chunks), dtype=bool)
        for name, choice in where.items():
            values = [read_value(chunk, name) for chunk in self.chunks.values()]
            if not any(value is not None for value in values):
                raise DataError(f"no chunk has {name!r}")
            accepted = {choice} if isinstance(choice, str) else {*choice}
            mask &= np.array([value in accepted for value in values])
        return mask


def read_value(chunk, name):
    return getattr(chunk, name) if name in {"doc_id", "repo", "version"} else chunk.tags.get(name)


def make_harbour_index():
    """Return an index of ferries and their owners, in two repositories."""
    texts = {
        "tern#1": ("MV Tern belongs to Petrel Ferries.", "fleet", "1"),
        "tern#2": ("MV Tern was built by Harland Yard.", "fleet", "1"),
        "yard#1": ("Harland Yard stands in Skerry.", "places", "1"),
        "skerry#1": ("Skerry is a harbour town of 900 people.", "places", "1"),
        "skerry#2": ("Skerry is a town of 1,200 people.", "places", "2"),
        "owner#1": ("Petrel Ferries employs Ada Quill as captain.", "people", "1"),
        "weather#1": ("The weather is often bad in winter.", "notes", "1"),
    }
    chunks = {
        name: IndexedChunk(
            id=name, doc_id=name.split("#")[0], text=text, repo=repo, version=version, tags={"kind": repo[:-1]}
        )
        for name, (text, repo, version) in texts.items()
    }
    relations = [
        ("MV Tern", "belongs to", "Petrel Ferries", ["tern#1"]),
        ("MV Tern", "built by", "Harland Yard", ["tern#2"]),
        ("Harland Yard", "stands in", "Skerry", ["yard#1"]),
        ("Petrel Ferries", "employs", "Ada Quill", ["owner#1"]),
    ]
    mentions = {"Skerry": ["skerry#1", "skerry#2"]}
    return SmallIndex(chunks, relations, mentions, {"Petrel Ferries": ["Petrel"], "MV Tern": ["the Tern"]})
