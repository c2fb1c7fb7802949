"""A single call of one method for one sample; the response or the error is returned as a case."""

from __future__ import annotations

import asyncio
import traceback

from greval._util.work_clock import WorkTime, measure_work
from greval.datasets.case_records import dump_case, get_sample_fields
from greval.errors import MethodError
from greval.judging.model.failures import MAX_MESSAGE_CHARS, redact_secrets
from greval.methods.protocol import Method
from greval.methods.responses import as_response
from greval.records.case import Case, Response, ResponseUsage, Sample

GRACE_SECONDS = 1.0
"""How long a method may take to release its resources after its timeout."""


async def call_method(method: Method, name: str, sample: Sample, *, timeout: float | None, debug: bool = False) -> Case:  # noqa: ASYNC109 - an option of the caller
    """Call a method, and return the sample with its response; an exception is its `error` and is never raised.

    `usage.latency` and `usage.waited` are measured if the method does not report its latency. With `debug` an error
    includes its traceback.
    """
    try:
        returned, spent = await _await_response(method, sample, timeout)
        response = _add_latency(as_response(returned), spent)
        case = _build_case(sample, response, name)
        dump_case(case)
    except Exception as error:  # noqa: BLE001 - any exception of a method is one failed row
        return _build_case(sample, Response(error=_format_error(error, debug=debug)), name)
    return case


async def _await_response(method: Method, sample: Sample, limit_seconds: float | None) -> tuple[object, WorkTime]:
    """Await a method's response in its own task, so that a cancellation in the method does not reach the caller."""
    task = asyncio.create_task(_call_contained(method, sample))
    try:
        await asyncio.wait({task}, timeout=limit_seconds)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE_SECONDS)
            raise TimeoutError(f"no response within {limit_seconds:g} s")
        if task.cancelled():
            raise MethodError("the method cancelled itself")
        return task.result()
    finally:
        task.cancel()
        task.add_done_callback(_retrieve_exception)


async def _call_contained(method: Method, sample: Sample) -> tuple[object, WorkTime]:
    """Call a method; what would end the process, such as `sys.exit` or a Rust panic, fails this call only."""
    with measure_work() as spent:
        try:
            response = await method(sample)
        except (Exception, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            raise MethodError(f"{type(error).__name__}: {error}") from error
    return response, spent


def _retrieve_exception(task: asyncio.Task[tuple[object, WorkTime]]) -> None:
    """Retrieve the exception of a finished task, so that asyncio does not log it as never retrieved."""
    if not task.cancelled():
        task.exception()


def _add_latency(response: Response, spent: WorkTime) -> Response:
    """Add the measured times if the method did not report a latency."""
    usage = response.usage or ResponseUsage()
    if usage.latency is not None:
        return response
    times = {"latency": spent.worked, "waited": spent.waited}
    return response.model_copy(update={"usage": usage.model_copy(update=times)})


def _build_case(sample: Sample, response: Response, name: str) -> Case:
    answered = {field: getattr(response, field) for field in Response.model_fields}
    return Case.model_validate({**get_sample_fields(sample), **answered, "method": name})


def _format_error(error: BaseException, *, debug: bool) -> str:
    """Format an exception without secrets; a group with a single exception is formatted as that exception."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - a user-defined exception whose `__str__` fails
        message = ""
    kind = type(error).__name__
    text = redact_secrets(f"{kind}: {message}" if message else kind)[:MAX_MESSAGE_CHARS]
    return f"{text}\n{redact_secrets(''.join(traceback.format_exception(error)))}" if debug else text
