"""Extraction of the JSON from a model's reply: the last complete object, and the positions of its values."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from greval.errors import MalformedVerdictError
from greval.records.scale import Value

ValuePath = tuple[str | int, ...]
TextSpan = tuple[int, int]

_WHITESPACE = " \t\n\r"
_DELIMITERS = f"{_WHITESPACE},}}]"
"""The characters that can follow a value."""


def parse_last_object(text: str) -> dict[str, Any]:
    """Parse the last complete JSON object in a model's answer, with or without prose or a code fence around it.

    Raises:
        MalformedVerdictError: If the text has no such object, or it is not strict JSON (duplicate key, NaN, lone
            surrogate).

    Example:
        >>> parse_last_object('Draft: {"value": 0}. Final: {"reason": "It fits.", "value": 1}')["value"]
        1
    """
    found = find_last_object(text)
    if found is None:
        raise MalformedVerdictError(
            "malformed", "an empty text" if not text.strip() else "no complete JSON object in the answer"
        )
    start, end = found
    try:
        parsed: dict[str, Any] = _DECODER.decode(text[start:end])
        if "\\u" in text:
            json.dumps(parsed, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise MalformedVerdictError("malformed", f"the JSON is not strict: {error}") from error
    return parsed


def find_last_object(text: str) -> TextSpan | None:
    """Find the span of the last complete JSON object in a text, or None."""
    found = None
    start = text.find("{")
    while start >= 0:
        end = _find_end(text, start)
        if end is not None:
            found = (start, end)
        start = text.find("{", end or start + 1)
    return found


def find_value(text: str, path: ValuePath) -> TextSpan | None:
    """Find the span of the value at `path` in the last complete JSON object of a text, or None.

    Example:
        >>> text = '{"reason": "r", "value": 1}'
        >>> text[slice(*find_value(text, ("value",)))]
        '1'
    """
    found = find_last_object(text)
    for step in path:
        found = next((span for name, span in _iterate_parts(text, found[0]) if name == step), None) if found else None
    return found


def compute_probability(tokens: Sequence[Mapping[str, Any]], path: ValuePath) -> float | None:
    """Compute the probability that a model assigned to the value at `path` of its JSON answer; None if unknown.

    It is the product of the probabilities of all tokens that overlap with the value: exp(sum of their `logprob`),
    at most 1. The tokens are those of the whole answer in order, each with `token` and `logprob`, and with `bytes` if a
    token is part of a character. Keys in the path are ASCII.
    """
    pieces = [_read_token_bytes(token) for token in tokens]
    span = find_value(b"".join(pieces).decode("latin-1"), path)
    if span is None:
        return None
    ends = [*accumulate(map(len, pieces))]
    logs: list[Any] = [
        token.get("logprob")
        for token, piece, end in zip(tokens, pieces, ends, strict=True)
        if end - len(piece) < span[1] and end > span[0]
    ]
    return None if None in logs else min(1.0, math.exp(sum(map(float, logs))))


def compute_value_probabilities(
    tokens: Sequence[Mapping[str, Any]], path: ValuePath, values: Sequence[Value]
) -> dict[Value, float] | None:
    """Compute the probabilities of the values that a model could have written at `path`; None if it returned none.

    Each token of the value has alternatives (`top_logprobs`). One that begins exactly one of the values, after the
    tokens before it, adds its probability to that value. The sum is not 1, because other texts are not counted.

    If a value is the beginning of another one, as 1 is of 10, the token after it decides. An alternative that is such a
    beginning counts only if another alternative begins the longer value: a model that can write 10 as one token means 1
    by the token 1.
    """
    pieces = [_read_token_bytes(token).decode("latin-1") for token in tokens]
    span = find_value("".join(pieces), path)
    texts = {value: json.dumps(value, ensure_ascii=False).encode().decode("latin-1") for value in values}
    if span is None:
        return None
    found: dict[Value, float] = {}
    written, before = "", 1.0
    for token, piece, end in zip(tokens, pieces, accumulate(map(len, pieces)), strict=True):
        start = max(span[0] - (end - len(piece)), 0)
        is_after = end - len(piece) >= span[1]
        if end <= span[0] or (is_after and not _is_beginning(texts.values(), written.lstrip())):
            continue
        if token.get("logprob") is None or not token.get("top_logprobs"):
            return None
        likely: dict[str, float] = {}
        for other in token["top_logprobs"]:
            text = _read_token_bytes(other).decode("latin-1")
            own = (written + text.removeprefix(piece[:start])).lstrip()  # the token may begin before the value
            likely[own] = likely.get(own, 0.0) + (math.exp(other["logprob"]) if text != piece else 0.0)
        begun = {own: _find_begun_value(texts, own) for own in likely}
        for own, share in likely.items():
            value = begun[own]
            is_open = _is_beginning(texts.values(), own) and not any(
                other.startswith(own) and begun[other] not in {value, None} for other in likely
            )
            if share and value is not None and not is_open:
                found[value] = found.get(value, 0.0) + before * share
        written += piece[start:]
        before *= math.exp(token["logprob"])
    if (value := _find_begun_value(texts, written.lstrip())) is not None:
        found[value] = found.get(value, 0.0) + before
    return found or None


def _is_beginning(texts: Collection[str], text: str) -> bool:
    """Return whether a text is one of the texts and also the beginning of another one."""
    return text in texts and any(other != text and other.startswith(text) for other in texts)


def _find_begun_value(texts: Mapping[Value, str], written: str) -> Value | None:
    """Find the one value of which a text is the beginning, or which it holds whole; None if it fits several or none."""
    if not written:
        return None
    whole = [
        value
        for value, text in texts.items()
        if written.startswith(text) and written[len(text) : len(text) + 1] in {"", *_DELIMITERS}
    ]
    begun = whole or [value for value, text in texts.items() if text.startswith(written)]
    return begun[0] if len(begun) == 1 else None


def _read_token_bytes(token: Mapping[str, Any]) -> bytes:
    """Return the bytes of a token. Read as Latin-1, they keep the JSON structure even if tokens split a character."""
    return bytes(token["bytes"]) if token.get("bytes") else str(token["token"]).encode("utf-8", "surrogatepass")


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object from its pairs, and reject a duplicate key, because either value could be meant."""
    built = dict(pairs)
    if len(built) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return built


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_build_object, parse_constant=_reject_constant)
_SCANNER = json.JSONDecoder()


def _find_end(text: str, start: int) -> int | None:
    """Find the end of the object that begins at `start`, or None if it is incomplete."""
    try:
        return _SCANNER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _iterate_parts(text: str, start: int) -> Iterator[tuple[str | int, TextSpan]]:
    """Iterate over the keys or indices, and spans, of the object or list at `start`, which must be valid JSON."""
    opening = text[start]
    if opening not in "{[":
        return
    place, number = _skip_space(text, start + 1), 0
    while text[place] not in "}]":
        step: str | int = number
        if opening == "{":
            step, place = _SCANNER.raw_decode(text, place)
            place = _skip_space(text, _skip_space(text, place) + 1)
        end = _SCANNER.raw_decode(text, place)[1]
        yield step, (place, end)
        place = _skip_space(text, end)
        place = _skip_space(text, place + 1) if text[place] == "," else place
        number += 1


def _skip_space(text: str, place: int) -> int:
    while text[place] in _WHITESPACE:
        place += 1
    return place
