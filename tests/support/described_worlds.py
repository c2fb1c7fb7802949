"""The fleet as an index of Microsoft GraphRAG and of LightRAG, whose relations have descriptions, not predicates."""

from __future__ import annotations

import json
from xml.sax.saxutils import escape

import pyarrow as pa
from pyarrow import parquet
from question_worlds import FLEET

TYPES = {
    "Black Tansy": "ship",
    "Grey Gull": "ship",
    "Bramble": "ship",
    "Team Petrel": "organization",
    "Team Eider": "organization",
    "Ines Marrow": "person",
    "Lumm": "geo",
    "Saltness": "geo",
}
DESCRIPTIONS = [
    ("Black Tansy", "Lumm", "Black Tansy is a ship from the yards of Lumm.", ["tansy"]),
    ("Black Tansy", "Team Petrel", "Black Tansy belongs to the ships of Team Petrel.", ["tansy"]),
    ("Grey Gull", "Saltness", "Grey Gull came from the yards of Saltness.", ["gull"]),
    ("Grey Gull", "Team Eider", "Team Eider has Grey Gull, which it painted in 1921.", ["gull"]),
    ("Bramble", "Team Petrel", "Bramble is a ship of Team Petrel.", ["bramble"]),
    ("Team Petrel", "Ines Marrow", "Ines Marrow leads Team Petrel. She writes letters.", ["teams"]),
    ("Black Tansy", "Bramble", "Black Tansy and Bramble meet at sea.", ["log", "bramble"]),
    ("Bramble", "Saltness", "The ship was made there.", ["bramble"]),
    ("Grey Gull", "Lumm", "Grey Gull has never been to Lumm.", ["gull"]),
    ("Bramble", "Ghost", "Bramble is haunted by a ghost.", ["bramble"]),
    ("Grey Gull", "Bramble", "Grey Gull sails behind Bramble.", ["nowhere"]),
]
"""Source, target, description and documents; the last five cannot be asked about, each for another reason."""


def list_chunks(name):
    """Return the documents that mention a name, which have one chunk each."""
    return [document for document, text in FLEET.items() if name in text]


def write_graphrag_fleet(folder, **changed):
    """Write the tables, with names in capitals as GraphRAG has them; None in place of rows leaves a table out."""
    tables = {
        "documents": [{"id": f"hash-{name}", "title": f"{name}.txt"} for name in FLEET],
        "text_units": [
            {"id": f"unit-{name}", "text": text, "document_id": f"hash-{name}"} for name, text in FLEET.items()
        ],
        "entities": [
            {
                "title": name.upper(),
                "type": kind.upper(),
                "text_unit_ids": [f"unit-{one}" for one in list_chunks(name)],
            }
            for name, kind in TYPES.items()
        ],
        "relationships": [
            {
                "source": source.upper(),
                "target": target.upper(),
                "description": description,
                "text_unit_ids": [f"unit-{one}" for one in documents],
            }
            for source, target, description, documents in DESCRIPTIONS
        ],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for table, rows in (tables | changed).items():
        if rows is not None:
            parquet.write_table(pa.Table.from_pylist(rows), folder / f"{table}.parquet")
    return folder


def write_lightrag_fleet(folder):
    """Write the stores and the graph of a working folder."""
    folder.mkdir(parents=True, exist_ok=True)
    status = {
        f"doc-{name}": {"chunks_list": [f"chunk-{name}"], "file_path": f"{name}.txt", "status": "processed"}
        for name in FLEET
    }
    chunks = {f"chunk-{name}": {"content": text, "full_doc_id": f"doc-{name}"} for name, text in FLEET.items()}
    for store, rows in (("doc_status", status), ("text_chunks", chunks)):
        (folder / f"kv_store_{store}.json").write_text(json.dumps(rows), encoding="utf-8")
    fields = ("entity_type", "source_id", "description")
    keys = "".join(f'<key id="{name}" for="all" attr.name="{name}" attr.type="string"/>' for name in fields)
    nodes = "".join(
        f'<node id="{name}">{_write_data(entity_type=kind, source_id=_join(list_chunks(name)))}</node>'
        for name, kind in TYPES.items()
    )
    edges = "".join(
        f'<edge source="{source}" target="{target}">'
        f"{_write_data(description=description, source_id=_join(documents))}</edge>"
        for source, target, description, documents in DESCRIPTIONS
    )
    text = f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{keys}<graph>{nodes}{edges}</graph></graphml>'
    (folder / "graph_chunk_entity_relation.graphml").write_text(text, encoding="utf-8")
    return folder


def _join(documents):
    return "<SEP>".join(f"chunk-{one}" for one in documents)


def _write_data(**fields):
    return "".join(f'<data key="{key}">{escape(value)}</data>' for key, value in fields.items())
