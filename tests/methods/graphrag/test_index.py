"""Inventories of GraphRAG tables, in the layouts of its versions 0 to 3."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from greval.errors import DataError
from greval.methods.graphrag.index import read_graphrag
from greval.methods.inventories import read_inventory
from greval.records.inventory import IndexInventory

TABLES = {
    "documents": [{"id": "d1", "title": "one.txt"}, {"id": "d2", "title": "two.txt"}],
    "text_units": [{"id": "u1", "document_id": "d1"}, {"id": "u2", "document_id": "d2"}],
    "entities": [{"title": "ADA", "text_unit_ids": ["u1", "u2", "u1"]}, {"title": "NOTES", "text_unit_ids": ["u1"]}],
    "relationships": [
        {"source": "ADA", "target": "NOTES", "description": "Ada wrote\nthem.", "text_unit_ids": ["u1"]},
        {"source": "ADA", "target": "NOTES", "description": "", "text_unit_ids": ["u2"]},
    ],
}


VERSION_0 = {
    "documents": [
        {"id": "d1", "text_unit_ids": ["u1"], "raw_content": "Ada ...", "title": "one.txt"},
        {"id": "d2", "text_unit_ids": ["u2"], "raw_content": "Then ...", "title": "two.txt"},
    ],
    "text_units": [
        {"id": "u1", "text": "Ada ...", "n_tokens": 9, "document_ids": ["d1"], "entity_ids": ["e1", "e2"]},
        {"id": "u2", "text": "Then ...", "n_tokens": 7, "document_ids": ["d2"], "entity_ids": ["e1"]},
    ],
    "entities": [
        {"id": "e1", "name": '"ADA"', "type": '"PERSON"', "human_readable_id": 0, "text_unit_ids": ["u1", "u2"]},
        {"id": "e2", "name": "NOTES", "type": "WORK", "human_readable_id": 1, "text_unit_ids": ["u1"]},
    ],
    "relationships": [
        {"source": '"ADA"', "target": "NOTES", "description": "Ada wrote them.", "rank": 3, "text_unit_ids": "u1"},
        {"source": '"ADA"', "target": "NOTES", "description": None, "rank": 3, "text_unit_ids": "u2, u1"},
    ],
}
"""Tables as GraphRAG 0.x wrote them: entities have a `name`, which early versions put in quotes."""


VERSION_1 = VERSION_0 | {
    "entities": [
        {"id": "e1", "human_readable_id": 0, "title": "ADA", "type": "PERSON", "text_unit_ids": ["u1", "u2"]},
        {"id": "e2", "human_readable_id": 1, "title": "NOTES", "type": "WORK", "text_unit_ids": ["u1"]},
    ],
    "relationships": [
        {"source": "ADA", "target": "NOTES", "description": "Ada wrote them.", "text_unit_ids": ["u1"]},
        {"source": "ADA", "target": "NOTES", "description": "", "text_unit_ids": ["u2", "u1"]},
    ],
}


OF_BOTH = IndexInventory(
    documents=frozenset({"d1", "d2"}),
    chunks={"u1": "d1", "u2": "d2"},
    nodes={"ADA": ("d1", "d2"), "NOTES": ("d1",)},
    edges={("ADA", "Ada wrote them.", "NOTES"): ("d1",), ("ADA", "related", "NOTES"): ("d2", "d1")},
)


def write(folder: Path, name: str = "{}.parquet", **changed):
    """Write the tables, some of them changed; None leaves one out."""
    folder.mkdir(parents=True, exist_ok=True)
    for table, rows in (TABLES | changed).items():
        if rows is not None:
            parquet.write_table(pa.Table.from_pylist(rows), folder / name.format(table))
    return folder


@pytest.mark.parametrize("schema", ["v2_dulce", "v3_dulce"])
def test_whole_tables(data_set, schema):
    """Both generations of tables load: counts are the reference's, and dangling ends are told."""
    folder = data_set("msgraphrag_output")
    reference = json.loads((folder / "reference.json").read_text(encoding="utf-8"))
    inventory = read_inventory(folder / schema)
    counts = {
        "documents": len(inventory.documents),
        "text_units": len(inventory.chunks),
        "entities": len(inventory.nodes),
        "relationships": len(inventory.edges),
    }
    assert counts == {name: reference[f"{schema}/{name}.parquet"]["rows"] for name in counts}
    dangling = reference[f"integrity:{schema}"]["relationships_with_unknown_endpoint"]
    assert [note.split()[0] for note in inventory.notes] == ([str(dangling)] if dangling else [])
    assert all(documents for documents in (*inventory.nodes.values(), *inventory.edges.values()))


def test_what_comes_from_where(tmp_path):
    """Nodes and edges know their documents, each once; a label is the description, or `related` without one."""
    inventory = read_graphrag(write(tmp_path))
    assert inventory == IndexInventory(
        documents=frozenset({"d1", "d2"}),
        chunks={"u1": "d1", "u2": "d2"},
        nodes={"ADA": ("d1", "d2"), "NOTES": ("d1",)},
        edges={("ADA", "Ada wrote them.", "NOTES"): ("d1",), ("ADA", "related", "NOTES"): ("d2",)},
    )


