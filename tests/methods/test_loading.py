"""Methods by their specs: modules, files, calls, adapters, and the message if one cannot be loaded."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import find_spec
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import Sample
from greval.errors import DataError, GrevalError, MethodError
from greval.methods.loading import (
    default_name,
    load_method,
    load_methods,
    load_object,
    read_adapter_spec,
    read_spec,
    require_package,
)

WORDS = st.text(ascii_lowercase, min_size=1)
SAMPLE = Sample(id="q1", question="Who?", tags={"movie": "tt1"})


def asked(method, sample=SAMPLE):
    return asyncio.run(method(sample))


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
    modules_before = {*sys.modules}
    yield tmp_path
    for name in {*sys.modules} - modules_before:
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
    for place in (folder, folder / "sub"):
        (place / "this.py").write_text("raise AssertionError\n", encoding="utf-8")
    installed = find_spec("this").origin
    assert asked(load_method("sub/json.py:ask")).answer == "mine"
    assert load_object("sub/json.py:seen") is load_object(f"{folder}/sub/json.py:seen")
    assert asked(load_method("my_rag_d:ask")).answer == "Who?"
    # a module that nothing has imported yet
    assert find_spec("this").origin == installed


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
        ("my_rag_d:number", "int is not a method"),
        ("my_rag_d:number()", "number cannot be called; leave the brackets out"),
        ("my_rag_d:two", "cannot be called with a sample alone: missing a required argument: 'more'"),
        ("my_rag_d:two(x)", "two raised TypeError"),
        ("gone.yaml", "gone.yaml: No such file"),
    ],
)
def test_what_cannot_be_loaded_is_reported(folder, spec, told):
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
    with pytest.raises(GrevalError, match=r"nowhere/settings.yaml is not there"):
        load_method(f"graphrag:{tmp_path}/nowhere?method=local")
    with pytest.raises(GrevalError, match="lightrag is not installed beside greval"):
        load_method("lightrag:my_module:rag")


@given(WORDS, st.dictionaries(WORDS, WORDS | st.integers(0, 99).map(str)))
def test_options_of_a_spec_are_read_back(location, options):
    """Place and options come back as they were written, for any allowed values."""
    spec = f"{location}?{'&'.join(f'{name}={value}' for name, value in options.items())}"
    kinds = {name: int if value.isdecimal() else (value, "other") for name, value in options.items()}
    assert read_spec(spec, **kinds) == read_spec(spec, **dict.fromkeys(options)) == (location, options)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("mode=fast", "mode: expected one of local, global, got 'fast'"),
        ("top_k=-1", "top_k: expected a whole number, got '-1'"),
        ("top_k=", "top_k: expected a whole number, got ''"),
        ("top_k=1&top_k=2", "top_k is given twice; give it once"),
        ("tok=1", "unknown option 'tok'; the options are mode, top_k"),
    ],
)
def test_wrong_options_of_a_spec(query, message):
    """A wrong option is reported with what is expected; for an adapter with its name in front."""
    allowed = {"mode": ("local", "global"), "top_k": int}
    with pytest.raises(DataError, match=rf"^folder\?{query}: {message}"):
        read_spec(f"folder?{query}", **allowed)
    with pytest.raises(MethodError, match=rf"^lightrag:folder\?{query}: {message}"):
        read_adapter_spec("lightrag", f"folder?{query}", **allowed)


def test_a_missing_package_is_reported_with_its_version():
    """The message has the command that installs a supported version."""
    require_package("json", "json>=1")
    with pytest.raises(MethodError, match="pip install 'no-such-package>=3,<4'"):
        require_package("no_such_package", "no-such-package>=3,<4")
