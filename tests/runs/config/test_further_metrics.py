"""Metrics beside the published ones: computed against gold if there is any, and those that the config names."""

from __future__ import annotations

import pytest
from framework_folder import CONFIG, ROWS, judge_as_right, make_folder, run_published

from greval.errors import DataError
from greval.runs.config.api import forecast_config
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


def run(folder, config=CONFIG, **changes):
    """Run an evaluation of one question with gold; return its two files and the judge."""
    make_folder(folder, config, rows=[{**ROWS[0], "gold": GOLD}])
    (folder / "walks.py").write_text(WALKS, encoding="utf-8")
    judge = ScriptedJudge(judge_as_right)
    _, detailed, summary = run_published(folder, judge, **changes)
    return detailed, summary, judge


def list_forecast(folder):
    """List the metrics that a new run would judge by a model."""
    judge = ScriptedJudge(judge_as_right)
    forecast = forecast_config("eval_config.yaml", {"resume": False}, root=folder, judge=judge)
    return {row.metric for row in forecast.forecast.expected if row.calls}


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
    detailed, summary, judge = run(tmp_path, text, methods=["tog"])
    entry = detailed["results"][0]["methods"]["tog"]
    assert entry["scores"] == {"correctness": 1}
    assert entry["metrics"] == {"recall@1": 0.5, "tone": 1}
    assert summary["by_method"] == {"tog": {"correctness": 1.0}}
    assert summary["further_metrics"]["metrics"] == {"tog": {"recall@1": 0.5, "tone": 1.0}}
    assert "relevance" not in summary["counts"]["by_method"]["tog"]
    assert len(judge.calls) == 2
    assert list_forecast(tmp_path) == {"correctness", "tone"}


def test_an_own_definition_of_a_published_score_takes_its_place(tmp_path):
    """A file that is called like a score is judged in its place, in the section of the scores."""
    (tmp_path / "relevance.yaml").write_text(TONE.format(name="relevance"))
    detailed, _, judge = run(tmp_path, CONFIG + "metrics: [relevance.yaml]\n")
    assert detailed["results"][0]["methods"]["bare"]["scores"] == {"relevance": 1}
    assert all("The tone." in str(call) for call in judge.calls)


QUALITY = """\
name: quality
description: Right and quick, and polite.
formula: (0.5 * correctness + 0.5 * relevance if latency <= 2 else 0) * tone
"""


def test_what_a_formula_reads_is_judged_and_written_beside_it(tmp_path):
    """Parts are in their sections, the composite is in its own, and a second command asks nothing."""
    (tmp_path / "tone.yaml").write_text(TONE.format(name="tone"), encoding="utf-8")
    (tmp_path / "quality.yaml").write_text(QUALITY, encoding="utf-8")
    text = CONFIG.replace("methods.py:walk", "walks.py:walk") + "metrics: [quality.yaml, recall@1]\n"
    walks = WALKS.replace('"traversal": walked', '"traversal": walked, "usage": {"latency": 1}')
    make_folder(tmp_path, text, rows=[{**ROWS[0], "gold": GOLD}])
    (tmp_path / "walks.py").write_text(walks, encoding="utf-8")
    judge = ScriptedJudge(
        lambda messages: {"reason": "r", "value": 0 if "Metric: relevance." in messages[0].text else 1}
    )
    _, detailed, summary = run_published(tmp_path, judge)
    tog, bare = (detailed["results"][0]["methods"][name] for name in ("tog", "bare"))
    assert tog["scores"] == {"correctness": 1, "relevance": 0}
    assert tog["metrics"] == {"tone": 1, "quality": 0.5, "recall@1": 0.5}
    assert (bare["metrics"]["quality"], bare["skipped"]["quality"]) == (
        None,
        "relevance is skipped: context is not recorded",
    )
    assert "pending" not in tog
    assert summary["further_metrics"]["metrics"]["tog"]["quality"] == 0.5
    assert summary["counts"]["by_method"]["tog"]["quality"] == {"scored": 1, "skipped": 0, "failed": 0, "pending": 0}
    assert len(judge.calls) == 3 + 2
    assert run_published(tmp_path, judge)[0].run.progress.kept > 0
    assert len(judge.calls) == 3 + 2
    assert list_forecast(tmp_path) == {"correctness", "relevance", "tone"}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("recal@5", "metrics.1: recal@5: no such metric .*did you mean recall@5"),
        ("none.yaml", "metrics.1: .*none.yaml"),
        ("quality.yaml", "metrics.1: .*missing"),
    ],
)
def test_metrics_that_cannot_be_used(tmp_path, name, told):
    """A slip in a name, of a metric that is built on too, is a fault of the config in its line, like any other."""
    (tmp_path / "quality.yaml").write_text(QUALITY.replace("relevance", "missing"), encoding="utf-8")
    with pytest.raises(DataError, match=f":7: {told}"):
        run(tmp_path, CONFIG.strip() + f"\nmetrics: [{name}]\n")
