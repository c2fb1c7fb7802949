"""Runs of a configuration: files of both forms and keys, what result files hold, and how a run goes on."""

from __future__ import annotations

import asyncio

import pytest
from framework_folder import CONFIG, calls, judge_as_right, make_folder, read
from framework_folder import run_published as run

from greval.errors import DataError, StoreError
from greval.runs.config.api import evaluate_config, evaluate_config_async, forecast_config
from greval.testing import ScriptedJudge

FOUR = {"correctness", "faithfulness", "relevance", "completeness"}


def test_the_same_command_again_asks_nothing(tmp_path):
    """What was answered and judged is kept; what failed, and only that, is asked again."""
    folder, judge = make_folder(tmp_path), ScriptedJudge(judge_as_right)
    run(folder, judge)
    first_calls, judged = calls(folder), len(judge.calls)
    assert first_calls == [f"{method} row-{n}" for method in ("bare", "walk") for n in (1, 2, 3)]
    _, detailed, _ = run(folder, judge)
    assert calls(folder) == sorted([*first_calls, "walk row-2"])
    assert len(judge.calls) == judged
    assert detailed["results"][0]["methods"]["tog"]["scores"] == dict.fromkeys(FOUR, 1)


def test_parts_add_up(tmp_path):
    """Runs over single methods and movies fill one folder; the files tell of what was wanted, all of it at the end."""
    folder, judge = make_folder(tmp_path), ScriptedJudge(judge_as_right)
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


def test_a_run_that_begins_anew_has_another_folder(tmp_path):
    """`resume: false` asks everything again in the next free folder, and nothing that was paid for is lost."""
    folder = make_folder(tmp_path)
    run(folder, methods=["tog"], limit=1)
    detailed = read(folder / "eval/results/eval_results_detailed.json")
    done, _, _ = run(folder, methods=["tog"], limit=1, resume=False)
    assert calls(folder) == ["walk row-1", "walk row-1"]
    assert read(folder / "eval/results/eval_results_detailed.json") == detailed
    assert done.folder == folder / "eval/results-2"


def test_another_judge_judges_anew(tmp_path):
    """Scores of one judge never stand for those of another, also where the new one fails."""
    folder = make_folder(tmp_path)
    run(folder, methods=["tog"], limit=1)
    other_judge = ScriptedJudge(lambda _: TimeoutError(), tier="text")
    _, detailed, _ = run(folder, other_judge, methods=["tog"], limit=1)
    assert calls(folder) == ["walk row-1"]
    assert detailed["results"][0]["methods"]["tog"]["scores"] == dict.fromkeys(FOUR)


def test_another_method_under_the_same_name_is_refused(tmp_path):
    """Responses of one method are never taken for those of another, or for those of another index."""
    folder = make_folder(tmp_path)
    run(folder, methods=["tog"], limit=1)
    make_folder(tmp_path, CONFIG.replace("methods.py:walk", "methods.py:bare").replace("tt1: one", "tt1: two"))
    with pytest.raises(
        StoreError, match=r"tog was \S+/methods\.py:walk and is \S+/methods\.py:bare; indexes: tt1 was \S+/one"
    ):
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
    folder_one, two = (tmp_path / name for name in ("one", "two"))
    answers = [(row["methods"]["tog"]["response"], row["methods"]["bare"]["response"]) for row in detailed["results"]]
    assert answers == [(f"made of {folder}", f"bare in {folder}") for folder in (folder_one, folder_one, two)]
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


async def test_a_stopped_run_goes_on(tmp_path):
    """While methods are asked, a stop ends the run before anything is judged; the files tell what is pending."""
    folder, judge, stop = make_folder(tmp_path), ScriptedJudge(judge_as_right), asyncio.Event()
    config = {"changes": {"concurrency": 1}, "root": folder, "judge": judge, "stop": stop}
    done = await evaluate_config_async("eval_config.yaml", **config, on_collected=lambda _: stop.set())
    assert (done.run.why, done.collected.why, len(judge.calls)) == ("it was asked to stop",) * 2 + (0,)
    counts = read(done.summary)["counts"]["by_method"]
    assert 0 < counts["tog"]["pending"] + counts["bare"]["pending"] < 6
    stop.clear()
    assert (await evaluate_config_async("eval_config.yaml", **config)).run.why is None
    assert len(calls(folder)) == 6


