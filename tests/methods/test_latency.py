"""The latency of a method is the time for which it works, whatever it waits for and whoever is in flight with it."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections import defaultdict
from pathlib import Path

import fault_server as fault
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from small_index import make_harbour_index
from virtual_time import VirtualTimeLoop, in_virtual_time

from greval import Judge
from greval.judging.local import serve
from greval.judging.local.serve import LocalServer
from greval.judging.model.client import JudgeClient
from greval.methods.collecting.api import call_method, collect_async
from greval.methods.endpoint import Endpoint, HttpMethod
from greval.methods.fair_context.answer_generation import generate_answers
from greval.methods.functions import FunctionMethod
from greval.methods.reference import searches
from greval.methods.reference.method import ReferenceMethod
from greval.records.case import Effort, Response, Sample
from greval.testing import ScriptedJudge

LOADING = 1.5
SECONDS = {"basic": 0.25, "bm25": 0.125, "graph": 0.5, "local": 0.375, "hybrid": 1.0}
QUESTIONS = [Sample(id=f"q{number}", question="Who owns the ferry MV Tern?") for number in range(3)]


async def collect_usages(methods, concurrency, samples=QUESTIONS):
    """Return what each method spent on each question."""
    usages = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        done = await collect_async(samples, methods, out=Path(folder) / "responses.jsonl", concurrency=concurrency)
        for case in done.cases():
            assert case.error is None, case.error
            usages[case.method].append(case.usage)
    return dict(usages)


@pytest.fixture(scope="module")
def timed_searches():
    """Let each search take its time, and the first search of each kind LOADING seconds more."""
    search_chunks, opened = searches.search_chunks, set()

    def search(index, question, kind, *rest):
        index.loop.spend(SECONDS[kind] + (0 if (id(index), kind) in opened else LOADING))
        opened.add((id(index), kind))
        return search_chunks(index, question, kind, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searches, "search_chunks", search)
        yield


@examples(max_examples=8)
@given(st.permutations([*SECONDS]), st.sampled_from([1, 2, 15]))
def test_no_order_of_methods_changes_the_latency_of_one(timed_searches, order, concurrency):
    """Loading the index and waiting for its lock are in the latency of no method; what was waited is recorded."""

    async def collect():
        indexes = make_harbour_index(), make_harbour_index()
        for index in indexes:
            index.loop = asyncio.get_running_loop()
        methods = {
            name: ReferenceMethod(indexes[place % 2], name, aggregates=False) for place, name in enumerate(order)
        }
        return await collect_usages(methods, concurrency)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        usages = runner.run(collect())
    assert {name: {one.latency for one in spent} for name, spent in usages.items()} == {
        name: {SECONDS[name]} for name in order
    }
    waited = sum(one.waited for spent in usages.values() for one in spent)
    assert waited < LOADING if concurrency == 1 else waited > 0


@in_virtual_time
async def test_a_question_asked_without_a_collection_excludes_the_loading(timed_searches):
    """The loading is recorded as waiting by whoever asks first."""
    index = make_harbour_index()
    index.loop = asyncio.get_running_loop()
    method = ReferenceMethod(index, "hybrid", aggregates=False)
    first, second = [(await method(QUESTIONS[0])).usage for _ in range(2)]
    assert (first.latency, second.latency, second.waited) == (SECONDS["hybrid"], SECONDS["hybrid"], 0)
    assert first.waited >= LOADING


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
            assert {one.latency for one in spent} == {seconds[name]}


@in_virtual_time
async def test_a_function_in_a_thread_is_timed_in_its_thread():
    """The start of the thread is no work of the function."""
    loop = asyncio.get_running_loop()

    def answer(sample):
        loop.spend(2)
        return "Ada."

    case = await call_method(FunctionMethod(answer), "slow", QUESTIONS[0], timeout=None)
    assert (case.usage.latency, case.usage.waited) == (2, 0)


@pytest.mark.parametrize("reported", [None, Effort(latency=0.5), Effort(latency=0.5, waited=8)])
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
    assert [one.latency for one in usages] == [2.5] * 5
    before = (reported and reported.waited) or 0
    assert sorted(one.waited for one in usages) == [before + 2 * place for place in range(5)]


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
    assert [one.latency for one in usages] == [2] * 4
    assert sorted(one.waited for one in usages) == [0, 2, 4, 6]


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
