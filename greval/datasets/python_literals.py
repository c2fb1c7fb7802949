"""Lists and objects as Python prints them, which is what pandas writes into the cells of a CSV file.

A cell is data: it is split into tokens by one regular expression, and nothing of it is called.
"""

from __future__ import annotations

import ast
import re

MAX_LITERAL = 2**20
"""The maximum length of such a text; the syntax tree of a longer one would take too much memory."""
MAX_TOKENS = 100_000
"""The maximum number of values, brackets and marks; more would take seconds."""
LARGEST = 10**19
"""Numbers from here on are refused, as in JSON."""

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>[bBuU]?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))
    |(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<type>,\s*dtype=[\w<>'|]+)
    |(?P<object>[A-Za-z_][\w.]*)\s*\(
    |(?P<argument>[A-Za-z_]\w*)\s*=
    |(?P<constant>(?:np\.)?(?:None|True|False|True_|False_|nan|null|true|false)|(?:datetime\.)?timezone\.utc)\b
    |(?P<open>[\[({])
    |(?P<close>[\])}])
    |(?P<mark>[,:])
    )""",
    re.VERBOSE | re.DOTALL,
)
_CONSTANTS = {"nan": None, "null": None, "true": True, "false": False, "True_": True, "False_": False}
_VALUE = re.compile(
    r"(?:np|numpy)\.(?:float|int|uint|str|bool)\w*|.*array|frozenset|set|(?:\w+\.)*"
    r"(?:deque|UUID|ObjectId|Decimal|Decimal128|Timestamp|Timedelta|datetime64|PosixPath|WindowsPath)"
)
"""What stands for its argument: a number or a text as NumPy 2 prints it, such as `np.float64(0.5)`, an array, an id."""
_TIME = re.compile(r"(?:datetime\.)?(?:datetime|date|time|timedelta)")
"""What is printed with several numbers; as no field of a case is a time, the call itself is the text."""
_ENDS = frozenset({"text", "number", "constant", "close"})
_BEGINS = frozenset({"text", "number", "constant", "open", "object", "argument"})


class InvalidLiteralError(ValueError):
    """A text is not a list or an object of Python's literals."""


def parse_literal(text: str) -> object:
    """Parse a list, a tuple or a dict of literals, as `repr` and NumPy print them.

    `nan` is None. An object such as `Document(page_content='a')` is a mapping of its arguments.
    """
    if len(text) > MAX_LITERAL:
        raise InvalidLiteralError(f"has more than {MAX_LITERAL:,} characters")
    try:
        return _convert(ast.parse(_add_commas(text.strip()), mode="eval").body)
    except InvalidLiteralError:
        raise
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise InvalidLiteralError("cannot be parsed") from error


def _add_commas(text: str) -> str:
    """Return a literal with the commas that NumPy leaves out, as in `['a' 'b']`, and without types of arrays."""
    position, depth, kind_before, tokens = 0, 0, "", list[str]()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if len(tokens) == MAX_TOKENS:
            raise InvalidLiteralError(f"has more than {MAX_TOKENS:,} values and marks")
        if not match or (position and not depth):
            raise InvalidLiteralError(f"cannot be parsed at character {position + 1:,}")
        position = match.end()
        kind = str(match.lastgroup)
        depth += (kind in {"open", "object"}) - (kind == "close")
        comma = "," if kind_before in _ENDS and kind in _BEGINS else ""
        tokens.append("" if kind == "type" else f"{comma}{match[0]}")
        kind_before = match[kind] if kind == "mark" else kind
    return "".join(tokens)


def _convert(node: ast.expr) -> object:  # noqa: C901, PLR0911 - a kind each
    """Return a value as JSON could hold it: sets are sorted lists, and keys are texts."""
    match node:
        case ast.Constant(value=bytes() as encoded):
            return encoded.decode()
        case ast.Constant(value=value):
            return _check_size(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return _check_size(-number)
        case ast.UnaryOp(op=ast.UAdd(), operand=ast.Constant(value=int() | float() as number)):
            return _check_size(number)
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_convert(part) for part in parts]
        case ast.Set(elts=parts):
            return sorted({str(value): value for value in map(_convert, parts)}.values(), key=str)
        case ast.Dict(keys=keys, values=parts):
            return {str(_convert(key)): _convert(part) for key, part in zip(keys, parts, strict=True) if key}
        case ast.Call(func=function, args=parts) if _VALUE.fullmatch(name := ast.unparse(function)):
            values = [_convert(part) for part in parts]
            return values[0] if len(values) == 1 else values
        case ast.Call(func=function) if _TIME.fullmatch(ast.unparse(function)):
            return ast.unparse(node)
        case ast.Call(args=[], keywords=arguments):
            return {str(argument.arg): _convert(argument.value) for argument in arguments}
        case _:
            raise InvalidLiteralError("holds what is no value, such as a call or a name")


def _check_size(value: object) -> object:
    if isinstance(value, int | float) and not abs(value) < LARGEST:
        raise InvalidLiteralError("holds a number that is too large")
    return value
