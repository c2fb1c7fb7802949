"""Bodies of requests: their type, their size and their depth, before they are parsed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell_app import client, made

from greval.serve.middleware.request_body import find_json_fault


@pytest.fixture
def local(tmp_path):
    """Give a client of a server without keys."""
    return client(made(tmp_path))


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b'{"text": "a"}', "text/plain", 415),
        (b'{"text": "a"}', "", 415),
        (b"text=a", "application/x-www-form-urlencoded", 415),
        (b'{"text": "a"}', "application/json; charset=utf-8", 200),
        ('{"text": "é"}'.encode("latin-1"), "application/json", 422),
        ('{"text": "a"}'.encode("utf-16"), "application/json", 422),
        ('{"text": "a"}'.encode("utf-16-le"), "application/json", 422),
        (b'{"text": NaN}', "application/json", 422),
        (b'{"text": -Infinity}', "application/json", 422),
        (b'{"text": "NaN [[[["}', "application/json", 200),
        (b'{"text": ' + b"9" * 5000 + b"}", "application/json", 422),
        (b'{"text": "\\ud800"}', "application/json", 422),
        (b'{"text": "\\udc00\\ud800"}', "application/json", 422),
        (b'{"text": "\\ud83d\\ude00 \\\\ud800"}', "application/json", 200),
        (b'{"text": "' + b"\\" * 99 + b'"}', "application/json", 422),
        (b"[" * 100_000, "application/json", 422),
        (b'{"a":' * 40 + b"1" + b"}" * 40, "application/json", 422),
        (b'{"text": "' + b"a" * 70_000, "application/json", 422),
    ],
)
def test_bodies_are_checked_before_they_are_parsed(local, body, kind, status):
    """What is no JSON in UTF-8, is nested too deep or holds no numbers is the client's fault, never a 500."""
    answer = local.post("/v1/echo", content=body, headers={"Content-Type": kind} if kind else {})
    assert answer.status_code == status, answer.text
    assert status == 200 or answer.json()["status"] == status


JSON = st.recursive(
    st.none() | st.text() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=40,
)


def depth(content):
    """Give how deep lists and objects stand in each other."""
    inner = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    return isinstance(content, list | dict) + max(map(depth, inner), default=0)


@given(JSON, st.integers(1, 4), st.booleans())
def test_depth_is_what_a_parser_would_find(content, most, escaped):
    """For any JSON the check says too deep exactly where lists and objects stand deeper in each other."""
    fault = find_json_fault(json.dumps(content, ensure_ascii=escaped).encode(), most)
    assert (fault is not None) == (depth(content) > most)


@given(st.text(st.characters(exclude_categories=()) | st.sampled_from('\\"ud8cde0'), max_size=12), st.booleans())
def test_halves_of_characters_are_found(text, escaped):
    """A text is refused exactly where it holds what no UTF-8 can, however it is written."""
    half = any(0xD800 <= ord(letter) <= 0xDFFF for letter in json.loads(json.dumps(text)))
    fault = find_json_fault(json.dumps([text], ensure_ascii=escaped).encode("utf-8", "surrogatepass"), 9)
    assert (fault is not None) == half


@given(st.binary(max_size=200), st.integers(1, 3))
def test_no_body_breaks_the_check(body, most):
    """Any bytes are told apart into those that may be parsed and those that are refused."""
    assert find_json_fault(body, most) is None or find_json_fault(body, most).startswith("body: ")


def test_large_bodies_are_refused(tmp_path):
    """A body over the limit is refused by its length, and where that is not told by what has come."""
    asked = client(made(tmp_path, body=1000))
    headers = {"Content-Type": "application/json"}
    for content in (b" " * 1001, (b" " * 100 for _ in range(11))):
        answer = asked.post("/v1/echo", content=content, headers=headers)
        assert answer.status_code == 413
        assert "body: larger than" in answer.json()["detail"]
    assert asked.post("/v1/echo", content=b'{"text": "a"}' + b" " * 987, headers=headers).status_code == 200
    for path, more in (("/health?" + "a" * 16_400, {}), ("/health", {"X": "a" * 16_400})):
        assert asked.get(path, headers=more).status_code == 431


def test_bodies_in_memory_are_bounded(tmp_path):
    """Bodies that would take more memory together than they may are refused for now; what was held is given back."""
    asked = client(made(tmp_path, held=50))
    for _ in range(3):
        refused = asked.post("/v1/echo", json={"text": "a" * 100})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert asked.post("/v1/echo", json={"text": "a"}).status_code == 200
