"""Methods under test: functions as methods, what they give, and how they are named."""

from __future__ import annotations

import asyncio
import functools
import sys
import threading

import pytest
from waiting import SECONDS

from greval import Case, Response, Sample
from greval.errors import GrevalError, MethodError
from greval.methods import Method
from greval.methods import functions as functions_module
from greval.methods.functions import FunctionMethod
from greval.methods.loading import as_method, default_name, load_method, load_methods, load_object
from greval.methods.responses import as_response

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


def test_a_case_counts_as_its_response():
    """A method may hand on a recorded case: its response is taken, its question is not."""
    response = as_response(Case(id="q9", question="Other?", method="old", answer="Yes.", chunks=["a"]))
    assert type(response) is Response
    assert (response.answer, response.chunks[0].id) == ("Yes.", "c1")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "gave nothing"),
        (7, "gave int"),
        (["text"], "gave list"),
        ({}, "holds none of answer, chunks"),
        (Response(usage={"llm_calls": 1}), "holds none of"),
        ({"anser": "x"}, "anser: is not known; did you mean answer?"),
        ({"answer": "x", "chunks": [{"id": "c1"}]}, "chunks.0.text: field required"),
        ({"answer": "x", "usage": {"latency": float("nan")}}, "usage.latency"),
        ({"answer": 3}, "answer: input should be a valid string"),
    ],
)
def test_what_is_no_response_is_told(given, told):
    """What a method gives that is no response is an error that names the field, never an empty answer."""
    with pytest.raises(MethodError, match=told):
        as_response(given)


def test_an_error_of_its_own_is_a_response():
    """A method may tell its failure itself."""
    assert as_response({"error": "index is empty"}).error == "index is empty"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give a folder to work in, with a module; what is imported from it is forgotten afterwards."""
    (tmp_path / "my_rag_d.py").write_text(
        "from functools import partial\n"
        "async def ask(sample):\n    return sample.question\n"
        "def make(folder='none'):\n    return lambda sample: f'{folder}: {sample.question}'\n"
        "class Rag:\n    best = staticmethod(lambda sample: 'best')\n"
        "    def __call__(self, sample):\n        return 'rag'\n"
        "def two(sample, more):\n    return 'x'\nnumber = 3\n",
        encoding="utf-8",
    )
    (tmp_path / "broken_d.py").write_text("import not_there_at_all\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - before:
        if name.endswith("_d") or name.startswith("_greval_"):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        ("my_rag_d:ask", "Who?"),
        ("my_rag_d:make()", "none: Who?"),
        ("my_rag_d:make(data/tt1)", "data/tt1: Who?"),
        ("my_rag_d:Rag()", "rag"),
        ("my_rag_d:Rag.best", "best"),
        ("my_rag_d.py:ask", "Who?"),
        ("./my_rag_d.py:make(x:y)", "x:y: Who?"),
    ],
)
def test_methods_are_loaded_by_name(folder, spec, answer):
    """A function, what a function makes, and a file's function are found, in the current folder too."""
    assert asked(load_method(spec)).answer == answer


def test_a_file_may_be_called_as_any_package(folder):
    """A file called as a package of Python is loaded by its path, once, and shadows nothing."""
    (folder / "sub").mkdir()
    (folder / "sub" / "json.py").write_text("seen = []\ndef ask(sample):\n    return 'mine'\n", encoding="utf-8")
    assert asked(load_method("sub/json.py:ask")).answer == "mine"
    assert load_object("sub/json.py:seen") is load_object(f"{folder}/sub/json.py:seen")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("my_rag_d", "name a method as my_module:function"),
        ("my_rag_d:", "name a method as"),
        ("my_rag_d:aks", "there is no 'aks' in it; did you mean ask"),
        ("nowhere_d:ask", "there is no module 'nowhere_d', neither installed nor in"),
        ("broken_d:ask", "cannot be imported: ModuleNotFoundError: No module named 'not_there_at_all'"),
        ("gone.py:ask", "there is no file gone.py"),
        ("broken_d.py:ask", "cannot be imported: ModuleNotFoundError"),
        ("my_rag_d:Rag", "Rag is a class; write Rag"),
        ("my_rag_d:number", "int is no method"),
        ("my_rag_d:number()", "number cannot be called; leave the brackets out"),
        ("my_rag_d:two", "cannot be called with a sample alone: missing a required argument: 'more'"),
        ("my_rag_d:two(x)", "two raised TypeError"),
        ("gone.yaml", "gone.yaml: No such file"),
    ],
)
def test_what_cannot_be_loaded_is_told(folder, spec, told):
    """Each wrong name says what is wrong with it and what to do."""
    with pytest.raises(MethodError, match=told):
        load_method(spec)


def test_names_of_methods(folder):
    """NAME=SPEC names a method, else it has the name of its function; an address may hold an equals sign."""
    assert list(load_methods(["tog=my_rag_d:ask", "my_rag_d:ask", "my_rag_d:make(a=b)"])) == ["tog", "ask", "make"]
    assert default_name("http://127.0.0.1:80/ask?top=3") == "127.0.0.1"
    assert default_name("lightrag:dir?mode=mix") == "mix"
    assert default_name("graphrag:ROOT") == "graphrag"
    with pytest.raises(MethodError, match="another method is called 'ask'"):
        load_methods(["my_rag_d:ask", "ask=my_rag_d:make()"])


def test_adapters_are_found_by_name(tmp_path):
    """`graphrag:` and `lightrag:` are adapters, and what they raise is for users to read."""
    with pytest.raises(GrevalError, match="nowhere"):
        load_method(f"graphrag:{tmp_path}/nowhere?method=local")


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
