"""Metrics beside the published ones: computed against gold if there is any, and those that the config names."""

from __future__ import annotations

import pytest
from framework_folder import CONFIG, ROWS, make_folder, read

from greval.errors import DataError, JudgeError
from greval.runs.from_config.api import evaluate_config, forecast_config
from greval.runs.from_config.plan import ConfigSelection
from greval.testing import ScriptedJudge

GOLD = {
    "essential_docs": ["d1", "d9"],
    "expected_edges": [["Ada", "wrote", "Notes"], ["Notes", "describe", "Engine"]],
    "expected_nodes": ["Ada", "Notes", "Engine"],
}
WALKS = """
def walk(sample):
    chunks = [{"id": "c1", "text": "One.", "doc_id": "d1"}]
    walked = {"start_nodes": ["Ada"], "traversed_edges": [["Notes", "written by", "ada"]], "final_nodes": ["Notes"]}
    return {"answer": "Ada", "chunks": chunks, "traversal": walked}
"""


def yes(messages):
    """Judge everything as right."""
    return {"reason": "It fits.", "value": 1}


def run(folder, config=CONFIG, **options):
    """Run an evaluation of one question with gold; give its two files and the judge."""
    make_folder(folder, config, rows=[{**ROWS[0], "gold": GOLD}])
    (folder / "walks.py").write_text(WALKS, encoding="utf-8")
    judge = ScriptedJudge(yes)
    done = evaluate_config(folder, judge=judge, **options)
    return read(done.detailed), read(done.summary), judge


def test_gold_brings_metrics_of_walk_and_retrieval(tmp_path):
    """Both files have them under keys of their own, without a call of the judge; what is not defined is skipped."""
    detailed, summary, judge = run(tmp_path, CONFIG.replace("methods.py:walk", "walks.py:walk"))
    (row,) = detailed["results"]
    tog = row["methods"]["tog"]
    assert tog["walk"] == {"edge_recall-undirected-unlabelled": 0.5, "node_recall": 2 / 3, "node_precision": 1.0}
    assert tog["retrieval"]["recall@5"] == 0.5
    assert 0 < tog["retrieval"]["ndcg@10"] < 1
    assert {*tog["scores"]} == {"correctness", "faithfulness", "relevance", "completeness"}
    bare = row["methods"]["bare"]
    assert (bare["walk"]["node_recall"], bare["skipped"]["node_recall"]) == (None, "traversal is not recorded")
    assert summary["further_metrics"]["walk"]["tog"] == tog["walk"]
    assert summary["further_metrics"]["retrieval"]["bare"] == {"recall@5": None, "ndcg@10": None}
    assert {*summary["by_method"]["tog"]} == {*tog["scores"]}
    counted = summary["counts"]["by_method"]
    assert counted["tog"]["recall@5"] == {"scored": 1, "skipped": 0, "failed": 0, "pending": 0}
    assert counted["bare"]["recall@5"] == {"scored": 0, "skipped": 1, "failed": 0, "pending": 0}
    assert len(judge.calls) == 4 + 2


TONE = """\
name: {name}
description: The tone.
needs: [answer]
steps: [Read.]
scale: {{range: [0, 1], levels: {{0: Rude., 1: Polite.}}}}
"""


def test_a_config_names_its_metrics(tmp_path):
    """A computed one, one of a file relative to the root, one that gold brings anyway, and one published score."""
    (tmp_path / "tone.yaml").write_text(TONE.format(name="tone"))
    text = (
        CONFIG.replace("methods.py:walk", "walks.py:walk") + "metrics: [recall@1, tone.yaml, recall@5, correctness]\n"
    )
    detailed, summary, judge = run(tmp_path, text, selection=ConfigSelection(methods=["tog"]))
    entry = detailed["results"][0]["methods"]["tog"]
    assert entry["scores"] == {"correctness": 1}
    assert entry["metrics"] == {"recall@1": 0.5, "tone": 1}
    assert summary["by_method"] == {"tog": {"correctness": 1.0}}
    assert summary["further_metrics"]["metrics"] == {"tog": {"recall@1": 0.5, "tone": 1.0}}
    assert "relevance" not in summary["counts"]["by_method"]["tog"]
    assert len(judge.calls) == 2
    found = forecast_config(tmp_path, judge=ScriptedJudge(yes), resume=False)
    assert {one.metric for one in found.forecast.expected} == {"correctness", "tone"}


def test_an_own_definition_of_a_published_score_takes_its_place(tmp_path):
    """A file that is called like a score is judged in its place, in the section of the scores."""
    (tmp_path / "relevance.yaml").write_text(TONE.format(name="relevance"))
    detailed, _, judge = run(tmp_path, CONFIG + "metrics: [relevance.yaml]\n")
    assert detailed["results"][0]["methods"]["bare"]["scores"] == {"relevance": 1}
    assert all("The tone." in str(call) for call in judge.calls)


def test_computed_metrics_need_no_judge(tmp_path):
    """A config of computed metrics alone runs without a judge; one of the published scores does not."""
    make_folder(tmp_path, CONFIG + "metrics: [exact_match]\n", rows=ROWS[:1])
    done = evaluate_config(tmp_path)
    assert read(done.detailed)["results"][0]["methods"]["bare"]["metrics"] == {"exact_match": 0}
    make_folder(tmp_path, CONFIG + "metrics: [relevance]\n", rows=ROWS[:1])
    with pytest.raises(JudgeError, match="no judge is named"):
        evaluate_config(tmp_path)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("recal@5", "metrics.1: recal@5: no such metric .*did you mean recall@5"),
        ("none.yaml", "metrics.1: .*none.yaml"),
        ("answer_completeness", "metrics.1: answer_completeness builds on chunk_evaluation.*greval evaluate"),
    ],
)
def test_metrics_that_cannot_be_used(tmp_path, name, told):
    """A slip in a name is a fault of the config in its line, like any other."""
    with pytest.raises(DataError, match=f":7: {told}"):
        run(tmp_path, CONFIG.strip() + f"\nmetrics: [{name}]\n")
