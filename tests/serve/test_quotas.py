"""Quotas over HTTP: what every tenant used is counted in one place, kept on disk, and limited with a clear answer."""

from __future__ import annotations

import json
import random
import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from agreed_runs import write
from drafting_judge import draft_or_judge
from fault_server import FaultServer
from served_runs import YES, ended, lines, over_http, rows, serving, started, two_tenants, uploaded
from serving import ASKED, INVOKED, server_process
from waiting import SECONDS, until

from greval.errors import GrevalError
from greval.judging.model.judge import Judge
from greval.records.result import Usage
from greval.serve.quotas import parse_quota
from greval.serve.settings import ServerLimits, ServerSettings
from greval.serve.start import run_server
from greval.serve.usage_ledger import LEDGER_FILE, UsageLedger
from greval.testing import ScriptedJudge

JSONL = {"Content-Type": "application/jsonl"}
COMPUTED = {**ASKED, "metrics": ["exact_match"]}


def quotas(*texts: str):
    return tuple(map(parse_quota, texts))


def used(client, headers=None) -> dict[str, float]:
    """Return what was used by its name, and by the period if it has one."""
    amounts = client.get("/v1/usage", headers=headers).json()["amounts"]
    return {"/".join(filter(None, (amount["name"], amount["period"]))): amount["used"] for amount in amounts}


def refused_with(answer):
    """Return status and code of an answer."""
    return answer.status_code, answer.json()["code"]


PATHS = [
    ("/v1/evaluate", ASKED),
    ("/metrics/correctness/invoke", INVOKED),
    ("/v1/metrics/draft", {"name": "tone", "description": "Whether the answer is polite."}),
]
"""Requests that ask a judge."""


@pytest.mark.nightly
def test_all_calls_are_counted_in_one_place(runs):
    """Calls of requests, of LangServe, of drafts and of runs add up in `/v1/usage`, also after a restart."""
    judge = ScriptedJudge(draft_or_judge("It fits."))
    with serving(runs, judges={"j": judge}) as client:
        assert set(used(client).values()) == {0}
        assert client.post("/v1/evaluate", json=COMPUTED).status_code == 200
        assert used(client)["calls/day"] == 0
        for path, body in PATHS:
            calls_before = len(judge.calls)
            assert client.post(path, json=body).status_code == 200
            assert len(judge.calls) > calls_before
            assert used(client)["calls/day"] == used(client)["calls/month"] == len(judge.calls), path
        ended(client, started(client, uploaded(client, rows(5))))
        amounts = used(client)
        assert amounts["calls/day"] == len(judge.calls) >= 8
        assert (amounts["datasets"], amounts["runs"], amounts["tokens/day"] > 0) == (1, 1, True)
        assert amounts["disk"] == sum(file.stat().st_size for file in runs.rglob("*") if file.is_file())
        (label,) = (judge["label"] for judge in client.get("/v1/judges").json()["judges"])
        text = client.get("/metrics-exposition").text
        assert f'greval_judge_calls_total{{judge="{label}"}} {len(judge.calls)}.0' in text
    with serving(runs, judges={"j": judge}) as client:
        assert used(client)["calls/day"] == len(judge.calls)


@pytest.mark.parametrize(("path", "body"), PATHS)
def test_calls_beyond_a_quota_are_refused(runs, path, body):
    """The answer says limit, use and renewal, with `Retry-After`; nothing is asked, computing goes on."""
    judge = ScriptedJudge([YES])
    with serving(runs, judges={"j": judge}, quotas=quotas("calls=1")) as client:
        assert client.post("/v1/evaluate", json=ASKED).status_code == 200
        now = datetime.now(UTC)
        answer = client.post(path, json=body)
        midnight = now.replace(hour=0, minute=0, second=0) + timedelta(days=1)
        assert refused_with(answer) == (429, "quota_reached")
        assert "the quota of 1 call a day is used up (1 call); it renews at" in answer.json()["detail"]
        assert 0 < int(answer.headers["retry-after"]) <= (midnight - now).total_seconds() + 1
        assert client.post("/v1/evaluate", json=COMPUTED).status_code == 200
        run = {"dataset": uploaded(client, rows(1)), "metrics": ["correctness"]}
        assert client.post("/v1/runs", json=run).status_code == 429
        (amount,) = (entry for entry in client.get("/v1/usage").json()["amounts"] if entry["limit"] is not None)
        assert (amount["name"], amount["period"], amount["used"], amount["limit"]) == ("calls", "day", 1, 1)
        assert datetime.fromisoformat(amount["renews"]) > now
    assert len(judge.calls) == 1


@pytest.mark.parametrize(
    ("path", "body", "rows_field"),
    [
        ("/v1/evaluate", {"cases": rows(6), "metrics": ["correctness"]}, "results"),
        ("/metrics/correctness/batch", {"inputs": rows(6)}, "output"),
    ],
)
def test_a_quota_reached_within_a_request_fails_the_other_cases(runs, path, body, rows_field):
    """What was judged is answered; the others fail with the kind `quota`, and are not asked about."""
    judge = ScriptedJudge([YES])
    with serving(runs, judges={"j": judge}, quotas=quotas("calls=4")) as client:
        outcomes = [row["outcome"] for row in client.post(path, json=body).json()[rows_field]]
        assert [outcome["status"] for outcome in outcomes].count("scored") == len(judge.calls) == 4
        kinds = {outcome["error"]["kind"] for outcome in outcomes if outcome["status"] == "failed"}
        assert kinds == {"quota"}


