"""Methods of an evaluation: one for each group, whose folder decides what a method without a spec means."""

from __future__ import annotations

import asyncio

import pytest
from framework_folder import CONFIG, make_folder
from indexed_folder import mark_graphrag, mark_reference, put_documents

from greval.errors import DataError, MethodError
from greval.methods.loading import resolve_spec
from greval.methods.reference_index import REFERENCE_SEARCHES
from greval.records.case import Response, Sample
from greval.runs.config.file import read_config_file
from greval.runs.config.group_methods import (
    GroupIndex,
    build_group_method,
    build_search_spec,
    check_searches,
    find_indexes,
    identify_kind,
    load_run_methods,
)
from greval.runs.config.model import GRAPHRAG_SEARCHES


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

    method = build_group_method({"tt1": answer}, "imdb_key", {"tt1": tmp_path})
    sample = Sample(question="Who?", tags={"imdb_key": "tt1"})
    assert asyncio.run(method(sample)).answer == str(tmp_path)
    assert sample.tags == {"imdb_key": "tt1"}
    with pytest.raises(MethodError, match="no method is loaded for imdb_key 'tt2'"):
        asyncio.run(method(Sample(question="Who?", tags={"imdb_key": "tt2"})))


def test_a_tag_of_the_sample_wins_over_the_index(tmp_path):
    """A dataset with a column `index` keeps it."""

    async def answer(sample):
        return Response(answer=sample.tags["index"])

    method = build_group_method({"tt1": answer}, "imdb_key", {"tt1": tmp_path})
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


def test_kinds(tmp_path):
    """An index comes before documents, and a folder with an index that was made of documents needs them no more."""
    mark_reference(tmp_path / "own")
    mark_graphrag(tmp_path / "graphrag")
    put_documents(tmp_path / "graphrag")
    put_documents(tmp_path / "documents")
    put_documents(tmp_path / "made")
    mark_reference(tmp_path / "made/greval_index")
    mark_reference(tmp_path / "inner/greval_index")
    (tmp_path / "empty/input").mkdir(parents=True)
    indexes = {path.name: GroupIndex(path, identify_kind(path)) for path in sorted(tmp_path.iterdir())}
    assert {name: (index.kind, index.folder.name) for name, index in indexes.items()} == {
        "own": ("reference", "own"),
        "graphrag": ("graphrag", "graphrag"),
        "documents": ("documents", "greval_index"),
        "made": ("documents", "greval_index"),
        "inner": ("reference", "greval_index"),
        "empty": ("unknown", "empty"),
    }


@pytest.mark.parametrize("name", [*REFERENCE_SEARCHES, *GRAPHRAG_SEARCHES])
def test_a_name_means_the_search_of_the_index(tmp_path, name):
    """The same name is a search of whichever system indexed the folder; a name it does not have is an error."""
    for kind, known, spec in (
        ("reference", REFERENCE_SEARCHES, "reference:{index}?search="),
        ("documents", REFERENCE_SEARCHES, "reference:{index}?search="),
        ("graphrag", GRAPHRAG_SEARCHES, "graphrag:{index}?method="),
    ):
        index = GroupIndex(tmp_path, kind)
        if name in known:
            assert build_search_spec(name, index) == f"{spec}{name}"
        else:
            with pytest.raises(DataError, match=f"no search {name}"):
                build_search_spec(name, index)


def test_tog_on_an_index_of_microsoft_says_what_to_do(tmp_path):
    """The error has the command that indexes the documents, and the spec that uses this index."""
    with pytest.raises(DataError) as error:
        build_search_spec("tog", GroupIndex(tmp_path, "graphrag"))
    assert f"`greval index build {tmp_path}/input -o {tmp_path}/greval_index`" in str(error.value)
    assert 'tog: "reference:{index}/greval_index?search=tog&answer=MODEL"' in str(error.value)


def test_an_empty_folder_says_what_to_do(tmp_path):
    """Neither an index nor documents: the error names both ways."""
    with pytest.raises(DataError, match=r"put documents into .*input, or run `greval index build DOCUMENTS -o "):
        build_search_spec("basic", GroupIndex(tmp_path, "unknown"))


def test_faults_of_all_groups_are_told_together(tmp_path):
    """What one group lacks does not hide what another lacks; groups that are not evaluated do not count."""
    text = """
    dataset: {path: eval/qa.json}
    indexes: {tt1: one, tt2: two, tt3: one}
    methods: [tog, global]
    """
    config = read_config_file(make_folder(tmp_path, text) / "eval_config.yaml").config
    indexes = {"tt1": GroupIndex(tmp_path / "one", "graphrag"), "tt2": GroupIndex(tmp_path / "two", "reference")}
    with pytest.raises(MethodError) as error:
        check_searches(config, {"tt1": 1, "tt2": 1}, indexes)
    first, second = str(error.value).splitlines()
    assert first.startswith(f"methods: tog: {tmp_path / 'one'}: Microsoft GraphRAG has no search tog")
    assert second.startswith(f"methods: global: {tmp_path / 'two'}: an index of greval has no search global")
    config = config.model_copy(update={"methods": {"global": None}})
    check_searches(config, {"tt1": 1}, indexes)
    with pytest.raises(MethodError, match="no index for tt9"):
        check_searches(config, {"tt9": 1}, indexes)
