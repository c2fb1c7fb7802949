"""Metrics in Python code: definitions and functions, found by their file or module."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from greval.errors import DefinitionError
from greval.metrics.library import load_metric
from greval.metrics.sources import load_metrics
from greval.records.case import Case
from greval.runs.runnable import compile_metric

CODE = '''
from typing import Annotated, Literal
import greval

def length(answer: str) -> int:
    """Count the characters
    of the answer.

    Further text.
    """
    return len(answer)

def kind(case) -> Literal["short", "long"]:
    return "short" if len(case.answer or "") < 5 else "long"

def ends(answer, expected_answer="") -> bool:
    return answer.endswith(expected_answer)

def change(answer) -> Annotated[float, greval.MeasureScale(low=-1, high=1)]:
    return -0.5, "half of it went"

def make(limit):
    def within(answer):
        return len(answer) < int(limit)
    return within

async def slow(answer): ...
def of_nothing(): ...
def of_other(outputs): ...
number = 3

tone = greval.CategoricalMetric(name="tone", description="The tone.", needs=["answer"], steps=["Read."],
                                categories={"Polite": "Courteous.", "Rude": "Insults."})
_hidden = tone
'''


@pytest.fixture
def file(tmp_path):
    """Give a Python file with metrics and functions."""
    path = tmp_path / "own.py"
    path.write_text(CODE, encoding="utf-8")
    return path


def judge(metric, **fields):
    return compile_metric(metric).invoke(Case(question="Who?", **fields))


@pytest.mark.parametrize(
    ("name", "fields", "value"),
    [
        ("length", {"answer": "Ada"}, 3),
        ("kind", {"answer": "Ada"}, "short"),
        ("ends", {"answer": "Ada", "expected_answer": "da"}, 1),
        ("ends", {"answer": "Ada"}, 1),
        ("change", {"answer": "Ada"}, -0.5),
        ("make(4)", {"answer": "Ada"}, 1),
    ],
)
def test_a_function_becomes_a_computed_metric(file, name, fields, value):
    """A function of the case, or of fields of it, gives values on the scale that its annotation states."""
    assert judge(load_metric(f"{file}:{name}"), **fields).value == value


def test_what_a_function_states_about_itself(file):
    """Its parameters are what the metric needs, its docstring describes it, and a case without them is skipped."""
    metric = load_metric(f"{file}:length")
    assert (metric.needs, metric.optional) == (("answer",), ())
    assert metric.description == "Count the characters of the answer."
    result = judge(metric)
    assert result.outcome.status == "skipped"
    assert result.outcome.reason == "answer is not recorded"
    assert load_metric(f"{file}:ends").optional == ("expected_answer",)


def test_a_failure_names_the_users_function(file):
    """The place of an error is the function, not the code that passes the fields to it."""
    file.write_text("def broken(answer):\n    raise ValueError('no')\n", encoding="utf-8")
    error = judge(load_metric(f"{file}:broken"), answer="x").outcome.error
    assert error.message == "broken (own.py, line 1) raised ValueError: no"


def test_a_file_names_all_metrics_that_it_defines(file):
    """Definitions are taken, functions are not: not every function is a metric."""
    assert [metric.name for metric in load_metrics([str(file)])] == ["tone"]
    assert load_metric(str(file)).name == "tone"
    file.with_name("none.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(DefinitionError, match=r"none\.py: defines no metric; name a function in it"):
        load_metrics([str(file.with_name("none.py"))])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("lenght", "there is no 'lenght' in it; did you mean length?"),
        ("number", "is a int, no metric"),
        ("slow", "is asynchronous"),
        ("of_nothing", "takes nothing of a case"),
        ("of_other", "takes outputs; a function takes the case, or fields of it: question"),
    ],
)
def test_what_is_no_metric_is_refused(file, name, told):
    """The error says what was found and what to write."""
    if name == "of_other":
        file.write_text("def of_other(outputs, more): ...\n", encoding="utf-8")
        told = told.replace("outputs", "outputs, more")
    with pytest.raises(DefinitionError) as caught:
        load_metric(f"{file}:{name}")
    assert told in str(caught.value)


def test_an_edited_file_is_loaded_again(tmp_path):
    """In one process, as in a notebook, code and version are those of the file as it is now, at once; else the same."""
    path = tmp_path / "own.py"

    def load(value):
        path.write_text(f"def size(answer) -> int:\n    return {value}\n", encoding="utf-8")
        metric = load_metric(f"{path}:size")
        return metric, judge(metric, answer="x").value

    first, same, edited = load(1), load(1), load(2)
    assert (first[1], same[1], edited[1]) == (1, 1, 2)
    assert inspect.unwrap(same[0].compute) is inspect.unwrap(first[0].compute)
    assert first[0].version == same[0].version != edited[0].version


@pytest.mark.nightly
def test_an_edited_file_is_computed_again(tmp_path):
    """The version of a computed metric is the hash of its file, so that its fingerprint follows the code."""
    code = (
        "import sys\nfrom greval.metrics.library import load_metric\nfrom greval.runs.runnable import compile_metric\n"
    )
    code += "print(compile_metric(load_metric('m.py:size')).fingerprint)"

    def fingerprint(body):
        (tmp_path / "m.py").write_text(f"def size(answer):\n    return {body}\n", encoding="utf-8")
        ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        return ran.stdout

    first = fingerprint("1")
    assert fingerprint("1") == first
    assert fingerprint("2") != first


def test_predefined_metrics_keep_their_fingerprints():
    """A metric without a version has the definition that it had before versions were introduced."""
    assert "version" not in load_metric("latency").model_dump(mode="json")
