"""A working folder of LightRAG."""

from __future__ import annotations

import json

STORES = {
    "doc_status": {
        "doc-1": {"chunks_list": ["c1"], "file_path": "one.txt"},
        "doc-2": {"chunks_list": ["c2"], "file_path": "unknown_source"},
    },
    "full_entities": {"doc-1": {"entity_names": ["Ada"]}, "doc-2": {"entity_names": ["Ada", "Notes"]}},
    "full_relations": {"doc-2": {"relation_pairs": [["Notes", "Ada"], ["Ada", "Bob"]]}},
}

GRAPH = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="source_id" attr.type="string" />
  <key id="d1" for="edge" attr.name="description" attr.type="string" />
  <key id="d2" for="edge" attr.name="source_id" attr.type="string" />
  <graph edgedefault="undirected">
    <node id="Ada"><data key="d0">c1&lt;SEP&gt;c9</data></node>
    <node id="Notes"><data key="d0">c1</data></node>
    <edge source="Notes" target="Ada">
      <data key="d1">Ada wrote them.&lt;SEP&gt;She was first.</data><data key="d2">c1</data>
    </edge>
  </graph>
</graphml>
"""

EDGE = ("Ada", "Ada wrote them. She was first.", "Notes")


def write(folder, stores=STORES, graph=GRAPH):
    """Write the files of a working folder."""
    for name, rows in stores.items():
        (folder / f"kv_store_{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    if graph:
        (folder / "graph_chunk_entity_relation.graphml").write_text(graph, encoding="utf-8")
    return folder
