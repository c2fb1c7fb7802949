"""The inventory of an index of the reference pipeline: what no search could find is found before any is run."""

from __future__ import annotations

import json

import pytest
from indexed_folder import put_documents

from greval.errors import DataError
from greval.methods.inventories import read_inventory
from greval.reference.building import build_index
from greval.reference.index import ReferenceIndex
from greval.reference.settings import IndexSettings, ResolutionSettings


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Give the folder of an index of three documents, with another name of a node."""
    folder = tmp_path_factory.mktemp("indexed")
    put_documents(folder)
    aliases = ResolutionSettings(aliases={"Bramble": "Old Bramble"})
    put_documents(folder, {"late": "Bramble came late to Port Hallow."})
    build_index(folder / "input", folder / "index", IndexSettings(embedding="tfidf", resolution=aliases))
    return folder / "index"


def test_all_of_the_index_is_in_the_inventory(index):
    """Documents, chunks, nodes with other names and edges, each with the documents that it comes from."""
    found = read_inventory(index)
    assert found.documents == {"bramble.txt", "hallow.txt", "late.txt", "marl.txt"}
    assert found.chunks["marl.txt#1"] == "marl.txt"
    assert found.nodes["Old Bramble"] == ("bramble.txt", "late.txt")
    assert found.aliases["Old Bramble"] == ("Bramble",)
    ends = {(source, target): documents for (source, _, target), documents in found.edges.items()}
    assert ends["Port Hallow", "Team Petrel"] == ("hallow.txt",)
    with ReferenceIndex.open(index) as opened:
        assert {*found.nodes} == {*opened.entities}
        assert {*found.chunks} == {*opened.chunk_ids}


def test_titles_and_paths_are_of_other_systems(index):
    """The options that name documents of GraphRAG and LightRAG differently are no options of this index."""
    with pytest.raises(DataError, match="no index that is known"):
        read_inventory(f"{index}?document=title")


def test_gold_is_checked_against_the_index(index, greval_says, tmp_path):
    """`greval gold check --index` names the document and the node that no search of this index could find."""
    gold = {"essential_docs": ["hallow.txt", "gannet.txt"], "expected_nodes": ["Port Hallow", "Gannet Rock"]}
    (tmp_path / "gold.jsonl").write_text(json.dumps({"id": "q1", "question": "Who runs it?", "gold": gold}))
    code, out, _ = greval_says("gold", "check", str(tmp_path / "gold.jsonl"), "--index", str(index))
    assert code == 2
    assert "gannet.txt" in out
    assert "Gannet Rock" in out
    assert "hallow.txt" not in out.replace("gannet.txt", "")
    assert "Port Hallow" not in out


def test_diagnose_knows_what_is_not_in_the_index(index, greval_says, tmp_path, monkeypatch):
    """A wrong answer whose document was never indexed is a fault of indexing, not of the search."""
    monkeypatch.chdir(tmp_path)
    case = {
        "id": "q1",
        "question": "Who runs Gannet Rock?",
        "expected_answer": "Team Tern",
        "answer": "Team Petrel",
        "chunks": [{"id": "hallow.txt#1", "text": "Port Hallow is run by Team Petrel.", "doc_id": "hallow.txt"}],
        "gold": {"essential_docs": ["gannet.txt"]},
        "method": "basic",
    }
    (tmp_path / "cases.jsonl").write_text(json.dumps(case))
    assert greval_says("evaluate", "cases.jsonl", "-m", "exact_match", "-o", "run", "-q")[0] == 0
    _, out, _ = greval_says("diagnose", "run", "--metric", "exact_match", "--index", str(index))
    assert "not in the index" in out
