"""Checks of JSON text before it is parsed, for input at which parsers fail with errors of their own."""

from __future__ import annotations

import re

STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)', re.DOTALL)
"""A string, or an unclosed one up to the end of the text; linear time, without backtracking."""
SAME_BRACKETS = bytes.maketrans(b"{}", b"[]")
NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
NO_NUMBER = re.compile(rb"NaN|Infinity")
HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""An escaped surrogate."""
NO_HALF = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[^u]|u(?![dD][89a-fA-F]))", re.DOTALL
)
"""Complete escapes: surrogate pairs, and all escapes that are no surrogates."""
LONGEST_NUMBER = 1000
LONG_NUMBER = re.compile(rb"\d{%d}" % LONGEST_NUMBER)


def fault_of(body: bytes, depth: int) -> str | None:
    """Return why a body must not be parsed (not UTF-8, nested too deeply, invalid numbers), or None if it may be.

    Whether it is valid JSON is left to the parser.

    Args:
        body: The bytes.
        depth: The deepest nesting of lists and objects that is allowed.

    Example:
        >>> find_json_fault(b'{"a": [1]}', 2), find_json_fault(b'["["]', 1)
        (None, None)
        >>> find_json_fault(b"[[[]]]", 2)
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
    """Return whether brackets are nested more deeply than `depth`; each round removes the innermost pairs."""
    left = bare.translate(SAME_BRACKETS, NO_BRACKETS)
    for _ in range(depth):
        if not left:
            return False
        left = left.replace(b"[]", b"")
    return left.count(b"[") > depth or b"[]" in left
