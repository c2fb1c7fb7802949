"""Plans of an evaluation: the selected questions and methods, and the responses that are still current."""

from __future__ import annotations

import pytest
from framework_folder import ROWS, calls, make_folder
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DataError, JudgeError, MethodError
from greval.records.case import Case
from greval.runs.from_config.config import EvaluationConfig
from greval.runs.from_config.plan import RESPONSES_FILE, ConfigSelection, prepare_evaluation, select_methods
from greval.testing import ScriptedJudge

NAMES = ("tog", "bare", "local")


def prepare(folder, judge=None, rows=ROWS, **selection):
    """Prepare the evaluation of a small folder."""
    root = make_folder(folder, rows=rows)
    chosen = ConfigSelection(**selection)
    return prepare_evaluation(root, root / "eval_config.yaml", chosen, judge or ScriptedJudge([]))


def test_ids_stay_the_same_whatever_is_selected(tmp_path):
    """A row without an id is named by its place in the file, so that parts of an evaluation add up."""
    assert [sample.id for sample in prepare(tmp_path, where={"imdb_key": ["tt2"]}).samples] == ["row-3"]


@pytest.mark.parametrize(
    ("selection", "ids"),
    [
        ({"where": {"year": "1843"}}, ["row-1", "row-3"]),
        ({"where": {"year": ["1843", "1900"], "imdb_key": "tt1"}}, ["row-1", "row-2"]),
        ({"where": {"year": "1843"}, "limit": 1}, ["row-1"]),
        ({"limit": 2}, ["row-1", "row-2"]),
        ({}, ["row-1", "row-2", "row-3"]),
    ],
)
def test_the_selected_questions(tmp_path, selection, ids):
    """A tag has the wanted value or one of several, all wanted tags count, and the limit applies at the end."""
    assert [sample.id for sample in prepare(tmp_path, **selection).samples] == ids


@pytest.mark.parametrize(
    ("selection", "error", "message"),
    [
        ({"methods": ["togg"]}, MethodError, "no method 'togg'; did you mean tog"),
        ({"methods": []}, MethodError, "no method is named; the config has tog, bare"),
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
    root = make_folder(tmp_path)
    with pytest.raises(JudgeError, match="add `judge:"):
        prepare_evaluation(root, root / "eval_config.yaml", ConfigSelection())


@given(st.lists(st.sampled_from(NAMES), min_size=1))
def test_methods_by_name_or_separated_by_commas(names):
    """A list and its comma-separated form select the same methods, each once, in the given order."""
    config = EvaluationConfig(dataset={"path": "q.json"}, methods=dict.fromkeys(NAMES))
    found = select_methods(config, names)
    assert found == select_methods(config, " , ".join(names)) == tuple(dict.fromkeys(names))
    assert select_methods(config, None) == NAMES


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
    plan.out.mkdir(parents=True)
    lines = "".join(f"{case.model_dump_json(exclude_defaults=True)}\n" for case in cases)
    (plan.out / RESPONSES_FILE).write_text(lines, encoding="utf-8")
    found = plan.read_responses()
    assert [*found] == [("row-1", "tog"), ("row-3", "tog")]
    assert [case.answer for case in found.values()] == ["early", "late"]
    assert {group: len(samples) for group, samples in plan.group_samples().items()} == {"tt1": 2, "tt2": 1}
