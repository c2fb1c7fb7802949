"""The evaluation of a config file: what its result files hold, how it goes on, and what it never does."""

from __future__ import annotations

import json
import re
import threading
from datetime import datetime

import pytest
from framework_folder import CONFIG, METHODS, ROWS, calls, make_folder, read
from waiting import SECONDS

from greval.errors import StoreError
from greval.methods.collecting.response_file import ResponseFile
from greval.runs.from_config.api import evaluate_config
from greval.runs.from_config.plan import ConfigSelection
from greval.testing import ScriptedJudge

FOUR = {"correctness", "faithfulness", "relevance", "completeness"}
EFFORT = {"latency", "llm_calls", "prompt_tokens", "output_tokens"}
AVERAGES = {f"avg_{name}" for name in EFFORT}
COUNTED = {"questions", "answered", "failed", "pending"} | FOUR | EFFORT


def yes(messages):
    """Judge everything as right."""
    return {"reason": "It fits.", "value": 1}


def run(folder, judge=None, **selection):
    """Run the evaluation of a folder; give it with its two files."""
    options = {name: selection.pop(name) for name in ("resume", "save_seconds", "on_progress") if name in selection}
    done = evaluate_config(folder, selection=ConfigSelection(**selection), judge=judge or ScriptedJudge(yes), **options)
    return done, read(done.detailed), read(done.summary)


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
                        "scores": {
                            "correctness": "int",
                            "faithfulness": "int",
                            "relevance": "int",
                            "completeness": "int",
                        },
                        "efficiency": {
                            "latency": "float",
                            "llm_calls": "int",
                            "prompt_tokens": "int",
                            "output_tokens": "int",
                        },
                    }
                },
            }
        ],
    }
    means = {"correctness": "float", "faithfulness": "float", "relevance": "float", "completeness": "float"}
    counts = summary.pop("counts")
    assert shape(summary) == {
        "by_method": {"tog": means},
        "by_movie": {"tt2": {"tog": means}},
        "efficiency": {
            "tog": {
                "avg_latency": "float",
                "avg_llm_calls": "float",
                "avg_prompt_tokens": "float",
                "avg_output_tokens": "float",
            }
        },
    }
    assert {*counts["by_method"]["tog"]} == {*counts["by_movie"]["tt2"]["tog"]} == COUNTED
    assert datetime.fromisoformat(detailed["metadata"]["timestamp"]).tzinfo is None


def test_a_score_that_is_not_there_is_null_with_its_reason(tmp_path):
    """A method that failed, a judgement that failed and one that is not defined are never 0."""

    def judge(messages):
        return TimeoutError() if "At nine" in messages[-1].text else yes(messages)

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


def test_the_same_command_again_asks_nothing(tmp_path):
    """What was answered and judged is kept; what failed, and only that, is asked again."""
    folder, judge = make_folder(tmp_path), ScriptedJudge(yes)
    run(folder, judge)
    made, judged = calls(folder), len(judge.calls)
    assert made == [f"{method} row-{n}" for method in ("bare", "walk") for n in (1, 2, 3)]
    _, detailed, _ = run(folder, judge)
    assert calls(folder) == sorted([*made, "walk row-2"])
    assert len(judge.calls) == judged
    assert detailed["results"][0]["methods"]["tog"]["scores"] == dict.fromkeys(FOUR, 1)


@pytest.mark.long
def test_parts_add_up(tmp_path):
    """Runs over single methods and movies fill one folder; the files tell of what was wanted, all of it at the end."""
    folder, judge = make_folder(tmp_path), ScriptedJudge(yes)
    _, detailed, summary = run(folder, judge, methods=["tog"], where={"imdb_key": ["tt1"]})
    assert (detailed["metadata"]["methods"], detailed["metadata"]["total_questions"]) == (["tog"], 2)
    assert ({*summary["by_movie"]}, {*summary["by_method"]}) == ({"tt1"}, {"tog"})
    run(folder, judge, methods=["bare"])
    _, detailed, _ = run(folder, judge, where={"year": ["1843"]}, limit=1)
    assert [row["question"] for row in detailed["results"]] == ["Who did it?"]
    judged = len(judge.calls)
    _, detailed, summary = run(folder, judge)
    assert len(judge.calls) == judged + 4
    assert (
        calls(folder).count("walk row-1") == calls(folder).count("bare row-1") == calls(folder).count("walk row-3") == 1
    )
    assert all({*row["methods"]} == {"tog", "bare"} for row in detailed["results"])


def test_anew_moves_aside_what_is_there(tmp_path):
    """`resume=False` asks everything again, and nothing that was paid for is lost."""
    folder = make_folder(tmp_path)
    run(folder, methods=["tog"], limit=1)
    before = read(folder / "eval/results/eval_results_detailed.json")
    run(folder, methods=["tog"], limit=1, resume=False)
    assert calls(folder) == ["walk row-1", "walk row-1"]
    assert read(folder / "eval/results-2/eval_results_detailed.json") == before
    assert (folder / "eval/results-2/run/results.sqlite").is_file()


