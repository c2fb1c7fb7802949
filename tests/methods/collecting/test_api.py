"""Collecting: every method is asked about every sample once, and whatever goes wrong is a row."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.runnables import RunnableLambda
from virtual_time import in_virtual_time, now
from waiting import SECONDS

from greval import Case, Response, Sample
from greval.datasets.row_faults import RowFault
from greval.errors import DataError, MethodError, StoreError
from greval.methods.collecting.api import GRACE_SECONDS, Collected, CollectProgress, collect, collect_async


def samples(count=5, **fields):
    return [{"id": f"q{n}", "question": f"Question {n}?", **fields} for n in range(count)]


class Counted:
    """A method that counts its calls by sample, and does as a function from the sample's id says."""

    def __init__(self, act=lambda sample_id: sample_id, delay=0.0):
        self.act = act
        self.delay = delay
        self.calls = []
        self.flying = self.most = 0

    async def __call__(self, sample):
        self.calls.append(sample.id)
        self.flying += 1
        self.most = max(self.most, self.flying)
        try:
            await asyncio.sleep(self.delay)
            result = self.act(sample.id)
            if isinstance(result, BaseException):
                raise result
            return result
        finally:
            self.flying -= 1


@pytest.fixture
def out(tmp_path):
    return tmp_path / "responses.jsonl"


def rows(done):
    return {(case.id, case.method): case for case in done.cases()}


def test_all_samples_by_all_methods(out):
    """Each sample comes with each method, in the order of the samples, whoever answered first."""
    fast, slow = Counted(), Counted(lambda name: Response(answer=name.upper(), chunks=["c"]), delay=0.01)
    done = collect(samples(4), {"slow": slow, "fast": fast}, out=out)
    answers = [(case.id, case.method, case.answer) for case in done.cases()]
    expected = [(f"q{n}", m, a) for n in range(4) for m, a in (("slow", f"Q{n}"), ("fast", f"q{n}"))]
    assert answers == expected
    assert [json.loads(line)["id"] for line in out.read_text(encoding="utf-8").splitlines()] == [w[0] for w in expected]
    assert (done.progress.planned, done.progress.answered, done.progress.failed, done.why) == (8, 8, 0, None)


def test_rows_hold_the_sample_and_the_response(out):
    """A row is the sample, gold and tags too, with the response of this method; nothing of an older response."""
    sample_row = {
        **samples(1)[0],
        "expected_answer": "E",
        "gold": {"essential_docs": ["d"]},
        "tags": {"movie": "tt1"},
        "answer": "old",
        "method": "older",
        "usage": {"latency": 9},
    }
    (case,) = collect(
        [sample_row], {"new": lambda sample: f"{sample.tags['movie']} {sample.gold.essential_docs}"}, out=out
    ).cases()
    assert (case.method, case.answer) == ("new", "tt1 ('d',)")
    assert (case.expected_answer, case.gold.essential_docs, case.tags) == ("E", ("d",), {"movie": "tt1"})
    assert case.chunks is None
    assert case.usage.latency != 9


def test_no_more_at_once_than_wanted(out):
    """Never are more calls in flight than `concurrency`, and that many are."""
    first, second = Counted(delay=0.005), Counted(delay=0.005)
    both = {"one": first, "two": second}
    most = []
    collect(samples(20), both, out=out, concurrency=6, on_progress=lambda p: most.append(p.in_flight))
    assert first.most + second.most >= 6
    assert first.most <= 6
    assert max(most) <= 5  # beside the one that was just written


def test_what_goes_wrong_is_a_row(out):
    """A method that raises, or reports a failure itself, is a row with its error and no answer."""
    acts = {"q0": "fine", "q1": KeyError("missing"), "q2": Response(error="told by itself")}
    collected = collect(samples(3), {"m": Counted(acts.get)}, out=out)
    assert {case.id: case.error for case in collected.cases()} == {
        "q0": None,
        "q1": "KeyError: 'missing'",
        "q2": "told by itself",
    }
    assert (collected.progress.answered, collected.progress.failed) == (1, 2)
    assert all(case.answer is None for case in collected.cases() if case.error)
    assert collected.failures["m"]["KeyError: 'missing'"] == 1


LATE = {"q0": None, "q1": "TimeoutError: no response within 2 s", "q2": None, "q3": None}


@pytest.mark.parametrize("kind", ["asynchronous", "stubborn"])
@in_virtual_time
async def test_a_method_that_takes_too_long(out, kind):
    """What takes longer than `timeout` is a row; the others are not held up, nor is the end."""
    ended = {}

    async def hang(sample):
        if sample.id == "q1":
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if kind == "asynchronous":
                    raise
                await asyncio.sleep(30)
        ended[sample.id] = now()
        return "fine"

    start = now()
    done = await collect_async(samples(4), {"m": hang}, out=out, timeout=2, concurrency=2)
    assert ended == dict.fromkeys(("q0", "q2", "q3"), start)
    assert now() - start == 2 + (GRACE_SECONDS if kind == "stubborn" else 0)
    assert {case.id: case.error for case in done.cases()} == LATE


