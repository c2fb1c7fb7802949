"""Tests of data sets: stored whole or not at all as they were sent, read once, and summarised in short."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from hashlib import sha256

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from raw_sockets import connect, format_post
from served_runs import YES, ended, lines, read_pages, rows, serving, started, uploaded
from serving import served
from waiting import SECONDS, until

from greval.errors import DataError
from greval.serve.app import create_app
from greval.serve.service import Tenant
from greval.serve.settings import ServerLimits, ServerSettings
from greval.serve.state.datasets import (
    MAX_LISTED_COLUMNS,
    MAX_MESSAGE,
    MAX_UNREAD_ROWS,
    DatasetFile,
    inspect_dataset,
)
from greval.serve.state.file_receiver import KINDS, ReceivedFile, publish_folder, receive_in_folder
from greval.serve.state.whole_folders import LEFTOVER_SECONDS
from greval.serve.tenant_quotas import TenantQuotas
from greval.serve.usage_ledger import UsageLedger
from greval.testing import ScriptedJudge

JSONL = {"Content-Type": "application/jsonl"}


def test_the_kinds_of_files(client, tmp_path):
    """JSON lines, a JSON list, tables and Parquet are read; names of other tools are told as they were understood."""
    table = [{"id": "q1", "user_input": "Who?", "response": "Ada"}]
    parquet.write_table(pa.Table.from_pylist(table), tmp_path / "a.parquet")
    pd.DataFrame(table).to_excel(tmp_path / "a.xlsx", index=False)
    files = {
        "application/jsonl": lines(table),
        "application/x-ndjson": lines(table),
        "application/json": json.dumps(table),
        "text/csv; charset=utf-8": "id,user_input,response\nq1,Who?,Ada\n",
        "text/tab-separated-values": "id\tuser_input\tresponse\nq1\tWho?\tAda\n",
        "application/vnd.apache.parquet": (tmp_path / "a.parquet").read_bytes(),
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": (tmp_path / "a.xlsx").read_bytes(),
    }
    assert {kind.partition(";")[0] for kind in files} == KINDS.keys()
    for kind, content in files.items():
        info = client.post("/v1/datasets?name=a", content=content, headers={"Content-Type": kind}).json()
        assert (info["cases"], info["fields"]) == (1, {"user_input": "question", "response": "answer"}), kind


@pytest.mark.nightly
def test_columns_of_other_names(tmp_path):
    """A data set is uploaded with its column map, which its runs use; a column that is not there is refused."""
    sent, kind = "nr;frage;gen\nq1;Who?;Ada\n", {"Content-Type": "text/csv"}
    with serving(tmp_path / "runs") as client:
        query = "column=question=frage&column=answer=gen&column=id=nr"
        info = client.post(f"/v1/datasets?name=a&{query}", content=sent, headers=kind).json()
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
        small_dataset = uploaded(client, [{"id": "s", "question": "Who?", "answer": "a", "expected_answer": "a"}])
        run = ended(client, started(client, small_dataset))
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


def test_data_sets_are_listed_page_by_page(client):
    """Each is on one page, the newest first, as it is shown by itself."""
    names = [uploaded(client, rows(1), name=f"set{n}") for n in range(5)]
    pages = [page["datasets"] for page in read_pages(client, "/v1/datasets", limit=2)]
    assert [[info["id"] for info in infos] for infos in pages] == [names[:2:-1], names[2:0:-1], names[:1]]
    assert pages[0][0] == client.get(f"/v1/datasets/{names[-1]}").json()
    assert client.get("/v1/datasets?cursor=no").json()["code"] == "invalid_cursor"


def test_a_data_set_goes_away_unless_a_run_needs_it(tmp_path):
    """A data set is taken away with its files; not while a run of it is queued or runs."""
    with serving(tmp_path / "runs", judges={"slow": ScriptedJudge([YES], delay=0.1)}) as client:
        used, free = uploaded(client, rows(100)), uploaded(client, rows(1))
        run = started(client, used, concurrency=1)
        refused = client.delete(f"/v1/datasets/{used}")
        assert (refused.status_code, run in refused.json()["detail"]) == (409, True)
        client.post(f"/v1/runs/{run}/cancel")
        ended(client, run)
        for dataset in (used, free):
            assert client.delete(f"/v1/datasets/{dataset}").status_code == 204
            assert client.delete(f"/v1/datasets/{dataset}").status_code == 404
        assert client.get(f"/v1/runs/{run}").json()["resumable"] is False
        assert client.post(f"/v1/runs/{run}/resume").status_code == 404
    assert not [*(tmp_path / "runs" / ".datasets").iterdir()]


def test_a_file_is_stored_as_it_was_sent(client, runs):
    """The summary has its cases, its bytes and its hash; the file is kept byte for byte."""
    content = lines(rows(3))
    answer = client.post("/v1/datasets?name=mine", content=content, headers=JSONL)
    info = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (201, f"/v1/datasets/{info['id']}")
    assert (info["name"], info["cases"], info["unread"]) == ("mine", 3, [])
    assert (info["bytes"], info["sha256"]) == (len(content), sha256(content.encode()).hexdigest())
    assert (runs / ".datasets" / info["id"] / "cases.jsonl").read_text() == content
    assert client.get(f"/v1/datasets/{info['id']}").json() == info
    assert client.get("/v1/datasets").json() == {"datasets": [info], "next": None}


def test_a_client_that_disconnects_leaves_nothing(tmp_path):
    """A file that stops in its middle is no data set, and its part is removed."""
    with served(create_app(ServerSettings(runs=tmp_path / "runs"))) as server:
        with connect(server.url) as line:
            line.sendall(
                format_post("/v1/datasets?name=mine", lines(rows(9)), length=100_000, media_type="application/jsonl")
            )
            until(lambda: [*tmp_path.glob("runs/.datasets/.new-*/cases.jsonl")])
        until(lambda: not [*tmp_path.glob("runs/.datasets/*")])


async def test_a_client_that_disconnects_late_leaves_the_whole(tmp_path, monkeypatch):
    """A folder that is being moved to its final place is there in full, also if its client disconnects then."""
    quotas = TenantQuotas(Tenant("", tmp_path), (), UsageLedger(tmp_path / "usage"))
    sync, cancelled = os.fsync, threading.Event()

    def sync_late(file):
        cancelled.wait(SECONDS)
        sync(file)

    async def send():
        yield b"{}\n"

    async def upload():
        async with receive_in_folder(send(), tmp_path / "a.jsonl", 9, quotas=quotas, kind="datasets") as sent:
            monkeypatch.setattr(os, "fsync", sync_late)  # the disk, at the boundary: from here on it takes its time
            await publish_folder(sent.path.parent, tmp_path / "final", quotas=quotas, kind="datasets")

    uploading = asyncio.create_task(upload())
    await asyncio.to_thread(until, (tmp_path / "final").exists)
    uploading.cancel()
    cancelled.set()
    with pytest.raises(asyncio.CancelledError):
        await uploading
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["final", "final/a.jsonl"]


def test_leftovers_of_a_killed_server_are_removed(runs):
    """Half a data set or run of a day ago is removed at the next start; one of now may be another process's work."""
    old = [runs / ".new-1", runs / "ana" / ".gone-2", runs / "ana" / ".datasets" / ".new-3"]
    remaining = [runs / ".new-4", runs / "run"]
    for folder in (*old, *remaining):
        folder.mkdir(parents=True)
    then = time.time() - LEFTOVER_SECONDS - 60
    for folder in (*old, runs / "run"):
        os.utime(folder, (then, then))
    with serving(runs):
        until(lambda: not any(folder.exists() for folder in old))
        assert all(folder.exists() for folder in remaining)