def test_a_run_stops_in_order_at_a_quota_and_can_be_resumed(runs):
    """The run is stopped with the reason; with a higher quota it judges the rest, and nothing twice."""
    judge = ScriptedJudge([YES])
    with over_http({"j": judge}) as judges:
        with serving(runs, judges=judges, quotas=quotas("calls=7")) as client:
            run = started(client, uploaded(client, rows(20)), "correctness", "exact_match")
            info = ended(client, run)
            assert (info["status"], info["resumable"], len(judge.calls)) == ("stopped", True, 7)
            assert "the quota of 7 calls a day is used up (7 calls); it renews at" in info["why"]
            assert refused_with(client.post(f"/v1/runs/{run}/resume")) == (429, "quota_reached")
        with serving(runs, judges=judges, quotas=quotas("calls=30")) as client:
            assert client.post(f"/v1/runs/{run}/resume").status_code == 202
            assert ended(client, run)["status"] == "finished"
            assert used(client)["calls/day"] == len(judge.calls) == 20


@pytest.mark.parametrize("quota", ["tokens=1", "cost=0.000001/month"])
def test_tokens_and_cost_are_limited(tmp_path, quota):
    """The call that exceeds a quota of tokens or cost is the last one."""
    with FaultServer() as judge:
        judges = {"j": Judge("openai:gpt-5.4-mini", base_url=judge.url)}
        with serving(tmp_path / "runs", judges=judges, quotas=quotas(quota)) as client:
            assert client.post("/v1/evaluate", json=ASKED).status_code == 200
            assert client.post("/v1/evaluate", json=ASKED).status_code == 429
            amounts = used(client)
        assert (amounts["calls/day"], amounts["tokens/day"] > 1, amounts["cost/month"] > 0) == (1, True, True)


def test_tenants_have_their_own_quotas_and_see_their_own_use(tmp_path):
    """What one key uses is neither counted for another nor shown to it; a quota may be of one tenant."""
    with two_tenants(tmp_path, quotas=quotas("calls=1", "ana:calls=3")) as (client, ana, ben):
        for headers, served in ((ana, 3), (ben, 1)):
            codes = [client.post("/v1/evaluate", json=ASKED, headers=headers).status_code for _ in range(4)]
            assert codes == [200] * served + [429] * (4 - served)
            assert used(client, headers)["calls/day"] == served
        uploaded(client, rows(3), headers=ana)
        assert used(client, ana)["disk"] > used(client, ben)["disk"] == 0


def test_requests_at_once_keep_to_the_number_together(runs):
    """Of ten uploads at once no more are stored than the quota allows."""
    with serving(runs, quotas=quotas("datasets=3")) as client, ThreadPoolExecutor(10) as threads:
        content = lines(rows(1))
        sent = [threads.submit(client.post, "/v1/datasets?name=a", content=content, headers=JSONL) for _ in range(10)]
        assert sorted(answer.result().status_code for answer in sent) == [201] * 3 + [409] * 7
        assert used(client)["datasets"] == 3


def test_annotations_count_for_the_disk(runs):
    """Labels that do not fit in what is left are refused, and leave nothing."""
    with serving(runs, quotas=quotas("disk=1MB")) as client:
        write(runs / "judged", "right", ["Yes"] * 3)
        label = {"sample_id": "q0", "metric": "right", "annotator": "ana", "value": "Yes"}
        path = "/v1/runs/judged/annotations"
        assert client.put(path, json=[label]).status_code == 200
        long = [{**label, "annotator": f"a{n}", "reason": "x" * 100_000} for n in range(12)]
        assert refused_with(client.put(path, json=long)) == (409, "quota_full")
        assert client.get(path).json()["annotations"][0]["annotator"] == "ana"
        assert not [*runs.rglob(".new-*")]


def test_the_disk_is_limited(runs):
    """A file that does not fit in what is left is refused and leaves nothing; nothing starts on a full quota."""
    with serving(runs, quotas=quotas("disk=1MB")) as client:
        data = uploaded(client, rows(1))
        content = lines([{"question": "a" * 150_000, "id": f"q{n}"} for n in range(7)])
        answer = client.post("/v1/datasets?name=a", content=content, headers=JSONL)
        assert refused_with(answer) == (409, "quota_full")
        assert used(client)["datasets"] == 1
        assert not [*runs.glob(".datasets/.new-*")]
        (runs / "other").write_bytes(b"\0" * 1024 * 1024)
        answer = client.post("/v1/runs", json={"dataset": data, "metrics": ["exact_match"]})
        assert refused_with(answer) == (409, "quota_full")


