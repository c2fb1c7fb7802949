"""Plans of an evaluation: the selected questions and methods, and the responses that are still current."""

from __future__ import annotations

import pytest
from framework_folder import calls, make_folder

from greval.errors import DataError, JudgeError, MethodError
from greval.records.case import Case
from greval.runs.config.file import build_config, read_config_file
from greval.runs.config.plan import RESPONSES_FILE, prepare_run
from greval.testing import ScriptedJudge


def prepare(folder, judge=None, **changes):
    """Prepare the evaluation of a small folder."""
    root = make_folder(folder)
    config = read_config_file(root / "eval_config.yaml").config.replace_by(build_config(changes))
    return prepare_run(config, judge=judge or ScriptedJudge([]))


@pytest.mark.parametrize(
    ("selection", "error", "message"),
    [
        ({"methods": ["togg"]}, MethodError, "no method 'togg'; did you mean tog"),
        ({"methods": []}, DataError, "methods: holds too little"),
        ({"where": {"imdb_key": ["tt3"]}}, DataError, "imdb_key is tt1, tt2"),
        ({"where": {"year": "184"}}, DataError, "year is 1843, 1900"),
        ({"where": {"yaer": ["1"]}}, DataError, "yaer is in no sample"),
    ],
)
def test_an_empty_selection_is_an_error(tmp_path, selection, error, message):
    """A misspelt name or value is reported with those that exist, before any method is called."""
    with pytest.raises(error, match=message):
        prepare(tmp_path, **selection)
    assert calls(tmp_path) == []


def test_no_judge_is_an_error(tmp_path):
    """Without a judge nothing is called, and the message says how to name one."""
    config = read_config_file(make_folder(tmp_path) / "eval_config.yaml").config
    with pytest.raises(JudgeError, match="No judge is named"):
        prepare_run(config)
    assert calls(tmp_path) == []


def test_responses_to_changed_samples_are_left_out(tmp_path):
    """Responses come in the order of the samples; those of other methods, samples or versions are left out."""
    plan = prepare(tmp_path)
    assert plan.read_responses() == {}
    first, _, last = plan.samples
    cases = [
        Case(**last.model_dump(), method="tog", answer="late"),
        Case(**first.model_dump(), method="tog", answer="early"),
        Case(**first.model_dump(), method="other", answer="x"),
        Case(**{**last.model_dump(), "question": "Changed?"}, method="bare", answer="x"),
        Case(id="unknown", question="?", method="tog", answer="x"),
    ]
    plan.folder.mkdir(parents=True)
    lines = "".join(f"{case.model_dump_json(exclude_defaults=True)}\n" for case in cases)
    (plan.folder / RESPONSES_FILE).write_text(lines, encoding="utf-8")
    responses = plan.read_responses()
    assert [*responses] == [("row-1", "tog"), ("row-3", "tog")]
    assert [case.answer for case in responses.values()] == ["early", "late"]
    assert {group: len(samples) for group, samples in plan.group_samples().items()} == {"tt1": 2, "tt2": 1}
