"""Bodies of requests: their type, their size and their depth, before they are parsed."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell_app import client, made

from greval.serve.middleware.request_body import LARGE_BODY, BodyMemory, inspect_json
from greval.serve.problems import ServeError


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


def count_values(content):
    """Count the values in a value, with itself."""
    inner = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    return 1 + sum(map(count_values, inner))


@given(JSON, st.integers(1, 4), st.booleans())
def test_depth_is_what_a_parser_would_find(content, most, escaped):
    """For any JSON the check says too deep exactly where lists and objects stand deeper in each other."""
    fault = inspect_json(json.dumps(content, ensure_ascii=escaped).encode(), most)[0]
    assert (fault is not None) == (depth(content) > most)


@given(st.text(st.characters(exclude_categories=()) | st.sampled_from('\\"ud8cde0'), max_size=12), st.booleans())
def test_halves_of_characters_are_found(text, escaped):
    """A text is refused exactly where it holds what no UTF-8 can, however it is written."""
    half = any(0xD800 <= ord(letter) <= 0xDFFF for letter in json.loads(json.dumps(text)))
    fault = inspect_json(json.dumps([text], ensure_ascii=escaped).encode("utf-8", "surrogatepass"), 9)[0]
    assert (fault is not None) == half


@given(st.binary(max_size=200), st.integers(1, 3))
def test_no_body_breaks_the_check(body, most):
    """Any bytes are told apart into those that may be parsed and those that are refused."""
    fault = inspect_json(body, most)[0]
    assert fault is None or fault.startswith("body: ")


def test_large_bodies_are_refused(tmp_path):
    """A body over the limit is refused by its length, and where that is not told by what has come."""
    http_client = client(made(tmp_path, body=1000))
    headers = {"Content-Type": "application/json"}
    for content in (b" " * 1001, (b" " * 100 for _ in range(11))):
        answer = http_client.post("/v1/echo", content=content, headers=headers)
        assert answer.status_code == 413
        assert "body: larger than" in answer.json()["detail"]
    assert http_client.post("/v1/echo", content=b'{"text": "a"}' + b" " * 987, headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/v1/echo", "/v1/datasets?name=x"])
@pytest.mark.parametrize("encoding", ["gzip", "br", "x" * 99])
def test_compressed_bodies_are_refused(local, path, encoding):
    """A compressed body is refused with a word on its encoding, not on its bytes."""
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    answer = local.post(path, content=gzip.compress(b'{"text": "a"}'), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_encoding")
    assert answer.json()["detail"].startswith(f"Content-Encoding: {encoding[:40]} is not decoded")
    assert answer.headers["accept-encoding"] == "identity"
    assert local.post("/v1/echo", json={"text": "a"}, headers={"Content-Encoding": "identity"}).status_code == 200


def test_what_a_get_holds_is_not_read(local):
    """A request that has no body by its method is served whatever it holds."""
    answer = local.request("GET", "/health", content=b"\xff" * 100, headers={"Content-Type": "text/plain"})
    assert answer.status_code == 200


def test_bodies_in_memory_are_bounded():
    """Bodies of a tenant that take more than its share are refused for now, and what was held is given back."""
    memory = BodyMemory(100 * LARGE_BODY, 0.75)
    for _ in range(3):
        with memory.hold("ana") as add_to_first, memory.hold("ana") as add_to_second:
            add_to_first(70 * LARGE_BODY)
            add_to_second(5 * LARGE_BODY)
            with pytest.raises(ServeError) as refused:
                add_to_second(1)
            assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "1")


def test_small_bodies_are_accepted_whatever_others_hold():
    """The only body of a tenant may take all; then those of others are refused, apart from small ones."""
    memory = BodyMemory(100 * LARGE_BODY, 0.75)
    with memory.hold("ana") as add_to_large, memory.hold("bob") as add_to_other:
        add_to_large(100 * LARGE_BODY)
        add_to_other(LARGE_BODY)
        with pytest.raises(ServeError, match="the server holds"):
            add_to_other(1)


def test_a_body_that_never_fits_is_too_large(tmp_path):
    """A body is refused for good that takes more than all may, as it was sent or parsed, by its letters or values."""
    http_client = client(made(tmp_path, held=2_000))
    for size, status in ((2_000, 413), (500, 413), (400, 200)):
        assert http_client.post("/v1/echo", json={"text": "a" * size}).status_code == status
    many = http_client.post("/v1/echo", content=b"[" + b"1," * 20 + b"1]", headers={"Content-Type": "application/json"})
    assert (many.status_code, "about 21 values, and takes 0.00" in many.json()["detail"]) == (413, True)


@given(JSON)
def test_values_are_counted(content):
    """The count of values is at least that of the values that a parser makes, and at most twice as high."""
    values = count_values(content)
    assert values - 1 <= inspect_json(json.dumps(content).encode(), 9)[1] <= 2 * values
