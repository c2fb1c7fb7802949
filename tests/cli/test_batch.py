"""`greval batch`: submit the requests of a run, ask for their state, and judge with the replies."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest
from batch_server import BatchServer
from claim_judge import judge_claims
from fault_server import sample
from langchain_core.messages import convert_to_messages

CASES = [{"id": f"q{n}", "question": f"Q{n}?", "answer": f"A{n}.", "chunks": ["a", "b", "c"]} for n in range(3)]


@pytest.fixture
def batches(empty_folder):
    """Serve a batch endpoint in a thread, and give the server and the options that name it as the judge."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = BatchServer(lambda body: json.dumps(sample(body["response_format"]["json_schema"]["schema"], body)))
    runner = asyncio.run_coroutine_threadsafe(server.start(), loop).result()
    yield server, ("--judge", "openai:fine", "--base-url", server.url)
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def write_cases(cases):
    Path("cases.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in cases), encoding="utf-8")


def wait(greval_says, run):
    """Ask for the state of a batch until it is completed, and give what was printed last."""
    return [greval_says("batch", "status", run)[1] for _ in range(4)][-1]


def test_submit_status_and_collect(batches, greval_says):
    """The three commands carry a run from cases to its report."""
    _, judge = batches
    write_cases(CASES)
    code, out, _ = greval_says("batch", "submit", "cases.jsonl", "-m", "answer_quality", "-o", "run", *judge)
    assert (code, "3 requests submitted; " in out) == (0, True)
    assert "completed, 3 of 3 answered" in wait(greval_says, "run")
    code, out, err = greval_says("batch", "collect", "run")
    assert code == 0
    assert "answer_quality" in out
    assert "not judged yet" not in err
    assert "no batch is pending" in greval_says("batch", "status", "run")[1]


def test_claims_take_two_batches(batches, greval_says):
    """The list of claims comes first; what is open after it is counted, and the same command sends it."""
    server, judge = batches
    server.answer = lambda body: json.dumps(judge_claims(convert_to_messages(body["messages"])))
    write_cases([{**case, "expected_answer": case["answer"]} for case in CASES])
    submit = ("batch", "submit", "cases.jsonl", "-m", "claim_correctness", "-o", "run", *judge)
    assert "3 requests submitted" in greval_says(*submit)[1]
    wait(greval_says, "run")
    code, _, err = greval_says("batch", "collect", "run")
    assert code == 0
    assert "3 results not judged yet: repeat the command that submitted the batch" in err
    assert "3 requests submitted" in greval_says(*submit)[1]
    wait(greval_says, "run")
    code, out, err = greval_says("batch", "collect", "run")
    assert (code, "not judged yet" in err) == (0, False)
    assert "Correct: 3" in out
    assert "no request is left to send; greval report run" in greval_says(*submit)[1]


ANSWERS = [
    {"id": f"q{n}", "question": "Who?", "method": name, "answer": f"{name} {n}"} for n in range(3) for name in "ab"
]


def test_single_responses_are_no_pairs(batches, greval_says):
    """A preference on cases of one response each sends nothing and says that all were skipped."""
    server, judge = batches
    write_cases(ANSWERS)
    code, out, _ = greval_says("batch", "submit", "cases.jsonl", "-m", "directness", "-o", "run", *judge)
    assert (code, server.begun) == (0, 0)
    assert "no request is left to send, 6 results skipped; greval report run" in out
    assert "see greval duel" in greval_says("report", "run")[1]