def test_a_blocking_method_that_takes_too_long(out):
    """A blocking method that takes longer than `timeout` is a row; neither the others nor the end wait for it."""
    release, ended = threading.Event(), []

    def block(sample):
        if sample.id == "q1":
            release.wait(SECONDS)
        ended.append(sample.id)
        return "fine"

    done = collect(samples(4), {"m": block}, out=out, timeout=2, concurrency=2)
    assert sorted(ended) == ["q0", "q2", "q3"]
    assert {case.id: case.error for case in done.cases()} == LATE
    release.set()


def test_the_same_again_asks_nothing(out):
    """What was answered is kept and not asked again; what failed is, unless that is not wanted."""
    method = Counted({"q0": "fine", "q1": KeyError("x"), "q2": "fine"}.get)
    collect(samples(3), {"m": method}, out=out)
    method.calls.clear()
    repeated = collect(samples(3), {"m": method}, out=out, retry_failed=False)
    assert method.calls == []
    assert (repeated.progress.answered, repeated.progress.failed, repeated.progress.kept) == (2, 1, 3)
    method.act = lambda _: "mended"
    mended = collect(samples(3), {"m": method}, out=out)
    assert method.calls == ["q1"]
    assert (mended.progress.answered, mended.progress.failed, mended.progress.kept) == (3, 0, 2)
    assert [case.answer for case in mended.cases()] == ["fine", "mended", "fine"]


@pytest.mark.parametrize(
    "change",
    [{"question": "Other?"}, {"expected_answer": "E"}, {"gold": {"essential_docs": ["d"]}}, {"tags": {"movie": "tt1"}}],
)
def test_a_sample_that_changed_is_asked_again(out, change):
    """A changed question, answer, gold or tag is asked again, this sample only; the old row is gone."""
    method = Counted()
    collect(samples(3), {"m": method}, out=out)
    method.calls.clear()
    changed = samples(3)
    changed[1] |= change
    done = collect(changed, {"m": method}, out=out)
    assert method.calls == ["q1"]
    assert len([*done.cases()]) == 3
    assert rows(done)["q1", "m"].model_dump(include={*change}, exclude_defaults=True) != {}


def test_other_rows_stay(out):
    """What other methods and other samples gave stays in the file, after what was asked for now."""
    collect(samples(3), {"one": Counted()}, out=out)
    done = collect(samples(4)[3:], {"two": Counted()}, out=out)
    assert [(case.id, case.method) for case in done.cases()] == [
        ("q3", "two"),
        ("q0", "one"),
        ("q1", "one"),
        ("q2", "one"),
    ]
    done = collect(samples(4), {"two": Counted(), "one": Counted()}, out=out)
    assert [(c.id, c.method) for c in done.cases()] == [(f"q{n}", m) for n in range(4) for m in ("two", "one")]
    assert done.progress.kept == 4


def test_rows_that_are_no_samples(out):
    """Rows that cannot be read are counted and told, and stop no other."""
    sample_rows = [
        RowFault(place="s.jsonl:1", message="is no JSON"),
        {"id": "q1"},
        {"id": "q2", "question": "Two?"},
        {"id": "q2", "question": "Another?"},
        {"id": "q2", "question": "Two?", "method": "old", "tags": {"right": "no"}},
        {"question": "Without an id?"},
        Sample(id="q7", question="half \ud83d"),
        Case(id="q8", question="Eight?", answer="old"),
    ]
    done = collect(sample_rows, {"m": Counted()}, out=out)
    assert [case.id for case in done.cases()] == ["q2", "row-6", "q8"]
    assert done.progress.unread == 4
    assert done.unread[0] == "s.jsonl:1: is no JSON"
    assert done.unread[1].startswith("samples, row 2: question")
    assert done.unread[2] == "samples, row 4: id: q2 is at samples, row 3 already; give each case its own"
    assert done.progress.planned == 3


def test_stopping_in_order(out):
    """Once a stop is wanted nothing more is begun; what was in flight is written, and the same again goes on."""
    method = Counted(delay=0.02)

    async def run(stop_after):
        stop = asyncio.Event()
        snapshots = []

        def watch(progress):
            snapshots.append(progress)
            if progress.done == stop_after:
                stop.set()

        return await collect_async(
            samples(12), {"m": method}, out=out, concurrency=3, stop=stop, on_progress=watch
        ), snapshots

    done, snapshots = asyncio.run(run(3))
    assert isinstance(done, Collected)
    assert done.stopped
    assert done.why == "it was asked to stop"
    assert 3 <= len([*done.cases()]) == len(method.calls) == len(snapshots) < 12
    assert isinstance(snapshots[-1], CollectProgress)
    done, _ = asyncio.run(run(12))
    assert done.why is None
    assert sorted(method.calls) == sorted(f"q{n}" for n in range(12))
    assert [case.id for case in done.cases()] == [f"q{n}" for n in range(12)]


