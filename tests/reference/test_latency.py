"""The latency of a search is the time for which it works: loading the index and waiting for its lock are apart."""

from __future__ import annotations

import asyncio

import pytest
from collected_usages import QUESTIONS, collect_usages
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from small_index import make_harbour_index
from virtual_time import VirtualTimeLoop, in_virtual_time

from greval.reference import searches
from greval.reference.method import ReferenceMethod

LOADING = 1.5
SECONDS = {"basic": 0.25, "bm25": 0.125, "graph": 0.5, "local": 0.375, "hybrid": 1.0}


@pytest.fixture(scope="module")
def timed_searches():
    """Let each search take its time, and the first search of each kind LOADING seconds more."""
    search_chunks, opened = searches.search_chunks, set()

    def search(index, question, kind, *arguments):
        index.loop.spend(SECONDS[kind] + (0 if (id(index), kind) in opened else LOADING))
        opened.add((id(index), kind))
        return search_chunks(index, question, kind, *arguments)

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
            name: ReferenceMethod(indexes[position % 2], name, aggregates=False) for position, name in enumerate(order)
        }
        return await collect_usages(methods, concurrency)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        usages = runner.run(collect())
    assert {name: {each.latency for each in spent} for name, spent in usages.items()} == {
        name: {SECONDS[name]} for name in order
    }
    waited = sum(each.waited for spent in usages.values() for each in spent)
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