def test_a_folder_that_is_in_use_is_not_moved(tmp_path):
    """While another process writes responses, beginning anew is refused and nothing is moved."""
    folder = make_folder(tmp_path)
    run(folder, methods=["tog"], limit=1)
    with (
        ResponseFile.open(folder / "eval/results/responses.jsonl"),
        pytest.raises(StoreError, match="another process writes to it"),
    ):
        run(folder, methods=["tog"], limit=1, resume=False)
    assert not (folder / "eval/results-2").exists()


def test_repeats(tmp_path):
    """Judged several times, the majority stands in the files."""
    judge = ScriptedJudge(yes)
    done = evaluate_config(make_folder(tmp_path), selection=ConfigSelection(["tog"], limit=1), judge=judge, repeats=3)
    assert len(judge.calls) == 12
    assert read(done.summary)["by_method"]["tog"] == dict.fromkeys(FOUR, 1.0)


def test_the_depth_of_reasons(tmp_path):
    """A depth for the whole evaluation asks for findings, and its verdicts stand in the files."""

    def by_step(messages):
        last = re.search(r"step_1 to step_(\d+)", messages[0].text)[1]
        return {**yes(messages), "findings": {f"step_{n}": "It fits." for n in range(1, int(last) + 1)}}

    options = {"judge": ScriptedJudge(by_step), "reason_depth": "steps"}
    done = evaluate_config(make_folder(tmp_path), selection=ConfigSelection(["tog"], limit=1), **options)
    assert read(done.summary)["by_method"]["tog"] == dict.fromkeys(FOUR, 1.0)
    judged = [judgement for row in done.run.results() if row.metric in FOUR for judgement in row.judgements]
    assert len(judged) == len(FOUR)
    assert all(judgement.findings for judgement in judged)


def test_another_judge_judges_anew(tmp_path):
    """Scores of one judge never stand for those of another, also where the new one fails."""
    folder = make_folder(tmp_path)
    run(folder, methods=["tog"], limit=1)
    other = ScriptedJudge(lambda _: TimeoutError(), tier="text")
    _, detailed, _ = run(folder, other, methods=["tog"], limit=1)
    assert calls(folder) == ["walk row-1"]
    assert detailed["results"][0]["methods"]["tog"]["scores"] == dict.fromkeys(FOUR)


def test_a_changed_question_is_asked_and_judged_anew(tmp_path):
    """A response to an older text of a question is no response to the new one."""
    folder = make_folder(tmp_path)
    run(folder, methods=["tog"], limit=1)
    make_folder(tmp_path, rows=[{**ROWS[0], "answer": "Lovelace"}])
    _, detailed, _ = run(folder, methods=["tog"], limit=1)
    assert detailed["results"][0]["ground_truth"] == "Lovelace"
    assert calls(folder) == ["walk row-1", "walk row-1"]


def test_another_method_under_the_same_name_is_refused(tmp_path):
    """Responses of one method are never taken for those of another, or for those of another index."""
    folder = make_folder(tmp_path)
    run(folder, methods=["tog"], limit=1)
    make_folder(tmp_path, CONFIG.replace("methods.py:walk", "methods.py:bare").replace("tt1: one", "tt1: two"))
    with pytest.raises(StoreError, match=r"tog was methods\.py:walk and is methods\.py:bare; indexes: tt1 was one"):
        run(folder, methods=["tog"], limit=1)
    run(folder, methods=["tog"], limit=1, resume=False)


def test_other_groups_have_their_own_key(tmp_path):
    """Grouped by another column, the files name that column."""
    config = CONFIG.replace("{path: eval/qa.json}", "{path: eval/qa.json, group_by: year}").replace("indexes", "#")
    _, detailed, summary = run(make_folder(tmp_path, config), methods=["tog"])
    assert [row["year"] for row in detailed["results"]] == ["1843", "1900", "1843"]
    assert {*summary["by_year"]} == {"1843", "1900"}
    assert "by_movie" not in summary


def test_each_group_has_its_index(tmp_path):
    """`{index}` in a spec is the folder of the question's group; a function finds it among the tags of the sample."""
    config = CONFIG.replace('"methods.py:walk"', '"methods.py:make({index})"')
    done, detailed, _ = run(make_folder(tmp_path, config))
    one, two = (tmp_path / name for name in ("one", "two"))
    answers = [(row["methods"]["tog"]["response"], row["methods"]["bare"]["response"]) for row in detailed["results"]]
    assert answers == [(f"made of {place}", f"bare in {place}") for place in (one, one, two)]
    assert all("index" not in case.tags for case in done.collected.cases())