@pytest.mark.nightly
@pytest.mark.parametrize("limits", [(), ("--quota", "calls=100000")])
def test_kill_loses_no_call_but_those_in_flight(tmp_path, limits):
    """After `kill -9` at a random moment, with two processes, calls are counted once each.

    With a quota the calls in flight are counted too, because they were counted before they were made.
    """
    with FaultServer(latency=0.02) as judge:
        words = ("--judge", "openai:gpt-5.4-mini", "--base-url", judge.url, "--runs", "runs", "--workers", 2, *limits)
        options = {"folder": tmp_path, "environment": {"OPENAI_API_KEY": "none"}}
        with server_process(*words, **options) as server, ThreadPoolExecutor(8) as many:
            body = {"cases": rows(40), "metrics": ["correctness"]}
            path = f"{server.url}/v1/evaluate"
            asking = [many.submit(httpx.post, path, json=body, timeout=SECONDS) for _ in range(8)]
            until(lambda: len(judge.bodies) > 40)
            time.sleep(random.Random(7).random() * 0.3)
            server.kill()
            assert {type(request.exception()) for request in asking}
        calls = len(judge.bodies)
        with server_process(*words, **options) as server, httpx.Client(base_url=server.url, timeout=SECONDS) as client:
            amounts = used(client)
            in_flight = amounts["calls/day"] - calls if limits else calls - amounts["calls/day"]
            assert 0 <= in_flight <= 32
            run = ended(client, started(client, uploaded(client, rows(30))))
            assert run["status"] == "finished"
            assert used(client)["calls/day"] == amounts["calls/day"] + len(judge.bodies) - calls


@pytest.mark.parametrize("texts", [(), ("calls=100",)])
def test_a_call_that_is_cancelled_is_counted(tmp_path, texts):
    """A request that takes too long cancels its call, which may cost something all the same."""
    runs, limits = tmp_path / "runs", ServerLimits(seconds=5)
    with FaultServer(latency=30) as judge:
        judges = {"j": Judge("openai:x", base_url=judge.url)}
        with serving(runs, judges=judges, limits=limits, quotas=quotas(*texts)) as client:
            # on a busy machine a request may take too long before its call is made
            until(lambda: client.post("/v1/evaluate", json=ASKED).status_code == 504 and judge.bodies)
        calls = len(judge.bodies)
        with serving(runs, judges=judges, quotas=quotas(*texts)) as client:
            assert used(client)["calls/day"] >= calls


def test_a_ledger_that_cannot_be_written_stops_limited_calls_only(runs, caplog):
    """Without a quota judging goes on; with one no call is made that could not be counted."""
    (runs / LEDGER_FILE).mkdir(parents=True)
    judge = ScriptedJudge([YES])
    for texts, status in (((), "scored"), (("calls=5",), "failed")):
        with serving(runs, judges={"j": judge}, quotas=quotas(*texts)) as client:
            outcome = client.post("/v1/evaluate", json=ASKED).json()["results"][0]["outcome"]
            assert (outcome["status"], len(judge.calls)) == (status, 1)
    assert "cannot count its calls" in outcome["error"]["message"]
    assert str(runs) not in json.dumps(outcome)
    assert "a call could not be counted" in caplog.text


def test_days_and_months_renew(tmp_path):
    """What was spent on earlier days counts for the month only, and that of earlier months not at all."""
    with UsageLedger(tmp_path / "u") as ledger:
        for day in (datetime(2026, 10, 31, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)):
            assert ledger.begin_call("ana", "j", day, ()) is None
            ledger.add_usage("ana", "j", day, Usage(calls=1, input_tokens=10, output_tokens=1), calls=0)
        now = datetime(2026, 11, 2, 12, tzinfo=UTC)
        assert ledger.begin_call("ana", "j", now, quotas("calls=1", "tokens=12/month")) is None
        reached = ledger.begin_call("ana", "j", now, quotas("calls=5", "tokens=11/month"))
        assert reached
        assert (reached[0].name, reached[1]) == ("tokens", 11)
        assert ledger.begin_call("ben", "j", now, quotas("tokens=11/month")) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("calls", "is no quota; write"),
        ("call=5", "did you mean calls"),
        ("disk=5", "disk needs MB or GB"),
        ("calls=5MB", "only disk takes MB or GB"),
        ("runs=5/day", "runs does not renew"),
        ("calls=5/week", "day or month"),
        ("calls=0", "more than 0"),
        ("calls=1.5", "whole unless"),
    ],
)
def test_texts_that_are_no_quotas(text, message):
    """The error names the option and what is wrong, and shows how to write one."""
    with pytest.raises(GrevalError, match=rf"^--quota {re.escape(text)}: .*{message}"):
        parse_quota(text)


def test_quotas_that_cannot_hold_stop_the_start(tmp_path, monkeypatch):
    """A quota of cost needs the prices of all judges, one of a tenant needs keys."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    for settings, message in (
        ({"judges": {"j": Judge("openai:x")}, "quotas": quotas("cost=5")}, "no price is known"),
        ({"quotas": quotas("ana:calls=5")}, "without keys there are no tenants"),
    ):
        with pytest.raises(GrevalError, match=message):
            run_server(ServerSettings(runs=tmp_path / "runs", **settings))
    assert not (tmp_path / "runs").exists()