def inspect(folder, *rows_of_file):
    path = folder / "cases.jsonl"
    path.write_text("\n".join(rows_of_file), encoding="utf-8")
    return inspect_dataset(DatasetFile(path, "mine", {}), ReceivedFile(path, 0, ""), "mine-1", ServerLimits())


def test_the_summary_of_a_hostile_file_is_small(tmp_path):
    """Columns and faults are listed up to a number, and cut."""
    wide = [{f"{n}-{m}{'x' * 500}": [m] for m in range(100)} | {"question": "?"} for n in range(20)]
    chunks = [{"id": "c", "text": n, "y" * 5_000: 1} for n in range(100)]
    summary = inspect(tmp_path, *map(json.dumps, wide), json.dumps({"question": "?", "chunks": chunks}))
    assert (summary.cases, summary.unread_count) == (20, 1)
    assert len(summary.ignored) == MAX_LISTED_COLUMNS
    assert len(summary.unread[0].message) <= MAX_MESSAGE
    assert len(summary.model_dump_json()) < 100_000


def test_a_file_of_rows_that_are_no_cases_is_not_read_to_its_end(tmp_path):
    """Beyond a number of faulty rows the file is refused, with the first of them."""
    with pytest.raises(DataError, match=r"mine: more than 100,000 rows are no cases; .* The first: mine:2: is no JSON"):
        inspect(tmp_path, '{"question": "?"}', *["x"] * (MAX_UNREAD_ROWS + 1))
