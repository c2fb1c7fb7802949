"""Names of entities: how they are normalised, and which of them are one entity."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

from greval.methods.reference.records import Entity, Extraction, Relation
from greval.methods.reference.settings import ResolutionSettings


def normalise_name(text: str) -> str:
    """Return the form of a name that all its spellings share.

    Example:
        >>> normalise_name("  Billing ")
        'billing'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(frozen=True)
class ResolutionReport:
    """How many names became how many entities, and by which steps.

    Args:
        names: The number of different spellings.
        entities: The number of entities.
        merged: The number of names that each step merged, by the name of the step.
        examples: Some of the names that each step merged, as (name, name that it was merged with).
    """

    names: int = 0
    entities: int = 0
    merged: dict[str, int] = field(default_factory=dict)
    examples: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class ResolvedGraph:
    """The entities and relations of all chunks, and how their names were resolved."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    report: ResolutionReport = field(default_factory=ResolutionReport)


def resolve_entities(extractions: Iterable[tuple[str, Extraction]], settings: ResolutionSettings) -> ResolvedGraph:
    """Return the graph of extractions, each with the id of its chunk."""
    _ = settings
    chunks: dict[str, dict[str, None]] = {}
    relations: dict[tuple[str, str, str], dict[str, None]] = {}
    for chunk, extraction in extractions:
        for mention in extraction.mentions:
            chunks.setdefault(normalise_name(mention.name), {})[chunk] = None
        for statement in extraction.statements:
            source, target = normalise_name(statement.subject), normalise_name(statement.object)
            relations.setdefault((source, statement.predicate, target), {})[chunk] = None
    return ResolvedGraph(
        entities=tuple(Entity(name=name, chunks=tuple(found)) for name, found in sorted(chunks.items())),
        relations=tuple(
            Relation(source=source, label=label, target=target, chunks=tuple(found))
            for (source, label, target), found in sorted(relations.items())
        ),
    )
