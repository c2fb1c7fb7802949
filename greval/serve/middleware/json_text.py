"""What is wrong with a JSON text, told before it is parsed: parsers end in errors of their own at some of it."""

from __future__ import annotations

import re

STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)', re.DOTALL)
"""A string, or one that is not closed up to the end: each letter is looked at once."""
SAME_BRACKETS = bytes.maketrans(b"{}", b"[]")
NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
NO_NUMBER = re.compile(rb"NaN|Infinity")
HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""An escaped half of a surrogate pair."""
NO_HALF = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[^u]|u(?![dD][89a-fA-F]))", re.DOTALL
)
"""Escapes that are whole: both halves of a pair, and all others."""
LONGEST_NUMBER = 1000
LONG_NUMBER = re.compile(rb"\d{%d}" % LONGEST_NUMBER)


def fault_of(body: bytes, depth: int) -> str | None:
    """Give why a body is not parsed: no UTF-8, nested too deep, numbers that are none; None where it may be.

    Whether it is JSON at all is the parser's to say.

    Args:
        body: The bytes.
        depth: How many lists and objects may stand in each other.

    Example:
        >>> fault_of(b'{"a": [1]}', 2), fault_of(b'["["]', 1)
        (None, None)
        >>> fault_of(b"[[[]]]", 2)
        'body: nested deeper than 2; flatten it'
    """
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return f"body: byte {error.start} is not UTF-8; send JSON in UTF-8"
    if b"\0" in body:
        return "body: holds NUL bytes; send JSON in UTF-8, with \\u0000 where the character is meant"
    if HALF.search(body) and HALF.search(NO_HALF.sub(b" ", body)):
        return "body: holds half of a surrogate pair (\\ud800 to \\udfff alone); send the whole character"
    bare = STRING.sub(b"", body)
    if NO_NUMBER.search(bare):
        return "body: NaN and Infinity are no JSON; leave the field out or send null"
    if LONG_NUMBER.search(bare):
        return f"body: a number has {LONGEST_NUMBER} digits or more; send it as a text"
    return f"body: nested deeper than {depth}; flatten it" if _deeper(bare, depth) else None


def _deeper(bare: bytes, depth: int) -> bool:
    """Say whether brackets stand deeper in each other than this; each round takes the innermost ones away."""
    left = bare.translate(SAME_BRACKETS, NO_BRACKETS)
    for _ in range(depth):
        if not left:
            return False
        left = left.replace(b"[]", b"")
    return left.count(b"[") > depth or b"[]" in left
