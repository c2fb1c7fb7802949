"""The evaluation of a config file: what its result files hold, how it goes on, and what it never does."""

from __future__ import annotations

import re

import pytest
from framework_folder import CONFIG, ROWS, calls, make_folder, read

from greval.errors import StoreError
from greval.methods.collecting.response_file import ResponseFile
from greval.runs.from_config.api import evaluate_config
from greval.runs.from_config.plan import ConfigSelection
from greval.testing import ScriptedJudge

FOUR = {"correctness", "faithfulness", "relevance", "completeness"}


def yes(messages):
    """Judge everything as right."""
    return {"reason": "It fits.", "value": 1}


def run(folder, judge=None, **selection):
    """Run the evaluation of a folder; give it with its two files."""
    options = {name: selection.pop(name) for name in ("resume", "save_seconds", "on_progress") if name in selection}
    done = evaluate_config(folder, selection=ConfigSelection(**selection), judge=judge or ScriptedJudge(yes), **options)
    return done, read(done.detailed), read(done.summary)


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
