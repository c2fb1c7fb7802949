"""One call of a method: its response as a case, and every way of failing as an error of that case alone."""

from __future__ import annotations

import asyncio

import pytest

from greval.judging.model.failures import MAX_MESSAGE_CHARS
from greval.methods.collecting.api import call_method
from greval.records.case import Case, Gold, Response, ResponseUsage, Sample

SAMPLE = Sample(id="q1", question="Who?", expected_answer="Ada", gold=Gold(essential_docs=("d1",)), tags={"k": "v"})


class MuteError(Exception):
    """An error whose text cannot be read."""

    def __str__(self):
        raise ValueError("no text")


async def call(result, **options):
    """Call a method that returns or raises the given result."""

    async def method(sample):
        assert sample is SAMPLE
        if isinstance(result, BaseException):
            raise result
        return result

    return await call_method(method, "walk", SAMPLE, timeout=options.pop("timeout", None), **options)


async def test_the_sample_and_the_response_are_one_case():
    """The case has every field of the sample, the response, the name of the method, and a measured latency."""
    case = await call(Response(answer="Ada.", usage=ResponseUsage(llm_calls=3)))
    assert type(case) is Case
    assert {name: getattr(case, name) for name in Sample.model_fields} == dict(SAMPLE)
    assert (case.answer, case.method, case.error, case.usage.llm_calls) == ("Ada.", "walk", None, 3)
    assert case.usage.latency >= 0


async def test_a_reported_latency_is_kept():
    """The latency that a method reports is not replaced by the measured one."""
    assert (await call(Response(answer="Ada.", usage=ResponseUsage(latency=99.0)))).usage.latency == 99.0


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (ValueError("it broke"), "ValueError: it broke"),
        (ValueError(), "ValueError"),
        (MuteError(), "MuteError"),
        (ExceptionGroup("several", [KeyError("one")]), "KeyError: 'one'"),
        (SystemExit(3), "MethodError: SystemExit: 3"),
        (asyncio.CancelledError(), "MethodError: the method cancelled itself"),
        (RuntimeError("key sk-abcdef123456 refused"), "RuntimeError: key [key] refused"),
        (RuntimeError("x" * 9999), f"RuntimeError: {'x' * 9999}"[:MAX_MESSAGE_CHARS]),
    ],
)
async def test_what_a_method_raises_is_its_error(raised, message):
    """Any exception is the error of the case, without secrets, and is never raised to the caller."""
    case = await call(raised)
    assert (case.error, case.answer, case.id) == (message, None, "q1")


@pytest.mark.parametrize("result", [None, 3, {"anser": "x"}, {}, "half \ud83d"])
async def test_a_result_that_is_not_a_response_is_an_error(result):
    """What cannot be stored as a response is an error of the case, too."""
    case = await call(result)
    assert case.error
    assert case.answer is None
    assert case.model_dump_json()


async def test_a_traceback_only_with_debug():
    """The traceback follows the message if it is asked for."""
    plain = await call(ValueError("it broke"))
    debug = await call(ValueError("it broke"), debug=True)
    assert plain.error == "ValueError: it broke"
    assert debug.error.startswith("ValueError: it broke\nTraceback")
    assert "in method" in debug.error
