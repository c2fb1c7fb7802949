"""`greval index ask`: the answer with what it was built from, as text, JSON and a drawing."""

from __future__ import annotations

import json

import pytest

from greval.records.case import Response, Traversal
from greval.reference.building import build_index
from greval.reference.commands.ask import Part, format_asked
from greval.reference.method import Asked
from greval.reference.records import Document
from greval.reference.searches import SearchFindings
from greval.reference.settings import IndexSettings

QUESTION = "Who owns the ferry MV Tern?"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Return the folder of an index of two documents."""
    texts = {"ship": ("MV Tern", "belongs to Petrel Ferries"), "firm": ("Petrel Ferries", "employs Ada Quill")}
    documents = [
        Document(id=kind, title=title, text=f"{title} {clause}.", tags={"kind": kind})
        for kind, (title, clause) in texts.items()
    ]
    folder = tmp_path_factory.mktemp("asked")
    build_index(documents, folder, IndexSettings(embedding="tfidf"))
    return str(folder)


@pytest.mark.parametrize("search", ["bm25", "hybrid"])
def test_each_search_prints_answer_and_chunks(greval_says, index, search):
    """The answer is the first line; the chunks follow with rank, score and id."""
    code, out, err = greval_says("index", "ask", index, QUESTION, "--search", search)
    assert code == 0, err
    assert "Petrel Ferries" in out.splitlines()[0]
    assert "ship#1: MV Tern belongs to Petrel Ferries." in out
    assert ("is mv tern (exact" in out.partition("\nwalk\n")[2].lower()) == (search == "hybrid")


def test_only_the_wanted_parts_are_printed(greval_says, index):
    """One part has no heading."""
    assert greval_says("index", "ask", index, QUESTION, "--show", "chunks", "-k", "1")[1].count("\n") == 1
    walk = greval_says("index", "ask", index, QUESTION, "--show", "walk")[1]
    assert "'MV Tern' is" in walk
    assert "exact" in walk
    assert "chunks" not in walk


def test_what_was_cut_and_could_not_be_used_is_printed():
    """Edges that were not followed, and answers of a model that could not be used, are part of the walk."""
    walk = Traversal(start_nodes=("Ada",), traversed_edges=(("Ada", "wrote", "Notes"),))
    findings = SearchFindings(cut={"Ada": 1, "Notes": 1200}, notes=("the choice of relations: no number of the list",))
    lines = format_asked(Asked(Response(answer="", traversal=walk), findings), [Part.WALK]).splitlines()
    assert lines[-3:] == ["cut at Ada: 1 more edge", "cut at Notes: 1,200 more edges", *findings.notes]


def test_everything_as_json(greval_says, index):
    """The JSON holds the response, how entities were linked, and the activation."""
    changes = ("--set", "depth=1", "--set", "fusion=rrf", "--set", "alpha=0.3")
    output = greval_says("index", "ask", index, QUESTION, "--json", *changes)[1]
    described = json.loads(output)
    assert described["settings"]["depth"] == 1
    assert (described["settings"]["fusion"], described["settings"]["alpha"]) == ("rrf", 0.3)
    assert described["linked"][0]["how"] == "exact"
    assert described["chunks"][0]["id"] == "ship#1"
    assert max(described["activation"].values()) == 1.0
    assert described["traversal"]["start_nodes"] == [described["linked"][0]["name"]]


def test_chunks_are_filtered(greval_says, index):
    """Only chunks with the tag are found; a tag that no chunk has is an error."""
    output = greval_says("index", "ask", index, QUESTION, "--where", "kind=firm", "--show", "chunks")[1]
    assert "firm#1" in output
    assert "ship#1" not in output
    assert "no chunk has 'colour'" in greval_says("index", "ask", index, QUESTION, "--where", "colour=red")[2]


def test_the_walk_is_drawn(greval_says, index, tmp_path):
    """The file is SVG with the question; a search without a graph has nothing to draw."""
    assert greval_says("index", "ask", index, QUESTION, "--svg", tmp_path / "walk.svg")[0] == 0
    assert (tmp_path / "walk.svg").read_text().startswith("<svg")
    code, _, err = greval_says("index", "ask", index, QUESTION, "--search", "basic", "--svg", tmp_path / "none.svg")
    assert code == 2
    assert "does not walk a graph" in err
    assert not (tmp_path / "none.svg").exists()


@pytest.mark.parametrize(
    ("words", "message"), [((" \n ",), "QUESTION is empty"), ((QUESTION, "--set", "alpa=1"), "did you mean alpha")]
)
def test_wrong_words_end_with_2(greval_says, index, words, message):
    """Nothing is searched, and the message says what to write."""
    code, _, err = greval_says("index", "ask", index, *words)
    assert (code, message in err) == (2, True)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (["kind=frim"], "no chunk has kind=frim; did you mean firm?"),
        (["kind=nothing at all"], "no chunk has kind=nothing at all; known: firm, ship"),
        (["kind=ship", "doc_id=firm"], "no chunk has all of them"),
    ],
)
def test_a_filter_that_leaves_nothing_is_refused(greval_says, index, where, message):
    """The message names the values that chunks have."""
    code, _, err = greval_says(
        "index", "ask", index, QUESTION, *(word for condition in where for word in ("--where", condition))
    )
    assert code == 2
    assert message in " ".join(err.split())


def test_an_answer_without_a_model_is_named(greval_says, index):
    """It is said on stderr, so that the output holds the answer alone, and in the JSON."""
    _, out, err = greval_says("index", "ask", index, QUESTION, "--show", "answer")
    assert "no model answered" in err
    assert "model" not in out
    _, out, err = greval_says("index", "ask", index, QUESTION, "--json")
    assert (json.loads(out)["answered_by"], err) == (None, "")
    assert greval_says("index", "ask", index, QUESTION, "--show", "chunks")[2] == ""
