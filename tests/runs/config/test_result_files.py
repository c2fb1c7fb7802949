"""The two result files: their published form, null for a missing score, and valid content at every moment."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime

from framework_folder import CONFIG, ROWS, judge_as_right, make_folder
from framework_folder import run_published as run
from waiting import SECONDS

from greval.errors import StoreError
from greval.runs.config.result_files import (
    save_periodically,
)
from greval.testing import ScriptedJudge

FOUR = {"correctness", "faithfulness", "relevance", "completeness"}
EFFORT = {"latency", "llm_calls", "prompt_tokens", "output_tokens"}
COUNTED = {"questions", "answered", "failed", "pending"} | FOUR | EFFORT


def shape(content):
    """Give the structure of JSON: keys, and types of what they hold."""
    if isinstance(content, dict):
        return {key: shape(value) for key, value in content.items()}
    if isinstance(content, list):
        return [shape(content[0])] if content else []
    return type(content).__name__


def test_the_published_shapes(tmp_path):
    """Both files have the keys and the nesting of the published design, and what went wrong under keys of its own."""
    done, detailed, summary = run(make_folder(tmp_path), where={"imdb_key": ["tt2"]}, methods=["tog"])
    assert (done.detailed.name, done.summary.name) == ("eval_results_detailed.json", "eval_results_summary.json")
    assert shape(detailed) == {
        "metadata": {"timestamp": "str", "total_questions": "int", "methods": ["str"]},
        "results": [
            {
                "imdb_key": "str",
                "question": "str",
                "ground_truth": "str",
                "methods": {
                    "tog": {
                        "response": "str",
                        "scores": dict.fromkeys(FOUR, "int"),
                        "efficiency": dict.fromkeys(EFFORT, "int") | {"latency": "float"},
                    }
                },
            }
        ],
    }
    means = dict.fromkeys(FOUR, "float")
    counts = summary.pop("counts")
    assert shape(summary) == {
        "by_method": {"tog": means},
        "by_movie": {"tt2": {"tog": means}},
        "efficiency": {"tog": {f"avg_{name}": "float" for name in EFFORT}},
    }
    assert {*counts["by_method"]["tog"]} == {*counts["by_movie"]["tt2"]["tog"]} == COUNTED
    assert datetime.fromisoformat(detailed["metadata"]["timestamp"]).tzinfo is None


def test_a_score_that_is_not_there_is_null_with_its_reason(tmp_path):
    """A method that failed, a judgement that failed and one that is not defined are never 0."""

    def judge(messages):
        return TimeoutError() if "At nine" in messages[-1].text else judge_as_right(messages)

    _, detailed, summary = run(make_folder(tmp_path), ScriptedJudge(judge))
    first, broken, last = (row["methods"] for row in detailed["results"])
    assert broken["tog"]["response"] is None
    assert broken["tog"]["scores"] == dict.fromkeys(FOUR)
    assert broken["tog"]["failures"]["response"] == {"kind": "method", "message": "ValueError: the walk broke"}
    assert {*broken["tog"]["failures"]} == {"response", *FOUR}
    assert broken["tog"]["efficiency"] == dict.fromkeys(EFFORT)
    assert last["tog"]["scores"] == {"correctness": None, "faithfulness": 1, "relevance": 1, "completeness": 1}
    assert last["tog"]["failures"]["correctness"]["kind"] == "timeout"
    assert first["bare"]["scores"]["faithfulness"] is None
    assert first["bare"]["skipped"]["faithfulness"] == "context is not recorded"
    assert summary["by_method"]["tog"] == dict.fromkeys(FOUR, 1.0)
    assert summary["by_method"]["bare"]["faithfulness"] is None
    assert summary["by_movie"]["tt2"]["tog"]["correctness"] is None
    assert summary["efficiency"]["tog"] == {
        "avg_latency": 2.0,
        "avg_llm_calls": 4.0,
        "avg_prompt_tokens": 100.0,
        "avg_output_tokens": 10.0,
    }
    assert summary["efficiency"]["bare"]["avg_llm_calls"] is None
    counts = summary["counts"]["by_method"]
    assert {name: counts["tog"][name] for name in ("questions", "answered", "failed", "pending")} == {
        "questions": 3,
        "answered": 2,
        "failed": 1,
        "pending": 0,
    }
    assert counts["tog"]["correctness"] == {"scored": 1, "skipped": 0, "failed": 2, "pending": 0}
    assert counts["bare"]["faithfulness"] == {"scored": 0, "skipped": 3, "failed": 0, "pending": 0}
    assert (counts["tog"]["llm_calls"], counts["bare"]["llm_calls"]) == ({"recorded": 2}, {"recorded": 0})


def test_without_saving_between_there_is_one_writing(tmp_path, monkeypatch):
    """`save_intermediate: false` leaves the writing to the end."""
    folder = make_folder(tmp_path, CONFIG.replace("eval/results}", "eval/results, save_intermediate: false}"))
    is_written = []

    def look(progress):
        is_written.append((folder / "eval/results/eval_results_summary.json").exists())

    monkeypatch.setattr("greval.runs.config.api.SAVE_SECONDS", 0.01)
    run(folder, ScriptedJudge(judge_as_right, delay=0.05), {"on_progress": look})
    assert is_written
    assert not any(is_written)


def test_rows_that_are_no_questions_are_told(tmp_path):
    """A row without a question or a group stops no other, and is counted."""
    rows = [*ROWS, {"imdb_key": "tt1", "answer": "x"}, {"question": "Where?"}, {**ROWS[0], "id": "row-1"}]
    messages = []
    folder = make_folder(tmp_path, rows=rows)
    done, detailed, summary = run(folder, None, {"on_unread": messages.append}, methods=["tog"])
    unread = detailed["metadata"]["unread"]
    assert (done.run.progress.unread, unread) == (3, messages)
    assert summary["counts"]["unread"] == 3
    assert "question: is missing" in unread[0]
    assert "has no imdb_key" in unread[1]
    assert "id: row-1 is at " in unread[2]
    assert json.dumps(detailed)


async def test_a_failed_write_does_not_end_the_saving():
    """A write that fails is repeated by the next one, and the block waits for the write in progress."""
    written = asyncio.Event()
    loop, tries = asyncio.get_running_loop(), []

    def write():
        tries.append(1)
        if len(tries) == 1:
            raise StoreError("the log is being created")
        loop.call_soon_threadsafe(written.set)

    async with save_periodically(write, 0.001):
        await asyncio.wait_for(written.wait(), SECONDS)
    count = len(tries)
    await asyncio.sleep(0.01)
    assert len(tries) == count >= 2
