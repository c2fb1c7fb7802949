"""Checks of JSON text before it is parsed, for input at which parsers fail with errors of their own."""

from __future__ import annotations

import re

JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)', re.DOTALL)
"""A string, or an unclosed one up to the end of the text; linear time, without backtracking."""
TO_SQUARE_BRACKETS = bytes.maketrans(b"{}", b"[]")
NON_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
NON_FINITE = re.compile(rb"NaN|Infinity")
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""An escaped surrogate."""
COMPLETE_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[^u]|u(?![dD][89a-fA-F]))", re.DOTALL
)
"""Complete escapes: surrogate pairs, and all escapes that are no surrogates."""
MAX_DIGITS = 1000
LONG_NUMBER = re.compile(rb"\d{%d}" % MAX_DIGITS)


def find_json_fault(body: bytes, depth: int) -> str | None:
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
    if SURROGATE.search(body) and SURROGATE.search(COMPLETE_ESCAPE.sub(b" ", body)):
        return "body: holds half of a surrogate pair (\\ud800 to \\udfff alone); send the whole character"
    bare = JSON_STRING.sub(b"", body)
    if NON_FINITE.search(bare):
        return "body: NaN and Infinity are no JSON; leave the field out or send null"
    if LONG_NUMBER.search(bare):
        return f"body: a number has {MAX_DIGITS} digits or more; send it as a text"
    return f"body: nested deeper than {depth}; flatten it" if _is_deeper(bare, depth) else None


def _is_deeper(bare: bytes, depth: int) -> bool:
    """Return whether brackets are nested more deeply than `depth`; each round removes the innermost pairs."""
    left = bare.translate(TO_SQUARE_BRACKETS, NON_BRACKETS)
    for _ in range(depth):
        if not left:
            return False
        left = left.replace(b"[]", b"")
    return left.count(b"[") > depth or b"[]" in left