def test_one_model_answers_from_fair_context(tmp_path, fault_server):
    """With `generation` the named model answers, and is given counts over the retrieved documents."""
    config = f"""
    dataset: {{path: eval/qa.json}}
    methods: {{tog: "methods.py:walk"}}
    generation: {{model: fake, base_url: "{fault_server.url}", facts: facts.jsonl, by: [mood]}}
    """
    folder = make_folder(tmp_path, config)
    (folder / "facts.jsonl").write_text('{"doc_id": "d1", "mood": "bad"}\n{"doc_id": "d9", "mood": "good"}\n')

    def answer(body):
        from fault_server import says  # noqa: PLC0415 - beside the fixture of this name

        return says("bad" if "mood, told by 1 of 2 documents: bad: 1" in body["messages"][-1]["content"] else "?")

    fault_server.plan = answer
    done, detailed, _ = run(folder, limit=1)
    assert detailed["results"][0]["methods"]["tog"]["response"] == "bad"
    assert detailed["results"][0]["methods"]["tog"]["efficiency"]["llm_calls"] == 5
    (case,) = done.collected.cases()
    assert case.aggregates == ("mood, told by 1 of 2 documents: bad: 1",)
    make_folder(tmp_path, config.replace("facts:", "context: none, facts:"))
    with pytest.raises(StoreError, match="generation has changed"):
        run(folder, limit=1)


WAITING = """
    if sample.question == "Who is 7?":
        end = time.monotonic() + SECONDS
        while not SEEN.exists() and time.monotonic() < end:
            time.sleep(0.01)
"""


@pytest.mark.long
def test_the_files_are_whole_at_every_moment(tmp_path):
    """Whoever reads the files while the evaluation runs finds valid JSON that tells what is pending."""
    rows = [{"imdb_key": "tt1", "question": f"Who is {n}?", "answer": "Ada"} for n in range(30)]
    folder, over, seen = make_folder(tmp_path, rows=rows), threading.Event(), []
    results = folder / "eval/results/eval_results_summary.json"
    head = f"import pathlib, time\nSEEN, SECONDS = pathlib.Path({str(tmp_path / 'seen')!r}), {SECONDS}\n"
    slow = METHODS.replace('    note("walk", sample)\n', f'    note("walk", sample)\n{WAITING}')
    (folder / "methods.py").write_text(f"{head}{slow}", encoding="utf-8")

    def early(told):
        counts = told["counts"]["by_method"]["tog"] if "counts" in told else {"answered": 0}
        return 20 <= counts["answered"] < 30 and counts["correctness"]["pending"] == 30

    def waiting(told):
        rows = [row["methods"]["tog"] for row in told.get("results", ()) if row["methods"]]
        return any(row["scores"] == dict.fromkeys(FOUR) and {*row["pending"]} == FOUR for row in rows)

    def watch():
        while not over.is_set():
            seen.extend(
                read(path) for path in (results, results.with_name("eval_results_detailed.json")) if path.exists()
            )
            if any(map(early, seen)) and any(map(waiting, seen)):
                (tmp_path / "seen").touch()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        _, _, summary = run(folder, ScriptedJudge(yes, delay=0.02), methods=["tog"], save_seconds=0.02)
    finally:
        over.set()
        watcher.join()
    assert summary["counts"]["by_method"]["tog"]["correctness"] == {
        "scored": 30,
        "skipped": 0,
        "failed": 0,
        "pending": 0,
    }
    assert any(map(early, seen))
    assert any(map(waiting, seen))


def test_without_saving_between_there_is_one_writing(tmp_path):
    """`save_intermediate: false` leaves the writing to the end."""
    folder = make_folder(tmp_path, CONFIG.replace("eval/results}", "eval/results, save_intermediate: false}"))
    there = []

    def look(progress):
        there.append((folder / "eval/results/eval_results_summary.json").exists())

    run(folder, ScriptedJudge(yes, delay=0.05), save_seconds=0.01, on_progress=look)
    assert there
    assert not any(there)


def test_rows_that_are_no_questions_are_told(tmp_path):
    """A row without a question or a group stops no other, and is counted."""
    rows = [*ROWS, {"imdb_key": "tt1", "answer": "x"}, {"question": "Where?"}, {**ROWS[0], "id": "row-1"}]
    done, detailed, summary = run(make_folder(tmp_path, rows=rows), methods=["tog"])
    assert detailed["metadata"]["unread"] == [*done.unread]
    assert summary["counts"]["unread"] == 3
    assert "question: is missing" in done.unread[0]
    assert "has no imdb_key" in done.unread[1]
    assert "id: row-1 is at " in done.unread[2]
    assert json.dumps(detailed)
