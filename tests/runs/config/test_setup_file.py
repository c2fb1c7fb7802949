"""What responses were made with is stored beside them; a changed setting stops the evaluation and is named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from framework_folder import make_folder, make_plan
from indexed_folder import mark_graphrag, mark_reference, put_documents

from greval.errors import StoreError
from greval.judging.model.judge import Judge
from greval.records.case import Case
from greval.runs.config.file import read_config_file
from greval.runs.config.group_methods import find_indexes, list_searched
from greval.runs.config.plan import choose_answering_model, describe_shared_model
from greval.runs.config.setup_file import check_setup, write_setup
from greval.testing import ScriptedJudge

SEARCHES = """
dataset: {path: eval/qa.json}
indexes: {tt1: one, tt2: two}
methods: [local, basic]
output: {dir: eval/results}
"""


def plan(folder, groups=("tt1", "tt2"), answering=None, config=SEARCHES):
    """Plan an evaluation of groups, as far as its settings go."""
    make_folder(folder, config)
    read = read_config_file(folder / "eval_config.yaml").config
    rows = [Case(id=group, question="Who?", tags={"imdb_key": group}) for group in groups]
    indexes = find_indexes(read)
    searched = list_searched(read.methods, {group: indexes[group] for group in groups if group in indexes})
    parts = {"judge": Judge("local"), "indexes": indexes, "searched": searched}
    return make_plan(read, folder / "out", rows, answering=answering or Judge("local"), **parts)


def check_and_write(folder, **parts):
    """Do as an evaluation does before it begins."""
    planned = plan(folder, **parts)
    check_setup(planned)
    write_setup(planned)


def test_another_index_of_the_same_folder_is_refused(tmp_path):
    """Responses of one content of an index are never taken for those of another; other groups do not count."""
    pytest.importorskip("greval.reference")
    mark_reference(tmp_path / "one")
    mark_reference(tmp_path / "two")
    check_and_write(tmp_path)
    check_and_write(tmp_path)
    mark_reference(tmp_path / "one", "build-2")
    check_and_write(tmp_path, groups=["tt2"])
    with pytest.raises(StoreError, match=r"indexes: the index of tt1 has changed.* resume=False"):
        check_and_write(tmp_path, groups=["tt1"])


def test_another_system_is_refused(tmp_path):
    """The same name over an index of another system is another method."""
    pytest.importorskip("greval.reference")
    put_documents(tmp_path / "one")
    mark_graphrag(tmp_path / "two")
    check_and_write(tmp_path)
    mark_reference(tmp_path / "one/greval_index")
    check_and_write(tmp_path)
    mark_graphrag(tmp_path / "one")
    with pytest.raises(StoreError) as error:
        check_and_write(tmp_path)
    assert "local was reference:{index}?search=local and is graphrag:{index}?method=local" in str(error.value)
    check_and_write(tmp_path, groups=["tt2"])


def test_another_answering_model_is_refused(tmp_path):
    """Answers of one model are never taken for those of another, also if only its temperature differs."""
    pytest.importorskip("greval.reference")
    mark_reference(tmp_path / "one")
    check_and_write(tmp_path, answering=Judge("openai:small"))
    check_and_write(tmp_path, answering=Judge("openai:small", timeout=5))
    with pytest.raises(
        StoreError, match=r"the model was openai:small \(temperature 0.0\) and is openai:small \(temper"
    ):
        check_and_write(tmp_path, answering=Judge("openai:small", temperature=1.0))


def test_the_answering_model(tmp_path):
    """The one that the config names, else the one that answers for all methods, else the judge."""
    judge = Judge("local")

    def choose(more):
        return choose_answering_model(plan(tmp_path, config=SEARCHES + more).config, judge)

    assert choose("") is judge
    assert choose("generation: {model: gpt-big, context: none}\n").model == "openai:gpt-big"
    chosen = choose("generation: {model: gpt-big, context: none}\nanswering: {model: gpt-small, temperature: 0.5}\n")
    assert (chosen.model, chosen.temperature) == ("openai:gpt-small", 0.5)


def test_a_judge_of_its_own_answers_is_told():
    """The warning names the model and the key of the config; two models have none."""
    fake = ScriptedJudge([])
    assert "are the same (local)" in describe_shared_model(Judge("local", seed=1), Judge("local"))
    assert "`answering: {model: MODEL}`" in describe_shared_model(fake, fake)
    assert describe_shared_model(Judge("local"), Judge("openai:x")) == ""
    assert describe_shared_model(fake, Judge("local")) == ""


def test_a_part_leaves_the_settings_of_the_rest(tmp_path):
    """A changed spec of a method that is not evaluated now is still noticed when it is."""
    methods = SEARCHES.replace("[local, basic]", '{a: "m:f", b: "m:g"}')
    check_and_write(tmp_path, config=methods)
    changed = plan(tmp_path, config=methods.replace("m:g", "m:h"))
    write_setup(replace(changed, config=changed.config.model_copy(update={"methods": {"a": "m:f"}})))
    with pytest.raises(StoreError, match="b was m:g and is m:h"):
        check_setup(changed)
