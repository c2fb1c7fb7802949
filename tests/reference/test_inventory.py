"""The inventory of an index of the reference pipeline: what no search could find is found before any is run."""

from __future__ import annotations

import pytest
from indexed_folder import put_documents

from greval.errors import DataError
from greval.methods.inventories import read_inventory
from greval.reference.building import build_index
from greval.reference.index import ReferenceIndex
from greval.reference.settings import IndexSettings, ResolutionSettings


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Return the folder of an index of three documents, with another name of a node."""
    folder = tmp_path_factory.mktemp("indexed")
    put_documents(folder)
    aliases = ResolutionSettings(aliases={"Bramble": "Old Bramble"})
    put_documents(folder, {"late": "Bramble came late to Port Hallow."})
    build_index(folder / "input", folder / "index", IndexSettings(embedding="tfidf", resolution=aliases))
    return folder / "index"


def test_all_of_the_index_is_in_the_inventory(index):
    """Documents, chunks, nodes with other names and edges, each with the documents that it comes from."""
    inventory = read_inventory(index)
    assert inventory.documents == {"bramble.txt", "hallow.txt", "late.txt", "marl.txt"}
    assert inventory.chunks["marl.txt#1"] == "marl.txt"
    assert inventory.nodes["Old Bramble"] == ("bramble.txt", "late.txt")
    assert inventory.aliases["Old Bramble"] == ("Bramble",)
    ends = {(source, target): documents for (source, _, target), documents in inventory.edges.items()}
    assert ends["Port Hallow", "Team Petrel"] == ("hallow.txt",)
    with ReferenceIndex.open(index) as opened:
        assert {*inventory.nodes} == {*opened.entities}
        assert {*inventory.chunks} == {*opened.chunk_ids}


def test_titles_and_paths_are_of_other_systems(index):
    """The options that name documents of GraphRAG and LightRAG differently are no options of this index."""
    with pytest.raises(DataError, match="no index that is known"):
        read_inventory(f"{index}?document=title")
