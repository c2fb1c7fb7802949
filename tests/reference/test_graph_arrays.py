"""The arrays of a graph: they hold the edges and mentions that they were built from."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from greval.methods.index_records import Entity, Relation
from greval.reference.graph_arrays import EdgeTable, GroupedPositions, MentionTable, dump_arrays, restore_arrays

NODES = "abcde"
CHUNKS = {f"d#{number}": number - 1 for number in range(1, 7)}
SOME_CHUNKS = st.lists(st.sampled_from([*CHUNKS]), unique=True, max_size=4).map(tuple)
RELATIONS = st.lists(
    st.builds(
        Relation,
        source=st.sampled_from(NODES),
        label=st.text(max_size=3),
        target=st.sampled_from(NODES),
        chunks=SOME_CHUNKS,
    ),
    max_size=12,
    unique_by=lambda one: (one.source, one.label, one.target),
)
ENTITIES = st.tuples(*(st.builds(Entity, name=st.just(name), chunks=SOME_CHUNKS) for name in NODES))


@given(ENTITIES, RELATIONS)
def test_tables_hold_what_they_were_built_from(entities, relations):
    """Ends, labels, weights, evidence, neighbours and mentions are those of the records, also after storing."""
    places = {entity.name: position for position, entity in enumerate(entities)}
    built = EdgeTable.build(relations, places, CHUNKS), MentionTable.build(entities, CHUNKS)
    edges, mentions = restore_arrays(dump_arrays(*built))
    assert len(edges) == len(relations)
    for edge, relation in enumerate(relations):
        assert (NODES[edges.source[edge]], edges.label(edge), NODES[edges.target[edge]]) == (
            relation.source,
            relation.label,
            relation.target,
        )
        assert edges.weight[edge] == len(relation.chunks)
        assert edges.evidence.get_items(edge).tolist() == [CHUNKS[chunk] for chunk in relation.chunks]
    for node, entity in enumerate(entities):
        assert mentions.chunks.get_items(node).tolist() == [CHUNKS[chunk] for chunk in entity.chunks]
    for name, chunk in CHUNKS.items():
        mentioned = [node for node, each in enumerate(entities) if name in each.chunks]
        assert mentions.entities.get_items(chunk).tolist() == mentioned


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 99)), max_size=20))
def test_a_grouping_keeps_the_items_of_each_group_in_order(pairs):
    """Every item is in its group, in the order given; a group without items is empty."""
    groups, items = (np.array([pair[n] for pair in pairs], np.int32) for n in (0, 1))
    grouping = GroupedPositions.build(groups, items, 5)
    assert [grouping.get_items(group).tolist() for group in range(5)] == [
        [item for of, item in pairs if of == group] for group in range(5)
    ]
