"""The graph of an index as arrays: edges with their neighbours, and which chunk mentions which entity.

A walk over a graph store would cost a query a step. These arrays are read from one file when an index is opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from greval.methods.index_records import Entity, Relation

IntArray = npt.NDArray[np.int32]
_COLUMNS = ("source", "target", "label_codes")


@dataclass(frozen=True)
class GroupedPositions:
    """Items by group in compressed form: those of group `n` are `items[offsets[n]:offsets[n + 1]]`."""

    offsets: IntArray
    items: IntArray

    def get_items(self, group: int) -> IntArray:
        """Return the items of a group."""
        return self.items[self.offsets[group] : self.offsets[group + 1]]

    def find_allowed(self, allowed: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return whether each group has an item that a mask over items allows."""
        # The count of allowed items rises over a group that has one.
        cumulative = np.concatenate(([0], np.cumsum(allowed[self.items])))
        return np.asarray(cumulative[self.offsets[1:]] > cumulative[self.offsets[:-1]])

    def gather_items(self, groups: npt.NDArray[np.integer]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the items of several groups one after the other, each with the place of its group in `groups`."""
        starts = self.offsets[groups].astype(np.int64)
        counts = self.offsets[np.asarray(groups) + 1] - starts
        # The places of all items at once, without a loop over the groups.
        slots = np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
        return self.items[slots].astype(np.int64), np.repeat(np.arange(len(counts)), counts)

    @classmethod
    def build(cls, groups: IntArray, items: IntArray, count: int) -> GroupedPositions:
        """Group items by the number of their group, in the order given."""
        # Stable, so that the items of a group keep their order.
        order = np.argsort(groups, kind="stable")
        counts = np.bincount(groups, minlength=count) if len(groups) else np.zeros(count, np.int64)
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        return cls(offsets, items[order].astype(np.int32))


@dataclass(frozen=True)
class EdgeTable:
    """The edges of a graph as columns; an edge is its position in them.

    Sources, targets, labels and evidence are positions of entities, label names and chunks.
    """

    source: IntArray
    target: IntArray
    label_codes: IntArray
    label_names: tuple[str, ...]
    evidence: GroupedPositions

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def weight(self) -> IntArray:
        """The number of chunks that state each edge."""
        return np.diff(self.evidence.offsets)

    def label(self, edge: int) -> str:
        """Return the label of an edge."""
        return self.label_names[int(self.label_codes[edge])]

    @classmethod
    def build(cls, relations: Sequence[Relation], entities: Mapping[str, int], chunks: Mapping[str, int]) -> EdgeTable:
        """Build the table of relations, given the positions of entities and chunks."""
        codes = {label: code for code, label in enumerate(dict.fromkeys(relation.label for relation in relations))}
        counts = _to_array(len(relation.chunks) for relation in relations)
        return cls(
            source=_to_array(entities[relation.source] for relation in relations),
            target=_to_array(entities[relation.target] for relation in relations),
            label_codes=_to_array(codes[relation.label] for relation in relations),
            label_names=tuple(codes),
            evidence=GroupedPositions.build(
                np.repeat(np.arange(len(relations), dtype=np.int32), counts),
                _to_array(chunks[chunk] for relation in relations for chunk in relation.chunks),
                len(relations),
            ),
        )


@dataclass(frozen=True)
class MentionTable:
    """Which chunk mentions which entity."""

    chunks: GroupedPositions
    entities: GroupedPositions

    @classmethod
    def build(cls, entities: Sequence[Entity], chunks: Mapping[str, int]) -> MentionTable:
        """Build the table of entities, given the positions of chunks."""
        counts = _to_array(len(entity.chunks) for entity in entities)
        owners = np.repeat(np.arange(len(entities), dtype=np.int32), counts)
        positions = _to_array(chunks[chunk] for entity in entities for chunk in entity.chunks)
        return cls(
            chunks=GroupedPositions.build(owners, positions, len(entities)),
            entities=GroupedPositions.build(positions, owners, len(chunks)),
        )


def _to_array(values: Iterable[int]) -> IntArray:
    return np.fromiter(values, np.int32)


def dump_arrays(edges: EdgeTable, mentions: MentionTable) -> dict[str, npt.NDArray[np.generic]]:
    """Return the arrays of both tables by name, to store them in one file."""
    stored: dict[str, npt.NDArray[np.generic]] = {name: getattr(edges, name) for name in _COLUMNS}
    stored["label_names"] = np.frombuffer(json.dumps(edges.label_names).encode(), np.uint8)
    groupings = {"evidence": edges.evidence, "chunks": mentions.chunks, "entities": mentions.entities}
    for name, grouping in groupings.items():
        stored |= {f"{name}_offsets": grouping.offsets, f"{name}_items": grouping.items}
    return stored


def restore_arrays(stored: Mapping[str, npt.NDArray[np.generic]]) -> tuple[EdgeTable, MentionTable]:
    """Restore both tables from their stored arrays."""
    columns = {name: stored[name].astype(np.int32, copy=False) for name in stored if name != "label_names"}

    def group(name: str) -> GroupedPositions:
        return GroupedPositions(columns[f"{name}_offsets"], columns[f"{name}_items"])

    edges = EdgeTable(
        **{name: columns[name] for name in _COLUMNS},
        label_names=tuple(json.loads(stored["label_names"].tobytes())),
        evidence=group("evidence"),
    )
    return edges, MentionTable(chunks=group("chunks"), entities=group("entities"))
