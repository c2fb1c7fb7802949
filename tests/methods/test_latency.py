"""The latency of a method is the time for which it works, whatever it waits for and whoever is in flight with it."""

from __future__ import annotations

import asyncio
import random

import fault_server as fault
import pytest
from collected_usages import QUESTIONS, collect_usages
from virtual_time import in_virtual_time

from greval import Judge
from greval.judging.local import serve
from greval.judging.local.serve import LocalServer
from greval.judging.model.client import JudgeClient
from greval.methods.collecting.api import call_method, collect_async
from greval.methods.endpoint import Endpoint, HttpMethod
from greval.methods.fair_context.answer_generation import generate_answers
from greval.methods.functions import FunctionMethod
from greval.records.case import Response, ResponseUsage, Sample
from greval.testing import ScriptedJudge


@in_virtual_time
async def test_methods_in_flight_do_not_lengthen_one_another():
    """What an asynchronous function takes is its own, in any order and with any number in flight."""
    seconds = {f"m{number}": random.Random(number).randrange(1, 64) / 16 for number in range(6)}
    for concurrency in (1, 3, 18):

        def make(pause):
            async def answer(sample):
                await asyncio.sleep(pause)
                return "Ada."

            return answer

        usages = await collect_usages({name: make(pause) for name, pause in seconds.items()}, concurrency)
        for name, spent in usages.items():
            assert {usage.latency for usage in spent} == {seconds[name]}


@in_virtual_time
async def test_a_function_in_a_thread_is_timed_in_its_thread():
    """The start of the thread is no work of the function."""
    loop = asyncio.get_running_loop()

    def answer(sample):
        loop.spend(2)
        return "Ada."

    case = await call_method(FunctionMethod(answer), "slow", QUESTIONS[0], timeout=None)
    assert (case.usage.latency, case.usage.waited) == (2, 0)


@pytest.mark.parametrize("reported", [None, ResponseUsage(latency=0.5), ResponseUsage(latency=0.5, waited=8)])
@in_virtual_time
async def test_a_model_that_answers_for_all_is_timed_while_it_answers(reported):
    """With one call at a time, five questions in flight take as long as one, and the queue is counted apart."""

    async def retrieve(sample):
        await asyncio.sleep(0.5)
        return Response(chunks=["Ada."], usage=reported)

    client = JudgeClient(ScriptedJudge(["Ada."], delay=2), gate=asyncio.Semaphore(1))
    method = generate_answers(retrieve, client, context="none")
    samples = [Sample(id=f"q{number}", question="Who?") for number in range(5)]
    usages = (await collect_usages({"walk": method}, 5, samples))["walk"]
    assert [usage.latency for usage in usages] == [2.5] * 5
    reported_wait = (reported and reported.waited) or 0
    assert sorted(usage.waited for usage in usages) == [reported_wait + 2 * position for position in range(5)]


@in_virtual_time
async def test_the_embedded_model_answers_one_question_at_a_time(monkeypatch, tmp_path):
    """Its server queues calls, so they wait in this process, where the wait is not taken for work."""

    async def retrieve(sample):
        return Response(chunks=["Ada."])

    async with fault.FaultServer(fault.says("Ada."), latency=2) as server:
        handle = LocalServer(server.url, "key", "own", tmp_path / "own.gguf", 8192)
        monkeypatch.setattr(serve, "serve", lambda name: handle)
        monkeypatch.setattr(serve, "describe", lambda handle: "own")
        method = generate_answers(retrieve, Judge("local:own.gguf"), context="none")
        samples = [Sample(id=f"q{number}", question="Who?") for number in range(4)]
        usages = (await collect_usages({"walk": method}, 4, samples))["walk"]
    assert server.most == 1
    assert [usage.latency for usage in usages] == [2] * 4
    assert sorted(usage.waited for usage in usages) == [0, 2, 4, 6]


@in_virtual_time
async def test_methods_are_prepared_before_the_first_question_and_not_without_one(tmp_path):
    """What a method opens in `prepare` is in no latency; what cannot be opened is told by the question."""
    opened = []

    class Opening:
        async def prepare(self):
            await asyncio.sleep(30)
            opened.append(self)
            raise OSError("no disk")

        async def __call__(self, sample):
            await asyncio.sleep(1)
            return "Ada."

    method = Opening()
    answering = generate_answers(method, ScriptedJudge(["Ada."]), context="default")
    path = tmp_path / "responses.jsonl"
    for _ in range(2):  # the second time all responses are there
        done = await collect_async(QUESTIONS, {"open": method}, out=path, concurrency=3)
        assert [case.usage.latency for case in done.cases()] == [1, 1, 1]
        assert opened == [method]
    with pytest.raises(OSError, match="no disk"):
        await answering.prepare()
    await HttpMethod(Endpoint(url="http://127.0.0.1:1/ask")).prepare()