@in_virtual_time
async def test_cancelling_cancels_the_methods(out):
    """Where the caller gives up, the calls in flight are given up too, and what was answered is kept."""
    method = Counted(delay=0.05)
    ended = []

    async def hangs(sample):
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(sample.id)

    work = collect_async(samples(3), {"fast": method, "slow": hangs}, out=out)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(work, 0.5)
    await asyncio.sleep(0.05)
    assert sorted(ended) == ["q0", "q1", "q2"]  # before the end of the loop ends them all
    assert (await collect_async(samples(3), {"fast": method}, out=out)).progress.kept == 3


def test_samples_are_read_as_they_are_needed(out):
    """A stream of samples is not read ahead of the methods."""
    read_ids = []

    def stream():
        for sample in samples(50):
            read_ids.append(sample["id"])
            yield sample

    ahead = []
    method = Counted(lambda name: ahead.append(len(read_ids)) or name, delay=0.001)
    done = collect(stream(), {"m": method}, out=out, concurrency=2)
    assert done.progress.planned == 50
    assert max(n - k for k, n in enumerate(ahead)) <= 3


@pytest.mark.parametrize(
    ("methods", "options", "error", "told"),
    [
        ({}, {}, MethodError, "no method is given"),
        ({"": Counted()}, {}, MethodError, "without a name"),
        ({"m": 3}, {}, MethodError, "m: int is not a method"),
        ({"m": lambda: "x"}, {}, MethodError, "m: cannot be called with a sample alone"),
        ({"m": Counted()}, {"concurrency": 0}, MethodError, "must be 1 or more"),
    ],
)
def test_what_cannot_begin(out, methods, options, error, told):
    """What cannot work at all is told before anything is asked or written."""
    with pytest.raises(error, match=told):
        collect(samples(1), methods, out=out, **options)
    assert not out.exists()


def test_a_file_that_cannot_be_used(out):
    """A file that holds something else is refused before a method is asked."""
    out.write_text("precious\n", encoding="utf-8")
    method = Counted()
    with pytest.raises(StoreError, match="choose another"):
        collect(samples(1), {"m": method}, out=out)
    assert method.calls == []


def test_a_stream_that_breaks(out):
    """Where the samples cannot be read on, that is raised, and what was answered is kept."""

    def stream():
        yield from samples(2)
        raise DataError("s.parquet: cannot be read")

    method = Counted()
    with pytest.raises(DataError, match=r"s\.parquet"):
        collect(stream(), {"m": method}, out=out, concurrency=1)
    assert collect(samples(2), {"m": method}, out=out).progress.kept == 2


def test_langchain_and_threads_of_the_caller(out):
    """Runnables are methods, and `collect` works where a loop already runs, as in a notebook."""

    async def notebook():
        return collect(samples(2), {"chain": RunnableLambda(lambda question: question.upper())}, out=out)

    assert [case.answer for case in asyncio.run(notebook()).cases()] == ["QUESTION 0?", "QUESTION 1?"]


def test_synchronous_runnables_share_the_limit(out):
    """LangChain's synchronous parts are held up by no small pool either."""
    together = threading.Barrier(12)

    def meet(question):
        together.wait(SECONDS)
        return question

    done = collect(samples(12), {"chain": RunnableLambda(meet)}, out=out, concurrency=12)
    assert done.progress.answered == 12


def test_what_was_spent_is_added_up(out):
    """Progress adds up what the new responses tell of calls, tokens and cost."""
    usage = {"llm_calls": 2, "prompt_tokens": 10, "output_tokens": 1, "cost": 0.5}
    method = Counted(lambda _: {"answer": "x", "usage": usage})
    progress = collect(samples(3), {"m": method}, out=out).progress
    assert (progress.usage.calls, progress.usage.input_tokens, progress.usage.output_tokens) == (6, 30, 3)
    assert progress.cost == 1.5
    assert collect(samples(3), {"m": method}, out=out).progress.usage.calls == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=4))
@settings(max_examples=15)
def test_however_often_it_is_run(tmp_path_factory, plan):
    """Whatever fails in whichever run, an answered sample is never asked again, and none is lost."""
    out = tmp_path_factory.mktemp("often") / "r.jsonl"
    answered = set()
    for broken, retry in plan:
        method = Counted(lambda name, broken=broken: KeyError(name) if name == f"q{broken}" else name)
        done = collect(samples(4), {"m": method}, out=out, retry_failed=retry)
        assert answered.isdisjoint(method.calls)
        answered |= {name for name in method.calls if name != f"q{broken}"}
        cases = [*done.cases()]
        assert [case.id for case in cases] == ["q0", "q1", "q2", "q3"]
        assert {case.id for case in cases if case.error is None} == answered
