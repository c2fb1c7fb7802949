"""Methods of an evaluation: one for each group, loaded together, with the index of the group as a tag."""

from __future__ import annotations

import asyncio

import pytest
from framework_folder import CONFIG, make_folder

from greval.errors import MethodError
from greval.methods.loading import resolve_spec
from greval.records.case import Response, Sample
from greval.runs.config.file import read_config_file
from greval.runs.config.group_indexes import find_indexes
from greval.runs.config.group_methods import GroupMethod, load_run_methods


def test_methods_that_cannot_be_loaded_are_told_together(tmp_path):
    """A group without an index and a function that is not there are told before anything is asked."""
    text = CONFIG.replace("walk", "wolk").replace("methods.py:bare", "methods.py:make({index})")
    config = read_config_file(make_folder(tmp_path, text) / "eval_config.yaml").config
    with pytest.raises(MethodError) as error:
        load_run_methods(config, {"tt1": 2, "tt3": 1}, find_indexes(config))
    first, second = str(error.value).splitlines()
    assert "methods: tog:" in first
    assert "did you mean walk" in first
    assert second == "methods: bare: no index for tt3 (1 questions); add a folder for each under indexes"


def test_a_group_without_a_method_is_an_error(tmp_path):
    """A sample of an unknown group is refused, and never answered from the index of another group."""

    async def answer(sample):
        return Response(answer=sample.tags["index"])

    method = GroupMethod({"tt1": answer}, "imdb_key", {"tt1": tmp_path})
    known = Sample(question="Who?", tags={"imdb_key": "tt1"})
    assert asyncio.run(method(known)).answer == str(tmp_path)
    assert known.tags == {"imdb_key": "tt1"}
    with pytest.raises(MethodError, match="no method is loaded for imdb_key 'tt2'"):
        asyncio.run(method(Sample(question="Who?", tags={"imdb_key": "tt2"})))


def test_a_tag_of_the_sample_wins_over_the_index(tmp_path):
    """A dataset with a column `index` keeps it."""

    async def answer(sample):
        return Response(answer=sample.tags["index"])

    method = GroupMethod({"tt1": answer}, "imdb_key", {"tt1": tmp_path})
    assert asyncio.run(method(Sample(question="Who?", tags={"imdb_key": "tt1", "index": "own"}))).answer == "own"


@pytest.mark.parametrize(
    ("spec", "resolved"),
    [
        ("methods.py:walk", "{root}/methods.py:walk"),
        ("methods.py:make(x.py)", "{root}/methods.py:make(x.py)"),
        ("other.py:walk", "other.py:walk"),
        ("rag.yaml", "{root}/rag.yaml"),
        ("http://127.0.0.1/ask", "http://127.0.0.1/ask"),
        ("graphrag:{index}?method=local", "graphrag:{index}?method=local"),
        ("reference:index?search=tog", "reference:{root}/index?search=tog"),
        ("reference:none?search=tog", "reference:none?search=tog"),
    ],
)
def test_specs_of_files_are_relative_to_the_root(tmp_path, spec, resolved):
    """Only a file or an index that exists under the root is resolved; any other spec is unchanged."""
    for name in ("methods.py", "rag.yaml"):
        (tmp_path / name).touch()
    (tmp_path / "index").mkdir()
    assert resolve_spec(spec, tmp_path) == resolved.replace("{root}", str(tmp_path))
