"""Data sets over HTTP: kept as they were sent, read once, and nobody else's business."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyarrow import parquet
from served_runs import YES, ended, lines, rows, serving, started, uploaded

from greval.serve.settings import ServerLimits
from greval.testing import ScriptedJudge

JSONL = {"Content-Type": "application/jsonl"}


def test_the_four_kinds(client, tmp_path):
    """JSON lines, a JSON list, CSV and Parquet are read; names of other tools are told as they were understood."""
    table = [{"id": "q1", "user_input": "Who?", "response": "Ada"}]
    parquet.write_table(pa.Table.from_pylist(table), tmp_path / "a.parquet")
    files = {
        "application/jsonl": lines(table),
        "application/x-ndjson": lines(table),
        "application/json": json.dumps(table),
        "text/csv; charset=utf-8": "id,user_input,response\nq1,Who?,Ada\n",
        "application/vnd.apache.parquet": (tmp_path / "a.parquet").read_bytes(),
    }
    for kind, content in files.items():
        info = client.post("/v1/datasets?name=a", content=content, headers={"Content-Type": kind}).json()
        assert (info["cases"], info["fields"]) == (1, {"user_input": "question", "response": "answer"}), kind


@pytest.mark.nightly
def test_columns_of_other_names(tmp_path):
    """A data set is uploaded with its column map, which its runs use; a column that is not there is refused."""
    sent, kind = "nr;frage;gen\nq1;Who?;Ada\n", {"Content-Type": "text/csv"}
    with serving(tmp_path / "runs") as client:
        named = "column=question=frage&column=answer=gen&column=id=nr"
        info = client.post(f"/v1/datasets?name=a&{named}", content=sent, headers=kind).json()
        assert (info["cases"], info["columns"]) == (1, {"question": "frage", "answer": "gen", "id": "nr"})
        assert info["fields"] == {"frage": "question", "gen": "answer", "nr": "id"}
        run = ended(client, started(client, info["id"], "completeness"))
        assert run["status"] == "finished"
        (row,) = client.get(f"/v1/runs/{run['id']}/results").json()["results"][:1]
        assert row["sample_id"] == "q1"


@pytest.mark.nightly
def test_limits_of_a_case_hold_for_data_sets_and_their_runs(tmp_path):
    """A case beyond a limit is an unread row with the limit's name; a run never judges it, whenever it was uploaded."""
    large = {"id": "long", "question": "a" * 21}, {"id": "many", "question": "Who?", "retrieved_contexts": ["a"] * 4}
    judge = ScriptedJudge([YES])
    with serving(tmp_path / "runs", limits=ServerLimits(text=20, items=3)) as client:
        info = client.post("/v1/datasets?name=a", content=lines([*rows(2), *large]), headers=JSONL).json()
        assert (info["cases"], info["unread_count"]) == (2, 2)
        assert info["unread"] == [
            {"place": "a:3", "message": "question: holds 21 characters, at most 20 are allowed (text)"},
            {"place": "a:4", "message": "chunks: holds 4, at most 3 are allowed (items)"},
        ]
    with serving(tmp_path / "runs", judges={"j": judge}, limits=ServerLimits(text=8, items=3)) as client:
        before = uploaded(client, [{"id": "s", "question": "Who?", "answer": "a", "expected_answer": "a"}])
        run = ended(client, started(client, before))
        assert (run["status"], len(judge.calls)) == ("finished", 1)
        run = ended(client, started(client, info["id"], "completeness"))
        assert (run["status"], len(judge.calls)) == ("failed", 1)
        assert "question: holds 9 characters, at most 8 are allowed (text)" in run["why"]


def test_a_file_that_is_too_large_leaves_nothing(runs):
    """A stream without a length is cut off at the limit, and its part is taken away."""
    with serving(runs, limits=ServerLimits(upload=1000)) as client:
        parts = (lines(rows(1)).encode() for _ in range(100))
        assert client.post("/v1/datasets?name=mine", content=parts, headers=JSONL).status_code == 413
    assert not [*runs.glob(".datasets/*")]


def test_a_data_set_goes_away_unless_a_run_needs_it(tmp_path):
    """A data set is taken away with its files; not while a run of it is queued or runs."""
    with serving(tmp_path / "runs", judges={"slow": ScriptedJudge([YES], delay=0.1)}) as client:
        held, free = uploaded(client, rows(100)), uploaded(client, rows(1))
        run = started(client, held, concurrency=1)
        refused = client.delete(f"/v1/datasets/{held}")
        assert (refused.status_code, run in refused.json()["detail"]) == (409, True)
        client.post(f"/v1/runs/{run}/cancel")
        ended(client, run)
        for dataset in (held, free):
            assert client.delete(f"/v1/datasets/{dataset}").status_code == 204
            assert client.delete(f"/v1/datasets/{dataset}").status_code == 404
        assert client.get(f"/v1/runs/{run}").json()["resumable"] is False
        assert client.post(f"/v1/runs/{run}/resume").status_code == 404
    assert not [*(tmp_path / "runs" / ".datasets").iterdir()]
