"""Finding the verdict in what a model wrote: the last complete JSON object, and where its values stand."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from greval.errors import MalformedVerdictError

Path = tuple[str | int, ...]
Span = tuple[int, int]

_SPACE = " \t\n\r"


def parse(text: str) -> dict[str, Any]:
    """Give the last complete JSON object of a text.

    Args:
        text: The model's answer, with or without prose or a code fence around the object.

    Returns:
        The object.

    Raises:
        MalformedVerdictError: Where there is none, or where it is not strict JSON (a key twice, NaN, half
            of a surrogate pair).

    Example:
        >>> parse('Draft: {"value": 0}. Final: {"reason": "It fits.", "value": 1}')["value"]
        1
    """
    found = locate(text)
    if found is None:
        shown = "an empty text" if not text.strip() else "no complete JSON object in the answer"
        raise MalformedVerdictError("malformed", shown)
    start, end = found
    try:
        parsed: dict[str, Any] = _DECODER.decode(text[start:end])
        if "\\u" in text:
            json.dumps(parsed, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise MalformedVerdictError("malformed", f"the JSON is not strict: {error}") from error
    return parsed


def locate(text: str) -> Span | None:
    """Give where the last complete JSON object of a text stands, or None."""
    found = None
    start = text.find("{")
    while start >= 0:
        end = _end(text, start)
        if end is not None:
            found = (start, end)
        start = text.find("{", end or start + 1)
    return found


def find(text: str, path: Path) -> Span | None:
    """Give where the value at `path` stands in the last complete JSON object of a text, or None.

    Example:
        >>> text = '{"reason": "r", "value": 1}'
        >>> text[slice(*find(text, ("value",)))]
        '1'
    """
    found = locate(text)
    for step in path:
        found = next((span for name, span in _parts(text, found[0]) if name == step), None) if found else None
    return found


def probability(tokens: Sequence[Mapping[str, Any]], path: Path) -> float | None:
    """Give the probability that a model gave to the value at `path` of its JSON answer.

    It is the product of the probabilities of the tokens that the value's characters stand in.

    Args:
        tokens: The tokens of the whole answer in order, each with `token` and `logprob`, and `bytes`
            where a token is part of a character.
        path: Where the value stands, by the structure of the JSON, in ASCII names.

    Returns:
        A probability, or None where the tokens do not hold such a value.
    """
    pieces = [_bytes(token) for token in tokens]
    span = find(b"".join(pieces).decode("latin-1"), path)
    if span is None:
        return None
    ends = [*accumulate(map(len, pieces))]
    logs: list[Any] = [
        token.get("logprob")
        for token, piece, end in zip(tokens, pieces, ends, strict=True)
        if end - len(piece) < span[1] and end > span[0]
    ]
    return None if None in logs else min(1.0, math.exp(sum(map(float, logs))))


def _bytes(token: Mapping[str, Any]) -> bytes:
    """Give what a token wrote; as bytes, one for one, JSON keeps its structure even within a character."""
    return bytes(token["bytes"]) if token.get("bytes") else str(token["token"]).encode("utf-8", "surrogatepass")


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object, refusing a key that stands twice: which value would count?"""
    built = dict(pairs)
    if len(built) < len(pairs):
        message = "a key stands twice in one object"
        raise ValueError(message)
    return built


def _no_constant(name: str) -> None:
    message = f"{name} is no JSON number"
    raise ValueError(message)


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_no_constant)
_SCANNER = json.JSONDecoder()


def _end(text: str, start: int) -> int | None:
    """Give where the object that begins at `start` ends, None where it is not complete."""
    try:
        return _SCANNER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _parts(text: str, start: int) -> Iterator[tuple[str | int, Span]]:
    """Give the parts of the object or list that begins at `start`; the text is known to be JSON there."""
    opening = text[start]
    if opening not in "{[":
        return
    place, number = _skip(text, start + 1), 0
    while text[place] not in "}]":
        step: str | int = number
        if opening == "{":
            step, place = _SCANNER.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
        end = _SCANNER.raw_decode(text, place)[1]
        yield step, (place, end)
        place = _skip(text, end)
        place = _skip(text, place + 1) if text[place] == "," else place
        number += 1


def _skip(text: str, place: int) -> int:
    while text[place] in _SPACE:
        place += 1
    return place
