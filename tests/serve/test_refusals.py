"""Requests that are refused: status, code, places and sentences are in `tests/golden/refusals.txt`."""

from __future__ import annotations

import json
from itertools import chain
from urllib.parse import quote

import pytest
from golden_files import GOLDEN, same
from served_metrics import CASE, tone
from served_runs import YES, ended, lines, rows, serving, started, uploaded

from greval.serve.settings import ServerLimits
from greval.testing import ScriptedJudge

RUN, DATA = "RUN", "DATA"
"""Stand for the ids of a finished run and of its data set."""
SHOWN = 160
"""The characters of a line that the golden file shows: lists of all metrics would change it with each new one."""
LONG, FEW = "x" * 101, ["x"] * 6
"""More than the server of these tests accepts as a text, and as the items of a case."""
DRAFT = {"name": "x", "description": "Whether it is polite."}
TOO_LARGE = [
    {**CASE, "chunks": FEW},
    {**CASE, "triples": [["a", "b", "c"]] * 6},
    {"input": "Who?", "retrieval_context": FEW},
    {**CASE, "answer": LONG},
    {**CASE, "chunks": [{"id": "c", "text": LONG}]},
    {**CASE, "tags": {"a": LONG}},
    {**CASE, "other_response": {"answer": LONG, "chunks": FEW}},
]
FAULTY = [
    "x",
    None,
    {"question": 1},
    {**CASE, "chunks": [{"score": 1}]},
    {**CASE, "anser": "x"},
    {**CASE, "usage": {"latency": "1.5"}},
    {**CASE, "usage": {"llm_calls": True}},
    {**CASE, "chunks": [{"id": "c", "text": "x", "score": "0.5"}]},
    {**CASE, "other_response": {"usage": {"latency": "1.5"}, "chunks": [{"text": "a", "score": "2"}]}},
]
PATHS_AS_NAMES = (
    "../tone",
    "a/b",
    "/etc/tone",
    "..",
    ".tone",
    "a\\\\b",
    '"a\\0b"',
    "con",
    "NUL.x",
    "com1",
    "'~'",
    "a b",
)
USES = tone().replace("needs: [answer]", "needs: [answer, chunks]") + "uses: {chunks: {judged_by: no_such, as: [A]}}\n"
CHANGES = {
    "POST /v1/runs": (
        {"dataset": DATA, "metrics": ["correctness"]},
        [{"dataset": "none"}, {"metrics": ["no_such"]}, {"metrics": ["../../x.yaml"]}, {"metrics": []},
         {"metrics": [7]}, {"metrics": "correctness"}, {"metrics": ["edge_recall", "faithfulness"]}, {"judge": "other"},
         {"max_cost": 1.0}, {"max_cost": True}, {"max_calls": 2.5}, {"repeats": True}, {"concurrency": "3"},
         {"name": "../x"}, {"base_url": "http://elsewhere"}, {"sample_ids": []}, {"sample_ids": ["nobody"]}],
    ),
    "POST /v1/runs/duel": (
        {"dataset": DATA, "metrics": ["directness"]},
        [{}, {"metrics": ["correctness"]}, {"methods": ["wlak"]}, {"run": RUN}, {"dataset": None}, {"sample_ids": []}],
    ),
    "POST /v1/runs/probe": (
        {"dataset": DATA, "metric": "correctness"},
        [{"metric": "no_such"}, {"metric": "exact_match"}, {"metric": "faithfulness"}, {"checks": ["emty"]},
         {"limit": 0}, {"max_cost": 1.0}, {"judge": "other"}, {"mutants": "9"}],
    ),
    "POST /v1/runs/align": (
        {"run": RUN, "metric": "correctness"},
        [{}, {"run": "none"}, {"metric": "exact_match"}, {"writer": "other"}, {"folds": 1}, {"ways": ["guess"]},
         {"seed": False}, {"level": "0.9"}],
    ),
    "POST /v1/runs/RUN/resume": ({}, [{"max_calls": 0}, {"max_cost": "1"}, {"max_cost": 1.0}]),
    "POST /v1/runs/RUN/replay": ({}, [{"metrics": ["nobody"]}, {"metrics": "tone"}, {"dry": True}]),
    "POST /v1/runs/RUN/labels": (
        {"metric": "correctness", "annotator": "ana", "sample": "stratified:6"},
        [{"sample": "best:3"}, {"sample": "uncertain:3"}, {"limit": True}, {"blind": 0}, {"metric": "depth"}],
    ),
    "POST /v1/runs/RUN/argilla/push": (
        {"metrics": ["correctness"], "dataset": "people"},
        [{"metrics": ["tone"]}, {"metrics": []}, {"metrics": "correctness"}, {"dataset": ""}, {"sample": "all"},
         {"sample": "random:0"},
         {"min_submitted": 0}, {"key": "x"}, {"url": "http://elsewhere"}, {"blind": 0}, {"seed": False}],
    ),
    "POST /v1/runs/RUN/argilla/pull": ({"dataset": "people"}, [{"url": "http://elsewhere"}, {"workspace": 1}]),
    "POST /v1/runs/none/replay": ({}, [{}]),
    "POST /v1/runs/none/argilla/push": ({"metrics": ["correctness"], "dataset": "people"}, [{}]),
    "POST /v1/runs/none/argilla/pull": ({"dataset": "people"}, [{}]),
    "POST /v1/evaluate": (
        {"cases": [CASE], "metrics": ["correctness"]},
        [{"cases": []}, {"cases": {}}, {"cases": [1, None]}, {"cases": [CASE] * 4}, {"metrics": []},
         {"metrics": ["tone_of"]}, {"metrics": ["<b>"]}, {"judge": "openai:x"}, {"judge": {"model": "x"}},
         {"metrics": ["token_f1"], "judge": "openai:x"}, {"base_url": "http://x"}, {"api_key": "k"}, {"repeats": 0},
         {"repeats": 10}, {"repeats": "3"}, {"repeats": 1.5}, {"unsaved": ["name: tone\n"]},
         {"columns": {"question": "q", "answer": "oot.text"}}, *({"cases": [CASE, case]} for case in TOO_LARGE)],
    ),
    "POST /metrics/correctness/invoke": (
        {"input": CASE},
        [*({"input": case} for case in (*FAULTY, *TOO_LARGE)), {"config": 1}, {"config": {"max_concurrency": -1}},
         {"config": {"configurable": [1]}}, {"config": {"configurable": {"judge": 1}}},
         {"config": {"configurable": {"judge": "openai:gpt-x"}}}],
    ),
    "POST /metrics/correctness/stream": ({"input": CASE}, [{"input": FAULTY[0]}, {"input": TOO_LARGE[0]}]),
    "POST /metrics/correctness/batch": (
        {"inputs": [CASE]},
        [{"inputs": []}, {"inputs": [CASE] * 4}, {"inputs": [CASE, *FAULTY[:2]]}, {"inputs": [CASE, TOO_LARGE[3]]}],
    ),
    "POST /v1/forecast": (
        {"metrics": ["correctness"]},
        [{}, {"dataset": "d", "cases": []}, {"dataset": "none"}, {"cases": [CASE], "metrics": ["none"]},
         {"cases": [CASE], "judge": "none"}, {"cases": [CASE] * 4}],
    ),
    "POST /v1/metrics": (
        {},
        [{}, [], {"yaml": "x" * 65_537}, {"yaml": ""}, {"yaml": 1}, {"yaml": tone(), "name": "y"}, {"yaml": USES},
         *({"yaml": tone(name)} for name in (*PATHS_AS_NAMES, LONG)),
         *({"yaml": tone(name)} for name in ("correctness", "Correctness", "ndcg@7", "LATENCY")),
         {"yaml": f"{tone()}judge: openai:other\n"}],
    ),
    "POST /v1/metrics?replace=true": ({}, [{"yaml": tone(name)} for name in ("Correctness", "latency")]),
    "POST /v1/metrics/edit": ({"fields": {"name": "kind"}}, [{"yaml": "a: ["}]),
    "POST /v1/metrics/draft": (
        DRAFT,
        [{"scale": [5, 1]}, {"scale": [1]}, {"scale": ["A", "a"]}, {"scale": "other"}, {"name": "../x"}, {"name": ""},
         {"description": " "}, {"over": "words"}, {"judge": 1}, {"judge": "openai:gpt-x"}, {"more": 1}],
    ),
    "POST /v1/walk.svg": (
        {},
        [{"input": {"question": "Who?"}}, {"input": {"question": "Who?", "traversal": 3}},
         {"input": {"question": "Who?", "walk": {}}}, {"input": {"question": ["Who?"]}}],
    ),
}  # fmt: skip
"""For each route a body that it accepts, and changes of it with which it refuses it."""
READS = (
    *(f"runs/RUN/compare?{query}" for query in ("baseline=nobody", "by=no_tag", "level=1", "x=1", "against=none")),
    *(f"runs/RUN/agreement?{query}" for query in ("", "metric=exact_match", "metric=no_such")),
    *("runs/RUN/estimate?metric=exact_match", "runs/RUN/report?by=no_tag", "runs/RUN/report.html?by=none"),
    *(f"runs/RUN/report.svg?{query}" for query in ("by=none", "metric=none")),
    *(f"runs/RUN/diagnose?{query}" for query in ("by=none", "cause=bad+luck", "metric=none")),
    *(f"runs/RUN/panel?{query}" for query in ("metric=correctness", "metric=correctness&run=none")),
    *(f"runs/RUN/walk.svg?sample_id={sample}" for sample in ("q0", "q9")),
    *("runs/RUN/case?sample_id=q9", "runs/RUN/search", "runs/RUN/probe", "runs/RUN/alignment"),
    *(f"runs/RUN/results.csv?{query}" for query in ("metric=none", "texts=maybe")),
    *("runs/RUN/label-sheet.csv?metric=none", "runs/RUN/label-sheet.xlsx?metric=none"),
    *("runs/RUN/results?stat=failed", "runs/RUN/calls?sample=q1", "runs/none/calls", "runs/none/events"),
    *("runs?cursor=x", *(f"runs/RUN/{part}?cursor=x" for part in ("results", "cases", "annotations", "calls"))),
    *("datasets?limit=0", "datasets/none/file", "datasets/none/cases"),
    *("metrics?kinds=computed", "metrics?kind=other", "metrics/corectness", "metrics/ndcg@0"),
    *("metrics/correctness/versions", "metrics/none/versions", "nothing"),
)
OTHERS = (
    *("GET /health?x=1", "GET /metrics/none/input_schema", "DELETE /v1/metrics/none", "DELETE /v1/metrics/correctness"),
    *("POST /v1/metrics/correctness/versions/1/restore", "DELETE /v1/datasets/none", "DELETE /v1/runs/none"),
)
VERDICTS = "id,question,answer,gpt4\nq1,Who?,Ada.,yes\n"
LABELS = lines([{"sample_id": "q1", "metric": "correctness", "annotator": "b", "value": value} for value in (1, 7)])
FILES = (
    *(("POST /v1/datasets?name=mine", kind, content) for kind, content in (
        ("application/jsonl", ""),
        ("application/jsonl", '{\n{"answer": "Ada"}\n{"question": ""}\n'),
        ("application/json", '{"cases": 1}'),
        ("application/vnd.apache.parquet", "PAR1 or not"),
        ("text/plain", "x"),
    )),
    *((f"POST /v1/datasets?name={name}", "application/jsonl", lines(rows(1)))
      for name in ("", "..", "../x", "a/b", "%2e%2e", "a%00b", quote("é"), "x" * 65, ".hidden")),
    *((f"POST /v1/datasets?name=a&column=question=frage&column={column}", "text/csv", "nr;frage;gen\nq1;Who?;Ada\n")
      for column in ("answer=gan", "anwser=gen", "x")),
    *((f"POST /v1/runs/import?name=gpt4{query}", "text/csv", VERDICTS) for query in (
        "", "&metric=no_such", "&metric=token_f1", "&scale=3..0", "&scale=yes/no&column=value=nothing",
        "&scale=yes/no&dataset=none")),
    ("PUT /v1/runs/RUN/annotations", "application/jsonl", LABELS),
    ("PUT /v1/runs/RUN/annotations", "text/plain", "x"),
)  # fmt: skip
"""Files with their types."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Yield a client of a server with low limits, its folder, its judge, and the ids of a run and its data set."""
    runs, judge = tmp_path_factory.mktemp("served") / "runs", ScriptedJudge([YES])
    limits = ServerLimits(batch=3, items=5, text=100, rate=100_000)
    with (
        pytest.MonkeyPatch.context() as environment,
        serving(runs, judges={"scripted": judge}, limits=limits) as client,
    ):
        environment.setenv("ARGILLA_API_URL", "http://127.0.0.1:9")
        environment.setenv("ARGILLA_API_KEY", "argilla.apikey")
        data = uploaded(client, rows(2))
        run = started(client, data, "correctness", "exact_match")
        ended(client, run)
        yield client, runs, judge, {RUN: run, DATA: data}


