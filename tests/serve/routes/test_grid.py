"""All cases of a run over HTTP: in short, by words, and the walk of one as a drawing."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from served_runs import ended, get_json, rows, started, uploaded
from waiting import until

from greval import Case
from greval.report.walk import draw_walk_svg
from greval.runs.store.writer import StoreWriter
from greval.serve.routes.grid import TEXT_INDEX

WALK = {"start_nodes": ["a"], "traversed_edges": [["a", "owns <b>", "b"]], "final_nodes": ["b"]}


@pytest.fixture(scope="module")
def run(shared_client):
    """Return a run that no test changes."""
    return judge_two_methods(shared_client)


def judge_two_methods(client):
    """Run two metrics on two methods and return the run; one case has a walk."""
    cases = [{**row, "method": method, "tags": {"kind": "x"}} for row in rows(4) for method in ("local", "walk")]
    cases[1]["traversal"] = WALK
    run = started(client, uploaded(client, cases), "token_f1", "correctness")
    ended(client, run)
    return run


def test_excerpts_say_why(shared_client, run):
    """The answers of the samples that are asked for come with the reason of a metric, one for each method."""
    path = f"/v1/runs/{run}/excerpts"
    excerpts = get_json(shared_client, path, metric="correctness", sample_id=["q2", "q0", "none"])["excerpts"]
    assert [(one["sample_id"], one["method"]) for one in excerpts] == [
        (sample_id, method) for sample_id in ("q0", "q2") for method in ("local", "walk")
    ]
    for excerpt in excerpts:
        names = {"sample_id": excerpt["sample_id"], "method": excerpt["method"]}
        stored = get_json(shared_client, f"/v1/runs/{run}/case", **names)
        outcomes = {result["metric"]: result["outcome"] for result in stored["results"]}
        assert excerpt["answer"] == stored["case"]["answer"]
        assert excerpt["reason"] == outcomes["correctness"]["judgements"][0]["reason"]
    assert get_json(shared_client, path, metric="latency", sample_id="q0") == {"excerpts": []}


def test_words_are_found(shared_client, run):
    """A search finds samples by words of questions, answers and reasons; a search for nothing is refused."""
    path = f"/v1/runs/{run}/search"
    assert get_json(shared_client, path, q="WHO 2") == {"sample_ids": ["q2"]}
    assert get_json(shared_client, path, q="it fits")["sample_ids"] == ["q0", "q1", "q2", "q3"]
    assert get_json(shared_client, path, q="nowhere") == {"sample_ids": []}


@pytest.mark.nightly
def test_a_search_after_the_grid_uses_an_index(shared_client, shared_runs):
    """A text index is built after the grid was sent; it finds the same, and is not used once the run has changed."""
    run = judge_two_methods(shared_client)
    path, index = f"/v1/runs/{run}/search", shared_runs / run / TEXT_INDEX
    samples_before = get_json(shared_client, path, q="it fits")
    assert not index.exists()
    get_json(shared_client, f"/v1/runs/{run}/grid")
    until(index.exists)
    assert get_json(shared_client, path, q="IT FITS") == samples_before
    stamp = index.stat().st_mtime_ns
    with StoreWriter.create(shared_runs / run) as writer:
        writer.keep_cases([Case(id="late", question="It fits late?")])
    assert get_json(shared_client, path, q="fits late")["sample_ids"] == ["late"]
    get_json(shared_client, f"/v1/runs/{run}/grid")
    until(lambda: index.stat().st_mtime_ns != stamp)
    assert get_json(shared_client, path, q="FITS late")["sample_ids"] == ["late"]


def test_a_walk_is_drawn(shared_client, run):
    """The walk of a case is the drawing of the report; no text of it is markup, and no script may run in it."""
    answer = shared_client.get(f"/v1/runs/{run}/walk.svg", params={"sample_id": "q0", "method": "walk"})
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["content-security-policy"].startswith("sandbox")
    case = get_json(shared_client, f"/v1/runs/{run}/case", sample_id="q0", method="walk")["case"]
    read = Case.model_validate(case)
    assert answer.text == draw_walk_svg(read.traversal, read.gold, title=read.question)
    assert "owns <b>" in {"".join(element.itertext()) for element in ET.fromstring(answer.text).iter()}  # noqa: S314 - our own
    fields = {name: case[name] for name in ("question", "traversal", "gold")}
    sent = shared_client.post("/v1/walk.svg", json={"input": fields})
    assert (sent.status_code, sent.text) == (200, answer.text)
    assert sent.headers["content-security-policy"] == answer.headers["content-security-policy"]
