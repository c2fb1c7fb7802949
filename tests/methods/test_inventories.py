"""Inventories: the tables of Microsoft GraphRAG, and rows of our own."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DataError
from greval.methods.graphrag.index import read_graphrag
from greval.methods.inventories import read_inventory

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8)


def test_no_index(tmp_path):
    """A folder without tables, a missing one and a broken table are told with what to do."""
    with pytest.raises(DataError, match="name its output folder"):
        read_graphrag(tmp_path)
    with pytest.raises(DataError, match="no index that is known"):
        read_inventory(tmp_path)
    with pytest.raises(DataError, match="is not there"):
        read_inventory(tmp_path / "nowhere")
    (tmp_path / "entities.parquet").write_bytes(b"PAR0")
    with pytest.raises(DataError, match=r"entities\.parquet: cannot be read as Parquet"):
        read_inventory(tmp_path)


@given(
    documents=st.sets(NAMES),
    nodes=st.dictionaries(NAMES, st.lists(NAMES, max_size=3).map(tuple), max_size=4),
    edges=st.dictionaries(st.tuples(NAMES, NAMES, NAMES), st.lists(NAMES, max_size=3).map(tuple), max_size=4),
    chunks=st.dictionaries(NAMES, NAMES, min_size=1, max_size=4),
    as_list=st.booleans(),
)
def test_own_rows(tmp_path_factory, documents, nodes, edges, chunks, as_list):
    """What was written as rows is read again, as JSONL and as a list."""
    rows = [
        *({"document": name} for name in documents),
        *({"chunk": name, "document": document} for name, document in chunks.items()),
        *({"node": name, "documents": told, "aliases": [name + "*"]} for name, told in nodes.items()),
        *({"edge": edge, "documents": told} for edge, told in edges.items()),
    ]
    path = tmp_path_factory.mktemp("rows") / ("inventory.json" if as_list else "inventory.jsonl")
    text = json.dumps(rows) if as_list else "\n".join(map(json.dumps, rows))
    path.write_text(text, encoding="utf-8")
    inventory = read_inventory(path.parent)
    assert inventory.documents == documents | {*chunks.values()}
    assert (inventory.chunks, inventory.nodes, inventory.edges) == (chunks, nodes, edges)
    assert inventory.aliases == {name: (name + "*",) for name in nodes}
    ends = {end for source, _, target in edges for end in (source, target)}
    assert bool(inventory.notes) == bool(nodes and ends - {*nodes})


def test_one_edge_is_no_table_by_column(tmp_path):
    """An object of lists is the row that it is: an edge and its documents."""
    edge = {"edge": ["ada", "wrote", "notes"], "documents": ["d1", "d2", "d3"]}
    (tmp_path / "inventory.json").write_text(json.dumps(edge), encoding="utf-8")
    assert read_inventory(tmp_path).edges == {("ada", "wrote", "notes"): ("d1", "d2", "d3")}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"edge": ["a"]}', r"index\.jsonl:1: edge is wrong: edge\.1: Field required"),
        ('{"document": "d"}\n{"documents": ["d"]}', r"index\.jsonl:2: is not a row of an index; it needs one of"),
        ("[1]", "must be an object with a document, a chunk, a node or an edge, got a list"),
        ("{", "is no JSON"),
        ("", "holds no rows"),
    ],
)
def test_wrong_rows(tmp_path, text, told):
    """A row that is wrong is told with its place."""
    path = tmp_path / "index.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=told):
        read_inventory(path)
