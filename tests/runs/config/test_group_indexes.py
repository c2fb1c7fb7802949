"""What the folder of a group holds decides what a method without a spec means."""

from __future__ import annotations

import pytest
from framework_folder import make_folder
from indexed_folder import mark_graphrag, mark_reference, put_documents

from greval.errors import DataError, MethodError
from greval.methods.reference_index import REFERENCE_SEARCHES
from greval.runs.config.file import read_config_file
from greval.runs.config.group_indexes import GroupIndex, build_search_spec, find_index
from greval.runs.config.group_methods import check_searches
from greval.runs.config.model import GRAPHRAG_SEARCHES


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
    found = {path.name: find_index(path) for path in sorted(tmp_path.iterdir())}
    assert {name: (index.kind, index.folder.name) for name, index in found.items()} == {
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
