"""Tests of problem documents: the status of each error, and what they never show."""

from __future__ import annotations

import re
from pathlib import Path

from shell_app import KEY

import greval.serve
from greval import errors
from greval.errors import DefinitionError, GrevalError
from greval.serve.problem_types import PROBLEM_TYPES
from greval.serve.problems import MAX_FAULTS, MEDIA_TYPE, ServeError, build_problem, convert_error, parse_faults


def test_every_error_of_greval_has_a_status():
    """No class of the error tree is without a status, also those added later."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GrevalError)]
    assert len(kinds) > 8
    for kind in kinds:
        error = kind.__new__(kind)
        Exception.__init__(error, "why")
        if kind is DefinitionError:
            error.faults = ("why",)
        assert 400 <= build_problem(convert_error(error)).status <= 599


def test_every_code_is_a_problem_type():
    """Each code that the server's modules raise has a type, and each type has a place where it is raised."""
    folder = Path(greval.serve.__file__).parent
    text = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    assert not [code for code in re.findall(r"ServeError\(\s*\"(\w+)\"", text) if code not in PROBLEM_TYPES]
    assert not [code for code in PROBLEM_TYPES if text.count(f'"{code}"') < 2]  # the table has each once


def test_secrets_are_redacted_everywhere():
    """A key is shown neither in the detail nor in the faults."""
    problem = build_problem(ServeError("invalid_request", f"body: {KEY}", faults=parse_faults([f"a: {KEY}", "b"])))
    assert KEY not in problem.model_dump_json()
    assert problem.faults[1].message == "b"


def test_many_faults_are_cut(local):
    """The first hundred faults of a body are listed, all are counted; what was sent is not repeated."""
    body = {"cases": [1], "metrics": ["m"]} | {f"f{n}": "words" for n in range(MAX_FAULTS + 7)}
    answer = local.post("/v1/evaluate", json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert (len(answer.json()["faults"]), answer.json()["fault_count"]) == (MAX_FAULTS, MAX_FAULTS + 7)
    assert "words" not in answer.text


def test_a_wrong_method_names_the_right_ones(local):
    """`Allow` lists the methods of all routes of a path; a literal path counts before a template."""
    for method, path, allow in (
        ("DELETE", "/v1/evaluate", "POST"),
        ("PATCH", "/v1/runs", "GET, HEAD, POST"),
        ("PUT", "/v1/runs/a", "DELETE, GET, HEAD"),
        ("DELETE", "/metrics/m/invoke", "POST"),
        ("PUT", "/v1/metrics/check", "POST"),
    ):
        answer = local.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allow), path
