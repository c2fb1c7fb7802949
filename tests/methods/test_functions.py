"""Methods under test: functions as methods, what they give, and how they are named."""

from __future__ import annotations

import asyncio
import functools
import sys
import threading

import pytest
from waiting import SECONDS

from greval import Response, Sample
from greval.errors import MethodError
from greval.methods import functions as functions_module
from greval.methods.functions import FunctionMethod
from greval.methods.loading import as_method
from greval.methods.protocol import Method

SAMPLE = Sample(id="q1", question="Who?", tags={"movie": "tt1"})


class Greeter:
    """An object that can be called, with settings of its own."""

    def __init__(self, word="Hello"):
        self.word = word

    async def __call__(self, sample):
        return f"{self.word}, {sample.question}"

    def plain(self, sample):
        return Response(answer=f"{self.word} plainly, {sample.question}")


def asked(method, sample=SAMPLE):
    return asyncio.run(method(sample))


def sync_answer(sample):
    return {"answer": sample.question, "usage": {"llm_calls": 2}}


async def async_answer(sample):
    return Response(answer=sample.question.upper())


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (sync_answer, "Who?"),
        (async_answer, "WHO?"),
        (lambda sample: async_answer(Sample(question=sample.question + "?")), "WHO??"),
        (functools.partial(lambda word, sample: word + sample.question, "So: "), "So: Who?"),
        (Greeter(), "Hello, Who?"),
        (Greeter("Hi").plain, "Hi plainly, Who?"),
    ],
)
def test_anything_that_can_be_called_is_a_method(function, answer):
    """Functions, asynchronous or not, partials, bound methods and objects all answer."""
    method = as_method(function)
    assert isinstance(method, Method)
    assert asked(method).answer == answer


def test_synchronous_calls_run_side_by_side():
    """Thirty calls that block wait for one another in no pool: they are all inside at once."""
    together = threading.Barrier(30)

    def wait(sample):
        together.wait(SECONDS)
        return "met"

    async def all_at_once():
        return await asyncio.gather(*(FunctionMethod(wait)(SAMPLE) for _ in range(30)))

    assert [response.answer for response in asyncio.run(all_at_once())] == ["met"] * 30


def test_a_function_that_stops_an_iteration():
    """StopIteration, which asyncio cannot carry, is an error and no hang."""
    with pytest.raises(RuntimeError, match="StopIteration"):
        asked(FunctionMethod(lambda sample: next(iter(()))))


def test_calls_that_hang_are_bounded():
    """Where too many calls were given up and still run, the next one is refused, until some end."""
    release = threading.Event()
    method = FunctionMethod(lambda sample: release.wait(SECONDS) and "late")

    async def give_up():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await method(SAMPLE)

    async def run():
        await asyncio.gather(*(give_up() for _ in range(functions_module.MAX_ABANDONED)))
        with pytest.raises(MethodError, match=f"{functions_module.MAX_ABANDONED} earlier calls"):
            await method(SAMPLE)
        release.set()
        await asyncio.gather(*map(asyncio.wrap_future, [*method._abandoned]))
        return await method(SAMPLE)

    assert asyncio.run(run()).answer == "late"


def test_threads_do_not_hold_up_the_end():
    """A call that hangs for ever leaves the process free to end."""
    import subprocess  # noqa: PLC0415 - this test alone

    code = (
        "import asyncio, time\n"
        "from greval import Sample\n"
        "from greval.methods.functions import FunctionMethod\n"
        "async def run():\n"
        "    try:\n"
        "        async with asyncio.timeout(0.05):\n"
        "            await FunctionMethod(lambda sample: time.sleep(600))(Sample(question='q'))\n"
        "    except TimeoutError:\n"
        "        print('given up')\n"
        "asyncio.run(run())\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    assert done.stdout == "given up\n"
