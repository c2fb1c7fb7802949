"""One judging model, asked in one way for all: tiers, costs, deadlines, and connections that end with their loop."""

from __future__ import annotations

import asyncio
import math
import signal
import subprocess
import sys
import textwrap
from contextlib import contextmanager

import fault_server as fault
import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr
from tone_metrics import TONE
from virtual_time import in_virtual_time, now
from waiting import SECONDS

from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.records.result import Usage
from greval.runs.runnable import compile_metric
from greval.testing import ScriptedJudge

URL = "http://127.0.0.1:9/v1"
CASE = {"question": "Well?", "answer": "Thanks."}
GOOD = {"reason": "It thanks.", "value": "Polite"}
SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


class ToolModel(FakeListChatModel):
    """A model of some provider that takes tools."""

    def bind_tools(self, tools, **kwargs):
        return self


@pytest.mark.parametrize(
    ("model", "tier"),
    [
        (ChatOpenAI(model="fake", api_key="none"), "schema"),
        (ToolModel(responses=["x"]), "tools"),
        (FakeListChatModel(responses=["x"]), "text"),
        (ScriptedJudge(["x"], tier="tools"), "tools"),
        (Judge("openai:a"), "schema"),
        (Judge("local"), "schema"),
        (Judge("anthropic:a"), "tools"),
        (Judge("openai:a", structured="text"), "text"),
    ],
)
def test_tier(model, tier):
    """A model's best way is found from what it has, or from its settings without a model being made."""
    assert JudgeClient(model).tier == tier


def test_plain_model_is_asked_in_text():
    """Any chat model of LangChain can judge, even one that knows text only."""
    model = FakeListChatModel(responses=['I say {"reason": "It thanks.", "value": "Polite"}'])
    result = compile_metric(TONE, model).invoke(CASE)
    assert (result.judgements[0].value, result.tier, result.usage) == ("Polite", "text", Usage(calls=1))
    assert result.judge == "FakeListChatModel"


def test_identity_of_a_model_object():
    """A model object is known by its class and settings, never by its key or its other objects."""
    model = ChatOpenAI(model="fake", api_key=SecretStr("hush-hush"), base_url=URL, temperature=0.5, seed=3)
    client = JudgeClient(model)
    assert client.label == "ChatOpenAI:fake"
    assert {*client.identity.items()} >= {
        ("class", "ChatOpenAI"),
        ("model_name", "fake"),
        ("seed", 3),
        ("temperature", 0.5),
    }
    assert "hush" not in str(client.identity)


async def reply(model, tier="schema", **settings):
    return await JudgeClient(model, **settings).ask(AnswerFormat("q", SCHEMA, tier), [HumanMessage("?")])


@pytest.mark.parametrize(
    ("message", "text", "tokens"),
    [
        (AIMessage("{}"), "{}", ()),
        (AIMessage([{"type": "text", "text": "{"}, {"type": "text", "text": "}"}]), "{}", ()),
        (AIMessage([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "{}"}]), "{}", ()),
        (AIMessage("", tool_calls=[{"name": "q", "args": {"é": 1}, "id": "1"}]), '{"é": 1}', ()),
        (AIMessage("{}", response_metadata={"logprobs": {"content": [{"token": "{}"}]}}), "{}", [{"token": "{}"}]),
        (AIMessage("{}", response_metadata={"logprobs": None}), "{}", ()),
        (AIMessage("{}", response_metadata={"logprobs": {"content": None}}), "{}", ()),
        *(
            (AIMessage("{}", response_metadata={"logprobs": odd}), "{}", ())
            for odd in (
                *([{"token": "{}"}], "{}", {"content": "{}"}, {"content": [1]}, {"content": [{"logprob": -0.1}]}),
                *({"content": [{"token": "{}", **part}]} for part in ({"logprob": "high"}, {"logprob": math.nan})),
                *(
                    {"content": [{"token": "{}", **part}]}
                    for part in ({"logprob": 3.0}, {"bytes": [999]}, {"bytes": "{}"})
                ),
            )
        ),
    ],
)
async def test_reply(message, text, tokens):
    """What a model said is read from text, blocks and tool calls alike; odd probabilities are none."""
    answer = await reply(ScriptedJudge([message]))
    assert (answer.text, answer.tokens, answer.failure) == (text, tokens, None)


class Odd(FakeListChatModel):
    """A model whose message breaks the rules."""

    async def ainvoke(self, *_, **__):
        return HumanMessage("I am no judge.")


async def test_no_message_of_a_model():
    """A model that gives something else than a model's message is a failed call."""
    answer = await reply(Odd(responses=[""]), "text")
    assert (answer.failure.kind, answer.usage.calls) == ("error", 1)
    assert "HumanMessage" in answer.failure.message


@in_virtual_time
async def test_deadline_of_a_model_object():
    """A model object that hangs is given up after its own timeout, its retries included."""
    slow = ScriptedJudge([GOOD], delay=30)
    client = JudgeClient(slow)
    client.judge = client.judge.model_copy(update={"timeout": 5, "max_retries": 1})
    start = now()
    answer = await client.ask(AnswerFormat("q", SCHEMA, "schema"), [HumanMessage("?")])
    assert now() - start == 5
    assert (answer.failure.kind, answer.usage.calls) == ("timeout", 1)