def test_schema_of_version_2(tmp_path):
    """Version 2 has lists of documents: the first one is counted, and that is told."""
    units = [{"id": "u1", "document_ids": ["d1", "d2"]}, {"id": "u2", "document_ids": ["d2"]}]
    inventory = read_graphrag(write(tmp_path, text_units=units))
    assert inventory.chunks == {"u1": "d1", "u2": "d2"}
    assert inventory.notes == ("1 text units come from several documents; the first of them is counted",)


OLD = "create_final_{}.parquet"


@pytest.mark.parametrize("tables", [VERSION_0, VERSION_1])
@pytest.mark.parametrize("folder", ["", "output", "output/20240709-043643/artifacts", "20240709-043643/artifacts"])
def test_tables_of_versions_0_and_1(tmp_path, tables, folder):
    """`create_final_*.parquet` are read as the tables that they became, wherever these versions wrote them."""
    write(tmp_path / folder, OLD, **tables)
    assert read_inventory(tmp_path) == OF_BOTH
    assert read_inventory(f"{tmp_path}?document=title").nodes["ADA"] == ("one.txt", "two.txt")


def test_the_latest_complete_run_and_the_newest_tables_are_read(tmp_path):
    """Of several runs the latest counts, unless it has fewer tables; tables of version 2 on are the index beside it."""
    latest = {**VERSION_1, "entities": VERSION_1["entities"][:1]}
    write(tmp_path / "output" / "20240709-043643" / "artifacts", OLD, **VERSION_1)
    write(tmp_path / "output" / "20240711-090000" / "artifacts", OLD, **latest)
    assert [*read_inventory(tmp_path).nodes] == ["ADA"]
    broken = dict.fromkeys(("text_units", "entities", "relationships"))
    write(tmp_path / "output" / "20240712-090000" / "artifacts", OLD, **VERSION_1 | broken)
    inventory = read_inventory(tmp_path)
    assert [*inventory.nodes] == ["ADA"]
    note = inventory.notes[0]
    assert note.startswith("read output/20240711-090000/artifacts, because output/20240712-090000/artifacts has no ")
    assert note.count("create_final_") == 3
    write(tmp_path / "output")
    assert len(read_inventory(tmp_path).nodes) == 2


def test_the_index_merged_by_the_latest_update_is_read(tmp_path):
    """An incremental update with all tables is the index; one that did not end is not."""
    write(tmp_path / "output", entities=TABLES["entities"][:1])
    write(tmp_path / "update_output" / "20250101-000000")
    write(tmp_path / "update_output" / "20250102-000000", entities=None)
    inventory = read_inventory(tmp_path)
    assert [*inventory.nodes] == ["ADA", "NOTES"]
    assert inventory.notes == ("read update_output/20250101-000000, the latest update",)
    assert [*read_inventory(tmp_path / "output").nodes] == ["ADA"]


@pytest.mark.parametrize("settings", ["output:\n  base_dir: mine\n", "storage: {type: file, base_dir: mine}"])
def test_tables_elsewhere_are_found_by_the_settings(tmp_path, settings):
    """The folder that the settings name is read; without settings, the message names the folder with tables."""
    write(tmp_path / "mine")
    with pytest.raises(DataError, match=r"tables of Microsoft GraphRAG are in .*mine: give that folder"):
        read_inventory(tmp_path)
    (tmp_path / "settings.yaml").write_text(settings, "utf-8")
    assert [*read_inventory(tmp_path).nodes] == ["ADA", "NOTES"]


def test_tables_that_are_none_of_graphrag(tmp_path):
    """A table without names is told with the columns that are looked for; single rows without are left out and told."""
    write(tmp_path / "a", OLD, **VERSION_0 | {"entities": [{"id": "e1", "label": "ADA"}]})
    with pytest.raises(DataError, match=r"create_final_entities\.parquet: no row has title or name, which GraphRAG 0"):
        read_inventory(tmp_path / "a")
    write(tmp_path / "b", relationships=[{"from": "ADA", "target": "NOTES"}])
    with pytest.raises(DataError, match=r"relationships\.parquet: no row has source and target"):
        read_inventory(tmp_path / "b")
    entities = [*TABLES["entities"], {"title": None, "text_unit_ids": ["u1"]}]
    inventory = read_inventory(write(tmp_path / "c", entities=entities))
    assert inventory.notes == ("entities.parquet: left out 1 row without title or name",)
    assert [*inventory.nodes] == ["ADA", "NOTES"]


def test_faults_are_reported(tmp_path):
    """Ends, text units and documents that are not there are told, and stop nothing."""
    edges = [{"source": "ADA", "target": "BOB", "description": "met", "text_unit_ids": None}]
    nodes = [{"title": "ADA", "text_unit_ids": ["u1", "u9"]}]
    units = [{"id": "u1", "document_id": "d7"}]
    inventory = read_graphrag(write(tmp_path, relationships=edges, entities=nodes, text_units=units))
    assert inventory.edges == {("ADA", "met", "BOB"): ()}
    assert inventory.notes == (
        "text units name documents that documents.parquet does not have: 'd7'",
        "entities name text units that text_units.parquet does not have: 'u9'",
        "1 edge has an end that is not a node of the graph: 'BOB'",
    )


def test_missing_tables(tmp_path):
    """A missing table is told; without text units nothing is known of documents, and nothing breaks."""
    inventory = read_graphrag(write(tmp_path, text_units=None, documents=None))
    assert [note.split()[0] for note in inventory.notes] == ["documents.parquet", "text_units.parquet"]
    assert inventory.nodes == {"ADA": (), "NOTES": ()}
    assert not inventory.documents
