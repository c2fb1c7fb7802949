"""Reads a whole graph out of a store in Cypher."""

from __future__ import annotations

from greval.methods.index_records import Entity, Relation

ENTITIES = "MATCH (e:Entity) RETURN e.name AS name, e.type AS type, e.aliases AS aliases, e.chunks AS chunks"
RELATIONS = (
    "MATCH (s:Entity)-[r:RELATION]->(t:Entity) "
    "RETURN s.name AS source, r.label AS label, t.name AS target, r.chunks AS chunks"
)


def read_stored_entities(store):
    """Return all entities, sorted by name."""
    return sorted((Entity.model_validate(row) for row in store.query(ENTITIES)), key=lambda entity: entity.name)


def read_stored_relations(store):
    """Return all relations, sorted by source, label and target."""
    rows = (Relation.model_validate(row) for row in store.query(RELATIONS))
    return sorted(rows, key=lambda row: (row.source, row.label, row.target))