def list_requests():
    """List the refused requests, each as method and path, the type of its content, the content, and how it is shown."""
    for request, (body, changes) in CHANGES.items():
        for change in changes:
            content = json.dumps(change if isinstance(change, list) else {**body, **change})
            yield request, "application/json", content, json.dumps(change, ensure_ascii=False)
    yield from ((request, "", "", "") for request in chain((f"GET /v1/{path}" for path in READS), OTHERS))
    yield from ((request, kind, content, f"{kind} {content!r}") for request, kind, content in FILES)


def list_stored(runs):
    """List the runs, data sets, metrics and unfinished files in a folder."""
    return sorted(path for path in (*runs.iterdir(), *runs.glob(".*/*")) if not path.name.startswith(".usage"))


def describe(problem):
    """Return the lines of a problem: status, code and sentence; then each fault, whose sentence may be another."""
    yield f"  {problem['status']} {problem['code']}: {problem['detail']}"
    for fault in problem["faults"][:3]:
        sentence = "" if fault["message"] in problem["detail"] else f": {fault['message']}"
        yield f"  {fault['place']} [{fault['code']}]{sentence}"


def test_refusals_are_those_of_the_golden_file(server):
    """Each is a problem document without a path of the server; nobody is asked for it, and nothing of it is stored."""
    client, runs, judge, ids = server
    stored, calls, parts = list_stored(runs), len(judge.calls), []
    for request, kind, content, shown_content in list_requests():
        method, path = request.split(" ")
        body = content
        for name, value in ids.items():
            path, body = path.replace(name, value), body.replace(f'"{name}"', f'"{value}"')
        headers = {"Content-Type": kind} if kind else {}
        answer = client.request(method, path, content=body.encode() or None, headers=headers)
        assert answer.is_error, (request, shown_content, answer.text)
        assert answer.headers["content-type"] == "application/problem+json", request
        assert str(runs) not in answer.text, request
        text = "\n".join([f"{request} {shown_content}".rstrip(), *describe(answer.json())])
        for name, value in ids.items():
            text = text.replace(value, name)
        parts.append("".join(f"{line[:SHOWN]}\n" for line in text.splitlines()))
    same(GOLDEN / "refusals.txt", "\n".join(parts))
    assert (list_stored(runs), len(judge.calls)) == (stored, calls)
    assert client.get(f"/v1/runs/{ids[RUN]}/annotations").json() == {"annotations": [], "next": None}


UNREADABLE = [
    b"", b"{", b"null", b"[]", b'"x"', b"\xff", b"\xff\xfe{", b"[" * 100_000, b'{"input": ' + b"[" * 5_000,
    b'{"a":' * 100_000, b'{"input": {"question": NaN}, "cases": [{"question": NaN}]}',
    b'{"input": {"question": "\\ud800"}, "inputs": [{"question": "\\ud800"}], "cases": [{"question": "\\ud800"}]}',
    b'{"input": {"question": "?", "usage": {"cost": 1e999}}, "inputs": [1e999], "cases": [1e999]}', b'"\\ud800"',
]  # fmt: skip


@pytest.mark.parametrize(
    "path", ["/v1/evaluate", "/v1/metrics", *(f"/metrics/token_f1/{way}" for way in ("invoke", "batch", "stream"))]
)
def test_bodies_that_cannot_be_read_are_refused(server, path):
    """Non-UTF-8, deep, broken or odd bodies are 422 problems, and bodies of another content type are 415."""
    client, *_ = server
    for body in UNREADABLE:
        answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), body[:40]
        assert answer.json()["detail"]
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json"):
        assert client.post(path, content=b"{}", headers={"Content-Type": kind}).status_code == 415, kind