@pytest.mark.parametrize(("own", "seconds"), [(7, 7), (None, 60), (0, 60), ((3, 4), 60)])
def test_timeout_of_a_model_object(own, seconds):
    """The timeout of a model object is taken over where it is a number of seconds."""
    model = ChatOpenAI.model_construct(request_timeout=own, model_name="fake")
    assert JudgeClient(model).judge.timeout == seconds


@in_virtual_time
async def test_waiting_at_the_gate_is_no_timeout():
    """A call's deadline begins when it goes out, not while it waits its turn."""
    start = now()
    async with fault.FaultServer(latency=1.5) as server:
        judge = Judge("openai:fake", base_url=server.url, timeout=6, max_retries=0)
        client = JudgeClient(judge, gate=asyncio.Semaphore(1))
        results = await compile_metric(TONE, client).abatch([CASE] * 6)
    assert [result.outcome.status for result in results] == ["scored"] * 6
    assert server.most == 1
    assert now() - start == 6 * 1.5


async def test_cancelled_is_cancelled(fault_server):
    """Cancelling is no failure of the judge: it goes through."""
    fault_server.plan = fault.hangs()
    task = asyncio.create_task(compile_metric(TONE, Judge("openai:fake", base_url=fault_server.url)).ainvoke(CASE))
    await asyncio.to_thread(fault_server.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def run(code, *arguments):
    """Give the output of a script that ran in a fresh process, which must end well and say nothing else."""
    done = subprocess.run(
        [sys.executable, "-W", "default::ResourceWarning", "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@contextmanager
def calling(server, code):
    """Run a script in a fresh process up to where its call has come to a server that never answers."""
    server.plan = fault.hangs()
    command = [sys.executable, "-W", "default::ResourceWarning", "-c", PROLOGUE + code, server.url]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            server.wait()
            yield process
        finally:
            process.kill()


PROLOGUE = """
import asyncio, sys, threading
from greval import CategoricalMetric, Judge, compile_metric
metric = CategoricalMetric(
    name="tone", description="d", needs=["answer"], steps=["s"], categories={"Polite": "p", "Rude": "r"}
)
runnable = compile_metric(metric, Judge("openai:fake", base_url=sys.argv[1], max_retries=0))
case = {"question": "Well?", "answer": "Thanks."}
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    "body",
    [
        """
print(runnable.invoke(case).judgements[0].value)
for _ in range(2):
    results = asyncio.run(runnable.abatch([case] * 3))
    print(*(result.judgements[0].value for result in results))
""",
        """
async def main():
    print(runnable.invoke(case).judgements[0].value)
    print((await runnable.ainvoke(case)).judgements[0].value)
    print((await asyncio.to_thread(runnable.invoke, case)).judgements[0].value)
    for result in runnable.batch([case] * 4):
        print(result.judgements[0].value)
asyncio.run(main())
""",
        """
found = []
def work():
    found.append(runnable.invoke(case))
    found.append(asyncio.run(runnable.ainvoke(case)))
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*(result.judgements[0].value for result in (*found, runnable.invoke(case))))
""",
        """
import multiprocessing
def work(pipe):
    pipe.send(runnable.invoke(case).judgements[0].value)
if __name__ == "__main__":
    print(runnable.invoke(case).judgements[0].value)
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=work, args=(theirs,))
    child.start()
    print(ours.recv() if ours.poll(100) else "hung")
    child.join(100)
    for result in runnable.batch([case] * 5):
        print(result.judgements[0].value)
""",
    ],
    ids=["two successive loops", "in a running loop, as in a notebook", "threads", "a forked process"],
)
def test_no_loop_is_mixed_up(fault_server, body):
    """A judge works in scripts, threads, running loops and loop after loop, and leaves nothing open behind it."""
    assert run(PROLOGUE + body, fault_server.url) == ["Polite"] * 7


@pytest.mark.nightly
def test_a_process_ends_while_a_call_hangs(fault_server):
    """A script that ends while a call is under way ends at once and quietly."""
    code = """
import contextlib
def work():
    with contextlib.suppress(Exception):
        runnable.invoke(case)
threading.Thread(target=work, daemon=True).start()
print(input())
"""
    with calling(fault_server, code) as process:
        assert process.communicate("end\n", timeout=SECONDS) == ("end\n", "")
        assert process.returncode == 0


@pytest.mark.nightly
def test_interrupt_ends_the_call(fault_server):
    """Ctrl-C in a synchronous call ends the call itself, not only the waiting for it."""
    code = """
try:
    runnable.invoke(case)
except KeyboardInterrupt:
    print("interrupted")
"""
    with calling(fault_server, code) as process:
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=SECONDS) == ("interrupted\n", "")
        assert process.returncode == 0


@pytest.mark.nightly
def test_base_model_is_not_imported_for_its_name():
    """Whether a model is OpenAI's is told by its class, without importing that package."""
    code = "import sys, greval.judging.model.client, greval.runs.runnable\n"
    code += "print({'openai', 'langchain_openai', 'pandas'} & {*sys.modules})"
    assert run(code) == ["set()"]