KEYS = {"data": "cases.jsonl", "metrics": ["exact_match", "correctness"], "limit": 1}
CASES = """\
{"id": "q1", "question": "Who?", "answer": "Ada", "expected_answer": "Ada"}
{"id": "q2", "question": "When?", "answer": "1843", "expected_answer": "1843", "tags": {"year": 1843}}
"""


class TestRunFile:
    """`greval.yaml` works from Python as it does from the command line."""

    @pytest.fixture
    def folder(self, tmp_path):
        """Return a folder with two cases and a file that describes a run."""
        (tmp_path / "cases.jsonl").write_text(CASES, encoding="utf-8")
        text = "data: cases.jsonl\nmetrics: [exact_match, correctness]\nlimit: 1\nout: run\n"
        (tmp_path / "greval.yaml").write_text(text, encoding="utf-8")
        return tmp_path

    def test_file_and_keys_describe_the_same_run(self, folder, monkeypatch):
        """A path, keys and a path below a root judge the same cases in the same folder."""
        monkeypatch.chdir(folder)
        judge = ScriptedJudge(judge_as_right)
        done = evaluate_config(folder / "greval.yaml", judge=judge)
        assert (done.folder, done.run.progress.scored, done.collected) == (folder / "run", 2, None)
        for config, options in ((KEYS | {"out": "run"}, {}), ("greval.yaml", {"root": folder}), ("greval.yaml", {})):
            same_run = evaluate_config(config, judge=judge, **options)
            assert (same_run.run.progress.kept, same_run.folder.resolve()) == (2, folder / "run")
        assert len(judge.calls) == 1

    def test_changes_replace_keys(self, folder):
        """Keys in place of those of the file; the file stays what it is."""
        changes = {"limit": 2, "where": {"year": "1843"}, "metrics": "exact_match", "out": str(folder / "other")}
        done = evaluate_config(folder / "greval.yaml", changes)
        assert [result.sample_id for result in done.run.results()] == ["q2"]
        assert done.folder == folder / "other"

    def test_a_forecast(self, folder, monkeypatch):
        """The calls are counted without any, and nothing is written."""
        monkeypatch.setenv("OPENAI_API_KEY", "test-key")
        expected = forecast_config(folder / "greval.yaml", {"judge": "openai:gpt-5.4-mini"})
        assert (expected.forecast.calls, expected.missing) == (1, {})
        assert not (folder / "run").exists()

    def test_faults_have_their_lines(self, folder):
        """What the file refers to is reported as on the command line, unless a change replaces it."""
        (folder / "greval.yaml").write_text("data: none.jsonl\nmetrics: exact_mach\n", encoding="utf-8")
        with pytest.raises(DataError) as error:
            evaluate_config(folder / "greval.yaml")
        assert [line.split(":")[1] for line in str(error.value).splitlines()] == ["1", "2"]
        with pytest.raises(DataError) as error:
            evaluate_config(folder / "greval.yaml", {"metrics": "exact_match"})
        assert str(error.value).startswith(f"{folder / 'greval.yaml'}:1: data: there is no file")

    @pytest.mark.parametrize(
        ("keys", "key"),
        [
            ({"limit": 0}, "limit: must"),
            ({"judge": {"seeed": 1}}, "judge.seeed: unknown; did you mean seed"),
            ({"metrics": None}, "metrics: has no value"),
            ({"methods": {"a": "m:f"}}, "methods need out="),
            ({"methods": {"a": "m:f"}, "out": "run", "shard": "1/2"}, "shard is for recorded responses"),
            ({"methods": {"a": "m:f"}, "out": "run", "result_files": "end"}, "result_files"),
            ({"result_files": "end"}, "result_files"),
            ({"indexes": {"a": "b"}}, "indexes"),
        ],
    )
    def test_wrong_keys(self, keys, key):
        """Keys from Python are checked like those of a file, alone and together; the message begins with the key."""
        with pytest.raises(DataError, match=f"^{key}"):
            evaluate_config(KEYS | keys)
