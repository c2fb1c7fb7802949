"""`greval index build`: documents become an index, and what is no document is told."""

from __future__ import annotations

import pytest
from reference_indexes import make_documents

from greval.reference.building import BuildProgress, BuildReport
from greval.reference.commands.build import parse_pairs
from greval.reference.index import ReferenceIndex
from greval.reference.settings import ResolutionSettings


@pytest.fixture
def documents(tmp_path):
    """Return a folder with a Markdown file, and rows of which one is faulty if it is asked for."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "ferry.md").write_text("# Ferry\n\nThe Ferry leaves Pier Two at nine. Ada Byron steers it.\n")
    rows = "".join(f"{each.model_dump_json(exclude_none=True)}\n" for each in make_documents(3))
    (folder / "rows.jsonl").write_text(rows)
    return folder


def test_documents_become_an_index(documents, tmp_path, greval_says):
    """The command prints counts and the next command; again, it has nothing to do."""
    words = ("index", "build", documents, "-o", tmp_path / "index", "--embedding", "tfidf")
    code, out, _ = greval_says(*words)
    assert code == 0
    assert f"{tmp_path / 'index'}: 4 documents (4 added), " in out
    assert "extracted by rules" in out
    assert f'greval index ask {tmp_path / "index"} "QUESTION" asks it' in out
    code, out, _ = greval_says(*words)
    assert (code, "(4 unchanged)" in out) == (0, True)


def test_rows_that_are_no_documents_end_with_3(documents, tmp_path, greval_says):
    """What is no document is told with its place on stderr, and the rest is indexed."""
    with (documents / "rows.jsonl").open("a") as file:
        file.write('{"id": "empty"}\n')
    code, out, err = greval_says("index", "build", documents, "-o", tmp_path / "index", "--embedding", "tfidf")
    assert code == 3
    assert "(4 added, 1 failed)" in out
    assert f"not a document: {documents / 'rows.jsonl'}:4: text: is missing" in err


def test_options_reach_the_index(documents, tmp_path, greval_says):
    """Length and overlap of chunks, the schema, and how names are resolved are settings of the index."""
    schema = tmp_path / "schema.yaml"
    schema.write_text("entities: {Boat: {terms: [Ferry]}}\n")
    words = ("--chunk-chars", "40", "--overlap", "0", "--schema", schema, "--embedding", "tfidf")
    words += ("--alias", "Ada Byron=Countess of Lovelace", "--similarity", "1")
    assert greval_says("index", "build", documents, "-o", tmp_path / "index", *words)[0] == 0
    with ReferenceIndex.open(tmp_path / "index") as index:
        assert (index.settings.chunk_chars, index.settings.overlap) == (40, 0)
        assert index.settings.schema_file == str(schema)
        assert index.settings.resolution == ResolutionSettings(
            similarity=1, aliases={"Ada Byron": "Countess of Lovelace"}
        )
        chunks = index.read_chunks([each for each in index.chunk_ids if each.startswith("ferry.md")])
        assert [chunk.text for chunk in chunks] == ["The Ferry leaves Pier Two at nine.", "Ada Byron steers it."]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("missing.md", "-o", "index"), "no such file or folder"),
        ((".", "-o", "index", "--alias", "AP"), "write it as NAME=VALUE"),
        ((".", "-o", "index"), "the sources hold no documents"),
    ],
)
def test_wrong_use_ends_with_2_and_says_what_to_do(tmp_path, monkeypatch, greval_says, words, told):
    """A path that does not exist, an alias without a name and an empty folder are errors of use."""
    monkeypatch.chdir(tmp_path)
    code, _, err = greval_says("index", "build", *words, "--embedding", "tfidf")
    assert code == 2
    assert told in err


def test_a_name_given_twice_is_refused():
    """An entity has one name for each other name."""
    with pytest.raises(Exception, match="AP is given twice"):
        parse_pairs("--alias", ["AP=a", "AP=b"])


def test_files_that_are_passed_over_are_counted(documents, tmp_path, greval_says):
    """Files of other kinds are told by their endings, hidden ones are not; so are those that are documents."""
    for name in ("a.pdf", "b.PDF", "c.docx", ".d.pdf", "Makefile", "LICENSE.md"):
        (documents / name).touch()
    code, _, err = greval_says("index", "build", documents, "-o", tmp_path / "index", "--embedding", "tfidf")
    passed_over = "passed over: 2 .pdf, 1 LICENSE.md, 1 Makefile, 1 .docx; a file that is named is read"
    assert (code, err.strip()) == (0, f"files read: 1 .md, 1 .jsonl; {passed_over}")


def test_a_dry_run_forecasts_and_writes_nothing(documents, tmp_path, greval_says):
    """It names the calls and their cost, by the shipped prices or by those that are given."""
    words = ("index", "build", documents, "-o", tmp_path / "index", "--extract", "openai:gpt-5.4-mini", "--dry-run")
    code, out, _ = greval_says(*words)
    assert code == 0
    first, second, third, _ = out.splitlines()
    assert first.startswith("4 documents, ")
    assert first.endswith(" are not extracted yet")
    assert second.startswith("openai:gpt-5.4-mini: ")
    assert "; about $0." in second
    assert third.startswith("1,000,000 characters of text cost $")
    assert not (tmp_path / "index").exists()


def test_caps_reach_the_extraction(documents, tmp_path, monkeypatch, greval_says):
    """They are those of the other commands that ask a model."""
    given = []
    monkeypatch.setattr(
        "greval.reference.building.build_index",
        lambda *_, budget, **__: given.append(budget) or BuildReport(folder="x"),
    )
    words = ("index", "build", documents, "-o", tmp_path / "index", "--max-calls", "9", "--max-cost", "0.5")
    assert greval_says(*words)[0] == 0
    ((calls, cost, _),) = given
    assert (calls, cost) == (9, 0.5)


@pytest.mark.parametrize("forecast", [None, 9.0, 147.0])
def test_a_long_embedding_is_forecast(documents, tmp_path, monkeypatch, greval_says, forecast):
    """A line says how long it will take, but not if it is short or if the command is quiet."""

    def build(sources, folder, settings, on_progress, **_):
        on_progress(BuildProgress(step="embedding", done=8, total=150, forecast=forecast))
        return BuildReport(folder=str(folder))

    monkeypatch.setattr("greval.reference.building.build_index", build)
    words = ("index", "build", documents, "-o", tmp_path / "index")
    line = "embedding 150 chunks will take about 2 min 27 s; --embedding tfidf is much faster\n"
    assert (line in greval_says(*words)[2]) == (forecast == 147)
    assert "will take" not in greval_says(*words, "-q")[2]
