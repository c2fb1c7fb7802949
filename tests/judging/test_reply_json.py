"""Finding the verdict in what a model wrote, and the probability of its value, by JSON structure only."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greval.errors import MalformedVerdictError
from greval.judging.reply_json import (
    compute_probability,
    compute_value_probabilities,
    find_last_object,
    find_value,
    parse_last_object,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}"), max_size=30)
CONTENT = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(TEXTS, CONTENT, max_size=4)


@given(OBJECTS, st.booleans(), st.sampled_from([None, 2]))
def test_parse_reads_what_json_writes(content, ascii_only, indent):
    """Whatever object is written as JSON is read as itself."""
    assert parse_last_object(json.dumps(content, ensure_ascii=ascii_only, indent=indent)) == content


@given(OBJECTS, PLAIN, PLAIN, st.sampled_from(["{}", "```json\n{}\n```", "```\n{}```", "<answer>{}</answer>"]))
def test_parse_ignores_what_stands_around(content, before, after, frame):
    """Prose and code fences around the object change nothing."""
    written = frame.replace("{}", json.dumps(content))
    assert parse_last_object(f"{before}{written}{after}") == content


@given(OBJECTS, OBJECTS, PLAIN)
def test_parse_takes_the_last_object(draft, final, between):
    """Of several complete objects the last counts: models think first."""
    assert parse_last_object(f"{json.dumps(draft)}{between}{json.dumps(final)}") == final


@given(OBJECTS, OBJECTS.filter(bool), st.data())
def test_parse_passes_over_an_unfinished_object(whole, cut, data):
    """An object that was begun and not finished does not hide the complete one before it."""
    flat = json.dumps(dict.fromkeys(cut, 1))
    part = flat[: data.draw(st.integers(1, len(flat) - 1))]
    assert parse_last_object(json.dumps(whole) + part) == whole


@given(st.text(st.sampled_from('{}[]":,\\ \n01aeux-.tfn\ud83d'), max_size=40) | TEXTS)
@example("{" * 5000)
@example('{"a":' * 3000 + "1" + "}" * 3000)
@example('{"a":[' * 500)
@example('{"a": ' + "9" * 5000 + "}")
def test_parse_never_breaks(text):
    """Any text at all is an object or a malformed verdict, never another error."""
    try:
        assert isinstance(parse_last_object(text), dict)
    except MalformedVerdictError as error:
        assert error.kind == "malformed"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "an empty text"),
        (" \n", "an empty text"),
        ("Polite.", "no complete JSON object"),
        ('["Polite"]', "no complete JSON object"),
        ('{"value": 1', "no complete JSON object"),
        ("{'value': 1}", "no complete JSON object"),
        ('{"value": 1, "value": 2}', "a key stands twice"),
        ('{"notes": {"a": 1, "a": 1}}', "a key stands twice"),
        ('{"value": NaN}', "NaN is no JSON number"),
        ('{"value": -Infinity}', "-Infinity is no JSON number"),
        (r'{"reason": "\ud83d"}', "surrogates not allowed"),
    ],
)
def test_parse_says_what_is_wrong(text, told):
    """What is no strict JSON object is malformed, with what is wrong with it."""
    with pytest.raises(MalformedVerdictError, match=told):
        parse_last_object(text)


def test_locate():
    """The place is that of the last complete object, or None."""
    assert find_last_object('{"a": 1} {"b": {"c": 2}} {') == (9, 24)
    assert find_last_object("nothing") is None


@given(CONTENT, st.sampled_from([None, 1]), st.booleans())
def test_find_every_value(content, indent, ascii_only):
    """The text at the place of a path is the JSON of the value at that path, for every path."""
    text = json.dumps({"it": content}, indent=indent, ensure_ascii=ascii_only)
    for path, value in paths(content, ("it",)):
        assert json.loads(text[slice(*find_value(text, path))]) == value


def paths(content, path):
    """Walk the paths of JSON content."""
    yield path, content
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for step, part in inner:
        yield from paths(part, (*path, step))


@pytest.mark.parametrize("path", [("x",), ("value", 0), ("value", "a"), ("list", 2), ("list", "0"), (0,)])
def test_find_nothing(path):
    """Where a path leads nowhere, nothing is found."""
    assert find_value('{"value": 1, "list": [1, {"a": 2}]}', path) is None


def tokens_of(text, cuts, logprobs, *, as_bytes=False):
    """Cut a text at places into tokens; as bytes, the cuts may fall within a character."""
    raw = text.encode()
    whole = raw if as_bytes else text
    places = [0, *sorted({cut % (len(whole) + 1) for cut in cuts}), len(whole)]
    pieces = [whole[a:b] for a, b in pairwise(places)]
    logs = [logprobs[n % len(logprobs)] for n in range(len(pieces))]
    if as_bytes:
        return [{"token": repr(p), "bytes": [*p], "logprob": log} for p, log in zip(pieces, logs, strict=True)]
    return [{"token": p, "logprob": log} for p, log in zip(pieces, logs, strict=True)]


@given(
    reason=TEXTS,
    value=st.sampled_from(["Polite", "Höflich", "丁寧", 'Not "so"', 0, 1, 25]),
    cuts=st.lists(st.integers(0, 200), max_size=40),
    logprobs=st.lists(st.floats(-3, 0), min_size=1, max_size=7),
    as_bytes=st.booleans(),
)
@example(reason='so "value": 0', value=1, cuts=[*range(60)], logprobs=[-0.5, -1.0, -0.1], as_bytes=False)
@example(reason='{"value": 0}', value=1, cuts=[*range(0, 60, 3)], logprobs=[-0.5, -1.0, -0.1], as_bytes=True)
def test_probability_is_that_of_the_value(reason, value, cuts, logprobs, as_bytes):
    """However the answer was cut into tokens, those that hold the value count, and no others."""
    before = f'{{"reason": {json.dumps(reason, ensure_ascii=False)}, "value": '
    written = json.dumps(value, ensure_ascii=False)
    tokens = tokens_of(before + written + ', "after": "value"}', cuts, logprobs, as_bytes=as_bytes)
    length = (lambda text: len(text.encode())) if as_bytes else len
    start, end, place, expected = length(before), length(before) + length(written), 0, 0.0
    for token in tokens:
        step = len(token["bytes"]) if as_bytes else len(token["token"])
        if place < end and place + step > start:
            expected += token["logprob"]
        place += step
    assert compute_probability(tokens, ("value",)) == pytest.approx(math.exp(expected))


def test_probability_in_a_list():
    """Each item of a list has the probability of its own value."""
    pieces = [
        *[('{"judgements": [{"item": 2, "reason": "a \\"value\\": 9", "value": ', -9.0), ("1", math.log(0.9))],
        *[('}, {"item": 1, "reason": "b", "value": ', -9.0), ('"', 0.0), ("Rel", math.log(0.5))],
        *[("evant", math.log(0.5)), ('"', 0.0), ("}]}", -9.0)],
    ]
    tokens = [{"token": token, "logprob": log} for token, log in pieces]
    assert compute_probability(tokens, ("judgements", 0, "value")) == pytest.approx(0.9)
    assert compute_probability(tokens, ("judgements", 1, "value")) == pytest.approx(0.25)
    assert compute_probability(tokens, ("judgements", 2, "value")) is None


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [{"token": "Polite", "logprob": -0.1}],
        [{"token": '{"reason": "r"}', "logprob": -0.1}],
        [{"token": '{"value": 1}', "logprob": None}],
        [{"token": '{"a":' * 900 + "1" + "}" * 900, "logprob": -0.1}],
    ],
)
def test_probability_unknown(tokens):
    """Where the tokens hold no such value or no probability there is None, not a guess."""
    assert compute_probability(tokens, ("value",)) is None


def with_others(*pieces):
    """Give tokens, each with the probability of its own text and of others in its place."""
    return [
        {
            "token": token,
            "logprob": math.log(own),
            "top_logprobs": [
                {"token": text, "logprob": math.log(share)} for text, share in {token: own, **others}.items()
            ],
        }
        for token, own, others in pieces
    ]


LEVELS = (0, 1, 2, 3, 10)


def test_levels_have_the_probabilities_of_their_tokens():
    """Digits count with and without a space before or a bracket after them; what is no level counts for none."""
    tokens = with_others(('{"value":', 1, {}), (" ", 1, {}), ("3", 0.5, {"1,": 0.2, " 0": 0.1, "2}": 0.1, "7": 0.1}))
    tokens += with_others((', "reason": "1"}', 0.9, {}))
    assert compute_value_probabilities(tokens, ("value",), LEVELS) == pytest.approx({3: 0.5, 1: 0.2, 0: 0.1, 2: 0.1})


@pytest.mark.parametrize(
    ("alternatives", "found"),
    [
        ({"1": 0.4}, {3: 0.5}),
        ({"1": 0.3, "10": 0.1}, {3: 0.5, 1: 0.3, 10: 0.1}),
        ({"1": 0.3, "10,": 0.1}, {3: 0.5, 1: 0.3, 10: 0.1}),
        ({"1": 0.3, "1,": 0.1}, {3: 0.5, 1: 0.1}),
    ],
)
def test_the_beginning_of_two_values_counts_for_one_only_if_the_other_is_a_token(alternatives, found):
    """A model that writes 10 digit by digit may mean 1 or 10 by the digit 1; one that writes it whole means 1."""
    tokens = with_others(('{"value": ', 1, {}), ("3", 0.5, alternatives), (', "reason": "1"}', 0.9, {}))
    assert compute_value_probabilities(tokens, ("value",), LEVELS) == pytest.approx(found)


def test_the_token_after_a_value_tells_it_from_a_longer_one():
    """The digit 1 has the probability of 1 and of 10; the token after it divides it."""
    tokens = with_others(('{"value": ', 1, {}), ("1", 0.9, {"3": 0.1}), (",", 0.75, {"0": 0.2, "5": 0.05}))
    tokens += with_others((' "reason": "1"}', 1, {}))
    found = compute_value_probabilities(tokens, ("value",), LEVELS)
    assert found == pytest.approx({3: 0.1, 1: 0.675, 10: 0.18})


def test_values_of_several_tokens_part_at_any_of_them():
    """A token in place of a later one counts with the probability of those before it."""
    tokens = with_others(('{"value": ', 1, {}), ("1", 0.8, {"3": 0.2}), ("0", 0.75, {"}": 0.25}), ("}", 1, {}))
    assert compute_value_probabilities(tokens, ("value",), LEVELS) == pytest.approx({3: 0.2, 1: 0.2, 10: 0.6})


def test_categories_have_the_probabilities_of_their_beginnings():
    """Two categories with the same beginning are told apart by the token after it, in any script."""
    tokens = with_others(
        ('{"value": "', 1, {}),
        ("Un", 0.6, {"Hö": 0.3, "U": 0.1}),
        ("klar", 0.5, {"höflich": 0.5}),
        ('"}', 1, {}),
    )
    found = compute_value_probabilities(tokens, ("value",), ("Höflich", "Unklar", "Unhöflich"))
    assert found == pytest.approx({"Höflich": 0.3, "Unklar": 0.3, "Unhöflich": 0.3})


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [{"token": '{"value": 1}', "logprob": -0.1}],
        with_others(('{"reason": "r"}', 1, {})),
        with_others(('{"value": 8}', 1, {})),
    ],
)
def test_without_alternatives_there_are_no_probabilities_of_values(tokens):
    """Without alternatives, without a value or with a value off the scale nothing is computed."""
    assert compute_value_probabilities(tokens, ("value",), LEVELS) is None
