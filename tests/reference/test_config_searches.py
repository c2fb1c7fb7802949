"""Searches of the reference pipeline by their names alone: from documents to both result files by one command."""

from __future__ import annotations

import pytest
from fault_server import says
from framework_folder import make_folder, run_published
from indexed_folder import DOCUMENTS, mark_reference, put_documents

from greval.errors import StoreError
from greval.reference.building import build_index
from greval.reference.settings import IndexSettings
from greval.runs.config.group_methods import GroupIndex, identify_kind
from greval.testing import ScriptedJudge

CONFIG = """
dataset: {path: eval/qa.json}
indexes:
  tt1: "one"
methods:
  - tog
  - local
  - basic
output:
  dir: "eval/results"
"""
GOLD = {
    "essential_docs": ["hallow.txt"],
    "expected_edges": [["Port Hallow", "run_by", "Team Petrel"]],
    "expected_nodes": ["Port Hallow", "Team Petrel"],
}
ROWS = [{"imdb_key": "tt1", "question": "Who runs Port Hallow?", "answer": "Team Petrel", "gold": GOLD}]


def reply(messages):
    """Answer, steer and judge: the prompt says which of these is asked for."""
    text = messages[0].text
    if '"sufficient"' in text:
        return {"sufficient": True, "answer": "Team Petrel"}
    if '"items"' in text:
        return {"items": [1]}
    return "Team Petrel" if text.startswith("Answer the question") else {"reason": "It fits.", "value": 1}


@pytest.fixture
def folder(tmp_path):
    """Give the folder of an evaluation with documents and an index of words, which takes no time to make."""
    put_documents(tmp_path / "one")
    build_index(tmp_path / "one/input", tmp_path / "one/greval_index", IndexSettings(embedding="tfidf"))
    return make_folder(tmp_path, CONFIG, rows=ROWS)


def run(folder, judge=None, **changes):
    """Run the evaluation; return the two files and what the user was told."""
    notes = []
    _, *files = run_published(folder, judge or ScriptedJudge(reply), {"on_note": notes.append}, **changes)
    return *files, notes


def test_the_published_config_from_end_to_end(folder):
    """Think-on-Graph, local and basic answer from the index; both files have scores, effort, walk and retrieval."""
    detailed, summary, notes = run(folder)
    methods = detailed["results"][0]["methods"]
    assert [*methods] == ["tog", "local", "basic"]
    for entry in methods.values():
        assert entry["response"] == "Team Petrel"
        assert entry["scores"] == dict.fromkeys(("correctness", "faithfulness", "relevance", "completeness"), 1)
        assert entry["efficiency"]["llm_calls"] >= 1
        assert entry["retrieval"]["recall@5"] == 1.0
    assert methods["local"]["walk"]["edge_recall-undirected-unlabelled"] == 1.0
    assert methods["tog"]["walk"]["node_recall"] == 1.0
    assert methods["basic"]["skipped"]["node_recall"] == "traversal is not recorded"
    assert {*summary["further_metrics"]} == {"walk", "retrieval"}
    assert len(notes) == 1
    assert "the answering model and the judge are the same (ScriptedJudge)" in notes[0]


def test_changed_documents_are_indexed_and_their_old_responses_refused(folder):
    """The same command takes up a new document, says so, and never mixes responses of two contents of an index."""
    _, _, notes = run(folder, methods=["basic"])
    assert len(notes) == 1
    put_documents(folder / "one", {**DOCUMENTS, "lumm": "Lumm has two berths."})
    judge = ScriptedJudge(reply)
    notes = []
    with pytest.raises(StoreError, match="the index of tt1 has changed"):
        run_published(folder, judge, {"on_note": notes.append})
    assert notes[1].startswith("tt1: indexed 4 documents (1 new): 4 chunks, ")
    detailed, _, _ = run(folder, judge, resume=False)
    assert detailed["results"][0]["methods"]["basic"]["response"] == "Team Petrel"


@pytest.mark.nightly
def test_the_index_is_made_first(tmp_path):
    """One command from text files to results: what is indexed is told before and after."""
    put_documents(tmp_path / "one")
    make_folder(tmp_path, CONFIG, rows=ROWS)
    detailed, _, notes = run(tmp_path, methods=["local"])
    assert notes[1] == f"tt1: indexing {tmp_path}/one/input by rules, without a model"
    assert notes[2].startswith("tt1: indexed 3 documents (3 new): 3 chunks, ")
    assert detailed["results"][0]["methods"]["local"]["response"] == "Team Petrel"
    assert (tmp_path / "one/greval_index/index.json").is_file()
    (tmp_path / "one/input/broken.jsonl").write_text("{\n")
    assert "1 fault in the documents" in run(tmp_path, methods=["local"])[2][1]


def test_an_index_of_a_model_is_left_as_it_is(folder):
    """An evaluation never calls a model to index; such an index is searched as it stands."""
    extracted = ScriptedJudge([{"entities": [], "relations": []}])
    build_index(
        folder / "one/input",
        folder / "one/greval_index",
        IndexSettings(embedding="tfidf", extract="x"),
        model=extracted,
    )
    calls = len(extracted.calls)
    put_documents(folder / "one", {"lumm": "Lumm has two berths."})
    _, _, notes = run(folder, methods=["basic"])
    assert (len(extracted.calls), len(notes)) == (calls, 1)


def test_with_a_generator_the_searches_only_search(folder, fault_server):
    """The model of `generation` answers for all; searches cost no call of their own, but for Think-on-Graph."""
    generation = f'generation: {{model: fake, base_url: "{fault_server.url}", context: default}}\n'
    make_folder(folder, CONFIG + generation, rows=ROWS)
    fault_server.plan = says("Team Petrel")
    detailed, _, _ = run(folder, methods=["local", "basic"])
    assert [entry["efficiency"]["llm_calls"] for entry in detailed["results"][0]["methods"].values()] == [1, 1]


def test_the_digest_covers_content_and_search_settings(tmp_path):
    """Another build or other tuned settings are another index; reading it twice is not."""
    digests = []
    for build, depth in (("build-1", 2), ("build-1", 2), ("build-2", 2), ("build-1", 3)):
        mark_reference(tmp_path, build, depth=depth)
        digests.append(GroupIndex(tmp_path, identify_kind(tmp_path)).compute_digest())
    assert digests[0] == digests[1]
    assert len({*digests}) == 3
    assert GroupIndex(tmp_path / "none", "documents").compute_digest() is None
    assert GroupIndex(tmp_path, "graphrag").compute_digest() is None
